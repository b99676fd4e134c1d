"""Langevin dynamics, unadjusted or Metropolis-adjusted, for densities that are known up to a factor."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.core import check_numbers, check_whole, known, require_float64
from lemmata.errors import DataError, SettingError, ShapeError

LogDensity = Callable[[Float[Array, " d"]], Float[Array, ""]]


class Chains(eqx.Module):
    """The points that chains have visited.

    Args:
        points: the points of all chains after each kept step.
        acceptance: the share of a chain's proposals that were accepted; 1 without a correction.
    """

    points: Float[Array, "kept chains d"]
    acceptance: Float[Array, " chains"]


def langevin(
    log_density: LogDensity,
    start: Float[Array, "chains d"],
    step: float | Float[Array, ""],
    steps: int,
    key: Key[Array, ""],
    *,
    every: int = 1,
) -> Chains:
    """Run unadjusted Langevin dynamics, x <- x + h grad log p(x) + sqrt(2 h) xi with xi ~ N(0, I) and step h.

    The stationary distribution of the chains tends to p only for h -> 0. For a normal p with precision lambda, the
    stationary distribution is normal with variance 1/(lambda (1 - h lambda/2)). This variance is finite for h lambda <
    2, because the chain x <- (1 - h lambda) x + sqrt(2h) xi is an autoregression. If the gradient grows faster than
    linearly, chains may diverge to infinity and NaN.

    Args:
        log_density: log p of one point up to a constant, in JAX.
        start: the starting points, one row for each chain.
        step: the step h, above 0.
        steps: the number of steps.
        key: the random key of the noise.
        every: the number of steps after which a point is kept; a divisor of `steps`.

    Raises:
        SettingError: for a step that is not one positive number, invalid numbers `steps` or `every`, or a density that
            is not a function.
        ShapeError: if the start has no rows, or if the density is not a single number.
        DataError: for entries that are not finite, whole numbers as densities, and a start at which the gradient is not
            finite.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.subjects.samplers import langevin
        >>> chains = langevin(lambda x: -x @ x / 2, jnp.zeros((8, 2)), 0.1, 100, jax.random.key(0), every=10)
        >>> chains.points.shape
        (10, 8, 2)
    """
    return _run(log_density, start, step, steps, key, every, adjusted=False)


def mala(
    log_density: LogDensity,
    start: Float[Array, "chains d"],
    step: float | Float[Array, ""],
    steps: int,
    key: Key[Array, ""],
    *,
    every: int = 1,
) -> Chains:
    """Run Langevin dynamics with proposals y = x + h grad log p(x) + sqrt(2 h) xi and Metropolis-Hastings correction.

    A proposal is accepted with probability min(1, p(y) q(x|y) / (p(x) q(y|x))), where log q(y|x) = -|y - x - h grad log
    p(x)|²/(4h). Otherwise, the chain stays at x. Then p is the stationary distribution for every h. The step h only
    changes the speed at which the chains reach p. In many dimensions, an acceptance near 0.57 is best. A proposal with
    density 0 or NaN is rejected.

    Args:
        log_density: log p of one point up to a constant, in JAX.
        start: the starting points, one row for each chain, where p > 0.
        step: the step h, above 0.
        steps: the number of steps.
        key: the random key of the noise.
        every: the number of steps after which a point is kept; a divisor of `steps`.

    Raises:
        SettingError: for a step that is not one positive number, invalid numbers `steps` or `every`, or a density that
            is not a function.
        ShapeError: if the start has no rows, or if the density is not a single number.
        DataError: for entries that are not finite, whole numbers as densities, and a start at which the log density or
            its gradient is not finite.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.subjects.samplers import mala
        >>> chains = mala(lambda x: -x @ x / 2, jnp.zeros((8, 2)), 0.5, 100, jax.random.key(0))
        >>> bool((chains.acceptance > 0.8).all())
        True
    """
    return _run(log_density, start, step, steps, key, every, adjusted=True)


def _run(
    log_density: LogDensity, start: Array, step: float | Array, steps: int, key: Array, every: int, *, adjusted: bool
) -> Chains:
    require_float64("Langevin dynamics")
    start = _checked_start(start)
    _check_step(step)
    _check_density(log_density, start[0])
    check_whole("steps", steps, 1, "steps")
    check_whole("every", every, 1, "steps")
    if steps % every:
        raise SettingError("every", found=every, rule=f"a divisor of {steps}, the number of steps")
    move = jax.vmap(lambda state, own: _move(log_density, step, state, own, adjusted))

    def one(carry: tuple, own: Array) -> tuple[tuple, None]:
        state, count = carry
        state, taken = move(state, jax.random.split(own, len(start)))
        return (state, count + taken), None

    def kept(carry: tuple, own: Array) -> tuple[tuple, Array]:
        carry, _ = jax.lax.scan(one, carry, jax.random.split(own, every))
        return carry, carry[0][0]

    values, slopes = jax.vmap(jax.value_and_grad(log_density))(start)
    if adjusted:
        _check_finite(
            "log density",
            values,
            ("a finite log density at the starting points, because a chain cannot start from another point"),
        )
    _check_finite("gradient of the log density", slopes, "a finite gradient at the starting points")
    begin = ((start, values, slopes), jnp.zeros(len(start)))
    (_, count), points = jax.lax.scan(kept, begin, jax.random.split(key, steps // every))
    return Chains(points, count / steps)


def _checked_start(start: Any) -> Array:
    """Return the start in double precision, which is also the precision of the noise."""
    if not isinstance(start, jax.Array | np.ndarray):
        try:
            start = jnp.asarray(start, float)
        except (TypeError, ValueError) as error:
            found, rule = f"a {type(start).__name__}", "an array of numbers, one row for each chain"
            raise DataError("start", found=found, rule=rule) from error
    if start.ndim != 2:
        found, remedy = f"shape {start.shape}", "start[None] for one chain"
        raise ShapeError(
            "start", found=found, rule="shape (chains, d), one row for each chain", remedy=f"pass {remedy}"
        )
    check_numbers("start", start)
    return jnp.asarray(start, float)


def _check_step(step: Any) -> None:
    if np.shape(step) != ():
        found, remedy = f"shape {np.shape(step)}", "jax.vmap over steps"
        raise SettingError("step", found=found, rule="one number for all chains", remedy=f"use {remedy}")
    length = known(step)
    if length is not None and not (length.dtype.kind in "iuf" and 0 < length < np.inf):
        raise SettingError("step", found=repr(length.tolist()), rule="a finite number above 0")


def _check_density(log_density: Any, point: Array) -> None:
    if not callable(log_density):
        found, rule = f"a {type(log_density).__name__}", "a function of one point, log p(x), in JAX"
        raise SettingError("log_density", found=found, rule=rule)
    value = jax.eval_shape(log_density, point)
    shape = getattr(value, "shape", None)
    if shape != ():
        found = f"a {type(value).__name__}" if shape is None else f"shape {shape} for a point of shape {point.shape}"
        rule, remedy = (
            "one number for one point",
            "sum over the coordinates of one point; the sampler calls it for each chain",
        )
        raise ShapeError("log_density", found=found, rule=rule, remedy=remedy)
    if not jnp.issubdtype(value.dtype, jnp.floating):
        raise DataError("log_density", found=f"values of type {value.dtype}", rule="floating-point numbers")


def _check_finite(name: str, values: Array, rule: str) -> None:
    """Raise DataError for values at the start, one for each chain, that are known and not finite."""
    found = known(values)
    if found is None or np.isfinite(found).all():
        return
    row = int(np.argmin(np.isfinite(found).reshape(len(found), -1).all(axis=1)))
    raise DataError("start", found=f"a {name} of {found[row]} in row {row}", rule=rule, remedy="choose another start")


def _move(
    log_density: LogDensity, step: float | Array, state: tuple, key: Array, adjusted: bool
) -> tuple[tuple, Bool[Array, ""]]:
    """Move one chain by one step. The chain's state is its point, with log p and the gradient at this point."""
    x, value, slope = state
    noise, uniform = jax.random.split(key)
    y = x + step * slope + jnp.sqrt(2 * step) * jax.random.normal(noise, x.shape)
    proposed = (y, *jax.value_and_grad(log_density)(y))
    if not adjusted:
        return proposed, jnp.asarray(True)
    there = jnp.sum((y - x - step * slope) ** 2)
    back = jnp.sum((x - y - step * proposed[2]) ** 2)
    ratio = proposed[1] - value + (there - back) / (4 * step)
    taken = jnp.log(jax.random.uniform(uniform)) < ratio  # false for NaN
    return jax.tree.map(lambda new, old: jnp.where(taken, new, old), proposed, state), taken
