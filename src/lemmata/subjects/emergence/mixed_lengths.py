"""Benchmarks whose answers have different lengths, and the width of their jump.

This theory assumes exact match, and a loss per token that is a power law of the scale. It computes the width of the
jump for lengths that have a gamma distribution. It does not explain items of different difficulty.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.subjects.emergence._crossing import crossing

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}


class MixedTask(eqx.Module):
    """Answers whose lengths have a gamma distribution with mean 1 and variance 1/k. The loss of a token is c N^-alpha.

    Lengths are measured in units of their mean. This choice moves the jump, but does not change its width.
    """

    k: Float[Array, ""]
    alpha: Float[Array, ""]


def _width(k: Array | float, alpha: Array) -> Array:
    return jnp.log(jnp.expm1(jnp.log(10.0) / k) / jnp.expm1(jnp.log(10.0 / 9.0) / k)) / alpha


class MixedLengthsWiden(Claim[MixedTask]):
    """A model of scale N has the loss c N^-alpha at each token, and an answer of L tokens is right with probability
    exp(-L c N^-alpha). The lengths of the answers of a benchmark have a gamma distribution with mean m and variance
    m²/k. Then the accuracy rises from 10 % to 90 % while log N grows by

        log((10^(1/k) - 1)/((10/9)^(1/k) - 1))/alpha.

    The reason is that the loss u = c N^-alpha gives the accuracy E exp(-L u) = (1 + u m/k)^-k. As k grows, the lengths
    concentrate at their mean, and the width of the rise tends to 3.08/alpha, the width for answers of equal length. For
    exponential lengths (k = 1), the width is log(81)/alpha = 4.39/alpha, which is 1.42 times the width for answers of
    equal length.
    """

    title = "Answers of mixed length widen the jump of exact match with model scale"
    source = Source("emergence2026", "Figure 22.3", note="for answers of different lengths")
    stated = Kind.OWN
    population = Drawn(MixedTask, positive("k"), positive("alpha"), k=log_uniform(0.7, 5.0), alpha=uniform(0.3, 1.5))
    relation = EqualInMean(margin=0.02, resolution=0.02)
    control = Control("the jump is as narrow as for a single length", lambda width, problem: _width(1e6, problem.alpha))
    controls = "the width of the jump on a benchmark with short and long answers"
    unexplained = "lengths with another distribution, and items of different difficulty"
    trials = 64

    def predict(self, problem: MixedTask) -> Array:
        return _width(problem.k, problem.alpha)

    def measure(self, problem: MixedTask, key: Key[Array, ""]) -> Array:
        """Find the width by bisection on the accuracy over 4000 drawn lengths."""
        lengths = jax.random.gamma(key, problem.k, (4000,)) / problem.k
        accuracy = lambda at: jnp.mean(jnp.exp(-lengths * jnp.exp(-problem.alpha * at)))
        return crossing(accuracy, 0.9, -60.0, 60.0) - crossing(accuracy, 0.1, -60.0, 60.0)
