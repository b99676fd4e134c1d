"""Kernels of smooth networks as sums of products: a factor for each of the two norms, and a factor for the angle.

The table replaces the recursion, which applies `push` of every layer. An argument `face` is "nngp" for the covariance
of the outputs, or "ntk" for the tangent kernel.
"""

import functools
import operator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.fft import dct

from lemmata.errors import SettingError

from ._layer import AbstractLayer
from ._numpy_smooth import numpy_smooth, versine_at
from ._serial import Serial, parts, through_parts
from ._state import INPUTS, State, far_moments, matrix_state, versine_of
from ._versine import NEAR, sign_of

# The largest total difference of a table from the recursion, and the part that each truncation of a series or rank may
# omit. Both numbers are relative to the roots of the kernel at the two inputs with themselves.
ACCURACY, _LEFT_OUT = {"float32": 1e-6, "float64": 1e-12}, {"float32": 5e-8, "float64": 5e-14}
# numbers of nodes in each norm and in the angle, for a first try, and for a second if the first is not accurate enough
_NODES = ((12, 96), (24, 192))
# the ends of the range of log |x|²/d are whole multiples of this number, so that similar sets of rows share a table
_STEP = 0.125
# the multiplications for a pair that cost less than one activation of the recursion; measured by benchmarks/kernels.py
_PRODUCTS_PER_LAYER = 200
# the number of first points that are checked for nearly parallel pairs
_LOOKED_AT = 64
# a matrix of fewer pairs costs less than a table
_PAIRS = 2**20


class NormTable(eqx.Module):
    r"""The kernel K(x, y) = size(a) size(b) sum_k T_k(c) sum_rs core_krs u_r(a) u_s(b).

    Here, a = |x|²/d, b = |y|²/d, and c is the correlation.

    T_k are Chebyshev polynomials. The u_r and the logarithm of `size` are sums of Chebyshev polynomials of log a.

    Attributes:
        core: the coefficients core_krs, with axes k, r and s.
        basis: Chebyshev coefficients of the u_r, one in each column.
        size: Chebyshev coefficients of log size.
        middle: the middle of the range of norms, on the scale of a.
        half: half of the length of the range of log a.
    """

    core: Float[Array, "k r r"]
    basis: Float[Array, "t r"]
    size: Float[Array, " p"]
    middle: Float[Array, ""]
    half: Float[Array, ""]

    def __call__(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        """Return the kernel of all pairs."""
        return self.value(matrix_state(x, y))

    def value(self, state: State) -> Float[Array, "..."]:
        """Return the kernel of all pairs of the state."""
        return self.series(state.xx, state.yy, versine_of(state), sign_of(state.nngp))

    def series(self, xx: Any, yy: Any, versine: Any, sign: Any, xp: Any = jnp) -> Any:
        """Sum the series by Clenshaw's recurrence in Reinsch's form, which does not cancel at c = 1 and -1.

        Args:
            xx: the variances of x.
            yy: the variances of y.
            versine: 1 - |c|.
            sign: the sign of c.
            xp: JAX's or NumPy's functions.
        """
        unstack = list if xp is np else jnp.unstack
        (u, one), (w, other) = (self._of(variance, xp) for variance in (xx, yy))
        left, right = xp.tensordot(self.core, u, ((1,), (0,))), unstack(w)
        rows = [unstack(row) for row in unstack(left)]

        def coefficient(k: int) -> Any:
            total = functools.reduce(operator.add, map(operator.mul, rows[k], right))
            return sign * total if k % 2 else total

        twice, change, total = -2.0 * versine, xp.zeros_like(versine), xp.zeros_like(versine)
        for k in range(len(self.core) - 1, 0, -1):
            change = change + (twice * total + coefficient(k))
            total = total + change
        return one * other * (coefficient(0) + (change - versine * total))

    def diagonal(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """Return the kernel of every point with itself, by NumPy."""
        found = _in_numpy(self)._of(_variances(x).astype(np.float64), np)[1]
        return jnp.asarray(found * found, x.dtype)

    def _of(self, variance: Any, xp: Any) -> tuple[Any, Any]:
        """Return the values of the u_r and of `size` at some variances."""
        z = xp.log(variance / self.middle) / self.half
        polynomials = [xp.ones_like(z), z]
        while len(polynomials) < len(self.basis):
            polynomials.append(2.0 * z * polynomials[-1] - polynomials[-2])
        table = xp.stack(polynomials)
        of = lambda coefficients: xp.tensordot(coefficients, table[: len(coefficients)], ((0,), (0,)))
        return of(self.basis), xp.exp(of(self.size))


class FarPairs(eqx.Module):
    """The table without the accurate angles of nearly parallel and nearly opposite pairs, whose values are NaN.

    `input_versines` computes the angles of such pairs from differences of the points, which is called the repair. Most
    sets of points have no such pairs, apart from pairs of a point with itself. Without the repair, the program takes
    half the time to compile.
    """

    table: NormTable

    def __call__(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        """Return the kernel of all pairs. The values of nearly parallel and nearly opposite pairs are NaN."""
        nngp, xx, yy, versine = far_moments(x, y)
        return self.table.series(xx, yy, versine, sign_of(nngp))


def has_near(x: Float[Array, "n d"], y: Float[Array, "m d"] | None) -> bool:
    """Return whether `FarPairs` would give NaN for some pair of the first few points.

    If `y` is None, the diagonal is ignored.
    """
    units = []
    for points in (x, x if y is None else y):
        rows = np.asarray(points[:_LOOKED_AT], np.float64)
        units.append(rows / np.linalg.norm(rows, axis=1, keepdims=True))
    versines = 1.0 - np.abs(units[0] @ units[1].T)
    if y is None:
        np.fill_diagonal(versines, 1.0)
    return bool(np.min(versines) < NEAR)


def _in_numpy(table: NormTable) -> NormTable:
    return jax.tree.map(np.asarray, table)


def _variances(x: Float[Array, "n d"]) -> Float[np.ndarray, " n"]:
    """Return |x|² / d, computed by NumPy. JAX must not trace the points."""
    points = np.asarray(x)
    return np.einsum("ij,ij->i", points, points) / x.shape[1]


def norm_table(network: AbstractLayer, face: str, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> NormTable | None:
    """Return the table for the norms of these points, or None.

    The result is None if JAX traces the points, if there are few pairs, or if no table is accurate and cheap.
    """
    if len(x) * len(y) < _PAIRS or type(network) is not Serial:
        return None
    try:
        variances = [_variances(points) for points in ((x,) if y is x else (x, y))]
        ends = [float(end(values)) for values in variances for end in (np.min, np.max)]
        hash(network)
    except (jax.errors.TracerArrayConversionError, TypeError):
        return None
    name = np.dtype(x.dtype).name
    if not (min(ends) > 0.0 and np.isfinite(max(ends))) or name not in ACCURACY:
        return None
    low, high = np.floor((np.log(min(ends)) - 1e-3) / _STEP), np.ceil((np.log(max(ends)) + 1e-3) / _STEP)
    return _built(network, face, x.shape[1], name, low * _STEP, high * _STEP)


@functools.lru_cache(maxsize=64)
def _built(network: AbstractLayer, face: str, fan_in: int, dtype: str, low: float, high: float) -> NormTable | None:
    kernel = functools.partial(_recursion, network, face, fan_in)
    with jax.enable_x64(True), jax.ensure_compile_time_eval():
        for norms, angles in _NODES:
            try:
                table = _fitted(kernel, dtype, low, high, norms, angles)
            except SettingError:  # the recursion refuses these variances, or needs other moments
                return None
            if table is None:
                continue
            activations = sum(not hasattr(part, "scales") for part in parts(network))
            cheap = len(table.core) * (len(table.core[0]) + 3) <= _PRODUCTS_PER_LAYER * activations
            return table if cheap and _error(kernel, table, dtype, norms, angles) <= ACCURACY[dtype] else None
    return None


def _recursion(
    network: AbstractLayer, face: str, fan_in: int, a: np.ndarray, b: np.ndarray, theta: np.ndarray
) -> np.ndarray:
    """Return the kernel at variances a and b and angles theta in float64, by NumPy where NumPy is accurate enough."""
    found = numpy_smooth(network, face, fan_in, a, b, theta)
    if found is not None and np.isfinite(found).all():
        return found
    return np.asarray(getattr(through_parts(network, _state(a, b, theta, np.float64, fan_in)), face))


def _state(a: np.ndarray, b: np.ndarray, theta: np.ndarray, dtype: Any, fan_in: int) -> State:
    versine = versine_at(theta)
    nngp = np.sqrt(a) * np.sqrt(b) * np.cos(theta)
    values = (nngp, np.zeros_like(nngp), a, b, np.broadcast_to(versine, nngp.shape))
    nngp, ntk, xx, yy, versine = (jnp.asarray(value, dtype) for value in values)
    return State(nngp, ntk, xx, yy, fan_in, INPUTS, versine=versine)


def _fitted(kernel: Any, dtype: str, low: float, high: float, norms: int, angles: int) -> NormTable | None:
    """Return the table that interpolates the kernel between Chebyshev nodes, or None if its series do not converge."""
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    odd = lambda count: 2 * np.arange(count) + 1
    a = np.exp(middle + half * np.cos(odd(norms) * (0.5 * np.pi / norms)))
    theta = odd(angles) * (0.5 * np.pi / angles)
    values = kernel(a[:, None, None], a[None, :, None], theta)
    own = np.diagonal(kernel(a[:, None, None], a[None, :, None], np.zeros(angles))[:, :, 0])
    if not (np.isfinite(values).all() and np.all(own > 0.0)):
        return None
    roots = np.sqrt(own)
    core = values / (roots[:, None, None] * roots[None, :, None])
    for axis in range(3):
        core = _chebyshev(core, axis)
    core = 0.5 * (core + core.swapaxes(0, 1))
    size, left_out = _chebyshev(np.log(roots), 0), _LEFT_OUT[dtype]
    kept, terms = (_count(np.abs(core).max(axis=axes), left_out) for axes in ((1, 2), (0, 1)))
    sizes = _count(np.abs(size), left_out)
    if max(kept, sizes) > norms - 2 or terms > angles - 2:
        return None
    kept = max(kept, sizes, 2)
    core = core[:kept, :kept, :terms]
    vectors, scales, _ = np.linalg.svd(core.reshape(kept, -1), full_matrices=False)
    basis = vectors[:, : _count(scales, left_out)]
    core = np.einsum("abk,ar,bs->krs", core, basis, basis)
    return NormTable(*(jnp.asarray(part, dtype) for part in (core, basis, size[:sizes], np.exp(middle), half)))


def _chebyshev(values: np.ndarray, axis: int) -> np.ndarray:
    """Return Chebyshev coefficients, along an axis, of polynomials through values at Chebyshev nodes.

    The nodes are ordered by ascending angles.
    """
    found = dct(values, 2, axis=axis) / values.shape[axis]
    found[(*(slice(None),) * axis, 0)] *= 0.5
    return found


def _count(sizes: np.ndarray, left_out: float) -> int:
    """Return the number of terms to keep, at least 2. The sizes of the omitted terms sum to at most `left_out`."""
    tails = np.cumsum(sizes[::-1])[::-1]
    return max(2, int(np.sum(tails > left_out)))


def _error(kernel: Any, table: NormTable, dtype: str, norms: int, angles: int) -> float:
    """Return the largest difference of the table from the kernel at norms and angles between the nodes, in `dtype`.

    The angles come as close as 1e-6 to 0 and pi.
    """
    middle, half = float(table.middle), float(table.half)
    a = middle * np.exp(half * np.linspace(-1.0, 1.0, norms))
    near = np.geomspace(1e-6, 0.2, angles // 3)
    theta = np.concatenate([[0.0], near, np.linspace(0.2, np.pi - 0.2, angles - 1 - 2 * len(near)), np.pi - near])
    one, other = a[:, None, None], a[None, :, None]
    expected = kernel(one, other, theta)
    roots = np.sqrt(np.diagonal(expected[:, :, 0]))
    xx, yy, versine = (np.asarray(value, dtype) for value in (one, other, versine_at(theta)))
    sign = np.where(theta > np.pi / 2, -1.0, 1.0).astype(dtype)
    found = np.asarray(_in_numpy(table).series(xx, yy, versine, sign, np), np.float64)
    error = np.abs(found - expected) / (roots[:, None, None] * roots[None, :, None])
    return float(np.max(error)) if np.isfinite(error).all() else np.inf
