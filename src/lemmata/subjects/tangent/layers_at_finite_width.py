"""Finite width: for every kind of layer, the tangent kernel approaches its limit at the rate width^(-1/2).

This theory is about the tangent kernel of a network at its initial draw. The kernel consists of averages over m units.
For all layers, it approaches its limit at the rate m^(-1/2); the function `push` of each layer computes this limit. The
theory assumes the NTK parameterisation and independent Gaussian weights. It does not give the constant, or explain how
training changes the kernel (`tangent.lazy_training`, `tangent.parameterisations`).
"""

import abc

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import (
    Dense,
    Dropout,
    Erf,
    Gelu,
    LayerNorm,
    Parallel,
    Relu,
    RMSNorm,
    Serial,
    TangentKernel,
    residual,
    tangent_gram,
    with_masks,
)
from lemmata.engine.claims import Claim, Control, Rate, Source
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.rows import Rows, finite
from lemmata.engine.problems.variables import dimension, rows
from lemmata.kernels import gram
from lemmata.subjects.tangent._drawn_networks import drawn_parameters, relative_distance

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "kernel"}

WIDTHS = (24.0, 96.0, 384.0)


def dense(width: int) -> Dense:
    """Return a dense layer whose weights have standard deviation 1.1 and whose biases have standard deviation 0.3."""
    return Dense(width, 1.1, 0.3)


def drawn_kernel(network: Serial, params: tuple, x: Float[Array, "n *shape"], key: Key[Array, ""]) -> Array:
    """Return the tangent kernel of a network of finite width at its parameters, at the points x."""
    return tangent_gram(network, params, x, output=0)


def kernel_of_two_passes(network: Serial, params: tuple, x: Float[Array, "n d"], key: Key[Array, ""]) -> Array:
    """Return the tangent kernel between two random passes of a network with Dropout: products of their gradients.

    Within a pass, all points have the same masks.
    """

    def gradients(mask_key: Array) -> tuple:
        masked = with_masks(network, mask_key)
        return jax.vmap(lambda point: jax.grad(lambda own: masked.apply(own, point)[0])(params))(x)

    both = jax.vmap(gradients)(jax.random.split(key))
    products = [jnp.einsum("i...,j...->ij", *leaf) for leaf in jax.tree.leaves(both)]
    return jnp.sum(jnp.stack(products), axis=0)


class AbstractTangentWidth(Claim[Rows]):
    """Base of claims on kinds of layers. A new claim sets its `network` and a docstring.

    The kernel is a composition of averages over m units. Its mean square distance from the limit is C/m (1 + c/m) to
    the next order, where c is a small number. The rate is the slope of the logarithm of the distance against log m.
    From m = 24 to 384, the factor 1 + c/m changes this slope by log(1 + c/24)/(2 log 16), which is below 0.05 for c up
    to 7.
    """

    source = Source("yang2020", "Theorem 2.1", note="averages over m units converge at the rate m^(-1/2)")
    population = Drawn(Rows, finite, n=rows(4, high=16), d=dimension(3, low=2), x=normal("n", "d"))
    # one network for each width; the slopes of single runs have a standard deviation of 0.35
    relation = Rate(along="m", rungs=WIDTHS, margin=0.05, resolution=0.1, spread=0.55)
    control = Control("the kernel converges as 1/m", lambda exponent, problem: 2 * exponent)
    controls = "the tangent kernel of a network that has not been trained"
    unexplained = "the constant, and what training does to the kernel"
    trials = 128
    kernel = staticmethod(drawn_kernel)
    predict = -0.5

    @abc.abstractmethod
    def network(self, width: int) -> Serial:
        """Return the architecture with hidden layers of this width and one output."""

    def measure(self, problem: Rows, key: Key[Array, ""]) -> Array:
        """Return |K - limit|_F / |limit|_F for the kernel K of a new network of each width."""
        x = problem.x
        networks = [self.network(int(width)) for width in self.relation.rungs]
        params = drawn_parameters(networks, x.shape[1] if x.ndim == 2 else x.shape[1:], key)
        limit = gram(TangentKernel(networks[0]), x)
        found = [self.kernel(network, own, x, key) for network, own in zip(networks, params, strict=True)]
        return jnp.stack([relative_distance(kernel, limit) for kernel in found])


class DenseWidth(AbstractTangentWidth):
    """Consider a network with two hidden layers of m GELU units in the NTK parameterisation. Compare the tangent kernel
    at a random draw of the weights with its limit for m -> infinity. The root mean square difference over pairs of
    points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of dense layers of width m approaches its limit like m^(-1/2)"

    def network(self, width: int) -> Serial:
        return Serial([dense(width), Gelu(), dense(width), Gelu(), dense(1)])


class ResidualWidth(AbstractTangentWidth):
    """Consider a network with a residual block x + Dense(ReLU(x)) between dense layers of m units. Compare the tangent
    kernel at a random draw of the weights with its limit for m -> infinity. The root mean square difference over pairs
    of points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of residual networks of width m approaches its limit like m^(-1/2)"

    def network(self, width: int) -> Serial:
        return Serial([dense(width), residual(Serial([Relu(), dense(width)])), Relu(), dense(1)])


class ParallelWidth(AbstractTangentWidth):
    """Consider a network that adds the outputs of two branches of m units and then applies an activation. One branch
    has one layer, and the other branch has two layers. Compare the tangent kernel at a random draw of the weights with
    its limit for m -> infinity. The root mean square difference over pairs of points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of parallel branches of width m approaches its limit like m^(-1/2)"

    def network(self, width: int) -> Serial:
        deep = Serial([dense(width), Erf(), dense(width)])
        return Serial([Parallel([dense(width), deep]), Gelu(), dense(1)])


class LayerNormWidth(AbstractTangentWidth):
    """Consider a network with two layers of m units and LayerNorm after each layer. Compare the tangent kernel at a
    random draw of the weights with its limit for m -> infinity. The root mean square difference over pairs of points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of networks of width m with LayerNorm approaches its limit like m^(-1/2)"

    def network(self, width: int) -> Serial:
        return Serial([dense(width), Erf(), LayerNorm(0.1), dense(width), LayerNorm(), Gelu(), dense(1)])


class RMSNormWidth(AbstractTangentWidth):
    """Consider a network that applies RMSNorm to its inputs and again to a ReLU layer of m units. Compare the tangent
    kernel at a random draw of the weights with its limit for m -> infinity. The root mean square difference over pairs
    of points is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "The tangent kernel of networks of width m with RMSNorm approaches its limit like m^(-1/2)"

    def network(self, width: int) -> Serial:
        return Serial([RMSNorm(), dense(width), Relu(), RMSNorm(0.01), dense(width), Erf(), dense(1)])


class DropoutWidth(AbstractTangentWidth):
    """Consider a network with Dropout after a layer of m units. Take the tangent kernel between two random passes with
    independent masks. At a random draw of the weights, this kernel differs from its limit for m -> infinity, in root
    mean square over pairs of points, by

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "At width m, the tangent kernel between two Dropout passes approaches its limit like m^(-1/2)"
    trials = 64
    kernel = staticmethod(kernel_of_two_passes)

    def network(self, width: int) -> Serial:
        return Serial([dense(width), Relu(), Dropout(0.7), dense(width), Erf(), dense(1)])
