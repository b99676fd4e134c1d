"""Power laws, and how finely rates of exponentials are spaced."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space

from ._sampled import draws


class PowerLaw(eqx.Module):
    """t^-p by exponentials whose rates are a geometric sequence.

    Args:
        power: p.
        spacing: the logarithm h of the ratio of neighbouring rates.
        shift: where the sequence begins, as a share of h.
    """

    power: Float[Array, ""]
    spacing: Float[Array, ""]
    shift: Float[Array, ""]


class PowerLaws(Population[PowerLaw]):
    """Powers around 1, rates that are some e apart."""

    def settings(self) -> Space:
        """Power, spacing."""
        return Space(
            power=Real(1.0, 0.3, 2.0, "p, about"),
            spacing=Real(1.0, 0.6, 1.5, "logarithm of the ratio of rates, about"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> PowerLaw:
        """Moved by some per cent; a shift between -1/2 and 1/2."""
        (normal,) = draws(key, (3,))
        power, spacing = setting["power"] * jnp.exp(0.1 * normal[0]), setting["spacing"] * jnp.exp(0.03 * normal[1])
        return PowerLaw(power, spacing, 0.5 * jnp.tanh(normal[2]))

    def hypotheses(self, problem: PowerLaw) -> list[Hypothesis]:
        """The first harmonic of the error stands out."""
        second = math.pi**2 / problem.spacing
        return [Hypothesis("pi²/h", second, ">", 5.0, "later harmonics are smaller by about exp(-pi²/h)")]
