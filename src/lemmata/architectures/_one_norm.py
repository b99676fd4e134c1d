"""The kernels of any network at inputs with equal norms, as series in the angle.

The series replaces the recursion, which applies `push` of every layer.
"""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import SettingError
from lemmata.kernels import AbstractKernel

from ._angular import ACCURACY, angular_series, by_series
from ._entries import Face, NetworkEntries
from ._kernels import AbstractNetworkKernel
from ._layer import AbstractLayer
from ._state import INPUTS, State
from ._tiling import cross_entries

# A recursion that stores correlations determines an angle t up to eps / t. At angles nearer than _NEAREST to 0 or pi,
# the recursion is not accurate enough as a reference. Coefficients below _ROUNDING are its rounding errors.
_NEAREST, _ROUNDING = 1e-4, 1e-12


class AngularKernel(AbstractKernel):
    """A kernel of a network with any activations and biases for points with equal norms, as a function of the angle.

    On a sphere, nngp(x, y) and ntk(x, y) depend only on the angle between x and y. So at any depth, all pairs cost only
    one matrix product and one Chebyshev series in the angle. The series is built once, in float64, and compared with
    the recursion over layers at other angles. If the series and the recursion differ by more than 1e-10 of the value at
    angle 0, `series` is None, and the recursion computes every entry. Such a difference happens, for example, if the
    quadrature has few nodes.

    Derivatives are computed by the recursion, not from the series, so they are the exact derivatives of the kernel.

    Args:
        kernel: `NNGPKernel` or `TangentKernel` of a network.
        norm: the Euclidean norm of every point, positive.
        dimension: the number of coordinates of a point.

    Raises:
        SettingError: for a kernel of another type, a norm or dimension that is not positive, or points of another norm.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import AngularKernel, TangentKernel, erf_network
        >>> kernel = AngularKernel(TangentKernel(erf_network(depth=8, bias_std=0.1)), norm=1.0, dimension=3)
        >>> kernel.cross(jnp.eye(3), jnp.eye(3)).shape
        (3, 3)
    """

    kernel: AbstractNetworkKernel
    norm: float = eqx.field(static=True)
    dimension: int = eqx.field(static=True)
    series: tuple[float, ...] | None = eqx.field(static=True)
    exactly_symmetric = True

    def __init__(self, kernel: AbstractNetworkKernel, *, norm: float, dimension: int):
        if not isinstance(kernel, AbstractNetworkKernel):
            raise SettingError("kernel", found=repr(kernel), rule="an NNGPKernel or a TangentKernel")
        if not (norm > 0 and math.isfinite(norm)) or dimension < 1:
            raise SettingError(
                "norm and dimension of the points",
                found=(norm, dimension),
                rule="positive and finite numbers",
            )
        self.kernel, self.norm, self.dimension = kernel, float(norm), dimension
        self.series = self._entries().build()

    @property
    def cheap_points(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the series replaces the recursion. If not, the steps of the recursion use smaller tiles."""
        return self.series is not None

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The kernel at two points of the sphere, by the recursion."""
        self._check(x[None])
        self._check(y[None])
        return self.kernel(x, y)

    def cross(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        """Return the kernel of all pairs, from one matrix product and the series.

        If there is no series, `kernel.cross` computes the kernel.
        """
        self._check(x)
        if y is not x:
            self._check(y)
        return self.kernel.cross(x, y) if self.series is None else cross_entries(self._entries(), x, y)

    def diagonal(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The kernel of every point with itself."""
        self._check(x)
        return self.kernel.diagonal(x)

    def _entries(self) -> "_SphereEntries":
        series = getattr(self, "series", None)
        kernel, variance = self.kernel, self.norm**2 / self.dimension
        return _SphereEntries(kernel.network, kernel.face, variance, self.dimension, series)

    def _check(self, x: Array) -> None:
        if jnp.ndim(x) == 2 and x.shape[1] != self.dimension:
            raise SettingError("points", found=f"{x.shape[1]} coordinates", rule=f"{self.dimension} coordinates")
        ratio = jnp.sqrt(jnp.sum(x * x, axis=-1)) / self.norm
        try:
            worst = float(jnp.max(jnp.abs(ratio - 1.0), initial=0.0))
        except jax.errors.ConcretizationTypeError:
            return
        if not worst <= 256 * float(jnp.finfo(ratio.dtype).eps):
            raise SettingError(
                "points",
                found=f"points whose norms differ from {self.norm} by up to {worst:.2g}",
                rule=f"norm {self.norm} for every point",
                remedy="rescale them as x * (norm / jnp.linalg.norm(x, axis=1, keepdims=True)), or use the "
                "kernel without AngularKernel",
            )


class _SphereEntries(NetworkEntries):
    variance: float = eqx.field(static=True)
    fan_in: int = eqx.field(static=True)
    series: tuple[float, ...] | None = eqx.field(static=True)

    def __init__(
        self, network: AbstractLayer, face: Face, variance: float, fan_in: int, series: tuple[float, ...] | None
    ):
        self.network, self.face, self.variance, self.fan_in, self.series = network, face, variance, fan_in, series

    def faster_push(self, state: State) -> Callable[[State], Array] | None:
        return None if self.series is None else by_series(self.series, scaled=False)

    def table(self, x: Array, y: Array) -> None:
        """Return None, because the series replaces a table."""
        return None

    def build(self) -> tuple[float, ...] | None:
        def profile(theta: np.ndarray) -> np.ndarray:
            nngp, v = jnp.asarray(self.variance * np.cos(theta)), jnp.asarray(self.variance)
            versine = jnp.asarray(2.0 * np.sin(0.5 * np.minimum(theta, np.pi - theta)) ** 2)
            inputs = State(nngp, jnp.zeros_like(nngp), v, v, self.fan_in, INPUTS, versine=versine)
            return np.asarray(self.exact(inputs))

        with jax.enable_x64(True), jax.ensure_compile_time_eval():
            return angular_series(profile, ACCURACY["float64"], _ROUNDING, _NEAREST)
