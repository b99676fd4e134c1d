"""Sampled regressions with a kernel: random rows, a target in the kernel's Hilbert space, and noise."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import KERNEL, NOISE, sampled_regression
from lemmata.engine.problems.singular import singular_cause


class KernelRegressions(Population[Regression]):
    """Standard normal rows in five dimensions, a random target in the kernel's Hilbert space, and normal noise.

    Args:
        rows: the setting of the number of training rows, with its default and range.
        held_out: the number of held-out rows for each training row. 0 means that there is only one held-out row.
        ridge: the setting of the ridge on the diagonal of the Gram matrix, with its default and range.
        noise: the setting of the noise's standard deviation, with its default and range.
        kernel: the setting that names the kernel.
    """

    rows: Integer = eqx.field(static=True)
    held_out: int = eqx.field(static=True, default=0)
    ridge: Real = eqx.field(static=True, default=Real(0.1, 1e-6, 1e6, "ridge on the diagonal"))
    noise: Real = eqx.field(static=True, default=NOISE)
    kernel: Choice = eqx.field(static=True, default=KERNEL)

    def settings(self) -> Space:
        return Space(n=self.rows, ridge=self.ridge, noise=self.noise, kernel=self.kernel)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Regression:
        return sampled_regression(key, t=self.held_out * setting["n"] or 1, d=5, **setting)

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        return []

    def culprit(self, problem: Regression) -> str | None:
        """The likely cause if K + ridge I is singular: the ridge is too small to separate equal rows."""
        return singular_cause(problem.gram + problem.ridge * jnp.eye(len(problem.y)), problem.x)
