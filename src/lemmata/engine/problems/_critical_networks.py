"""Critically initialised networks of activations of two lines, and what their random weights do to one input."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class TwoLineNetwork(eqx.Module):
    """Layers z' = skip z + W s(z) of n units, s(u) = u above 0 and slope u below, kernel 1 in every layer at any width.

    Args:
        slope: below 0; 0 is ReLU and 1 the identity.
        skip: the factor of residual connections, 0 for none.
        ratio: of depth to width, where a claim chooses the width.
        width: n.
        depth: preactivations that there are, the first of them exactly normal.
    """

    slope: float
    skip: float
    ratio: float
    width: int = eqx.field(static=True)
    depth: int = eqx.field(static=True)

    @property
    def second(self) -> float:
        """E[s²] over a standard normal variable."""
        return (1.0 + self.slope**2) / 2.0

    @property
    def unit_growth(self) -> float:
        """E[s⁴]/E[s²]² - 1 over a standard normal variable."""
        return 6.0 * (1.0 + self.slope**4) / (1.0 + self.slope**2) ** 2 - 1.0

    def scales(self, width: int, layers: int, networks: int, rng: np.random.Generator) -> Float[np.ndarray, " m"]:
        """The variance of preactivations given the layer before, after that many layers; without residual connections.

        Given a layer's variance G its preactivations are independent, so that the next variance is G times
        2/(1 + slope²) times a mean of n squares: chi-squared variables of as many degrees as there are units on each
        side of 0. This is exact and needs no weights.
        """
        above = rng.binomial(width, 0.5, (networks, layers))
        squares = 2.0 * rng.standard_gamma(above / 2) + self.slope**2 * 2.0 * rng.standard_gamma((width - above) / 2)
        return np.prod(squares / (self.second * width), axis=1)

    def preactivations(self, networks: int, rng: np.random.Generator) -> Float[np.ndarray, "m n"]:
        """The last layer, with residual connections: given a layer, what W adds is normal and independent."""
        z = rng.standard_normal((networks, self.width))
        for _ in range(self.depth - 1):
            squares = np.where(z > 0, 1.0, self.slope**2) * z**2
            variance = (1.0 - self.skip**2) / self.second * squares.mean(axis=1, keepdims=True)
            z = self.skip * z + np.sqrt(variance) * rng.standard_normal(z.shape)
        return z


class TwoLineNetworks(Population[TwoLineNetwork]):
    """Slopes below 0 of 0 to 1/2, so between ReLU and nearly the identity.

    Args:
        skips: whether there are residual connections, of factors 1/2 to 4/5; slopes are then at most 1/4.
    """

    skips: bool = eqx.field(default=False, static=True)

    def settings(self) -> Space:
        """Width, depth, and their ratio."""
        width = Integer(256, 2, 4096, "width", corners=(224, 320))
        return Space(
            n=width if self.skips else Integer(128, 2, 4096, "width", corners=(96, 160)),
            depth=Integer(5, 2, 1000, "layers", corners=(4, 6)),
            ratio=Real(0.0625, 0.01, 0.2, "layers over width", corners=(0.05, 0.08)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoLineNetwork:
        """A slope and a factor."""
        slope, skip = (float(value) for value in jax.random.uniform(key, (2,)))
        drawn = (slope / 4, 0.5 + 0.3 * skip) if self.skips else (slope / 2, 0.0)
        return TwoLineNetwork(*drawn, setting["ratio"], setting["n"], setting["depth"])

    def hypotheses(self, problem: TwoLineNetwork) -> list[Hypothesis]:
        """Few layers for the width, where a statement is about the first order."""
        return [
            Hypothesis("the factor of residual connections", abs(problem.skip), "<", 1.0, "at 1 no weight is critical"),
            Hypothesis(
                "layers over width", problem.depth / problem.width, "<=", 0.25, "means of heavy tails elsewhere"
            ),
        ]
