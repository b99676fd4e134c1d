"""Representation flow: how kernel, four-point vertex (the fluctuation of the kernel at finite width) and tangent kernel
of one input change from layer to layer.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.architectures import AbstractLayer
from lemmata.core import check_real, check_whole, known, require_float64

from ._moments import gaussian_moments, susceptibilities


class RepresentationFlow(NamedTuple):
    """The statistics of one input in each layer of a network with random weights, layer 1 first.

    Attributes:
        kernel: K, the variance of a preactivation at infinite width, for each layer.
        vertex: V, to first order in 1/n at width n. Given the previous layer, the preactivations of a layer have a
            variance G. This variance G is itself random, with the variance V/n. Outputs have the excess kurtosis 3 V /
            (n K²).
        tangent: Theta, the tangent kernel of the input with itself.
        parallel: chi_parallel, the factor by which the layer multiplies small changes of the kernel.
        perpendicular: chi_perpendicular, the factor by which the layer multiplies squared gradients.
    """

    kernel: Float[Array, " depth"]
    vertex: Float[Array, " depth"]
    tangent: Float[Array, " depth"]
    parallel: Float[Array, " depth"]
    perpendicular: Float[Array, " depth"]


def representation_flow(
    activation: AbstractLayer,
    kernel: float | Float[Array, ""],
    depth: int,
    *,
    weight_variance: float | Float[Array, ""],
    bias_variance: float | Float[Array, ""] = 0.0,
    weight_rate: float = 1.0,
    bias_rate: float = 1.0,
) -> RepresentationFlow:
    """Compute kernel K, four-point vertex V and tangent kernel Theta of layers 1 to `depth`, for one input.

    Let s = s(z) be the activation, take expectations over z ~ N(0, K), and let biases and weights have variances C_b
    and C_W / fan-in. Then the next layer has

        K'     = C_b + C_W E[s²],
        V'     = C_W² (E[s⁴] - E[s²]²) + chi_parallel² V,
        Theta' = l_b + l_W E[s²] + chi_perpendicular Theta,

    from V = 0 and Theta = l_b + l_W (K - C_b)/C_W in the first layer, whose preactivations are exactly Gaussian. The
    tangent kernel assumes training rates l_b for biases and l_W / fan-in for weights (Roberts, Yaida and Hanin, 2022).

    Args:
        activation: a layer of `lemmata.architectures` that acts on every coordinate by itself.
        kernel: K of the first layer, C_b + C_W |x|²/d for an input x of d coordinates.
        depth: the number of layers.
        weight_variance: C_W, the variance of weights times the fan-in.
        bias_variance: C_b, at least 0 and at most the kernel.
        weight_rate: l_W, the training rate of weights times the fan-in.
        bias_rate: l_b, the training rate of biases.

    Returns:
        Five arrays of shape (depth,). The entries are NaN from the first layer whose moments the quadrature does not
            resolve.

    Raises:
        SettingError: if the depth is below 1, the kernel or the variance of weights is known and not positive, the
            variance of biases is not between 0 and the kernel, or a rate is negative.
        ShapeError: if there is more than one kernel, variance or rate.
        PrecisionError: if JAX computes in float32.

    >>> import jax
    >>> from lemmata.architectures import Relu
    >>> with jax.enable_x64(True):
    ...     flow = representation_flow(Relu(), 1.0, 4, weight_variance=2.0)
    >>> flow.kernel.tolist(), flow.vertex.tolist()
    ([1.0, 1.0, 1.0, 1.0], [0.0, 5.0, 10.0, 15.0])
    """
    require_float64("the representation flow")
    check_whole("depth", depth, 1, "layers")
    for name, value in (("kernel", kernel), ("weight_variance", weight_variance)):
        check_real(name, value, "finite, above 0", lambda found: found > 0)
    most = known(kernel)
    check_real(
        "bias_variance", bias_variance,
        "at least 0" if most is None else f"at least 0 and at most {most:g}, the kernel of the first layer",
        lambda found: (found >= 0) & (most is None or found <= most),
        remedy="set the kernel of the first layer to bias_variance + weight_variance |x|²/d",
    )  # fmt: skip
    for name, value in (("weight_rate", weight_rate), ("bias_rate", bias_rate)):
        check_real(name, value, "finite, at least 0", lambda found: found >= 0)
    first, weights, biases = (jnp.asarray(value, float) for value in (kernel, weight_variance, bias_variance))
    # Compiled lengths are powers of 2, so that few lengths are compiled.
    length = 1 << (depth - 1).bit_length()
    flow = _flow(activation, length, first, weights, biases, jnp.asarray([weight_rate, bias_rate], float))
    return RepresentationFlow(*(values[:depth] for values in flow))


@eqx.filter_jit
def _flow(activation: AbstractLayer, length: int, kernel: Array, weights: Array, biases: Array, rates: Array):
    def layer(state: tuple, _: None) -> tuple[tuple, RepresentationFlow]:
        k, vertex, tangent = state
        found, chi = gaussian_moments(activation, k), susceptibilities(activation, k, weights)
        after = (
            biases + weights * found.second,
            weights**2 * (found.fourth - found.second**2) + chi.parallel**2 * vertex,
            rates[1] + rates[0] * found.second + chi.perpendicular * tangent,
        )
        return after, RepresentationFlow(k, vertex, tangent, *chi)

    first = (kernel, jnp.zeros(()), rates[1] + rates[0] * (kernel - biases) / weights)
    return jax.lax.scan(layer, first, None, length=length)[1]
