"""Parameterisations: how far the hidden features and the tangent kernel move, in powers of the width.

This theory is about how training changes a network of width m. In the NTK parameterisation a step moves hidden
preactivations by an amount of order m^(-1/2), and in the limit the tangent kernel does not move
(`tangent.lazy_training`). In the maximal-update parameterisation, which with one hidden layer is the mean-field
parameterisation, both move by an amount that does not vanish as m grows. The theory assumes targets of a fixed size. It
also assumes one learning rate for all layers, and parameterisations in a form for which one rate is correct. It does
not say in which direction the kernel moves.
"""

import abc
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import Erf, Serial, fully_connected, tangent_gram
from lemmata.engine.claims import Claim, Control, Rate, Source
from lemmata.networks import train
from lemmata.subjects.tangent._drawn_networks import drawn_parameters, relative_distance
from lemmata.subjects.tangent._training_sets import TrainingSet, TrainingSets, trace_step

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "training"}

_WIDTHS = (64.0, 256.0, 1024.0)
_DEEP_WIDTHS = (32.0, 96.0, 288.0)
_STEPS = 10


def hidden_change(network: Serial, params: tuple, x: Float[Array, "n d"], y: Float[Array, "n 1"]) -> Float[Array, ""]:
    """Return the root mean square change of the last layer's preactivations in one descent step on (1/2) sum (f - y)².

    Args:
        network: a network of alternating Dense and activation layers, then a readout.
        params: the parameters before the step.
        x: the points.
        y: the targets.
    """
    below = Serial(network.layers[:-2])
    loss = lambda own: 0.5 * jnp.sum((jax.vmap(lambda a: network.apply(own, a))(x) - y) ** 2)
    after = jax.tree.map(lambda p, slope: p - trace_step(x) * slope, params, jax.grad(loss)(params))
    preactivations = lambda own: jax.vmap(lambda a: below.apply(own[:-2], a))(x)
    return jnp.sqrt(jnp.mean((preactivations(after) - preactivations(params)) ** 2))


def kernel_change(network: Serial, params: tuple, x: Float[Array, "n d"], y: Float[Array, "n 1"]) -> Float[Array, ""]:
    """Return the relative change |Theta_t - Theta_0|_F / |Theta_0|_F of the tangent kernel Theta in ten descent steps.

    The loss is (1/2) sum (f - y)².

    Args:
        network: a network with one output.
        params: the parameters at which training starts.
        x: the points.
        y: the targets.
    """
    run = train(network, params, x, y, learning_rate=trace_step(x), steps=_STEPS, record_at=[_STEPS])
    after, before = (tangent_gram(network, own, x, output=0) for own in (run.params, params))
    return relative_distance(after, before)


class AbstractWidthPower(Claim[TrainingSet]):
    """Base of claims that a change in training is a power of the width.

    A new claim sets its `network`, its `exponent` and, in `change`, the quantity that changes. Each width has a new
    network, with one output.
    """

    source = Source("yang2021", "Section 3", "Table 1")
    population = TrainingSets()
    exponent: ClassVar[float] = 0.0
    change = staticmethod(hidden_change)
    controls = "how far one step moves the hidden features"
    unexplained = "the constant; many steps"
    trials = 64

    @abc.abstractmethod
    def network(self, width: int) -> Serial:
        """Return the architecture with hidden layers of this width."""

    def predict(self, problem: TrainingSet) -> Array:
        return jnp.asarray(self.exponent)

    def measure(self, problem: TrainingSet, key: Key[Array, ""]) -> Array:
        networks = [self.network(int(width)) for width in self.relation.rungs]
        params = drawn_parameters(networks, problem.x.shape[1], key)
        pairs = zip(networks, params, strict=True)
        return jnp.stack([self.change(net, own, problem.x, problem.y[:, None]) for net, own in pairs])


class MaximalUpdateStep(AbstractWidthPower):
    """Consider a network with one hidden layer of m units in the maximal-update (mean-field) parameterisation. Take one
    step of gradient descent on squared loss, at a learning rate that does not depend on m. The root mean square change
    of the hidden preactivations, over units and points, is

        C m^0,

    where C does not depend on m.
    """

    title = "In the maximal update parameterisation, one step moves hidden features equally at every width"
    # The outputs at the start are of order m^(-1/2), compared with the targets. In the mean, this is a relative 1/m of
    # their square, 0.015 at m = 64. Over the range log 16 of sizes, it changes the slope by less than 0.01. The rest is
    # due to averages over units.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.03, resolution=0.1)
    control = Control("features move as m^(-1/2)", lambda exponent, problem: exponent - 0.5)

    def network(self, width: int) -> Serial:
        return fully_connected(Erf(), 1, width, parameterization="maximal-update")


class LazyStep(AbstractWidthPower):
    """Consider a network with one hidden layer of m units in the NTK parameterisation. Take one step of gradient
    descent on squared loss, at a learning rate that does not depend on m. The root mean square change of the hidden
    preactivations, over units and points, is

        C m^(-1/2),

    where C does not depend on m.
    """

    title = "In the NTK parameterisation, one step moves hidden features by the order m^(-1/2) at width m"
    exponent = -0.5
    # the distribution of outputs at the start does not depend on m, so only averages over units, a relative 1/m, bend
    # the slope
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.03, resolution=0.2)
    control = Control("features move by the same amount at every width", lambda exponent, problem: exponent + 0.5)
    trials = 128

    def network(self, width: int) -> Serial:
        return fully_connected(Erf(), 1, width)


class MeanFieldKernelMoves(AbstractWidthPower):
    """Consider a network with one hidden layer of m units in the mean-field parameterisation, which equals maximal
    update for one hidden layer. Let Theta_t be its tangent kernel after ten steps of gradient descent at a learning
    rate that does not depend on m. The relative change of the kernel is

        |Theta_t - Theta_0|_F / |Theta_0|_F = C m^0,

    where C does not depend on m.
    """

    title = (
        "In the mean-field parameterisation with one hidden layer, training moves the tangent kernel equally "
        "at every width"
    )
    # as for one step: the outputs at the start are a relative 1/m of the squared targets
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.03, resolution=0.1)
    control = Control(
        "the kernel moves as m^(-1/2), so it stands still in the limit", lambda exponent, problem: exponent - 0.5
    )
    controls = "how far a trained network is from kernel regression"
    unexplained = "the constant, and the kernel after training"
    change = staticmethod(kernel_change)

    def network(self, width: int) -> Serial:
        return fully_connected(Erf(), 1, width, parameterization="mean-field")


class MaximalUpdateKernelMoves(AbstractWidthPower):
    """Consider a network with two hidden layers of m units in the maximal-update parameterisation. Let Theta_t be its
    tangent kernel after ten steps of gradient descent at a learning rate that does not depend on m. The relative change
    of the kernel is

        |Theta_t - Theta_0|_F / |Theta_0|_F = C m^0,

    where C does not depend on m.
    """

    title = (
        "In the maximal update parameterisation with two hidden layers, training moves the tangent kernel "
        "equally at any width"
    )
    # the outputs at the start turn the slope by log(1 + c/32)/log 9, below 0.05 for c up to 4
    # one network a width: slopes of single ladders have a deviation of 0.25
    relation = Rate(along="m", rungs=_DEEP_WIDTHS, margin=0.05, resolution=0.1, spread=0.4)
    control = Control(
        "the kernel moves as m^(-1/2), so it stands still in the limit", lambda exponent, problem: exponent - 0.5
    )
    controls = "how far a trained network is from kernel regression"
    unexplained = "the constant, and the kernel after training"
    change = staticmethod(kernel_change)

    def network(self, width: int) -> Serial:
        return fully_connected(Erf(), 2, width, parameterization="maximal-update")
