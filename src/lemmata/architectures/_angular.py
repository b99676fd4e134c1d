"""Kernels that depend on two inputs through their norms and their angle alone, as series in the angle."""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._activations import LeakyRelu, Relu
from ._correlation import angle, correlation
from ._dense import Dense
from ._layer import AbstractLayer
from ._parameterization import Parameterization, scales
from ._serial import Serial
from ._state import State

# Points at which a profile is sampled, and so one more than the largest degree that can be told.
_SAMPLES = 192
# What a series may differ from the recursion by, relative to the kernel at angle 0.
ACCURACY = {"float32": 2e-6, "float64": 1e-10}
# Terms of a series that cost as much as one activation of the recursion on a CPU, for each kernel: measured with
# benchmarks/kernels.py, rounded down.
_TERMS_PER_LAYER = {
    ("nngp", "float32"): 8,
    ("nngp", "float64"): 12,
    ("ntk", "float32"): 24,
    ("ntk", "float64"): 36,
}


class _Linear(NamedTuple):
    """A dense layer without bias."""

    weight_std: float
    width: int
    parameterization: Parameterization


class _Bend(NamedTuple):
    """A map that is linear on each side of 0: slope 1 above, this slope below."""

    slope: float


def is_homogeneous(network: AbstractLayer) -> bool:
    """Whether the network is known to be positively homogeneous of degree 1: f(a x) = a f(x) for every a >= 0.

    Then nngp(x, y) and ntk(x, y) are |x| |y| times a function of the angle between x and y alone. Known are `Dense`
    without biases, `Relu`, `LeakyRelu` and `Serial` of those, with settings that are plain finite numbers; the answer
    for any other layer, a subclass of these too, is no.
    """
    return _steps(network) is not None


def _steps(network: AbstractLayer) -> tuple[_Linear | _Bend, ...] | None:
    # The exact types: a subclass may push otherwise.
    step = None
    if isinstance(network, Serial) and type(network) is Serial:
        parts = [_steps(layer) for layer in network.layers]
        known = [part for part in parts if part is not None]
        return tuple(step for part in known for step in part) if len(known) == len(parts) else None
    if isinstance(network, Dense) and type(network) is Dense:
        if _plain(network.weight_std, network.bias_std, network.width) and network.bias_std == 0:
            step = _Linear(float(network.weight_std), network.width, network.parameterization)
    elif isinstance(network, LeakyRelu) and type(network) is LeakyRelu:
        step = _Bend(network.slope) if _plain(network.slope) else None
    elif type(network) is Relu:
        step = _Bend(0.0)
    return None if step is None else (step,)


def _plain(*values: object) -> bool:
    return all(isinstance(value, int | float) and math.isfinite(value) for value in values)


def homogeneous_profile(
    steps: tuple[_Linear | _Bend, ...], fan_in: int, theta: Float[np.ndarray, " p"]
) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
    """Both kernels of inputs of variance |x|²/d = 1 at angles theta: the recursion of `push`, carried in the angle.

    A state that carries the correlation knows a small angle only to eps / theta; here every angle is known to a few
    units of rounding.
    """
    variance, nngp, ntk = 1.0, np.cos(theta), np.zeros_like(theta)
    for step in steps:
        if isinstance(step, _Linear):
            own = scales(step.parameterization, fan_in, step.width, step.weight_std, 0.0)
            ntk = own.gradient * nngp + own.variance * ntk
            variance, nngp, fan_in = own.variance * variance, own.variance * nngp, step.width
            continue
        a = step.slope
        gap = _gap(theta, a)
        ntk = ntk * (0.5 * ((1.0 - a) ** 2 * (1.0 - theta / np.pi) + 2.0 * a))
        variance = 0.5 * (1.0 + a * a) * variance
        nngp, theta = variance * (1.0 - gap), 2.0 * np.arcsin(np.sqrt(0.5 * gap))
    return nngp, ntk


def _gap(theta: Float[np.ndarray, " p"], a: float) -> Float[np.ndarray, " p"]:
    """1 - the correlation after slopes 1 and a, from the angle before; without cancellation at 0 and at pi."""
    # With u = theta below pi / 2 and pi - theta above: kappa1 = cos u + (sin u - u cos u) / pi or its last term alone.
    u = np.minimum(theta, np.pi - theta)
    versine, bow = 2.0 * np.sin(0.5 * u) ** 2, (np.sin(u) - u * np.cos(u)) / np.pi
    bend = (1.0 - a) ** 2
    acute = (1.0 + a * a) * versine - bend * bow
    obtuse = (1.0 + a) ** 2 - 2.0 * a * versine - bend * bow
    return np.clip(np.where(theta < 0.5 * np.pi, acute, obtuse) / (1.0 + a * a), 0.0, 2.0)


def angular_series(
    profile: Callable[[Float[np.ndarray, " p"]], Float[np.ndarray, " p"]],
    accuracy: float,
    rounding: float,
    nearest: float = 1e-9,
) -> tuple[float, ...] | None:
    """Chebyshev coefficients on [0, pi] of a function of the angle; None where they do not reach the accuracy.

    The function is sampled at the Chebyshev nodes, and the series ends with the last coefficient above `rounding`
    times the value at 0. It is then compared with the function at other angles, at 0 and down to `nearest` from the
    ends.
    """
    # The cosines are taken at angles reduced as whole numbers, so that those of high degree are as exact as the others.
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
def _homogeneous_series(
    steps: tuple[_Linear | _Bend, ...], face: str, fan_in: int, dtype: str
) -> tuple[float, ...] | None:
    which = ("nngp", "ntk").index(face)
    profile = lambda theta: homogeneous_profile(steps, fan_in, theta)[which]
    # Every layer rounds: coefficients below that are noise.
    rounding = (2.0 + 0.25 * len(steps)) * np.finfo(np.float64).eps + 2.0 * np.finfo(dtype).eps
    series = angular_series(profile, ACCURACY[dtype], float(rounding))
    in_range = series is not None and max(map(abs, series)) < float(np.finfo(dtype).max) / 16
    return series if in_range else None


def angular_push(network: AbstractLayer, face: str, fan_in: int, dtype: np.dtype) -> Callable[[State], Array] | None:
    """One kernel from the state of the inputs at a cost that does not grow with depth; None where none is cheaper.

    It exists for a homogeneous network whose series costs less than the activations after the first, which share the
    inputs' angle. Derivatives are those of the recursion itself.
    """
    name, steps = np.dtype(dtype).name, _steps(network) or ()
    depth = sum(isinstance(step, _Bend) for step in steps)
    if depth < 2 or name not in ACCURACY:
        return None
    series = _homogeneous_series(steps, face, fan_in, name)
    if series is None or len(series) > _TERMS_PER_LAYER[face, name] * (depth - 1):
        return None
    return by_series(series, lambda state: getattr(network.push(state), face), scaled=True)


def by_series(series: tuple[float, ...], exact: Callable[[State], Array], *, scaled: bool) -> Callable[[State], Array]:
    """The kernel with this series in the angle, times sqrt(xx yy) where `scaled`; its derivatives are those of `exact`.

    A derivative by the correlation would divide by the sine of the angle; that of the recursion is safe where it is 0.
    """

    @jax.custom_jvp
    def value(state: State) -> Array:
        scale, c = correlation(state.nngp, state.xx, state.yy)
        total = clenshaw(series, angle(c) * (2.0 / math.pi) - 1.0)
        return scale * total if scaled else total

    @value.defjvp
    def _value_jvp(primals, tangents):
        return value(*primals), jax.jvp(exact, primals, tangents)[1]

    return value


def clenshaw(series: tuple[float, ...], z: Float[Array, "..."]) -> Float[Array, "..."]:
    """sum_k series[k] T_k(z) by Clenshaw's recurrence."""
    twice = 2.0 * z
    last, total = jnp.zeros_like(z), jnp.full_like(z, series[-1])
    for a in reversed(series[1:-1]):
        last, total = total, twice * total + (a - last)
    return z * total + (series[0] - last)
