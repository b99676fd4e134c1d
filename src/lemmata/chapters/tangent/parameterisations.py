"""Parameterisations: which powers of the width let hidden features, and with them the tangent kernel, move.

This theory controls how training changes a network of width m. In the NTK parameterisation a step moves hidden
preactivations by m^(-1/2), and the kernel stays put (`tangent.lazy_training`); under maximal update, which with one
hidden layer is the mean-field parameterisation, both move by an amount that does not vanish. It assumes one learning
rate for all layers, in the form of the parameterisations that makes it right, and targets of a fixed size; it leaves
unexplained where the moving kernel goes.
"""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import Erf, Serial, fully_connected, tangent_gram
from lemmata.claims import Claim, Control, Hypothesis, Integer, Rate, Source, Space
from lemmata.networks import train
from lemmata.problems._sampled import draws

from lemmata.problems._drawn_networks import drawn_parameters, relative_distance

_WIDTHS = (64.0, 256.0, 1024.0)
_DEEP_WIDTHS = (32.0, 96.0, 288.0)
_STEPS = 10


class Targets(eqx.Module):
    """Points and targets that networks with one output are trained on.

    Args:
        x: the points.
        y: the targets.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n 1"]


def step_size(x: Float[Array, "n d"]) -> Float[Array, ""]:
    """d / (2 sum_i |x_i|²): of the order of 1/tr Theta at every width, in both parameterisations."""
    return x.shape[1] / (2 * jnp.sum(x**2))


def hidden_change(network: Serial, params: tuple, x: Float[Array, "n d"], y: Float[Array, "n 1"]) -> Float[Array, ""]:
    """Root mean square change of the last hidden preactivations after one step of descent on (1/2) sum (f - y)².

    Args:
        network: Dense and activation layers in turn, then a readout.
        params: where the step starts.
        x: points.
        y: targets.
    """
    below = Serial(network.layers[:-2])
    loss = lambda own: 0.5 * jnp.sum((jax.vmap(lambda a: network.apply(own, a))(x) - y) ** 2)
    after = jax.tree.map(lambda p, slope: p - step_size(x) * slope, params, jax.grad(loss)(params))
    preactivations = lambda own: jax.vmap(lambda a: below.apply(own[:-2], a))(x)
    return jnp.sqrt(jnp.mean((preactivations(after) - preactivations(params)) ** 2))


class AbstractWidthPower(Claim[Targets]):
    """What the claims on powers of the width share: networks at three widths, one output, standard normal points."""

    relation: ClassVar[Rate]
    source = Source("yang2021", "Section 3", "Table 1")
    label = "rate"
    problem = Targets
    trials = 64
    batch = 64

    def settings(self) -> Space:
        """Points and dimension."""
        return Space(n=Integer(4, 2, 16, "points"), d=Integer(3, 2, 16, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Targets:
        """Standard normal points with independent standard normal targets."""
        return Targets(*draws(key, (setting["n"], setting["d"]), (setting["n"], 1)))

    def hypotheses(self, problem: Targets) -> list[Hypothesis]:
        """Inputs and targets that are not 0: else nothing has to move."""
        return [
            Hypothesis("some input is not 0", jnp.sum(problem.x**2), ">", 0.0, "the step size is its inverse"),
            Hypothesis("some target is not 0", jnp.sum(problem.y**2), ">", 0.0, "a network that is near 0 fits zeros"),
        ]

    @abc.abstractmethod
    def network(self, width: int) -> Serial:
        """The architecture with hidden layers of this width."""

    @abc.abstractmethod
    def change(self, network: Serial, params: tuple, problem: Targets) -> Float[Array, ""]:
        """The change that is measured at one width."""

    def measure(self, problem: Targets, key: Key[Array, ""]) -> Array:
        """The change at every width, of a new network each."""
        networks = [self.network(int(width)) for width in self.relation.rungs]
        params = drawn_parameters(networks, problem.x.shape[1], key)
        return jnp.stack([self.change(net, own, problem) for net, own in zip(networks, params, strict=True)])


class AbstractFeatureStep(AbstractWidthPower):
    """One step of descent, seen in the preactivations of the hidden layer."""

    controls = "how far one step moves the hidden features"
    unexplained = "the constant; many steps"

    def change(self, network: Serial, params: tuple, problem: Targets) -> Float[Array, ""]:
        """Root mean square over points and units."""
        return hidden_change(network, params, problem.x, problem.y)


class MaximalUpdateStep(AbstractFeatureStep):
    """One step of gradient descent at a rate that does not depend on m moves the hidden preactivations of a network of
    width m in the maximal-update (mean-field) parameterisation, root mean square over units, by

        C m^0.
    """

    title = "Maximal update: a step moves hidden features at every width"
    # The outputs at the start are of order m^(-1/2) beside the targets, in the mean a relative 1/m of their square,
    # 0.015 at m = 64; over the ladder of log 16 that is a slope below 0.01. The rest is left to averages over units.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.03, resolution=0.1)

    def network(self, width: int) -> Serial:
        """One hidden layer of error functions."""
        return fully_connected(Erf(), 1, width, parameterization="maximal-update")

    def predict(self, problem: Targets) -> Array:
        """The exponent."""
        return jnp.asarray(0.0)

    def control(self) -> Control:
        """The NTK parameterisation's."""
        return Control("features move as m^(-1/2)", lambda exponent, problem: exponent - 0.5)


class LazyStep(AbstractFeatureStep):
    """One step of gradient descent at a rate that does not depend on m moves the hidden preactivations of a network of
    width m in the NTK parameterisation, root mean square over units, by

        C m^(-1/2).
    """

    title = "NTK parameterisation: a step moves hidden features as m^(-1/2)"
    # outputs at the start do not depend on m in law, so only averages over units, a relative 1/m, bend the slope
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.03, resolution=0.2)
    trials = 128

    def network(self, width: int) -> Serial:
        """One hidden layer of error functions."""
        return fully_connected(Erf(), 1, width)

    def predict(self, problem: Targets) -> Array:
        """The exponent."""
        return jnp.asarray(-0.5)

    def control(self) -> Control:
        """That of maximal update."""
        return Control("features move at every width", lambda exponent, problem: exponent + 0.5)


class AbstractMovingKernel(AbstractWidthPower):
    """The movement of the tangent kernel, whose exponent is 0 where features are learned."""

    # as for one step: the outputs at the start are a relative 1/m of the squared targets
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.03, resolution=0.1)
    controls = "how far a trained network is from kernel regression"
    unexplained = "the constant, and where the kernel goes"

    def change(self, network: Serial, params: tuple, problem: Targets) -> Float[Array, ""]:
        """|Theta_t - Theta_0|_F / |Theta_0|_F after training."""
        x, rate = problem.x, step_size(problem.x)
        run = train(network, params, x, problem.y, learning_rate=rate, steps=_STEPS, record_at=[_STEPS])
        after, before = (tangent_gram(network, own, x, output=0) for own in (run.params, params))
        return relative_distance(after, before)

    def predict(self, problem: Targets) -> Array:
        """The exponent."""
        return jnp.asarray(0.0)

    def control(self) -> Control:
        """What holds in the NTK parameterisation."""
        return Control("the kernel stays put, as m^(-1/2)", lambda exponent, problem: exponent - 0.5)


class MeanFieldKernelMoves(AbstractMovingKernel):
    """The tangent kernel Theta of a network with one hidden layer of m units in the mean-field parameterisation, which
    is then the maximal update, after ten steps of descent at a rate that does not depend on m, has moved by

        |Theta_t - Theta_0|_F / |Theta_0|_F = C m^0.
    """

    title = "Mean field: the kernel moves at every width"

    def network(self, width: int) -> Serial:
        """One hidden layer of error functions."""
        return fully_connected(Erf(), 1, width, parameterization="mean-field")


class MaximalUpdateKernelMoves(AbstractMovingKernel):
    """The tangent kernel Theta of a network with two hidden layers of m units in the maximal-update parameterisation,
    after ten steps of descent at a rate that does not depend on m, has moved by

        |Theta_t - Theta_0|_F / |Theta_0|_F = C m^0.
    """

    title = "Maximal update: the kernel of a deep network moves at every width"
    # the outputs at the start turn the slope by log(1 + c/32)/log 9, below 0.05 for c up to 4
    relation = Rate(along="m", rungs=_DEEP_WIDTHS, margin=0.05, resolution=0.1)

    def network(self, width: int) -> Serial:
        """Two hidden layers of error functions."""
        return fully_connected(Erf(), 2, width, parameterization="maximal-update")
