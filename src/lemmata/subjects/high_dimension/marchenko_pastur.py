"""Marchenko and Pastur: the spectrum of a sample covariance if there are about as many columns as rows.

This theory is about the eigenvalues of X'X/n for an n x d matrix X of independent entries of variance 1. The
eigenvalues fill the interval [(1 - sqrt(d/n))², (1 + sqrt(d/n))²], although the population covariance is the identity.
The theory assumes that entries are independent with a finite fourth moment. It does not explain data with correlated
columns, as real data have. The theory shows which spectrum sampling alone would cause.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Kind, Source
from lemmata.subjects.high_dimension._random_matrices import Design, RandomMatrices, marchenko_pastur_edges

ABOUT = {"tool": "random matrices", "architecture": "linear model", "object": "spectrum"}

# At finite size the mean of the largest eigenvalue is below the edge by 1.2065 Tracy-Widom scales. Within the settings,
# the difference is largest at n = 200, gamma = 1/4, where it is 0.034 of the edge. This leaves 0.006 for terms of order
# 1/n.
_MARGIN = 0.04


class MarchenkoPasturEdge(Claim[Design]):
    """Let X be an n x d matrix of independent entries with mean 0, variance 1 and a finite fourth moment. As n and d
    grow in proportion, the largest eigenvalue of X'X/n tends to

        (1 + sqrt(gamma))²,    gamma = lim d/n.
    """

    title = "The largest eigenvalue of a sample covariance tends to (1 + sqrt(d/n))²"
    source = Source("yin1988", "main theorem")
    population = RandomMatrices(margin=_MARGIN)
    # a matrix has one largest eigenvalue, so nothing can be measured twice
    relation = EqualInMean(margin=_MARGIN, resolution=0.01, over="problems")
    control = Control(
        "the edge is 1 + 2 sqrt(gamma)", lambda edge, problem: edge - problem.x.shape[1] / problem.x.shape[0]
    )
    controls = "how far sampling alone spreads the eigenvalues of a sample covariance"
    unexplained = "the spectrum of correlated columns; eigenvectors"
    stated = Kind.THEOREM
    trials = 64

    def predict(self, problem: Design) -> Array:
        rows, columns = problem.x.shape
        return jnp.asarray(marchenko_pastur_edges(columns / rows)[1])

    def measure(self, problem: Design, key: Key[Array, ""]) -> Array:
        """Return the largest eigenvalue, from the smaller of the matrices X'X/n and XX'/n."""
        x = problem.x if problem.x.shape[0] >= problem.x.shape[1] else problem.x.T
        return jnp.linalg.eigvalsh(x.T @ x)[-1] / problem.x.shape[0]
