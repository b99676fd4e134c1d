"""Linear models of which more and more rows are seen; random features of which more and more are used."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class RowLadder(eqx.Module):
    """Rows x, targets x'coefficients + noise of a known standard deviation."""

    x: Float[Array, "n p"]
    y: Float[Array, " n"]
    coefficients: Float[Array, " p"]
    noise: Float[Array, ""]


class RowLadders(Population[RowLadder]):
    """Standard normal inputs, coefficients of norm 1 in a random direction.

    Args:
        most: rows in units of p.
    """

    most: float = eqx.field(static=True)

    def settings(self) -> Space:
        """Inputs and noise."""
        return Space(
            p=Integer(40, 10, 200, "inputs", corners=(30, 50)),
            noise=Real(0.5, 0.05, 5.0, "standard deviation of the noise", corners=(0.35, 0.7)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RowLadder:
        """As many rows as the last rung needs."""
        keys = jax.random.split(key, 3)
        p, noise = setting["p"], setting["noise"]
        x = jax.random.normal(keys[0], (round(self.most * p), p))
        coefficients = jax.random.normal(keys[1], (p,))
        coefficients = coefficients / jnp.linalg.norm(coefficients)
        return RowLadder(
            x, x @ coefficients + noise * jax.random.normal(keys[2], (len(x),)), coefficients, jnp.asarray(noise)
        )

    def hypotheses(self, problem: RowLadder) -> list[Hypothesis]:
        """Noise, a signal."""
        size = jnp.linalg.norm(problem.coefficients)
        return [
            Hypothesis("targets are noisy", problem.noise, ">", 0.0, "else the best ridge is 0"),
            Hypothesis("there is a signal", size, ">", 0.0, "else the best ridge is infinite"),
        ]


class NoisyTargets(eqx.Module):
    """Rows on a sphere, noisy linear targets, and new rows with targets that have no noise."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    x_test: Float[Array, "t d"]
    y_test: Float[Array, " t"]


class NoisySpheres(Population[NoisyTargets]):
    """Uniform inputs on the sphere of radius sqrt(d), a linear target of variance 1."""

    def settings(self) -> Space:
        """Rows, inputs, noise."""
        return Space(
            n=Integer(60, 30, 300, "training rows", corners=(40, 80)),
            d=Integer(12, 3, 100, "inputs", corners=(8, 16)),
            noise=Real(0.5, 0.2, 3.0, "standard deviation of the noise", corners=(0.4, 1.0)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyTargets:
        """100 new rows."""
        keys = jax.random.split(key, 3)
        n, d = setting["n"], setting["d"]
        x = jax.random.normal(keys[0], (n + 100, d))
        x = d**0.5 * x / jnp.linalg.norm(x, axis=1, keepdims=True)
        beta = jax.random.normal(keys[1], (d,))
        target = x @ (beta / jnp.linalg.norm(beta))
        y = target[:n] + setting["noise"] * jax.random.normal(keys[2], (n,))
        return NoisyTargets(x[:n], y, x[n:], target[n:])

    def hypotheses(self, problem: NoisyTargets) -> list[Hypothesis]:
        """More rows than inputs: the peak is not that of the inputs."""
        n, d = problem.x.shape
        return [Hypothesis("rows exceed inputs (n over d)", n / d, ">", 2.0, "the peak at N = n is not at N = d")]
