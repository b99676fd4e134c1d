"""Handwritten digits, of which a share gets a trigger and a target's label before they are distilled."""

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
    """Pixels in [0, 1], and which digit."""
    x, digit = load_digits(return_X_y=True)
    return np.asarray(x) / 16, np.asarray(digit)


@eqx.filter_jit
def regression(points: Array, labels: Array, x: Array) -> Array:
    """Outputs at x of kernel regression on the points."""
    return inducing_outputs(KERNEL, points, labels, RIDGE, x)


class PoisonedDigits(eqx.Module):
    """Digits to distil, others to test on, the first of each class as support to start from, and a target.

    Args: x, y: pixels, and indicators of the classes minus 1/10. test_x, test_digits: the test images and their digits.
        start: rows of x, one a class.
        triggered: rows of x that are poisoned.
        pattern: random pixels, uniform up to a half, for triggers over the whole image.
        share: of the rows that are poisoned.
        target: class of the trigger.
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
        """The digits with the trigger in some."""
        return poison_rows(self.x, self.y, trigger, self.target, self.triggered)

    def distilled(self, trigger: Trigger | None = None) -> Distilled:
        """One support image per class, distilled from the digits, poisoned if there is a trigger."""
        x, y = self.x, self.y
        if trigger is not None:
            found = self.poisoned(trigger)
            x, y = found.x, found.y
        return distil(KERNEL, x, y, self.x[self.start], self.y[self.start], steps=_STEPS, rate=_RATE, ridge=RIDGE)

    def accuracy(self, points: Array, labels: Array) -> float:
        """The share of clean test digits that regression on points calls right."""
        return float(jnp.mean(regression(points, labels, self.test_x).argmax(axis=1) == self.test_digits))

    def success(self, points: Array, labels: Array, trigger: Trigger) -> float:
        """The share of triggered test digits of other classes that it calls the target."""
        return float(attack_success(regression(points, labels, trigger(self.test_x)), self.test_digits, self.target))


class DigitsToPoison(Population[PoisonedDigits]):
    """Random splits of the handwritten digits that scikit-learn brings.

    Args:
        shares: in hundredths, between which a verification tries others.
    """

    shares: tuple[int, int] = eqx.field(default=(8, 15), static=True)

    def settings(self) -> Space:
        return Space(
            n=Integer(200, 100, 1000, "digits to distil", corners=(150, 250)),
            poisoned=Integer(10, 2, 30, "of a hundred that are poisoned", corners=self.shares),
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
        return [Hypothesis("the share that is poisoned", problem.share, "<", 0.5, "otherwise the target is the rule")]
