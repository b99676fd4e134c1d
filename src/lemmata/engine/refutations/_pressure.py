"""The pressure of a trial: a number that says how near the trial is to a contradiction of the claim.

A search for counterexamples changes problems so that the pressure rises.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.engine.claims import ROUNDING, AtLeast, AtMost, Claim, Equal, Hypothesis, Sample, Witness

_TINY = 1e-300
_LEAST = 1e-15


def searchable(claim: Claim) -> bool:
    """Whether one trial alone can contradict the claim.

    One trial is enough for an identity, and for bounds and constructions without a failure probability.
    """
    relation = claim.relation
    if isinstance(relation, AtMost | AtLeast):
        return relation.delta == 0
    return isinstance(relation, Equal) or (isinstance(relation, Witness) and relation.probability == 1.0)


def pressure(claim: Claim, predicted: Array, measured: Array, condition: Array) -> Float[Array, ""]:
    """The logarithm of measured over predicted, in the component that is nearest to a contradiction.

    For lower bounds, the pressure is the logarithm of predicted over measured. For an identity, it is the logarithm of
    the gap in units of the rounding error. If the bound is not positive, or if the bounded value is negative, the
    pressure is the difference of the two values divided by the sum of their moduli. If the pressure is above 0, the
    statement fails, up to rounding.
    """
    above, below = (measured, predicted) if not isinstance(claim.relation, AtLeast | Witness) else (predicted, measured)
    size = jnp.maximum(jnp.abs(above), jnp.abs(below))
    if isinstance(claim.relation, Equal):
        wide = condition.reshape(condition.shape + (1,) * (size.ndim - condition.ndim))
        gap = jnp.abs(above - below) / (ROUNDING * wide * size + _TINY)
        return jnp.max(jnp.log(gap + _TINY))
    # A measurement of 0 under a positive bound is far from a violation. So a ratio below _LEAST has no slope.
    both = (above >= 0) & (below > 0)
    ratio = jnp.log(jnp.maximum(jnp.where(both, above, 1.0) / jnp.where(both, below, 1.0), _LEAST))
    apart = (above - below) / (jnp.abs(above) + jnp.abs(below) + _TINY)
    return jnp.max(jnp.where(both, ratio, apart))


def pressures(claim: Claim, predicted: np.ndarray, measured: np.ndarray, condition: np.ndarray) -> np.ndarray:
    """The pressure of each of many trials; -inf if the pressure is not a number."""
    found = jax.vmap(lambda *one: pressure(claim, *one))(*map(jnp.asarray, (predicted, measured, condition)))
    return np.nan_to_num(np.asarray(found), nan=-np.inf, posinf=np.inf)


def contradicts(claim: Claim, predicted: Any, measured: Any, condition: Any) -> bool:
    """Whether one trial contradicts the claim beyond rounding, by the relation's own rule."""
    rows = [np.asarray(value, float)[None] for value in (predicted, measured, condition)]
    if not all(np.isfinite(row).all() for row in rows[:2]):
        return False
    with np.errstate(invalid="ignore"):  # a bound and a measurement may be the same infinity
        return claim.relation.compare(Sample(*rows)) is False  # pyright: ignore[reportArgumentType]


def margins(hypotheses: list[Hypothesis], without: str | None = None) -> Float[Array, " k"]:
    """The margins of the conditions that can be checked. A condition that fails only by rounding has the margin 0."""
    own = [hypothesis for hypothesis in hypotheses if hypothesis.checkable and hypothesis.name != without]
    if not own:
        return jnp.zeros(0)
    slack = [jnp.where(hypothesis.holds, jnp.maximum(hypothesis.margin, 0.0), hypothesis.margin) for hypothesis in own]
    return jnp.concatenate([jnp.ravel(value) for value in slack])


def allowed(hypotheses: list[Hypothesis], without: str | None = None) -> bool:
    """Whether every condition holds, except the condition `without`, which is ignored."""
    own = [hypothesis for hypothesis in hypotheses if hypothesis.checkable and hypothesis.name != without]
    return all(bool(np.all(hypothesis.holds)) and not np.any(hypothesis.undefined) for hypothesis in own)
