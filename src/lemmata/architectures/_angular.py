"""Chebyshev series in the angle, for kernels that depend on two inputs only through their norms and their angle."""

import functools
import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._correlation import safe_sqrt
from ._homogeneous import Steps, homogeneous_profile, homogeneous_steps
from ._layer import AbstractLayer
from ._state import State, versine_of
from ._versine import angle_of

# The number of points at which a profile is sampled: one more than the largest degree that can be determined.
_SAMPLES = 192
# the allowed difference of a series from the recursion, divided by the kernel at angle 0
ACCURACY = {"float32": 2e-6, "float64": 1e-10}
# The number of terms of a series that cost as much as one activation of the recursion on a CPU, for each kernel. The
# number was measured with benchmarks/kernels.py and rounded down.
_TERMS_PER_LAYER = {
    ("nngp", "float32"): 8,
    ("nngp", "float64"): 12,
    ("ntk", "float32"): 24,
    ("ntk", "float64"): 36,
}


def angular_series(
    profile: Callable[[Float[np.ndarray, " p"]], Float[np.ndarray, " p"]],
    accuracy: float,
    rounding: float,
    nearest: float = 1e-9,
) -> tuple[float, ...] | None:
    """Return Chebyshev coefficients of the function `profile` of the angle on [0, pi], or None if too inaccurate.

    The function is sampled at the Chebyshev nodes. The series ends with the last coefficient above `rounding` times the
    function's value at angle 0. The series is then compared with the function at angle 0 and at other angles, which
    come as close as `nearest` to 0 and pi. If the largest difference is above `accuracy` times the value at angle 0,
    the result is None.
    """
    # The angles are reduced as whole numbers before the cosine is taken. So cosines of high degree are as accurate as
    # cosines of low degree.
    odd = 2 * np.arange(_SAMPLES) + 1
    values = profile(0.5 * np.pi * (1.0 + np.cos(odd * (0.5 * np.pi / _SAMPLES))))
    turns = np.outer(np.arange(_SAMPLES), odd) % (4 * _SAMPLES)
    series = np.cos(turns * (0.5 * np.pi / _SAMPLES)) @ values * (2.0 / _SAMPLES)
    series[0] *= 0.5
    near = np.geomspace(nearest, 0.5, 40)
    others = np.concatenate([[0.0], near, np.linspace(0.5, np.pi - 0.5, 120), np.pi - near])
    expected = profile(others)
    size = abs(expected[0])
    if not (np.isfinite(values).all() and np.isfinite(expected).all() and size > 0):
        return None
    kept = series[: max(2, 1 + int(np.max(np.flatnonzero(np.abs(series) > rounding * size), initial=0)))]
    error = np.max(np.abs(np.polynomial.chebyshev.chebval(2.0 * others / np.pi - 1.0, kept) - expected))
    return tuple(float(a) for a in kept) if len(kept) < _SAMPLES // 2 and error <= accuracy * size else None


@functools.lru_cache(maxsize=256)
def _homogeneous_series(steps: Steps, face: str, fan_in: int, dtype: str) -> tuple[float, ...] | None:
    which = ("nngp", "ntk").index(face)
    profile = lambda theta: homogeneous_profile(steps, fan_in, theta)[which]
    # Every layer rounds, so coefficients below this size are noise.
    rounding = (2.0 + 0.25 * len(steps)) * np.finfo(np.float64).eps + 2.0 * np.finfo(dtype).eps
    series = angular_series(profile, ACCURACY[dtype], float(rounding))
    in_range = series is not None and max(map(abs, series)) < float(np.finfo(dtype).max) / 16
    return series if in_range else None


def angular_push(network: AbstractLayer, face: str, fan_in: int, dtype: np.dtype) -> Callable[[State], Array] | None:
    """Return a function that computes one kernel from the moments of the inputs by a series in the angle, or None.

    Here, `face` is "nngp" or "ntk", the kernel that is computed. The result is None if the series is not cheaper than
    the recursion, which applies `push` of every layer.

    The cost of the series does not grow with depth. The series is used for a positively homogeneous network (see
    `is_homogeneous`) if evaluating the series costs less than all activations after the first one.
    """
    name, steps = np.dtype(dtype).name, homogeneous_steps(network) or ()
    depth = sum(step.bends for step in steps)
    if depth < 2 or name not in ACCURACY:
        return None
    series = _homogeneous_series(steps, face, fan_in, name)
    if series is None or len(series) > _TERMS_PER_LAYER[face, name] * (depth - 1):
        return None
    return by_series(series, scaled=True)


def by_series(series: tuple[float, ...], *, scaled: bool) -> Callable[[State], Array]:
    """Return a function from a `State` to the kernel: the series in the angle, times sqrt(xx yy) if `scaled`."""

    def value(state: State) -> Array:
        total = clenshaw(series, angle_of(state.nngp, versine_of(state)) * (2.0 / math.pi) - 1.0)
        return safe_sqrt(state.xx) * safe_sqrt(state.yy) * total if scaled else total

    return value


def clenshaw(series: tuple[float, ...], z: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return sum_k series[k] T_k(z) with the Chebyshev polynomials T_k, by Clenshaw's recurrence."""
    twice = 2.0 * z
    last, total = jnp.zeros_like(z), jnp.full_like(z, series[-1])
    for a in reversed(series[1:-1]):
        last, total = total, twice * total + (a - last)
    return z * total + (series[0] - last)
