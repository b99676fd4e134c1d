"""More data and more parameters: when a ridge removes the peak of double descent, and where the peak is without it.

This theory is about the risk of linear fits with the best ridge as rows are added, and the risk of random features
without a ridge as features are added. It assumes isotropic inputs. It does not cover networks whose features are
trained.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Integer, Order, Population, Real, Source, Space

ABOUT = {"tool": "random matrices", "architecture": "linear model", "object": "estimator"}


class RowLadder(eqx.Module):
    """Rows x with targets x'coefficients + noise, where the standard deviation of the noise is known."""

    x: Float[Array, "n p"]
    y: Float[Array, " n"]
    coefficients: Float[Array, " p"]
    noise: Float[Array, ""]


class RowLadders(Population[RowLadder]):
    """Linear regressions with standard normal inputs and coefficients of norm 1 in a random direction.

    Args:
        most: the number of rows, divided by the number p of inputs.
    """

    most: float = eqx.field(static=True)
    settings = Space(
        p=Integer(40, 10, 200, "inputs", corners=(30, 50)),
        noise=Real(0.5, 0.05, 5.0, "standard deviation of the noise", corners=(0.35, 0.7)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RowLadder:
        keys = jax.random.split(key, 3)
        p, noise = setting["p"], setting["noise"]
        x = jax.random.normal(keys[0], (round(self.most * p), p))
        coefficients = jax.random.normal(keys[1], (p,))
        coefficients = coefficients / jnp.linalg.norm(coefficients)
        return RowLadder(
            x, x @ coefficients + noise * jax.random.normal(keys[2], (len(x),)), coefficients, jnp.asarray(noise)
        )

    def hypotheses(self, problem: RowLadder) -> list[Hypothesis]:
        size = jnp.linalg.norm(problem.coefficients)
        return [
            Hypothesis("targets are noisy", problem.noise, ">", 0.0, "otherwise the best ridge is 0"),
            Hypothesis("there is a signal", size, ">", 0.0, "otherwise the best ridge is infinite"),
        ]


class NoisyTargets(eqx.Module):
    """Rows on a sphere, noisy linear targets, and new rows with targets that have no noise."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    x_test: Float[Array, "t d"]
    y_test: Float[Array, " t"]


class NoisySpheres(Population[NoisyTargets]):
    """Regressions with uniform inputs on the sphere of radius sqrt(d) and a linear target of variance 1."""

    settings = Space(
        n=Integer(60, 30, 300, "training rows", corners=(40, 80)),
        d=Integer(12, 3, 100, "inputs", corners=(4, 18)),
        noise=Real(0.5, 0.2, 3.0, "standard deviation of the noise", corners=(0.4, 1.0)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyTargets:
        keys = jax.random.split(key, 3)
        n, d = setting["n"], setting["d"]
        x = jax.random.normal(keys[0], (n + 100, d))
        x = d**0.5 * x / jnp.linalg.norm(x, axis=1, keepdims=True)
        beta = jax.random.normal(keys[1], (d,))
        target = x @ (beta / jnp.linalg.norm(beta))
        y = target[:n] + setting["noise"] * jax.random.normal(keys[2], (n,))
        return NoisyTargets(x[:n], y, x[n:], target[n:])

    def hypotheses(self, problem: NoisyTargets) -> list[Hypothesis]:
        """Require more than 2 rows per input, so that the peak at N = n is far from N = d."""
        n, d = problem.x.shape
        return [
            Hypothesis(
                "rows exceed inputs (n over d)", n / d, ">", 2.0, "otherwise the peak at N = n is too close to N = d"
            )
        ]


_ROWS = (0.4, 0.7, 0.9, 1.0, 1.1, 1.4, 2.4)
_OCTAVES = (0.0, 0.07, 0.4, 1.0)


class OptimalRidgeIsMonotone(Claim[RowLadder]):
    """Let the n rows of X be isotropic inputs in p dimensions. Let y = X beta + noise be their targets, where the noise
    has the variance sigma². Let ridge regression minimise |y - Xb|² + lambda |b|² over b, where

        lambda = p sigma²/|beta|².

    The expected risk of this regression falls with every row that is added. It falls even at n = p, where the risk
    without a ridge has its peak.
    """

    title = "With the best ridge, more rows never raise the risk of ridge regression"
    source = Source("nakkiran2021", "Theorem 1", note="isotropic inputs")
    population = RowLadders(_ROWS[-1])
    relation = Order(along="rows / inputs", rungs=_ROWS)
    control = Control(
        "the risk rises with the rows, as it does without a ridge below n = p", lambda sign, problem: -sign
    )
    controls = "whether more rows help or hurt a fit with the best ridge"
    unexplained = "inputs whose covariance is not the identity; a ridge that is chosen from the data"
    traced = False  # a solve at each rung
    trials = 192
    predict = -1.0

    def measure(self, problem: RowLadder, key: Key[Array, ""]) -> Array:
        """The errors |b - beta|² of fits to the first rows of one table."""
        x, y, beta = (np.asarray(part) for part in (problem.x, problem.y, problem.coefficients))
        p = len(beta)
        ridge = p * float(problem.noise) ** 2 / (beta @ beta) * np.eye(p)
        fit = lambda n: np.linalg.solve(x[:n].T @ x[:n] + ridge, x[:n].T @ y[:n])
        return jnp.asarray([np.sum((fit(round(rung * p)) - beta) ** 2) for rung in _ROWS])


class RandomFeaturesPeak(Claim[NoisyTargets]):
    """Fit N random ReLU features to n noisy rows, with the coefficients of smallest norm. The error on new rows is
    largest at N = n. This holds for every dimension d of the inputs.

    The test computes the errors with N = n 2^-r and with N = n 2^r features, and takes the larger error. The mean
    logarithm of the larger error falls as r rises from 0 to 0.07, to 0.4 and to 1.
    """

    title = "Without a ridge, the error of random features is largest with as many features as rows"
    source = Source(
        "emergence2026", "Figure 8.15", note="for random features, as in the limit of Mei and Montanari (2022)"
    )
    population = NoisySpheres()
    relation = Order(along="|log2(N/n)|", rungs=_OCTAVES)
    control = Control("the error rises as N moves away from n", lambda sign, problem: -sign)
    controls = "at how many features the error of random features has its peak"
    unexplained = "features that are trained, and the height of the peak, whose mean is infinite"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU
    trials = 96
    predict = -1.0

    def measure(self, problem: NoisyTargets, key: Key[Array, ""]) -> Array:
        x, y, x_test, y_test = (np.asarray(part) for part in jax.tree.leaves(problem))
        n, d = x.shape
        weights = np.asarray(jax.random.normal(key, (d, 2 * n))) / d**0.5
        train, test = np.maximum(x @ weights, 0.0), np.maximum(x_test @ weights, 0.0)

        def error(features: int) -> float:
            fit = np.linalg.lstsq(train[:, :features], y, rcond=None)[0]
            return float(np.log(np.mean((test[:, :features] @ fit - y_test) ** 2)))

        return jnp.asarray([max(error(round(n * 2**-r)), error(round(n * 2**r))) for r in _OCTAVES])
