"""Handwritten digits. Before distillation, a share of the digits gets a trigger and the label of the target class."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key
from sklearn.datasets import load_digits

from lemmata.architectures import TangentKernel, relu_network
from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.subjects.adversaries import (
    Distilled,
    Poisoned,
    Trigger,
    attack_success,
    distil,
    inducing_outputs,
    poison_rows,
)

KERNEL = TangentKernel(relu_network(1, bias_std=0.1))
"""The tangent kernel of a ReLU network with one hidden layer."""
SHAPE = (8, 8)
RIDGE = 1e-6
_STEPS, _RATE = 100, 0.02
_TESTED = 400


@functools.cache
def digits() -> tuple[Float[np.ndarray, "n 64"], Int[np.ndarray, " n"]]:
    """The images of scikit-learn's handwritten digits with pixels in [0, 1], and the digit of each image."""
    x, digit = load_digits(return_X_y=True)
    return np.asarray(x) / 16, np.asarray(digit)


@eqx.filter_jit
def regression(points: Array, labels: Array, x: Array) -> Array:
    """The outputs at x of kernel regression on points with labels."""
    return inducing_outputs(KERNEL, points, labels, RIDGE, x)


class PoisonedDigits(eqx.Module):
    """Digits to distil, test digits, the first digit of each class as an initial support point, and a target class.

    Args:
        x, y: pixels, and indicators of the classes minus 1/10.
        test_x, test_digits: the test images and their digits.
        start: the row numbers in x of the initial support points, one for each class.
        triggered: the mark of each row of x that is poisoned.
        pattern: random pixels, uniform between 0 and 1/2, for triggers over the whole image.
        share: the share of the rows that are poisoned.
        target: the class that the trigger should cause.
    """

    x: Float[Array, "n 64"]
    y: Float[Array, "n 10"]
    test_x: Float[Array, "t 64"]
    test_digits: Int[Array, " t"]
    start: Int[Array, " 10"]
    triggered: Bool[Array, " n"]
    pattern: Float[Array, " 64"]
    share: float = eqx.field(static=True)
    target: int = eqx.field(default=0, static=True)

    def poisoned(self, trigger: Trigger) -> Poisoned:
        """Return the digits, in which the poisoned digits have the trigger and the label of the target class."""
        return poison_rows(self.x, self.y, trigger, self.target, self.triggered)

    def distilled(self, trigger: Trigger | None = None) -> Distilled:
        """Distil the digits into one support image per class. If a trigger is given, the digits are poisoned first."""
        x, y = self.x, self.y
        if trigger is not None:
            found = self.poisoned(trigger)
            x, y = found.x, found.y
        return distil(KERNEL, x, y, self.x[self.start], self.y[self.start], steps=_STEPS, rate=_RATE, ridge=RIDGE)

    def accuracy(self, points: Array, labels: Array) -> float:
        """The share of clean test digits that regression on the points classifies correctly."""
        return float(jnp.mean(regression(points, labels, self.test_x).argmax(axis=1) == self.test_digits))

    def success(self, points: Array, labels: Array, trigger: Trigger) -> float:
        """The share of triggered test digits of other classes that the regression assigns to the target class."""
        return float(attack_success(regression(points, labels, trigger(self.test_x)), self.test_digits, self.target))


class DigitsToPoison(Population[PoisonedDigits]):
    """Random splits of scikit-learn's handwritten digits.

    Args:
        shares: the range of the percentage of poisoned digits in settings other than the default.
    """

    shares: tuple[int, int] = eqx.field(default=(8, 15), static=True)

    def settings(self) -> Space:
        return Space(
            n=Integer(200, 100, 1000, "digits to distil", corners=(150, 250)),
            poisoned=Integer(10, 2, 30, "percentage of digits that are poisoned", corners=self.shares),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> PoisonedDigits:
        order_key, key = jax.random.split(key)
        x, digit = digits()
        rows = np.asarray(jax.random.permutation(order_key, len(x)))[: setting["n"] + _TESTED]
        own, other = rows[: setting["n"]], rows[setting["n"] :]
        start = np.array([np.flatnonzero(digit[own] == c)[0] for c in range(10)])
        y = np.eye(10)[digit[own]] - 0.1
        rows_of = (jnp.asarray(x[own]), jnp.asarray(y), jnp.asarray(x[other]), jnp.asarray(digit[other]))
        share = setting["poisoned"] / 100
        triggered = (
            jnp.zeros(len(own), bool).at[jax.random.permutation(key, len(own))[: round(share * len(own))]].set(True)
        )
        pattern = jax.random.uniform(jax.random.fold_in(key, 1), x.shape[1:]) / 2
        return PoisonedDigits(*rows_of, jnp.asarray(start), triggered, pattern, share)

    def hypotheses(self, problem: PoisonedDigits) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the share of poisoned digits is below 1/2",
                problem.share,
                "<",
                0.5,
                "otherwise most digits have the label of the target class",
            )
        ]
