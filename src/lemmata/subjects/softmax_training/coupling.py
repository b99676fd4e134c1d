"""Coupling: how far a trained softmax network is from the regression with its tangent kernel at initialisation.

The network has m hidden units and the outputs F_l(x) = m <a_l, softmax(W' x)>. The regression keeps the network's
tangent kernel at initialisation, H*. At every time of the gradient flow, this theory bounds the distance between
network and regression by how far the kernel moves. It assumes the symmetric initialisation (units in pairs with equal
weights and opposite signs, so F = 0). It also assumes a positive definite kernel that moves by at most half of its
smallest eigenvalue. It does not explain how far the kernel moves, or how far H* is from the kernel of infinite width.
The bounds hold at all times in [0, T] with the largest movement of the kernel in [0, T]. The trials test the bounds in
this form, where T is the time of the last record.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Kind, Rate, Source
from lemmata.subjects.softmax_training._initialised_networks import Initialised, stack
from lemmata.subjects.softmax_training._softmax_flows import (
    RECORDS,
    Flow,
    Flows,
    NestedNetworks,
    trained,
)

from .kernel_regression import ntk_flow

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "training"}

_CONTROLS = "the distance between a trained network and the regression with its tangent kernel"
_UNEXPLAINED = "how far the kernel moves, and the distance to the kernel of infinite width"


@jax.jit
def differences(problem: Flow) -> tuple[Float[Array, " s"], Float[Array, " q"]]:
    """Return |F_nn - F_ntk|_F on training points at each record, and max_t |F_nn - F_ntk|_l at each test point.

    F_nn are the outputs of the network and F_ntk those of the regression. |.|_l is the size of output l.

    Args:
        problem: the network along its flow.
    """
    start = problem.start
    on_train, on_test = ntk_flow(problem.unit * start.tangent, problem.unit * start.cross, stack(start.y), RECORDS)
    network = lambda points: jax.vmap(lambda weight: stack(start.network.predict(start.params(weight), points)))
    train = network(start.x)(problem.path) - on_train
    test = network(start.x_test)(problem.path) - on_test
    return jnp.linalg.norm(train, axis=1), jnp.abs(test).max(axis=0)


def _apart(problem: Flow) -> Float[Array, " q"]:
    """Return the sum of bounds on the two predictions at the test points, which bounds their difference.

    Each prediction is an integral over time of kernel times residual.
    """
    size, left = problem.cross_sizes, problem.smallest - problem.moved
    return problem.targets * (size / problem.smallest + (size + problem.moved_test) / left)


class TrainingPerturbation(Claim[Flow]):
    """Let F_nn(x)_l = m <a_l, softmax(W' x)> be the outputs of a softmax network with m units, whose weights are the
    columns of W, and with vectors a_l of signs ±1. Let F_ntk be the regression with the network's tangent kernel H* at
    initialisation. Network and regression both follow the gradient flow of half the squared loss on n points with
    targets Y, of shape (n, k), from F_nn(0) = 0. Let H(t) be the network's kernel at time t, let eps_H = max_t |H(t) -
    H*|_F, and let lambda be the smallest eigenvalue of H*. If eps_H <= lambda/2, then on the training points and at all
    times t >= 0

        |F_nn(t) - F_ntk(t)|_F <= eps_H |Y|_F / (2 lambda).

    For the proof, let e = F_nn - F_ntk. Its time derivative is e' = -m H* e + m (H* - H)(F_nn - Y), where |F_nn - Y| <=
    exp(-m lambda t / 2) |Y|. So |e| is at most (2 eps_H |Y| / lambda)(q - q²), where q = exp(-m lambda t / 2). The
    bound follows from q - q² <= 1/4.
    """

    title = "A softmax network fits training points like its kernel regression if the kernel moves little"
    source = Source("gu2024softmax", "Theorem F.2", note="on training points, with explicit constants")
    stated = Kind.OWN
    population = Flows()
    relation = AtMost()
    control = Control(
        "a twentieth of the bound is enough",
        lambda bound, problem: bound / 20,
        loose="the kernel moves late, and not along the slowest mode, so the bound is loose by a factor of 5 to 40",
    )
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: Flow) -> Array:
        return problem.moved * problem.targets / (2 * problem.smallest)

    def measure(self, problem: Flow, key: Key[Array, ""]) -> Array:
        """Return the largest difference over the records."""
        return differences(problem)[0].max()

    def trivial(self, problem: Flow) -> Array:
        """The bound 2 |Y|. The residuals do not grow, so network and regression stay within |Y| of the targets."""
        return 2 * problem.targets


class PredictionPerturbation(Claim[Flow]):
    """Let F_nn(x)_l = m <a_l, softmax(W' x)> be the outputs of a softmax network with m units, whose weights are the
    columns of W, and with vectors a_l of signs ±1. Let F_ntk be the regression with the network's tangent kernel H* at
    initialisation. Network and regression both follow the gradient flow of half the squared loss on n points with
    targets Y, of shape (n, k), from F_nn(0) = 0. Let lambda be the smallest eigenvalue of H*. For another point, let
    K_l,te be the kernel between output l at this point and the training points, and let K*_l,te be this kernel at
    initialisation. Let eps_H = max_t |H(t) - H*|_F and eps_l,test = max_t |K_l,te(t) - K*_l,te|_F. If eps_H <=
    lambda/2, the difference of the two predictions in output l satisfies, at all times t >= 0,

        |F_ntk(t) - F_nn(t)|_l <= (|Y|_F / (lambda - eps_H)) (eps_l,test + |K*_l,te|_F eps_H / lambda).

    The right side is at most 2 |Y|_F / lambda times the factor (eps_l,test + |K*_l,te|_F eps_H / lambda). The source
    multiplies the second term of this factor by log²(n k/(eps_H m lambda)). The claim has 1 in place of this squared
    logarithm, so the logarithm is not needed. In contrast, |K*_l,te|_F, the size of the cross kernel, is needed. The
    source hides this size in O(.).

    For the proof, write the difference of the two predictions as m times the integral over time of (K*_te - K_te)(F_nn
    - Y) - K*_te (F_nn - F_ntk). The integral of |F_nn - Y| is at most |Y| / (m (lambda - eps_H)). The integral of |F_nn
    - F_ntk| is at most eps_H / lambda times the bound on the integral of |F_nn - Y|.
    """

    title = "A softmax network predicts new points like its kernel regression if the kernel moves little"
    source = Source("gu2024softmax", "Theorem F.2", note="without the logarithm, with explicit constants")
    stated = Kind.REPAIR
    population = Flows()
    relation = AtMost()
    control = Control(
        "the movement of the kernel on test points is enough, without eps_H",
        lambda bound, problem: problem.targets / (problem.smallest - problem.moved) * problem.moved_test,
        loose="the bound is loose by a factor of 15 to 300",
    )
    controls, unexplained = _CONTROLS, _UNEXPLAINED

    def predict(self, problem: Flow) -> Array:
        inner = problem.moved_test + problem.cross_sizes * problem.moved / problem.smallest
        return problem.targets / (problem.smallest - problem.moved) * inner

    def measure(self, problem: Flow, key: Key[Array, ""]) -> Array:
        """Return the largest difference over the records, at each output and test point."""
        return differences(problem)[1]

    def trivial(self, problem: Flow) -> Array:
        return _apart(problem)


class TrainingCouplingRate(Claim[Initialised]):
    """Let F_nn(x)_l = m <a_l, softmax(W' x)> be the outputs of a softmax network with m units on n training points. The
    columns of W are the weights of the units. At initialisation, the units come in pairs with equal weights and
    opposite signs a_lr = ±1. Let F_ntk be the regression with the network's tangent kernel H* at initialisation. Both
    are trained by the same gradient flow. The largest difference between their outputs on the training points, over all
    times, is

        max_t |F_nn(t) - F_ntk(t)|_F ~ C m^-2.

    For the proof, note that the weights move by O(1/m) in training. The two units of a pair have opposite signs, and to
    first order they move in opposite directions. Let H be the kernel during training. Each term of H* contains a
    product of two signs. To first order, each term of H - H* contains one sign more. So the terms of the two units of a
    pair cancel exactly, and H - H* = O(m^-2). By Theorem F.2 of the source, the difference of the outputs is also
    O(m^-2). With independent signs, the difference of the outputs would be of order m^(-3/2).
    """

    title = "A softmax network of width m approaches the regression with its own tangent kernel as 1/m²"
    source = Source("gu2024softmax", "Theorem F.2", "Definition 3.7", note="the order in the width")
    stated = Kind.OWN
    population = NestedNetworks()
    # Second order movements are means of lognormals: few terms count at small widths, which bends the slope a little.
    relation = Rate(along="m", rungs=NestedNetworks().widths, margin=0.05, resolution=0.15, spread=0.6)
    control = Control("the distance falls as m^(-3/2)", lambda exponent, problem: exponent + 0.5)
    controls = _CONTROLS
    unexplained = "the constant, and the distance to the kernel of infinite width, which falls as m^(-1/2)"
    trials = 96
    predict = -2.0

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """Return the largest difference over the recorded times, one for each width. Each width has its own units."""
        found, first = [], 0
        for width in map(int, self.relation.rungs):
            units = slice(first, first + width)
            start = Initialised(problem.x, problem.y, problem.x_test, problem.weight[:, units], problem.sign[:, units])
            found.append(differences(trained(start))[0].max())
            first += width
        return jnp.stack(found)
