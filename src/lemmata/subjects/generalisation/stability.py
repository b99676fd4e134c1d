"""Stability: a learner that hardly notices one row cannot have memorised it.

This theory controls how much the loss at any point changes when one training row is removed. It assumes a ridge and
bounded residuals; it leaves unexplained learners without a ridge, and its constant is large where the ridge is small.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.engine.problems._removals import REMOVED, Removal, Removals, fit, fit_without


def stability_bound(
    largest: Float[Array, ""], residual: Float[Array, ""] | float, ridge: Float[Array, ""] | float
) -> Float[Array, ""]:
    """2 M² kappa² / ridge for kappa² = max K(x, x) and residuals of at most M.

    It is sigma² kappa² / (2 lambda m) with sigma = 2M, the Lipschitz constant of squared loss on residuals up to M, and
    lambda m = ridge: (1/m) sum |f(x_i) - y_i|² + lambda |f|² is sum |f(x_i) - y_i|² + ridge |f|² over m.
    """
    return 2 * residual**2 * largest / ridge


class UniformStability(Claim[Removal]):
    """Removing one of the m rows of kernel ridge regression, the f of least sum_i |f(x_i) - y_i|² + ridge |f|² in the
    Hilbert space of a kernel K, changes the squared loss at any point by at most

        2 M² kappa² / ridge,   kappa² = max K(x, x),

    where residuals are at most M in norm. It is sigma² kappa² / (2 lambda m) with sigma = 2M and ridge = lambda m. M is
    the length of the vector of the ranges of the targets. On large problems the first 16 rows are removed in turn.
    """

    title = "Uniform stability of kernel ridge regression"
    source = Source("bousquet2002", "Theorem 22", "Example 3")
    population = Removals()
    relation = AtMost()
    control = Control(
        "the change is at most 2 M² kappa² / (ridge n)",
        lambda bound, problem: bound / len(problem.y),
        loose="M is the range of the targets, several times a residual, and enters squared: factors of 15 to 50",
    )
    controls = "the change of the loss at any point when one training row is removed"
    unexplained = "learners without a ridge; rows that agree with each other, whose removal changes far less"

    def predict(self, problem: Removal) -> Array:
        largest = jnp.maximum(jnp.diagonal(problem.matrix).max(), problem.held_out_diagonal.max())
        return stability_bound(largest, problem.bound, problem.ridge)

    def measure(self, problem: Removal, key: Key[Array, ""]) -> Array:
        """The largest change of a loss over the held-out points and the removed rows, by refitting."""
        _, all_rows = fit(problem)
        loss = lambda prediction: jnp.sum((prediction - problem.y_test) ** 2, axis=1)
        change = lambda row: jnp.abs(loss(fit_without(problem, row)[1]) - loss(all_rows)).max()
        return jax.lax.map(change, jnp.arange(min(len(problem.y), REMOVED))).max()

    def trivial(self, problem: Removal) -> Array:
        """Losses lie between 0 and M²."""
        return problem.bound**2
