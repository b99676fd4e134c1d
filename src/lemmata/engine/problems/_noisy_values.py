"""Noisy values of a function at points, and the features of a random network there; their populations."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.architectures import Dense, Erf, Serial
from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._drawn_networks import drawn_parameters
from ._sampled import draws

_WIDTH = 16


class NoisyValues(eqx.Module):
    """Noisy values of a function at points, and other points where it is asked for.

    Args:
        x: the points.
        y: the values.
        others: the other points.
        noise: variance of the noise.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    others: Float[Array, "t d"]
    noise: Float[Array, ""]


class NoisyFeatures(eqx.Module):
    """The features of a random network at points with noisy values, and at other points.

    Args:
        known: at the points.
        asked: at the other points.
        y: the values.
        noise: variance of the noise.
    """

    known: Float[Array, "n m"]
    asked: Float[Array, "t m"]
    y: Float[Array, " n"]
    noise: Float[Array, ""]


def hidden_network(width: int) -> Serial:
    """One hidden layer of error functions without its readout."""
    return Serial([Dense(width, 1.5, 0.5), Erf()])


def features(network: Serial, params: tuple, points: Float[Array, "p d"]) -> Float[Array, "p m"]:
    """The outputs of the last hidden layer over sqrt(m), as the readout sees them."""
    values = jax.vmap(lambda point: network.apply(params, point))(points)
    return values / values.shape[1] ** 0.5


def _space(n: int) -> Space:
    return Space(
        n=Integer(n, 2, 24, "points"),
        d=Integer(3, 1, 16, "dimension"),
        noise=Real(0.1, 0.01, 10.0, "variance of the noise"),
    )


def _drawn(setting: dict, key: Key[Array, ""]) -> NoisyValues:
    n, d = setting["n"], setting["d"]
    x, y, others = draws(key, (n, d), (n,), (3, d))
    return NoisyValues(x, y, others, jnp.asarray(setting["noise"], float))


def _positive(noise: Float[Array, ""]) -> Hypothesis:
    return Hypothesis("the noise is positive", noise, ">", 0.0, "without noise the posterior need not exist")


class NoisyFunctions(Population[NoisyValues]):
    """Standard normal points and values, and three other points."""

    def settings(self) -> Space:
        """Points, dimension and noise."""
        return _space(6)

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyValues:
        """Independent points and values."""
        return _drawn(setting, key)

    def hypotheses(self, problem: NoisyValues) -> list[Hypothesis]:
        """Noise."""
        return [_positive(problem.noise)]


class RandomReadouts(Population[NoisyFeatures]):
    """Sixteen units of a random network at standard normal points with standard normal values."""

    def settings(self) -> Space:
        """Points, dimension and noise."""
        return _space(8)

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyFeatures:
        """Values, and the features of an independent network."""
        value_key, network_key = jax.random.split(key)
        drawn, network = _drawn(setting, value_key), hidden_network(_WIDTH)
        (params,) = drawn_parameters([network], setting["d"], network_key)
        known, asked = (features(network, params, points) for points in (drawn.x, drawn.others))
        return NoisyFeatures(known, asked, drawn.y, drawn.noise)

    def hypotheses(self, problem: NoisyFeatures) -> list[Hypothesis]:
        """Noise."""
        return [_positive(problem.noise)]
