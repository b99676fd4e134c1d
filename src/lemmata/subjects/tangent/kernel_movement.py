"""The speed of lazy training: how the movement of the tangent kernel depends on the activation and the readout.

A network is lazy if training hardly moves its tangent kernel, so that it stays close to its linearisation at the start.
This theory gives the rate, in powers of the width, at which a network approaches its linearisation at a fixed training
time. If the activation is smooth and the readout has random signs, the first-order changes of the kernel cancel. The
theory assumes the NTK parameterisation and one hidden layer. It does not cover training times that grow with the width,
or networks that learn features.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Claim, Control, Integer, Kind, Rate, Real, Source
from lemmata.engine.problems.drawn import Drawn, normal, signs, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension
from lemmata.subjects.tangent._training_sets import some_input
from lemmata.subjects.tangent._two_layers import Units, moved

ABOUT = {
    "tool": "dynamical systems",
    "architecture": "dense network",
    "object": "kernel",
    "LinearisationGap": {"object": "training"},
}

_WIDTHS = (64.0, 128.0, 256.0, 512.0, 1024.0)
_LARGE = (1024.0, 4096.0, 16384.0)
_STEPS = 20
_DRAWS = 8
_UNITS = 2**15


class Training(eqx.Module):
    """Points, targets, and the activation of the network that is trained on them."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    activation: str = eqx.field(static=True)


def _smooth(*names: str) -> Drawn:
    return Drawn(
        Training,
        some_input,
        n=Integer(6, 3, 12, "points"),
        d=dimension(4, 2, 16),
        target=Real(0.6, 0.2, 1.0, "standard deviation of the targets"),
        activation=Choice(names[0], names, "activation"),
        x=normal("n", "d"),
        y=normal("n", times="target"),
    )


def movements(
    problem: Training, key: Key[Array, ""], widths: tuple[float, ...], equal: bool = False, centred: bool = False
) -> Float[np.ndarray, "2 k"]:
    """Return the relative movement of the kernel, and the distance of the outputs from those of the linearised network.

    Both are root mean squares over independent networks of each width, after 20 steps of size 1/tr Theta_0, where
    Theta_0 is the tangent kernel at the start. There are 8 networks of each width, or, for large widths, as many as
    2**15 units allow.

    Args:
        problem: the points, targets and activation.
        key: the key that draws the networks.
        widths: the widths of the networks.
        equal: whether all readout weights are 1; otherwise they are normal.
        centred: whether the outputs at the start are subtracted.
    """
    x, y, generator, found = np.asarray(problem.x), np.asarray(problem.y), generator_of(key), []
    for width in map(int, widths):
        draws = _UNITS // width if widths == _LARGE else _DRAWS
        weights, readout = generator.normal(size=(draws, width, x.shape[1])), generator.normal(size=(draws, width))
        units = Units(problem.activation, weights, np.ones_like(readout) if equal else readout)
        outputs, before = units.outputs(x), units.tangent_gram(x)
        start = outputs if centred else np.zeros_like(outputs)
        after = units.descended(x, y, start, _STEPS)
        step = np.eye(len(x)) - before / np.trace(before, axis1=1, axis2=2)[:, None, None]
        linear = start + y + np.einsum("kij,kj->ki", np.linalg.matrix_power(step, _STEPS), outputs - start - y)
        gaps = after.outputs(x) - linear
        found.append((moved(before, after.tangent_gram(x)), np.sqrt(np.mean(np.sum(gaps**2, axis=1)))))
    return np.array(found).T


class SmoothKernelMovement(Claim[Training]):
    """Consider a network with one hidden layer of m units in the NTK parameterisation, a smooth activation phi and a
    readout of independent centred normal numbers. Let Theta_t be its tangent kernel after a training time t that does
    not depend on m. In root mean square over the initial draw,

        |Theta_t - Theta_0|_F / |Theta_0|_F  is of the order 1/m,

    and not only O(m^(-1/2)). The kernel is a sum over units. The weights of unit r move by m^(-1/2) times the readout
    weight a_r, so unit r changes this sum by an amount of random sign. The test takes GELU, tanh or softplus for phi,
    and 20 steps of size 1/tr Theta_0 for t.
    """

    title = "With a smooth activation and centred readout, the tangent kernel of width m moves by order 1/m in training"
    source = Source("dyer2020", note="the order of the change of the tangent kernel, for one hidden layer")
    population = _smooth("gelu", "tanh", "softplus")
    # Slopes of single ladders have a deviation of 0.1 to 0.2.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.08, resolution=0.1, spread=0.4)
    control = Control("the movement is m^(-3/4)", lambda exponent, problem: 0.75 * exponent)
    controls = "how far a trained network is from kernel regression"
    unexplained = "the constant; activations with a kink, and readouts that are not centred"
    traced = False
    trials = 48
    predict = -1.0

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return jnp.asarray(movements(problem, key, _WIDTHS)[0])


class EqualSignsMovement(Claim[Training]):
    """Consider a network f with one hidden layer of m units in the NTK parameterisation, a smooth activation, and all
    readout weights equal to 1. Train the model f - f_0, where f_0 is the network at the start. After a training time
    that does not depend on m, the tangent kernel of this model has moved by a relative amount of the order

        m^(-1/2).

    If the readout weights have random signs instead, the kernel moves only by the order 1/m, because the changes from
    different units then cancel. The result is false for odd activations such as tanh. With these activations, random
    signs of the hidden weights have the effect of random signs of the readout. The test uses GELU and softplus.
    """

    title = "With a readout of equal signs, the tangent kernel of width m moves by order m^(-1/2) in training"
    source = Source("chizat2019", "Section 2", note="the general order, attained without random signs")
    stated = Kind.OWN
    population = _smooth("gelu", "softplus")
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.08, resolution=0.1)
    control = Control("the movement is m^(-3/4)", lambda exponent, problem: 1.5 * exponent)
    controls = "how far a trained network is from kernel regression"
    unexplained = "the constant"
    traced = False
    trials = 24
    predict = -0.5

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return jnp.asarray(movements(problem, key, _WIDTHS, equal=True, centred=True)[0])


class ReluKernelMovement(Claim[Training]):
    """Consider a ReLU network f with one hidden layer of m units in the NTK parameterisation, with a normal readout.
    Train the model f - f_0 on one point, where f_0 is the network at the start. After a training time that does not
    depend on m, the tangent kernel has moved by a relative amount of the order

        m^(-1/2).

    The gradient moves only units that are active at the point. So some of the active units switch off, and no unit
    switches on. The number of units that switch off is of the order sqrt(m). If as many units switched on as off, the
    kernel would move by the order m^(-3/4). With a smooth activation, the kernel moves by the order 1/m.
    """

    title = "In training on one point, the tangent kernel of a ReLU network of width m moves by order m^(-1/2)"
    source = Source("chizat2019", "Section 2", note="the general order, attained by ReLU networks with random signs")
    stated = Kind.OWN
    population = Drawn(
        Training,
        some_input,
        n=Integer(1, 1, 1, "points"),
        d=dimension(6, 4, 10),
        target=Real(1.75, 1.5, 2.5, "size of the target"),
        activation=Choice("relu", ("relu",), "activation"),
        x=signs("n", "d"),
        y=uniform(0.8, 1.25, "n", times="target"),
    )
    # Fluctuations of m^(-3/4) make the slope steeper at small widths, and large targets make it flatter.
    relation = Rate(along="m", rungs=_LARGE, margin=0.08, resolution=0.1)
    control = Control("the movement is m^(-3/4)", lambda exponent, problem: 1.5 * exponent)
    controls = "how far a trained network is from kernel regression"
    unexplained = "the constant; several points, for which slopes from -0.6 to -0.7 are measured up to m = 65536"
    traced = False
    trials = 16
    predict = -0.5

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return jnp.asarray(movements(problem, key, _LARGE, centred=True)[0])


class LinearisationGap(Claim[Training]):
    """Consider a network with one hidden layer of m units in the NTK parameterisation, with a smooth activation and a
    centred normal readout. Let f_t be its outputs at the training points after t steps of descent, where t does not
    depend on m. Linearise the network at the start and train the linear model in the same way. Let f_t^lin be the
    outputs of this linear model:

        f_t^lin = y + (I - eta Theta_0)^t (f_0 - y),

    where y are the targets, eta is the step size and Theta_0 is the tangent kernel at the start. In root mean square
    over the initial draw,

        |f_t - f_t^lin|  is of the order 1/m.

    The source proves the weaker bound O(m^(-1/2)), for more networks.
    """

    title = "With a smooth activation, training at width m differs from its linearisation by order 1/m"
    source = Source("lee2019", "Theorem 2.1", note="with a faster rate, for one hidden layer and a smooth activation")
    population = _smooth("gelu", "tanh", "softplus")
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.1, resolution=0.1, spread=0.4)
    control = Control("the difference is m^(-1/2)", lambda exponent, problem: exponent / 2)
    controls = "how far the outputs of a trained network are from those of kernel regression"
    unexplained = "the constant; times that grow with the width"
    traced = False
    trials = 32
    predict = -1.0

    def measure(self, problem: Training, key: Key[Array, ""]) -> Array:
        return jnp.asarray(movements(problem, key, _WIDTHS)[1])
