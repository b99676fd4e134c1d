"""Proxies of a gold reward: with independent normal error, with heavy tails, and gold that turns down."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space


class NormalProxy(eqx.Module):
    """Proxy = gold + error, both normal with mean 0 and independent; a tilt of the reference by exp(tilt proxy)."""

    gold: Float[Array, ""]
    error: Float[Array, ""]
    tilt: Float[Array, ""]

    @property
    def share(self) -> Float[Array, ""]:
        """The squared correlation rho² of gold and proxy."""
        return self.gold**2 / (self.gold**2 + self.error**2)


class NormalProxies(Population[NormalProxy]):
    """Gold of scale 1/2 to 2; an error of comparable scale; a tilt of 1/2 to 1 standard deviations of the proxy."""

    def settings(self) -> Space:
        """The error's scale in units of the gold's."""
        return Space(error=Real(1.0, 0.5, 3.0, "error over gold", corners=(0.7, 1.5)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NormalProxy:
        """Scales and tilt."""
        u = jax.random.uniform(key, (3,))
        gold = 0.5 * 4 ** u[0]
        error = gold * setting["error"] * (0.8 + 0.4 * u[1])
        return NormalProxy(gold, error, (0.5 + 0.5 * u[2]) / jnp.sqrt(gold**2 + error**2))

    def hypotheses(self, problem: NormalProxy) -> list[Hypothesis]:
        """An error."""
        return [Hypothesis("the proxy has an error", problem.error, ">", 0.0, "else proxy and gold are one")]


class CurvedGold(eqx.Module):
    """Proxy s standard normal under the reference, gold s - curvature s² / 2; tilts at which it is asked for."""

    curvature: Float[Array, ""]
    tilts: Float[Array, " t"]


class CurvedGolds(Population[CurvedGold]):
    """Curvatures 0.3 to 2, tilts 0.2 to 3."""

    def settings(self) -> Space:
        """The middle of the curvatures."""
        return Space(curvature=Real(0.8, 0.3, 2.0, "middle of the curvatures"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> CurvedGold:
        """A curvature within a factor 2^(1/2), four tilts."""
        u = jax.random.uniform(key, (5,))
        return CurvedGold(setting["curvature"] * 2 ** (u[0] - 0.5), 0.2 + 2.8 * u[1:])

    def hypotheses(self, problem: CurvedGold) -> list[Hypothesis]:
        """A curvature."""
        return [Hypothesis("gold turns down", problem.curvature, ">", 0.0, "else there is no peak")]


class HeavyProxy(eqx.Module):
    """Proxy = gold + scale * error, gold standard normal, the error Student's with `freedom` degrees of freedom."""

    freedom: Float[Array, ""]
    scale: Float[Array, ""]


class HeavyProxies(Population[HeavyProxy]):
    """Errors with moments of an order below 3.5."""

    def settings(self) -> Space:
        """Degrees of freedom, scale."""
        freedom = Real(3.0, 2.5, 3.5, "degrees of freedom of the error", corners=(2.6, 3.4))
        return Space(freedom=freedom, scale=Real(1.2, 1.0, 2.0, "scale of the error", corners=(1.0, 1.6)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeavyProxy:
        """The setting itself: chance is in the draws."""
        return HeavyProxy(jnp.asarray(setting["freedom"]), jnp.asarray(setting["scale"]))

    def hypotheses(self, problem: HeavyProxy) -> list[Hypothesis]:
        """Tails of a power, with a second moment."""
        return [Hypothesis("the error has a variance", problem.freedom, ">", 2.0, "so that means of maxima are stable")]
