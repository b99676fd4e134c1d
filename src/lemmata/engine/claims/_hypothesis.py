"""A hypothesis of a theorem, evaluated on a problem, with value, threshold and margin."""

import enum

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

RELATIONS = ("<=", "<", ">=", ">", "==")


class Standing(enum.StrEnum):
    """Whether a hypothesis has a value on a problem, is not checked, or is known to be false."""

    CHECKED = "checked"
    UNCHECKED = "unchecked"
    VIOLATED = "violated"


class Hypothesis(eqx.Module):
    """One condition of a theorem, with its value on a problem.

    Args:
        name: the condition in words ("inputs lie in the unit ball").
        value: the value that was found, a number.
        relation: how value and threshold must compare: <=, <, >=, >, ==.
        threshold: the number that the theorem requires.
        why: the reason for the condition, or why it cannot be checked.
        rounding: slack for rounding, relative to the larger of |value| and |threshold|.
        standing: whether the condition has a value (checked), is not checked, or is known to be false (violated). For
            the last two, use `Hypothesis.unchecked` and `Hypothesis.violated`.
    """

    name: str = eqx.field(static=True)
    value: Array = eqx.field(converter=jnp.asarray)
    relation: str = eqx.field(static=True)
    threshold: Array = eqx.field(converter=jnp.asarray)
    why: str = eqx.field(static=True, default="")
    rounding: float = eqx.field(static=True, default=1e-12)
    standing: Standing = eqx.field(static=True, default=Standing.CHECKED)

    @classmethod
    def unchecked(cls, name: str, why: str) -> "Hypothesis":
        """A condition that cannot be checked on data, with the reason. Such a condition never counts as failed."""
        return cls(name, jnp.nan, "==", jnp.nan, why, standing=Standing.UNCHECKED)

    @classmethod
    def violated(cls, name: str, why: str) -> "Hypothesis":
        """A condition that is known to be false on these problems, with the reason for testing them nevertheless.

        A claim with such a condition is judged outside its theorem's hypotheses, and its verdict says so.
        """
        return cls(name, jnp.nan, "==", jnp.nan, why, standing=Standing.VIOLATED)

    def __check_init__(self):
        if self.relation not in RELATIONS:
            raise ValueError(f"relation {self.relation!r} of hypothesis '{self.name}' is not one of {RELATIONS}")

    @property
    def checkable(self) -> bool:
        """Whether the condition has a value on this problem."""
        return self.standing is Standing.CHECKED

    @property
    def undefined(self) -> Array:
        """Whether value or threshold is NaN. Then the hypothesis cannot be decided, and the trial fails."""
        if not self.checkable:
            return jnp.zeros(self.value.shape, bool)
        return jnp.isnan(self.value) | jnp.isnan(self.threshold)

    @property
    def margin(self) -> Array:
        """The signed relative distance to the threshold, which is negative if the condition fails.

        The margin is (threshold - value) / max(|value|, |threshold|) for <=, minus this ratio for >=, and minus its
        modulus for ==. The margin is 1 or -1 if value or threshold is infinite.
        """
        scale = jnp.maximum(jnp.abs(self.value), jnp.abs(self.threshold))
        equal = self.value == self.threshold
        finite = jnp.where(jnp.isfinite(scale) & (scale > 0), scale, 1.0)
        apart = jnp.where(
            jnp.isinf(scale), jnp.sign(self.threshold - self.value), (self.threshold - self.value) / finite
        )
        difference = jnp.where(equal, 0.0, apart)
        if self.relation == "==":
            return -jnp.abs(difference)
        return difference if self.relation in ("<=", "<") else -difference

    @property
    def holds(self) -> Array:
        """Whether the condition holds; true if it is not checked. Strict relations need a positive margin."""
        if not self.checkable:
            return jnp.ones(self.value.shape, bool)
        return self.margin > 0 if self.relation in ("<", ">") else self.margin >= -self.rounding
