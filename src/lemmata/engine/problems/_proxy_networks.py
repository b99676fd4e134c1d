"""Points, and the weights of a dense network with SiLU between its layers, that imitates a larger model."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class ProxyNetwork(eqx.Module):
    """Points and a network f(x) = W_3 s(W_2 s(W_1 x + b_1) + b_2) + b_3, s(u) = u / (1 + e^-u).

    Args:
        x: points.
        weights, biases: W_l and b_l of each layer.
    """

    x: Float[Array, "n d"]
    weights: tuple[Float[Array, "_ _"], ...]
    biases: tuple[Float[Array, " _"], ...]

    def __call__(self, weights: tuple, biases: tuple, x: Float[Array, " d"]) -> Float[Array, " k"]:
        """The outputs at other parameters of the same shapes."""
        for w, b in zip(weights[:-1], biases[:-1], strict=True):
            x = jax.nn.silu(w @ x + b)
        return weights[-1] @ x + biases[-1]


class ProxyNetworks(Population[ProxyNetwork]):
    """Weights of variance 1/(what goes in), biases of 1/100, normal points."""

    free = ("x",)

    def settings(self) -> Space:
        """Points and widths."""
        return Space(
            n=Integer(5, 2, 30, "points", corners=(4, 6)),
            d=Integer(4, 1, 20, "dimension", corners=(3, 5)),
            width=Integer(6, 2, 40, "units of each hidden layer", corners=(5, 8)),
            outputs=Integer(3, 1, 10, "outputs", corners=(2, 4)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ProxyNetwork:
        """From one draw of normal numbers."""
        sizes = (setting["d"], setting["width"], setting["width"], setting["outputs"])
        keys = jax.random.split(key, 7)
        pairs = list(zip(sizes[1:], sizes, strict=False))
        weights = tuple(jax.random.normal(keys[i], pair) / pair[1] ** 0.5 for i, pair in enumerate(pairs))
        biases = tuple(0.1 * jax.random.normal(keys[3 + i], pair[:1]) for i, pair in enumerate(pairs))
        return ProxyNetwork(jax.random.normal(keys[6], (setting["n"], setting["d"])), weights, biases)

    def hypotheses(self, problem: ProxyNetwork) -> list[Hypothesis]:
        """Layers to add up."""
        return [Hypothesis("the network's layers", len(problem.weights), ">=", 2, "a sum over layers")]
