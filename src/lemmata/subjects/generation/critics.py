"""Critics: the quantity that the best discriminator measures, and cases in which the Jensen-Shannon divergence has no
signal.

This theory is about critics of unlimited size, which see both distributions instead of samples. It does not explain
critics that are networks, or what training finds.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import rel_entr
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Integer, Limit, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive

ABOUT = {"tool": "information theory", "architecture": "any", "object": "inequality"}

_NODES = 16_001
_TAIL = 12.0  # standard deviations beyond the two means


class FacedLaws(eqx.Module):
    """Unnormalised weights of data and of a generator on finitely many points, and the logits of a discriminator. At
    every fifth point, the data have probability 0.
    """

    data: Float[Array, " points"]
    made: Float[Array, " points"]
    logits: Float[Array, " points"]

    @property
    def p(self) -> Float[Array, " points"]:
        """The probabilities of the data."""
        weights = self.data * (jnp.arange(len(self.data)) % 5 > 0)
        return weights / weights.sum()

    @property
    def q(self) -> Float[Array, " points"]:
        """The probabilities of the generator."""
        return self.made / self.made.sum()

    def value(self) -> Float[Array, ""]:
        """Return E_p log D + E_q log(1 - D) for the discriminator D."""
        return self.p @ jax.nn.log_sigmoid(self.logits) + self.q @ jax.nn.log_sigmoid(-self.logits)

    def distance(self) -> Float[Array, ""]:
        """Return sum_x (p + q) KL(p/(p + q) || D).

        Here KL(a || b) is the divergence of coins with heads probabilities a and b.
        """
        both, own = self.p + self.q, jax.nn.sigmoid(self.logits)
        best = self.p / both
        return both @ (rel_entr(best, own) + rel_entr(1 - best, 1 - own))


class DiscriminatorFallsShort(Claim[FacedLaws]):
    """Let p and q be the distributions of data and of a generator on finitely many points. For every discriminator D
    with values in (0, 1),

        E_p log D + E_q log(1 - D) = 2 JS(p, q) - log 4 - sum_x (p(x) + q(x)) KL(p(x)/(p(x) + q(x)) || D(x)),

    where JS is the Jensen-Shannon divergence with natural logarithms, and KL(a || b) is the divergence between coins of
    probabilities a and b. So D = p/(p + q) is the best discriminator, and the left side is smaller for every other
    discriminator.
    """

    title = "The GAN value of a discriminator is below 2 JS - log 4 by its divergence from the best discriminator"
    source = Source("emergence2026", "Lemma 14.3", "Figure 14.5", note="with the value of all other discriminators")
    population = Drawn(
        FacedLaws,
        positive("made", "points with probability 0 can be left out"),
        data=log_uniform(0.01, 1.0, "points"),
        made=log_uniform(0.01, 1.0, "points"),
        logits=normal("points"),
        points=Integer(20, 5, 200, "points"),
    )
    relation = Equal()
    control = Control("the distance has the factor 1/2", lambda value, problem: value + problem.distance() / 2)
    controls = "the objective that a discriminator gives to its generator"
    unexplained = "how far a trained discriminator is from the best discriminator"

    def predict(self, problem: FacedLaws) -> Array:
        middle = (problem.p + problem.q) / 2
        divergences = jnp.sum(rel_entr(problem.p, middle) + rel_entr(problem.q, middle))
        return divergences - jnp.log(4.0) - problem.distance()

    def measure(self, problem: FacedLaws, key: Key[Array, ""]) -> Array:
        return problem.value()

    def condition(self, problem: FacedLaws) -> Array:
        """Allow for rounding in sums of terms of size 1 that cancel."""
        return len(problem.data) * (1 + 4 / jnp.abs(problem.value()))


class NormalLaw(eqx.Module):
    """A normal distribution that is compared with its translates."""

    mean: Float[Array, ""]
    scale: Float[Array, ""]

    def beside(self, t: float) -> tuple[Array, Array, Array, Array]:
        """Return a grid, its step, and the log densities of N(mean, scale²) and N(mean + t scale, scale²) on it."""
        at, step = jnp.linspace(-_TAIL, t + _TAIL, _NODES, retstep=True)
        x = self.mean + self.scale * at
        p, q = (norm.logpdf(x, self.mean + shift * self.scale, self.scale) for shift in (0.0, t))
        return x, step * self.scale, p, q

    def transport(self, t: float) -> Float[Array, ""]:
        """Return W1 between N(mean, scale²) and N(mean + t scale, scale²) in standard deviations.

        W1 is the area between the two distribution functions.
        """
        x, step, *_ = self.beside(t)
        lower, upper = (norm.cdf(x, self.mean + shift * self.scale, self.scale) for shift in (t, 0.0))
        return step * jnp.sum(jnp.abs(upper - lower)) / self.scale


_NORMALS = Drawn(
    NormalLaw,
    positive("scale", "the distributions have densities"),
    mean=normal(),
    scale=log_uniform(0.1, 10.0),
)


class NearbyNormals(Claim[NormalLaw]):
    """Let P = N(mu, s²) and Q = N(mu + t s, s²). Their Wasserstein distance W1(P, Q) is t s for every t > 0. For t ->
    0,

        JS(P, Q) / (W1(P, Q)/s)² -> 1/8,

    where JS is the Jensen-Shannon divergence with natural logarithms. So JS is of second order in t, while W1 is of
    first order.
    """

    title = (
        "For nearby normals of standard deviation s and Wasserstein distance W1, the Jensen-Shannon divergence is "
        "(W1/s)²/8"
    )
    source = Source("emergence2026", "Figure 14.8", note="with the constant, for distributions with densities")
    population = _NORMALS
    relation = Limit("1/t", (2.0, 4.0, 8.0), margin=0.003, resolution=0.003)
    control = Control("the limit is 1/4 instead of 1/8", lambda limit, problem: 2 * limit)
    controls = "the signal of a discriminator if the generator is near the data"
    unexplained = "distributions without densities, for which JS does not tend to 0"
    trials = 16
    predict = 1 / 8  # the next term is -t^4/64, 0.2 % at t = 1/8

    def measure_at(self, problem: NormalLaw, key: Key[Array, ""], rung: float) -> Array:
        """Compute the Jensen-Shannon divergence and W1 from their definitions by quadrature, and divide."""
        _, step, p, q = problem.beside(1 / rung)
        middle = jnp.logaddexp(p, q) - jnp.log(2.0)
        divergence = step * jnp.sum(jnp.exp(p) * (p - middle) + jnp.exp(q) * (q - middle)) / 2
        return divergence / problem.transport(1 / rung) ** 2


class DistantNormals(Claim[NormalLaw]):
    """Let P = N(mu, s²) and Q = N(mu + t s, s²). Their Wasserstein distance W1(P, Q) is t s, so w = W1(P, Q)/s is t.
    For t -> infinity,

        (log 2 - JS(P, Q)) w exp(w²/8) -> sqrt(2 pi),

    where JS is the Jensen-Shannon divergence with natural logarithms. So the divergence is nearly constant for distant
    distributions, and its slope in t is of order exp(-t²/8), while the slope of W1 is s.

    Derivation: let p and q be the densities of P and Q. Then log 2 - JS is the mean of log(1 + q/p) under P. Place 0 at
    the midpoint of the means, and let u = t x/s. Then log 2 - JS is phi(t/2)/t times the integral over u of exp(-u/2)
    log(1 + exp(u)) exp(-u²/(2 t²)), where phi is the standard normal density. Without the factor exp(-u²/(2 t²)), this
    integral is 2 pi. This factor changes the integral by the fraction -(pi² + 8)/(2 t²), which is -0.4 % at t = 48.
    """

    title = "For distant normal distributions, the Jensen-Shannon divergence saturates at log 2 exponentially fast"
    source = Source("emergence2026", "Figure 14.6", "Figure 14.8", note="with the rate and the constant")
    population = _NORMALS
    relation = Limit("t", (12.0, 24.0, 48.0), margin=0.005, resolution=0.005)
    control = Control("sqrt(pi)", lambda limit, problem: limit / jnp.sqrt(2.0))
    controls = "the signal of a discriminator if the generator is far from the data"
    unexplained = "critics of limited slope, whose signal does not fade"
    trials = 16
    predict = math.sqrt(2 * math.pi)

    def measure_at(self, problem: NormalLaw, key: Key[Array, ""], rung: float) -> Array:
        """Compute log 2 - JS by quadrature, as half of E_p log(1 + q/p) + E_q log(1 + p/q)."""
        _, step, p, q = problem.beside(rung)
        left = step * jnp.sum(jnp.exp(p) * jax.nn.softplus(q - p) + jnp.exp(q) * jax.nn.softplus(p - q)) / 2
        apart = problem.transport(rung)
        return left * apart * jnp.exp(apart**2 / 8)
