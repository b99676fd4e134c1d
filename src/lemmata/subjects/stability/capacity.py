"""More data and more parameters: where a ridge removes the peak of double descent, and where it stands without one.

This theory controls the risk of linear fits with the best ridge as rows are added, and that of random features without
a ridge as features are. It assumes isotropic inputs; it leaves unexplained networks that train their features.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Order, Source
from lemmata.engine.problems._ridge_ladders import NoisySpheres, NoisyTargets, RowLadder, RowLadders

_ROWS = (0.4, 0.7, 0.9, 1.0, 1.1, 1.4, 2.4)
_OCTAVES = (0.0, 0.4, 1.0)


class OptimalRidgeIsMonotone(Claim[RowLadder]):
    """For isotropic inputs in p dimensions, a linear target with coefficients beta and noise of variance sigma², the
    expected risk of ridge regression, the b of least |y - Xb|² + lambda |b|² with

        lambda = p sigma²/|beta|²,

    falls with every row that is added, through n = p, where the risk without a ridge has its peak.
    """

    title = "With the best ridge more data never hurt"
    source = Source("nakkiran2021", "Theorem 1", note="isotropic inputs")
    population = RowLadders(_ROWS[-1])
    relation = Order(along="rows / inputs", rungs=_ROWS)
    control = Control("the risk rises with rows, as without a ridge below n = p", lambda sign, problem: -sign)
    controls = "whether rows help or hurt a fit with the best ridge"
    unexplained = "inputs whose covariance is not the identity; a ridge that has to be chosen from the data"
    traced = False  # a solve at each rung
    trials = 192

    def predict(self, problem: RowLadder) -> Array:
        return -jnp.ones(())

    def measure(self, problem: RowLadder, key: Key[Array, ""]) -> Array:
        """|b - beta|² from the first rows of one table."""
        x, y, beta = (np.asarray(part) for part in (problem.x, problem.y, problem.coefficients))
        p = len(beta)
        ridge = p * float(problem.noise) ** 2 / (beta @ beta) * np.eye(p)
        fit = lambda n: np.linalg.solve(x[:n].T @ x[:n] + ridge, x[:n].T @ y[:n])
        return jnp.asarray([np.sum((fit(round(rung * p)) - beta) ** 2) for rung in _ROWS])


class RandomFeaturesPeak(Claim[NoisyTargets]):
    """The fit of smallest norm on N random ReLU features to n noisy rows has its largest error on new rows at N = n,
    whatever the dimension d of the inputs: on average of logarithms, the larger of the errors with N = n 2^-r and
    N = n 2^r features falls along r = 0, 0.4, 1.
    """

    title = "Random features without a ridge peak where they are as many as rows"
    source = Source("emergence2026", "Figure 8.15", note="for random features, as in the limit of mei2022")
    population = NoisySpheres()
    relation = Order(along="|log2(N/n)|", rungs=_OCTAVES)
    control = Control("the error rises away from N = n", lambda sign, problem: -sign)
    controls = "where the error of random features has its peak"
    unexplained = "features that are trained, and how high the peak is: its mean is infinite"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU
    trials = 96

    def predict(self, problem: NoisyTargets) -> Array:
        return -jnp.ones(())

    def measure(self, problem: NoisyTargets, key: Key[Array, ""]) -> Array:
        x, y, x_test, y_test = (np.asarray(part) for part in jax.tree.leaves(problem))
        n, d = x.shape
        weights = np.asarray(jax.random.normal(key, (d, 2 * n))) / d**0.5
        train, test = np.maximum(x @ weights, 0.0), np.maximum(x_test @ weights, 0.0)

        def error(features: int) -> float:
            fit = np.linalg.lstsq(train[:, :features], y, rcond=None)[0]
            return float(np.log(np.mean((test[:, :features] @ fit - y_test) ** 2)))

        return jnp.asarray([max(error(round(n * 2**-r)), error(round(n * 2**r))) for r in _OCTAVES])
