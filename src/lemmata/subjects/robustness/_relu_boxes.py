"""Random test problems: a ReLU network and a box of inputs around one point."""

import functools
import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.drawn import Drawn


class ReluBox(eqx.Module):
    """A ReLU network with one output, and the inputs within `radius` of `center` in every coordinate.

    Args:
        weights: the weights of each layer, (outputs, inputs).
        biases: the biases of each layer.
        center: the input at the centre of the box.
        radius: the radius of the box.
    """

    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]
    center: Float[Array, " d"]
    radius: Float[Array, ""]


@functools.partial(jax.jit, static_argnums=1)
def _drawn(key: Key[Array, ""], sizes: tuple[int, ...], monotone: float | Float[Array, ""]):
    """Draw weights, biases and a centre. The function is compiled once for each size, because trials run one by one."""
    kind_key, normal_key = jax.random.split(key)
    positive = jax.random.uniform(kind_key) < monotone
    layers = list(itertools.pairwise(sizes))
    flat = jax.random.normal(normal_key, (sum(after * (before + 1) for before, after in layers) + sizes[0],))
    weights, biases = [], []
    for before, after in layers:
        weight, bias, flat = jnp.split(flat, [after * before, after * (before + 1)])
        weight = jnp.sqrt(2 / before) * weight.reshape(after, before)
        weights.append(jnp.where(positive, jnp.abs(weight), weight))
        biases.append(0.3 * bias)
    return tuple(weights), tuple(biases), flat


class ReluBoxes(Population[ReluBox]):
    """Networks with normal weights of variance 2/inputs, normal biases of variance 0.09, and a standard normal centre.

    Args:
        inputs, width, hidden: the default numbers of inputs, of units in each hidden layer, and of hidden layers.
        radius: the default radius of the box.
        monotone: the share of problems in which the weights are replaced by their absolute values.
        depths: the smallest and the largest number of hidden layers.
    """

    free = ("center",)
    inputs: int = eqx.field(static=True, default=8)
    width: int = eqx.field(static=True, default=12)
    hidden: int = eqx.field(static=True, default=1)
    radius: float = eqx.field(static=True, default=0.2)
    monotone: float = eqx.field(static=True, default=0.0)
    depths: tuple[int, int] = eqx.field(static=True, default=(1, 4))

    def settings(self) -> Space:
        return Space(
            inputs=Integer(self.inputs, 2, 64, "coordinates of an input"),
            width=Integer(self.width, 2, 128, "units of each hidden layer"),
            hidden=Integer(self.hidden, *self.depths, "hidden layers"),
            radius=Real(self.radius, 0.001, 2.0, "radius of the box"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ReluBox:
        sizes = (setting["inputs"], *[setting["width"]] * setting["hidden"], 1)
        weights, biases, center = _drawn(key, sizes, self.monotone)
        return ReluBox(weights, biases, center, jnp.asarray(setting["radius"]))

    def hypotheses(self, problem: ReluBox) -> list[Hypothesis]:
        found = [Hypothesis("the radius", problem.radius, ">", 0.0, "otherwise the box is a single point")]
        if self.monotone == 1.0:
            least = jnp.stack([weight.min() for weight in problem.weights]).min()
            found.append(Hypothesis("the smallest weight", least, ">=", 0.0, "the network is monotone"))
        if self.depths == (1, 1):
            found.append(Hypothesis("hidden layers", len(problem.weights) - 1, "==", 1, "bounds of z are exact"))
        return found


class LinearChain(eqx.Module):
    """The sizes of a product of random matrices, with `inputs` inputs and outputs, and hidden layers of one width."""

    inputs: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    hidden: int = eqx.field(static=True)


LINEAR_CHAINS = Drawn(
    LinearChain,
    lambda chain: Hypothesis("hidden layers", chain.hidden, ">=", 1, "the bounds of a single matrix are exact"),
    inputs=Integer(50, 8, 200, "inputs"),
    width=Integer(128, 32, 512, "hidden width"),
    hidden=Integer(2, 1, 3, "hidden layers"),
)
