"""Margins of gradient flows: how fast a classifier approaches its largest margin, and what depth changes.

This theory is about gradient flow of the exponential loss after all rows are fitted. It gives the limit direction of
linear classifiers and of two linear networks. For homogeneous networks, it gives a smoothed margin that never falls. It
does not explain the time before the rows are fitted, or which limit a network of ReLU units finds.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Limit, Order, Rate, Source
from lemmata.engine.problems.drawn import Drawn, normal
from lemmata.engine.problems.variables import dimension, rows
from lemmata.subjects.implicit._flows import flow
from lemmata.subjects.implicit._separable import SeparableProblems, SeparableRows, largest_margin, margin, separator

ABOUT = {
    "tool": "dynamical systems",
    "architecture": "linear model",
    "object": "training",
    "DeepLinearMargin": {"architecture": "dense network"},
    "DiagonalMargin": {"architecture": "dense network"},
    "SmoothedMarginRises": {"architecture": "dense network"},
}

_LOGARITHMS = (100.0, 200.0, 400.0, 800.0)
_STEPS = (2000.0, 8000.0, 32000.0)
_SPAN = (0.0, 1.0, 2.0, 3.0)
_SHORT = 0.005


@jax.jit
def in_log_time(z: Float[Array, "n d"], start: Float[Array, " d"]) -> Float[Array, "s d"]:
    """Follow dw/ds = e^s sum_i z_i exp(-<w, z_i>), where t = e^s, from t = 1; return the weights at several times."""
    velocity = lambda state: (jnp.exp(state[1] - z @ state[0]) @ z, jnp.ones(()))
    return flow(velocity, (start, jnp.zeros(())), jnp.asarray(_LOGARITHMS), 1e-9)[0]


class LogTimeMargin(Claim[SeparableRows]):
    """Let rows z_i = y_i x_i be separable, and let w follow gradient flow of sum_i exp(-<w, z_i>). From every start,
    the direction of w tends to the direction of the hard-margin support vector machine. So

        min_i <w, z_i> / |w|   tends to its maximum over all w.

    The test follows the flow up to the time t with log t = 800.
    """

    title = "Gradient flow on separable rows tends to the largest margin"
    source = Source("emergence2026", "Figure 6.13", note="for the exponential loss, as in Soudry et al. (2018)")
    population = SeparableProblems()
    relation = Limit("log t", _LOGARITHMS, margin=0.02, resolution=0.02)
    control = Control(
        "the weights tend to the direction of the mean row",
        lambda value, problem: jnp.asarray(margin(problem.z, problem.z.mean(axis=0), 2)),
    )
    controls = "the margin after long training"
    unexplained = "training that stops while the direction still depends on the start"
    trials = 32
    traced = False  # the support vector machine is SciPy's

    def predict(self, problem: SeparableRows) -> Array:
        return jnp.asarray(largest_margin(problem.z, 2))

    def measure(self, problem: SeparableRows, key: Key[Array, ""]) -> Array:
        return jnp.asarray([margin(problem.z, w, 2) for w in in_log_time(problem.z, problem.start)])


class MarginGapInLogTime(Claim[SeparableRows]):
    """Let rows z_i = y_i x_i be separable, and let the hard-margin support vector machine have at least two support
    vectors. Let m be the largest margin min_i <w, z_i> / |w| over all w. Let w follow gradient flow of sum_i exp(-<w,
    z_i>). The relative distance of the margin from its maximum falls only like

        1 - min_i <w, z_i> / (m |w|) ~ C / log t,

    where C does not depend on t. So to halve the gap, the training time must be squared.
    """

    title = "The margin of gradient flow approaches its maximum like 1/log t"
    source = Source("soudry2018", note="main result, the rate of the margin")
    population = SeparableProblems()
    relation = Rate("log t", _LOGARITHMS, margin=0.05, resolution=0.1, spread=0.4)
    control = Control("the gap falls like (log t)^(-3/2)", lambda exponent, problem: exponent - 0.5)
    controls = "how long the margin takes to grow"
    unexplained = "the constant"
    trials = 32
    traced = False  # the support vector machine is SciPy's
    predict = -1.0

    def measure(self, problem: SeparableRows, key: Key[Array, ""]) -> Array:
        most = largest_margin(problem.z, 2)
        return jnp.asarray([1 - margin(problem.z, w, 2) / most for w in in_log_time(problem.z, problem.start)])


def _product(layers: tuple, diagonal: bool) -> Float[Array, " d"]:
    """Return the linear classifier that a network computes: u² - v², or W_3 W_2 W_1."""
    return layers[0] ** 2 - layers[1] ** 2 if diagonal else (layers[2] @ layers[1] @ layers[0])[0]


@functools.partial(jax.jit, static_argnames=("diagonal", "steps"))
def network(z: Float[Array, "n d"], layers: tuple, diagonal: bool, steps: int) -> Float[Array, " d"]:
    """Return the classifier of a linear network after many short steps of gradient descent on the exponential loss."""
    loss = lambda layers: jax.nn.logsumexp(-z @ _product(layers, diagonal))
    total = lambda tree: sum(jnp.sum(part**2) for part in tree)

    def one(_, layers):
        slope = jax.grad(loss)(layers)
        size = 0.2 / jnp.sqrt(total(slope))
        size = jnp.minimum(size, size / jnp.sqrt(total(slope)))
        size = jnp.minimum(size, size / (1 + total(layers)) ** (0.5 if diagonal else 1.0))
        return jax.tree.map(lambda part, down: part - size * down, layers, slope)

    return _product(jax.lax.fori_loop(0, steps, one, layers), diagonal)


class DeepLinearMargin(Claim[SeparableRows]):
    """Let rows z_i = y_i x_i be separable, and let w = W_3 W_2 W_1 be the classifier of a deep linear network of width
    3. Under descent with small steps on sum_i exp(-<w, z_i>) in all layers, the l_2 margin of w tends to its maximum.
    So depth does not change the limit of a fully connected linear network.
    """

    title = "A deep linear network tends to the same l_2 margin as a linear classifier"
    source = Source("gunasekar2018convolutional", note="fully connected linear networks")
    population = SeparableProblems()
    relation = Limit("steps", _STEPS, margin=0.02, resolution=0.02)
    control = Control(
        "the weights tend to the direction of largest l_inf margin",
        lambda value, problem: jnp.asarray(margin(problem.z, separator(problem.z, jnp.inf), 2)),
    )
    controls = "the classifier of a deep linear network after long training"
    unexplained = "networks with nonlinear units"
    trials = 32
    traced = False  # the support vector machine is SciPy's

    def predict(self, problem: SeparableRows) -> Array:
        return jnp.asarray(largest_margin(problem.z, 2))

    def measure(self, problem: SeparableRows, key: Key[Array, ""]) -> Array:
        d, keys = problem.z.shape[1], jax.random.split(key, 3)
        shapes = ((3, d), (3, 3), (1, 3))
        layers = tuple(jax.random.normal(own, shape) / 2 for own, shape in zip(keys, shapes, strict=True))
        ends = [network(problem.z, layers, False, int(steps)) for steps in _STEPS]
        return jnp.asarray([margin(problem.z, w, 2) for w in ends])


class DiagonalMargin(Claim[SeparableRows]):
    """Let rows z_i = y_i x_i be separable, and let w = u² - v² be the classifier of a diagonal linear network. Let u
    and v be 1/2 at the start. Under descent with small steps on sum_i exp(-<w, z_i>) in u and v, the l_1 margin of w
    tends to its maximum. By contrast, a linear classifier of depth 1 tends to the largest l_2 margin on the same rows.
    """

    title = "A diagonal linear network tends to the largest l_1 margin"
    source = Source("gunasekar2018convolutional", note="diagonal linear networks of depth 2")
    population = SeparableProblems()
    relation = Limit("steps", _STEPS, margin=0.02, resolution=0.028)
    control = Control(
        "the weights tend to the direction of largest l_2 margin",
        lambda value, problem: jnp.asarray(margin(problem.z, separator(problem.z, 2), 1)),
    )
    controls = "the classifier of a diagonal linear network after long training"
    unexplained = "deeper diagonal networks, whose limit need not be a global maximum"
    trials = 64
    traced = False  # the linear programs are SciPy's

    def predict(self, problem: SeparableRows) -> Array:
        return jnp.asarray(largest_margin(problem.z, 1))

    def measure(self, problem: SeparableRows, key: Key[Array, ""]) -> Array:
        half = jnp.full(problem.start.shape, 0.5)
        ends = [network(problem.z, (half, half), True, int(steps)) for steps in _STEPS]
        return jnp.asarray([margin(problem.z, w, 1) for w in ends])


class FittedNetwork(eqx.Module):
    """A network f(x) = a'phi(W x) of leaky ReLU units phi that fits the classes of all rows.

    The classes are the signs of the network's own outputs. The weights are scaled so that the loss is below 1.
    """

    x: Float[Array, "n d"]
    first: Float[Array, "m d"]
    second: Float[Array, " m"]

    def outputs(self, layers: tuple) -> Float[Array, " n"]:
        """Return f at all rows, which is homogeneous of degree 2 in the layers."""
        return jax.nn.leaky_relu(self.x @ layers[0].T, 0.1) @ layers[1]

    @property
    def margins(self) -> Float[Array, " n"]:
        """|f| at all rows, before the weights are scaled."""
        return jnp.abs(self.outputs((self.first, self.second)))

    @property
    def start(self) -> tuple:
        """The weights, scaled so that sum_i exp(-y_i f(x_i)) is at most 1/2."""
        scale = jnp.sqrt(jnp.log(2.0 * len(self.x)) / self.margins.min())
        return scale * self.first, scale * self.second

    def log_loss(self, layers: tuple) -> Array:
        """Return the logarithm of sum_i exp(-y_i f(x_i))."""
        classes = jnp.sign(self.outputs((self.first, self.second)))
        return jax.nn.logsumexp(-classes * self.outputs(layers))


def _apart(problem: FittedNetwork) -> Hypothesis:
    return Hypothesis("the least output", problem.margins.min(), ">", 1e-6, "then scaled weights have a loss below 1")


class SmoothedMarginRises(Claim[FittedNetwork]):
    """Let f be a network that is homogeneous of degree L in its weights theta, such as a network of L layers of ReLU
    units without biases. Let l be the sum of exp(-y_i f(x_i)) over the rows. Under gradient flow, once l < 1, the
    smoothed margin

        log(1/l) / |theta|^L

    never falls. The smoothed margin would also rise if all weights were only multiplied by a number above 1. To exclude
    this trivial rise, multiply the initial weights by the number that gives them the current norm. Subtract the
    smoothed margin at these multiplied weights from the current smoothed margin. This difference rises as well.

    The test measures this difference for two layers of leaky ReLU units, at equal distances along the path of the
    weights.
    """

    title = "Once a homogeneous network fits all rows, its smoothed margin never falls"
    source = Source("lyu2020margin", note="main lemma for gradient flow, the smoothed margin")
    population = Drawn(
        FittedNetwork,
        _apart,
        n=rows(6, 2, 40, corners=(4, 8)),
        d=dimension(4, 1, 20, corners=(3, 6)),
        m=dimension(6, 1, 40, corners=(4, 8)),
        x=normal("n", "d"),
        first=normal("m", "d"),
        second=normal("m"),
    )
    relation = Order("part of the path", _SPAN)
    control = Control("the smoothed margin falls", lambda sign, problem: -sign)
    controls = "the margin of a network during all of late training"
    unexplained = "which margin is reached in the end"
    trials = 64
    predict = 1.0

    def measure(self, problem: FittedNetwork, key: Key[Array, ""]) -> Array:
        total = lambda layers: sum(jnp.sum(part**2) for part in layers)

        def velocity(layers):
            slope = jax.grad(problem.log_loss)(layers)
            return jax.tree.map(lambda part: -part * jnp.sqrt(total(layers) / total(slope)), slope)

        def one(_, layers):
            half = jax.tree.map(lambda part, down: part + _SHORT / 2 * down, layers, velocity(layers))
            return jax.tree.map(lambda part, down: part + _SHORT * down, layers, velocity(half))

        def stretch(layers, _):
            scaled = jax.tree.map(lambda part: part * jnp.sqrt(total(layers) / total(problem.start)), problem.start)
            gain = (problem.log_loss(scaled) - problem.log_loss(layers)) / total(layers)
            return jax.lax.fori_loop(0, 100, one, layers), gain

        return jax.lax.scan(stretch, problem.start, None, length=len(_SPAN))[1]
