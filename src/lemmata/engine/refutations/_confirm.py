"""Check whether a candidate is a counterexample, by new random keys and an estimate of rounding errors.

The rounding slack of a hypothesis is the amount by which its condition may fail and still count as satisfied.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from lemmata.engine.claims import COMPILER, Claim, measured

from ._precise import DIGITS, precisely
from ._pressure import allowed, contradicts
from ._problem import Facts, Place, facts

_FRESH = 32
_SHAKEN = 8
_SAFE = 4.0
_NUMBERS = 400  # the largest number of numbers in a problem that is evaluated in many digits
_EPS = float(np.finfo(float).eps)


def confirm(claim: Claim, place: Place, without: str | None = None) -> str | None:
    """A description of how a candidate was confirmed; None if the candidate was not confirmed.

    The candidate is evaluated again, operation by operation. The candidate is then measured again with other keys, and
    with inputs that are changed by one rounding error each. The contradiction must be larger than four times the change
    that these rounding errors cause. The rounding slack of the hypotheses must not explain the contradiction.
    """
    problem, key = place.problem(claim), place.keys(claim)[1]
    own = facts(claim, problem, key)
    if not (allowed(own.hypotheses, without) and contradicts(claim, own.predicted, own.measured, own.condition)):
        return None
    if _leans(own, without):
        return None
    both = _both(claim, problem)
    again = 0
    for number in range(_FRESH):
        other = both(problem, jax.random.fold_in(key, 1000 + number))[1]
        again += contradicts(claim, own.predicted, other, own.condition)
    if not again:
        return None
    shift = _rounding(both, problem, key)
    if shift is None:
        return None
    said = (
        f"confirmed by a float64 computation, operation by operation; by {again} of {_FRESH} measurements with other "
        "random keys; and with inputs perturbed by rounding errors, which change the difference by a fraction "
        f"{shift:.2g}"
    )
    many = _in_many_digits(claim, problem, key)
    if many is None:
        return said
    if not contradicts(claim, many[0], many[1], own.condition):
        return None
    return f"{said}; also confirmed in {DIGITS} digits"


def _leans(own: Facts, without: str | None) -> bool:
    """Whether the rounding slack of hypotheses explains a contradiction.

    Some hypotheses may hold only because of their slack. A bound that changes like a square root at the limit of such a
    hypothesis can move by the square root of the slack. The result is True if the contradiction is at most this large.
    """
    slack = [
        h.rounding for h in own.hypotheses if h.checkable and h.name != without and np.any(np.asarray(h.margin) < 0)
    ]
    if not slack:
        return False
    apart = np.abs(np.asarray(own.measured, float) - np.asarray(own.predicted, float))
    size = np.maximum(np.abs(own.measured), np.abs(own.predicted))
    return bool(np.nanmax(apart / np.where(size > 0, size, 1.0)) <= np.sqrt(max(slack)))


def _in_many_digits(claim: Claim, problem: object, key: jax.Array) -> list[np.ndarray] | None:
    """Prediction and measurement with 50 digits; None if this is not possible.

    50 digits are impossible if the claim is not written in JAX, the problem is too large, or an operation has no
    version for many digits.
    """
    if not claim.traced:
        return None
    arrays, rest = eqx.partition(problem, eqx.is_array)

    def both(arrays: object) -> tuple[jax.Array, jax.Array]:
        whole = eqx.combine(arrays, rest)
        return jnp.asarray(claim.predict(whole), float), measured(claim, whole, key)

    size = sum(leaf.size for leaf in jax.tree.leaves(arrays))
    if size > _NUMBERS:
        return None
    try:
        return precisely(both, arrays)
    except Exception:  # an operation may raise any error on numbers for which it was not made
        return None


def _both(claim: Claim, problem: object) -> Callable[[object, jax.Array], tuple[np.ndarray, np.ndarray]]:
    """A function from problems of one shape to prediction and measurement, compiled if the claim is written in JAX."""
    rest = eqx.partition(problem, eqx.is_array)[1]

    def evaluated(arrays: object, key: jax.Array) -> tuple[jax.Array, jax.Array]:
        whole = eqx.combine(arrays, rest)
        return jnp.asarray(claim.predict(whole), float), measured(claim, whole, key)

    run = jax.jit(evaluated, compiler_options=COMPILER) if claim.traced else evaluated

    def both(problem: object, key: jax.Array) -> tuple[np.ndarray, np.ndarray]:
        predicted, found = run(eqx.filter(problem, eqx.is_array), key)
        return np.asarray(predicted), np.asarray(found)

    return both


def _rounding(
    both: Callable[[object, jax.Array], tuple[np.ndarray, np.ndarray]], problem: object, key: jax.Array
) -> float | None:
    """The change of the largest |predicted - measured| if the inputs are rounded differently, relative to its size.

    The result is None if `_SAFE` times the change is at least as large as the difference, so that rounding may explain
    it.
    """
    difference = np.subtract(*both(problem, key))
    at = int(np.nanargmax(np.abs(difference)))
    largest = float(np.abs(difference.ravel()[at]))
    moved, rng = 0.0, np.random.default_rng(0)
    for _ in range(_SHAKEN):
        other = np.subtract(*both(shaken(problem, rng), key))
        moved = max(moved, abs(float(other.ravel()[at] - difference.ravel()[at])))
    return moved / largest if _SAFE * moved < largest else None


def shaken(problem: object, rng: np.random.Generator) -> object:
    """The problem with every floating-point number moved by one rounding error. Whole numbers are not changed."""

    def move(leaf: jax.Array) -> jax.Array:
        value = np.asarray(leaf)
        signs = rng.choice([-1.0, 1.0], size=value.shape) * (value != np.round(value))
        return jnp.asarray(value * (1 + _EPS * signs))

    arrays, rest = eqx.partition(problem, eqx.is_inexact_array)
    return eqx.combine(jax.tree.map(move, arrays), rest)
