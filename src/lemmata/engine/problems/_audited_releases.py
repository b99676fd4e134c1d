"""Trainings whose privacy is audited: a noisy sum, and logistic regression by noisy steps."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

_NORM = 1 + 1e-9


class AuditedSum(eqx.Module):
    """The sum of rows of norm at most 1, released with normal noise; and one row more, of norm 1.

    Args:
        rows: the data.
        canary: the row that is in the sum or not.
        sigma: standard deviation of the noise.
        delta: at which eps is asked.
        runs: releases with the canary, and as many without.
    """

    rows: Float[Array, "n d"]
    canary: Float[Array, " d"]
    sigma: Float[Array, ""]
    delta: float = eqx.field(static=True)
    runs: int = eqx.field(static=True)


class AuditedSums(Population[AuditedSum]):
    """Rows in the unit ball, noise from 0.3 to 0.6."""

    def settings(self) -> Space:
        """Sizes."""
        runs = Integer(1000, 20, 100_000, "releases with the canary, and without", corners=(600, 1500))
        delta = Real(0.02, 1e-12, 0.5, "delta of the privacy", corners=(0.01, 0.03))
        return Space(n=Integer(10, 1, 1000, "rows"), d=Integer(3, 1, 100, "dimension"), runs=runs, delta=delta)

    def sample(self, setting: dict, key: Key[Array, ""]) -> AuditedSum:
        """Rows, a canary, noise."""
        row_key, noise_key = jax.random.split(key)
        rows = jax.random.normal(row_key, (setting["n"] + 1, setting["d"]))
        size = jnp.linalg.norm(rows, axis=1, keepdims=True)
        sigma = jax.random.uniform(noise_key, minval=0.3, maxval=0.6)
        bounded = rows[:-1] / jnp.maximum(1.0, size[:-1])
        return AuditedSum(bounded, (rows / size)[-1], sigma, setting["delta"], setting["runs"])

    def hypotheses(self, problem: AuditedSum) -> list[Hypothesis]:
        """Bounded rows."""
        own = jnp.linalg.norm(problem.rows, axis=1).max()
        why = "the sensitivity of the sum is 1"
        return [
            Hypothesis("largest norm of a row", own, "<=", _NORM, why),
            Hypothesis("norm of the canary", jnp.linalg.norm(problem.canary), "<=", _NORM, why),
        ]


class AuditedTraining(eqx.Module):
    """Logistic regression by gradient steps: rows sampled, gradients clipped to norm 1, sums with normal noise.

    Args:
        rows: each times its sign of the class.
        canary: one row more, likewise.
        noise: its standard deviation.
        rate: the probability with which a row takes part in a step.
        delta: at which eps is asked.
        steps: how many.
        runs: trainings with the canary, and as many without.
    """

    rows: Float[Array, "n d"]
    canary: Float[Array, " d"]
    noise: Float[Array, ""]
    rate: Float[Array, ""]
    delta: Float[Array, ""]
    steps: int = eqx.field(static=True)
    runs: int = eqx.field(static=True)


class AuditedTrainings(Population[AuditedTraining]):
    """Normal rows and a long canary; steps whose losses add up to those of one release with noise 0.4 to 0.6."""

    def settings(self) -> Space:
        """Sizes; each new one of a training is compiled anew, so that corners change few of them."""
        return Space(
            n=Integer(8, 1, 500, "rows", corners=(8, 8)),
            d=Integer(6, 1, 50, "dimension", corners=(6, 6)),
            steps=Integer(4, 1, 1000, "steps", corners=(3, 5)),
            rate=Real(0.85, 0.1, 0.99, "rate at which rows are sampled", corners=(0.7, 0.95)),
            runs=Integer(800, 20, 100_000, "trainings with the canary, and without", corners=(800, 800)),
            delta=Real(0.05, 1e-12, 0.5, "delta of the privacy", corners=(0.02, 0.06)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AuditedTraining:
        """Rows, a canary of norm 10, noise."""
        row_key, noise_key = jax.random.split(key)
        rows = jax.random.normal(row_key, (setting["n"] + 1, setting["d"]))
        canary = 10 * rows[-1] / jnp.linalg.norm(rows[-1])
        rate, steps = jnp.asarray(setting["rate"]), setting["steps"]
        total = jax.random.uniform(noise_key, minval=0.4, maxval=0.6)
        noise = total * rate * jnp.sqrt(steps)
        return AuditedTraining(rows[:-1], canary, noise, rate, jnp.asarray(setting["delta"]), steps, setting["runs"])

    def hypotheses(self, problem: AuditedTraining) -> list[Hypothesis]:
        """Noise that the numbers can hold."""
        return [Hypothesis("noise", problem.noise, ">", 0.3, "losses of less noise leave the grid")]
