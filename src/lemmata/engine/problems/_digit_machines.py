"""Handwritten digits for machines: few rows to learn from, others to be called."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from sklearn.datasets import load_digits

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.subjects.machines import deep_kernel_machine

_NOISE, _TESTED = 0.1, 500


@functools.cache
def digits() -> tuple[Float[np.ndarray, "n 64"], Int[np.ndarray, " n"]]:
    """All rows, centred and of mean square 1, and their classes."""
    x, classes = map(np.asarray, load_digits(return_X_y=True))
    x = x - x.mean(axis=0)
    return x / np.sqrt(np.mean(x**2)), classes


class DigitMachine(eqx.Module):
    """Rows of digits.

    Args:
        x: rows to learn from, then those to be called.
        y: indicators of the ten classes, centred and of mean square 1, of all rows.
        rows: to learn from.
    """

    x: Float[np.ndarray, "n 64"]
    y: Float[np.ndarray, "n 10"]
    rows: int = eqx.field(static=True)

    def _wrong(self, outputs: np.ndarray) -> float:
        return float(np.mean(outputs.argmax(axis=1) != self.y[self.rows :].argmax(axis=1)))

    def errors(self, nu: float) -> tuple[float, float]:
        """Mean square error and share of wrong classes on the other rows, of one learned layer."""
        gram, n = self.x @ self.x.T / 64 + 1, self.rows
        known = jnp.asarray(gram[:n, :n]), jnp.asarray(self.y[:n])
        machine = deep_kernel_machine(*known, nu=nu, noise=_NOISE)
        found = np.asarray(machine.predict(jnp.asarray(gram[:n, n:]), jnp.asarray(np.diag(gram)[n:])))
        return float(np.mean((found - self.y[n:]) ** 2)), self._wrong(found)


class DigitMachines(Population[DigitMachine]):
    """Random rows."""

    def settings(self) -> Space:
        """Sizes."""
        return Space(rows=Integer(30, 20, 1200, "rows to learn from", corners=(30, 30)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> DigitMachine:
        """A permutation, cut."""
        x, classes = digits()
        chosen = np.asarray(jax.random.permutation(key, len(x)))[: setting["rows"] + _TESTED]
        y = (np.eye(10)[classes[chosen]] - 0.1) / 0.3
        return DigitMachine(x[chosen], y, setting["rows"])

    def hypotheses(self, problem: DigitMachine) -> list[Hypothesis]:
        """Rows to be called."""
        rest = len(problem.x) - problem.rows
        return [Hypothesis("rows to be called", rest, ">", 0, "else nothing is measured")]
