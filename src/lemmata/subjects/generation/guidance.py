"""Guidance: the distribution that a guided diffusion samples.

This theory is about the score (1 + w) s_c - w s_u, where s_c and s_u are the scores with and without a condition and w
is the weight. It assumes exact scores and normal distributions, for which everything is known. It does not explain
guided samples of images.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Kind, Limit, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.subjects.generation._gaussian_pairs import BY_SOLVER, NODES, WEIGHTS, carried

ABOUT = {"tool": "dynamical systems", "architecture": "diffusion model", "object": "sampler"}

_HORIZON = 24.0  # e^-T is 4e-11


class Guided(eqx.Module):
    """The conditional distribution N(mu, s_c²), the unconditional distribution N(0, s_u²), and the weight w of
    guidance. Noise is added by dx = -x dt + sqrt(2) dW.

    Args:
        ratio: s_c/s_u, the ratio of the deviations.
        spread: s_u.
        mean: mu.
        weight: w.
    """

    ratio: Float[Array, ""]
    spread: Float[Array, ""]
    mean: Float[Array, ""]
    weight: Float[Array, ""]

    @property
    def variances(self) -> tuple[Array, Array]:
        """The variances s_c² and s_u²."""
        return (self.ratio * self.spread) ** 2, self.spread**2

    @property
    def tilted(self) -> tuple[Array, Array]:
        """Variance and mean of the distribution whose density is proportional to p_c^(1+w) p_u^(-w).

        Here p_c is the conditional and p_u the unconditional density.
        """
        narrow, wide = self.variances
        variance = 1 / ((1 + self.weight) / narrow - self.weight / wide)
        return variance, variance * (1 + self.weight) * self.mean / narrow

    def pull(self, t: Array) -> tuple[Array, Array]:
        """Return k and l, where the guided score at time t is -k x + l."""
        a = jnp.exp(-t)
        narrow, wide = (1 + a**2 * (v - 1) for v in self.variances)
        return (1 + self.weight) / narrow - self.weight / wide, (1 + self.weight) * a * self.mean / narrow

    def ends(self, noise: float | Array, horizon: float = _HORIZON) -> Array:
        """Return variance and mean at time 0 of the reverse process, by a solver.

        The process starts from N(0, 1) at time `horizon`. Its noise is `noise` times the noise of the reverse equation;
        0 gives the probability flow.
        """
        share = 1 + noise**2

        def change(s: Array, moments: Array) -> Array:
            slope, shift = self.pull(horizon - s)
            variance, mean = moments
            return jnp.stack(
                [2 * (1 - share * slope) * variance + 2 * noise**2, (1 - share * slope) * mean + share * shift]
            )

        return carried(change, jnp.asarray([1.0, 0.0]), 0.0, horizon)


def _narrower(problem: Guided) -> Hypothesis:
    return Hypothesis("s_c/s_u", problem.ratio, "<", 1.0, "otherwise the tilted distribution may not exist")


class AbstractGuided(Claim[Guided]):
    """Shared parts of the claims on guidance: the samplers, and the tilted density that guidance appears to sample."""

    source = Source("emergence2026", "Figure 16.17", note="for normal distributions, where guidance is exact")
    stated = Kind.OWN
    population = Drawn(
        Guided,
        positive("spread"),
        _narrower,
        ratio=uniform(0.3, 0.9),
        spread=log_uniform(0.5, 2.0),
        mean=log_uniform(0.5, 2.0),
        weight=uniform(0.5, 3.0),
    )
    unexplained = "distributions that are not normal"


class GuidedSpread(AbstractGuided):
    """Let the conditional distribution be N(mu, s_c²) and the unconditional distribution N(0, s_u²), s_c < s_u, and
    let q = s_c²/s_u². Add noise to the data by dx = -x dt + sqrt(2) dW. Run the reverse process from N(0, 1) at a late
    time, with (1 + w) times the conditional score minus w times the unconditional score. The samples have the
    variances

        s_c² q^w                                by the probability flow,
        s_c² (1 - q^(1+2w))/((1 + 2w)(1 - q))   by the reverse equation with noise.

    The tilted distribution has a density proportional to p_c^(1+w) p_u^(-w), where p_c is the conditional and p_u the
    unconditional density. Its variance is s_c²/(1 + w (1 - q)). This variance is the largest of the three variances,
    and the variance under the probability flow is the smallest. So neither sampler samples the tilted distribution, and
    the two samplers differ.

    Derivation: Let V = 1 + e^-2t (s² - 1), and write V_c and V_u for s = s_c and s = s_u. Then 1/V - 1 = (log V)'/2. So
    the flow multiplies deviations by V_c^((1+w)/2) V_u^(-w/2). With noise, the variance is V_c^(2+2w) V_u^(-2w) at t =
    0 times the integral of (V_u/V_c)^(2w)/V_c² over u = e^-2t in [0, 1]. The integrand is the derivative of
    (V_u/V_c)^(2w+1)/((2w+1)(s_u² - s_c²)). The second variance is the mean of s_c² q^j over j in [0, 2w], and the first
    variance is s_c² q^j at the middle, j = w.
    """

    title = "The exact variance of guided diffusion samples for normal data is below that of the tilted density"
    relation = Equal()
    control = Control(
        "both samplers sample the tilted distribution", lambda variances, problem: jnp.full(2, problem.tilted[0])
    )
    controls = "the diversity of guided samples"

    def predict(self, problem: Guided) -> Array:
        q, w = problem.ratio**2, problem.weight
        return problem.variances[0] * jnp.stack([q**w, (1 - q ** (1 + 2 * w)) / ((1 + 2 * w) * (1 - q))])

    def measure(self, problem: Guided, key: Key[Array, ""]) -> Array:
        return jnp.stack([problem.ends(0.0)[0], problem.ends(1.0)[0]])

    def condition(self, problem: Guided) -> Array:
        """Allow for the solver's error, which is relative to the variance 1 at the start."""
        return BY_SOLVER * (1 + 1 / self.predict(problem))


class GuidedMean(AbstractGuided):
    """Let the conditional distribution be N(mu, s_c²) and the unconditional distribution N(0, s_u²), s_c < s_u, and let
    q = s_c²/s_u². Add noise to the data by dx = -x dt + sqrt(2) dW. Run the reverse process from N(0, 1) at a late
    time, with (1 + w) times the conditional score minus w times the unconditional score. The samples have the means

        mu (1 + w) q^((1+w)/2) integral_0^1 (1 - (1 - q) a²)^(-(3+w)/2) da   by the probability flow,
        mu (1 - q^(1+w))/(1 - q)                                           by the reverse equation with noise.

    The tilted distribution has a density proportional to p_c^(1+w) p_u^(-w), where p_c is the conditional and p_u the
    unconditional density. Its mean is mu (1 + w)/(1 + w (1 - q)). Both samplers overshoot this mean.

    Derivation: Let a = e^-t, V_c = 1 + a² (s_c² - 1) and V_u = 1 + a² (s_u² - 1). The mean of the flow is J(1) times
    the integral of (1 + w) mu/(V_c J) over a, where J = V_c^((1+w)/2) V_u^(-w/2), in the unit s_u = 1. With noise the
    mean is an integral over a² of V_c^(-2-w) V_u^w, which is the derivative of (V_u/V_c)^(1+w)/((1 + w)(s_u² - s_c²)).
    """

    title = "The exact mean of guided diffusion samples for normal data overshoots that of the tilted density"
    relation = Equal()
    control = Control(
        "both samplers sample the tilted distribution", lambda means, problem: jnp.full(2, problem.tilted[1])
    )
    controls = "how far guidance moves the samples beyond the condition"

    def predict(self, problem: Guided) -> Array:
        q, w = problem.ratio**2, problem.weight
        area = WEIGHTS @ (1 - (1 - q) * NODES**2) ** (-(3 + w) / 2)
        return problem.mean * jnp.stack([(1 + w) * q ** ((1 + w) / 2) * area, (1 - q ** (1 + w)) / (1 - q)])

    def measure(self, problem: Guided, key: Key[Array, ""]) -> Array:
        return jnp.stack([problem.ends(0.0)[1], problem.ends(1.0)[1]])

    def condition(self, problem: Guided) -> Array:
        """Allow for the solver's error, which is relative to the variance 1 at the start."""
        return BY_SOLVER * (1 + 1 / self.predict(problem))


class GuidedNoiseApproachesTilted(AbstractGuided):
    """Let the conditional distribution be N(mu, s_c²) and the unconditional distribution N(0, s_u²), s_c < s_u. Let g
    be (1 + w) times the conditional score minus w times the unconditional score. Run the guided reverse process dx = (x
    + (1 + lambda²) g) ds + lambda sqrt(2) dW, which has lambda times the noise of the reverse equation. The tilted
    density is proportional to p_c^(1+w) p_u^(-w), where p_c is the conditional and p_u the unconditional density. As
    lambda grows, the variance of the samples tends to the variance of the tilted density,

        s_c²/(1 + w (1 - s_c²/s_u²)).

    Without guidance (w = 0), the amount of noise does not matter. With guidance, more noise gives more diversity.

    Derivation: At every time, the part lambda² g ds + lambda sqrt(2) dW is a Langevin process with the tilted
    distribution.
    """

    title = "With much noise in the reverse process, guided samples have the variance of the tilted density"
    relation = Limit("lambda", (1.0, 2.0, 4.0), margin=0.05, resolution=0.03)
    control = Control(
        "the variance stays at its value for lambda = 1",
        lambda variance, problem: GuidedSpread().predict(problem)[1],
    )
    controls = "the diversity of guided samples"
    trials = 32

    def predict(self, problem: Guided) -> Array:
        return problem.tilted[0]

    def measure_at(self, problem: Guided, key: Key[Array, ""], rung: float) -> Array:
        return problem.ends(rung)[0]
