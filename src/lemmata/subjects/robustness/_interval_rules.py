"""Random test problems for smoothing: classifiers that depend on one coordinate, and noise on this coordinate."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class IntervalRule(eqx.Module):
    """A classifier that answers 1 if a coordinate of the input is in one of several intervals, and noise on the
    coordinate.

    Args:
        lows, highs: the ends of the intervals, which are disjoint and may be infinite.
        scale: the scale of the noise: sigma for normal noise, lambda for uniform noise on [-lambda, lambda], or b for
            Laplace noise.
        noise: "normal", "uniform" or "laplace".
    """

    lows: Float[Array, " k"]
    highs: Float[Array, " k"]
    scale: Float[Array, ""]
    noise: str = eqx.field(static=True, default="normal")

    def probability(self, shift: Float[Array, "*s"]) -> Float[Array, "*s"]:
        """Return the exact probability of the answer 1 under noise, if the coordinate without noise is `shift`."""
        below = _DISTRIBUTIONS[self.noise]
        ends = ((end - shift[..., None]) / self.scale for end in (self.highs, self.lows))
        return jnp.sum(below(next(ends)) - below(next(ends)), axis=-1)


def _uniform(t: Array) -> Array:
    return jnp.clip((t + 1) / 2, 0.0, 1.0)


def _laplace(t: Array) -> Array:
    return jnp.where(t < 0, jnp.exp(jnp.minimum(t, 0.0)) / 2, 1 - jnp.exp(-jnp.maximum(t, 0.0)) / 2)


_DISTRIBUTIONS = {"normal": norm.cdf, "uniform": _uniform, "laplace": _laplace}


class IntervalRules(Population[IntervalRule]):
    """Interval rules. Half of the rules are thresholds. The other rules are unions of intervals that contain the input.

    Args:
        noise: the distribution of the noise.
    """

    noise: str = eqx.field(static=True, default="normal")

    def settings(self) -> Space:
        scale = Real(0.5, 0.05, 5.0, "scale of the noise")
        return Space(scale=scale, intervals=Integer(3, 1, 8, "intervals"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> IntervalRule:
        """Draw intervals with lengths of 0.5 to 5 times the scale of the noise. The input, at 0, is in the middle
        interval or below the threshold.
        """
        kind_key, length_key, gap_key, place_key = jax.random.split(key, 4)
        count, scale = setting["intervals"], jnp.asarray(setting["scale"])
        lengths = scale * jax.random.uniform(length_key, (count,), minval=0.5, maxval=5.0)
        gaps = scale * jax.random.uniform(gap_key, (count,), minval=0.3, maxval=3.0)
        lows = jnp.cumsum(lengths + gaps) - lengths
        inside = jax.random.uniform(place_key, minval=0.1, maxval=0.9)
        origin = lows[count // 2] + inside * lengths[count // 2]
        lows, highs = lows - origin, lows + lengths - origin
        threshold = jax.random.bernoulli(kind_key)
        first = jnp.arange(count) == 0
        # a threshold rule is one half-line that contains 0; the other intervals are empty
        end = scale * (0.1 + 0.85 * inside)
        lows = jnp.where(threshold, jnp.where(first, -jnp.inf, 0.0), lows)
        highs = jnp.where(threshold, jnp.where(first, end, 0.0), highs)
        return IntervalRule(lows, highs, scale, self.noise)

    def hypotheses(self, problem: IntervalRule) -> list[Hypothesis]:
        ordered = jnp.all(problem.highs >= problem.lows)
        return [
            Hypothesis("the scale of the noise", problem.scale, ">", 0.0, "without noise, the rule is not smoothed"),
            Hypothesis(
                "intervals are in order",
                jnp.where(ordered, 1, 0),
                "==",
                1,
                "the probabilities of the intervals are added",
            ),
        ]


class Drawn(eqx.Module):
    """A class that has probability p under normal noise of standard deviation sigma, observed in n draws."""

    p: Float[Array, ""]
    sigma: Float[Array, ""]
    n: int = eqx.field(static=True)


class DrawnClasses(Population[Drawn]):
    """Classes with probabilities p between 0.6 and 0.999. 1 - p is uniform on a logarithmic scale."""

    settings = Space(
        n=Integer(1000, 50, 10_000, "draws"), sigma=Real(0.5, 0.05, 5.0, "standard deviation of the noise")
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Drawn:
        log = jax.random.uniform(key, minval=jnp.log(0.001), maxval=jnp.log(0.4))
        return Drawn(1 - jnp.exp(log), jnp.asarray(setting["sigma"]), setting["n"])

    def hypotheses(self, problem: Drawn) -> list[Hypothesis]:
        return [Hypothesis("p", problem.p, ">", 0.5, "the class leads"), Hypothesis("p", problem.p, "<", 1.0, "noise")]
