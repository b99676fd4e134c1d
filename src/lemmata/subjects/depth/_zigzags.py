"""Test problems with ReLU networks of one input, and with zigzags, whose composition multiplies numbers of pieces."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.subjects.depth._broken_lines import BrokenLine, network_output


class BrokenLinePair(eqx.Module):
    """Two continuous piecewise affine functions f and g, given by knots, values at knots, and slopes at both ends."""

    f_knots: Float[Array, " m"]
    f_values: Float[Array, " m"]
    f_ends: Float[Array, " 2"]
    g_knots: Float[Array, " n"]
    g_values: Float[Array, " n"]
    g_ends: Float[Array, " 2"]

    def lines(self) -> tuple[BrokenLine, BrokenLine]:
        """Return the functions f and g, in exact arithmetic."""
        return (
            BrokenLine.of(np.asarray(self.f_knots), np.asarray(self.f_values), *map(float, self.f_ends)),
            BrokenLine.of(np.asarray(self.g_knots), np.asarray(self.g_values), *map(float, self.g_ends)),
        )


class BrokenLinePairs(Population[BrokenLinePair]):
    """Pairs of functions with knots in (-1, 1). Half of the problems have random values at knots, half have zigzags.

    At the knots, the values of a zigzag are 2 and -2 in turn.
    """

    settings = Space(p=Integer(4, 2, 12, "pieces of f"), q=Integer(5, 2, 12, "pieces of g"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> BrokenLinePair:
        keys = jax.random.split(key, 3)
        zigzag = jax.random.bernoulli(keys[0])
        fields = []
        for own, pieces in zip(keys[1:], (setting["p"], setting["q"]), strict=True):
            gaps, values, ends = jax.random.split(own, 3)
            steps = jnp.cumsum(jax.random.uniform(gaps, (pieces,), minval=0.5, maxval=1.5))
            signs = jnp.where(jnp.arange(pieces + 1) % 2 == 0, 1.0, -1.0)
            random = jax.random.normal(values, (pieces - 1,))
            slopes = jax.random.normal(ends, (2,))
            fields += [
                2 * steps[:-1] / steps[-1] - 1,
                jnp.where(zigzag, 2 * signs[: pieces - 1], random),
                jnp.where(zigzag, jnp.stack([signs[0], -signs[pieces - 2]]) * 4, slopes),
            ]
        return BrokenLinePair(*fields)

    def hypotheses(self, problem: BrokenLinePair) -> list[Hypothesis]:
        least = jnp.minimum(jnp.diff(problem.f_knots, append=2).min(), jnp.diff(problem.g_knots, append=2).min())
        return [Hypothesis("smallest distance between knots", least, ">", 0.0, "knots are in order")]


class DeepLine(eqx.Module):
    """Weights and biases of a ReLU network with one input and one output."""

    weights: tuple[Array, ...]
    biases: tuple[Array, ...]

    def line(self) -> BrokenLine:
        """Return the output of the network as a function, in exact arithmetic."""
        return network_output(list(map(np.asarray, self.weights)), list(map(np.asarray, self.biases)))

    @property
    def widths(self) -> tuple[int, ...]:
        """The numbers of units of the hidden layers."""
        return tuple(len(bias) for bias in self.biases[:-1])


class DeepLines(Population[DeepLine]):
    """Networks of two kinds. In half of the problems, each layer computes a zigzag; in the others, weights are normal.

    The zigzag of a layer of w units is a function of the previous layer's zigzag s. Its w + 1 pieces come from w units
    relu(s - t_i) with the factors -3, 2, -2, 2, ..., each times 2w. The third unit is relu(t_3 - s) instead, which
    determines the slope before t_1. The pieces of the zigzag have the slopes 2, -1, 1, -1, ..., each times 2w. The
    values of the pieces extend beyond all thresholds of the next layer.
    """

    settings = Space(
        width=Integer(3, 3, 6, "units in a hidden layer", corners=(3, 4)),
        layers=Integer(2, 1, 3, "hidden layers", corners=(1, 3)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> DeepLine:
        width, layers = setting["width"], setting["layers"]
        keys, place = jax.random.split(key, layers + 2), jnp.arange(width)
        zigzag = jax.random.bernoulli(keys[0])
        facing = jnp.where(place == 2, -1.0, 1.0)
        factors = 2 * width * jnp.where(place % 2 == 0, -2.0, 2.0).at[0].set(-3.0)[None]
        thresholds = (place + 0.5) / width
        weights, biases = [], []
        for layer, own in enumerate(keys[1:-1]):
            one, two = jax.random.split(own)
            before, shift = (jnp.ones((1, 1)), 0.0) if layer == 0 else (factors, 9.5)
            dense = jnp.round(8 * jax.random.normal(one, (width, before.shape[1]))) / 8
            weights.append(jnp.where(zigzag, facing[:, None] * before, dense))
            away = jnp.round(8 * jax.random.normal(two, (width,))) / 8
            biases.append(jnp.where(zigzag, facing * (shift - thresholds), away))
        last = jnp.round(8 * jax.random.normal(keys[-1], (1, width))) / 8
        return DeepLine((*weights, jnp.where(zigzag, factors, last)), (*biases, jnp.zeros(1)))

    def hypotheses(self, problem: DeepLine) -> list[Hypothesis]:
        return [Hypothesis("hidden layers", len(problem.widths), ">=", 1, "the network is not affine")]
