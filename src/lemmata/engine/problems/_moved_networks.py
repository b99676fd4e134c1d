"""Softmax networks away from their initialisation: where gradients and kernels are taken."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.networks import SoftmaxNetwork

from ._sampled import draws, paired_signs, points_in_ball


class MovedNetwork(eqx.Module):
    """A softmax network somewhere on its way, with data.

    Args:
        weight: W.
        sign: the rows a_l.
        x: inputs.
        y: targets.
    """

    weight: Float[Array, "d m"]
    sign: Float[Array, "k m"]
    x: Float[Array, "n d"]
    y: Float[Array, "n k"]

    @property
    def network(self) -> SoftmaxNetwork:
        """The network that these weights belong to."""
        return SoftmaxNetwork(self.weight.shape[1], len(self.sign))

    @property
    def params(self) -> dict[str, Array]:
        """The weights as the network takes them."""
        return {"weight": self.weight, "sign": self.sign}

    @property
    def shares(self) -> Float[Array, "n m"]:
        """S, a row an input."""
        return self.network.shares(self.params, self.x)

    @property
    def rounding(self) -> Float[Array, ""]:
        """How many eps a share is off: a logit l brings |l|, and sums of m terms lose sqrt(m)."""
        logits = jnp.abs(self.x @ self.weight).max()
        return (1 + logits) * jnp.sqrt(1.0 * self.weight.shape[1])


class MovedNetworks(Population[MovedNetwork]):
    """Symmetric initialisations that every weight has left at random; points and targets in unit balls.

    Args:
        n, d, k, pairs, moved: the defaults of the settings.
        farthest: the largest standard deviation of the movement.
    """

    free = ("weight",)
    n: int = 5
    d: int = 3
    k: int = 2
    pairs: int = 8
    moved: float = 0.5
    farthest: float = 2.0

    def settings(self) -> Space:
        """Sizes, the spread of the weights, and how far they are from the symmetric initialisation."""
        return Space(
            n=Integer(self.n, 1, 64, "points"),
            d=Integer(self.d, 1, 64, "columns"),
            k=Integer(self.k, 1, 16, "outputs"),
            pairs=Integer(self.pairs, 1, 512, "pairs of units"),
            sigma=Real(0.7, 0.01, 2.0, "standard deviation of the weights"),
            moved=Real(self.moved, 0.0, self.farthest, "standard deviation of the movement from the initialisation"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MovedNetwork:
        """A symmetric initialisation, moved; points in the unit ball; targets of norm at most 1."""
        n, d, k, pairs = (setting[name] for name in ("n", "d", "k", "pairs"))
        half, signs, move, points, targets = draws(key, (d, pairs), (k, pairs), (d, 2 * pairs), (n, d + 1), (n, k + 1))
        weight = jnp.repeat(setting["sigma"] * half, 2, axis=1) + setting["moved"] * move
        return MovedNetwork(weight, paired_signs(signs), points_in_ball(points), points_in_ball(targets))

    def hypotheses(self, problem: MovedNetwork) -> list[Hypothesis]:
        """Finite weights are all that is needed."""
        return [Hypothesis("the weights are finite", jnp.abs(problem.weight).max(), "<", jnp.inf)]
