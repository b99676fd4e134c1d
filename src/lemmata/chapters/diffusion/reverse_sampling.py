"""Sampling: from noise to data by the reverse equation or the probability flow, with an exact or a learned score.

This theory controls the law of what comes out: with the score of p_t both equations carry p_T to p_0, and the error of
a learned score, of the start from N(0, I) and of the steps is all that is between a sampler and its data. Distances are
energy distances of samples. It leaves unexplained which errors of a score matter most.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, EqualInMean, Hypothesis, Integer, Order, Source, Space

from ._samplers import FIRST, HORIZON
from ._samplers import LearnedScore as LearnedScore
from ._samplers import energy_distance as energy_distance
from ._samplers import energy_interval as energy_interval
from ._samplers import learn_score as learn_score
from ._samplers import probability_flow as probability_flow
from ._samplers import sample_reverse as sample_reverse
from ._samplers import simulate_forward as simulate_forward
from ._samplers import train_score as train_score
from .forward_process import DIMENSION, STD, GaussianMixture, Schedule, sampled_mixture, sampled_schedule
from .score_matching import training_set

_PARTICLES, _FORWARD_STEPS = 256, 128
_PAIRS = (16.0, 128.0)


class Sampled(eqx.Module):
    """Draws of a target at the ends of a diffusion.

    Args:
        target: the law of the data.
        schedule: g.
        clean: draws of x(0).
        first: other draws, of x(FIRST).
        early: other draws, of x(1/4).
        last: other draws, of x(HORIZON).
    """

    target: GaussianMixture
    schedule: Schedule
    clean: Float[Array, "n d"]
    first: Float[Array, "n d"]
    early: Float[Array, "n d"]
    last: Float[Array, "n d"]


class AbstractSampled(Claim[Sampled]):
    """Draws from a random mixture of four normal laws under a random schedule."""

    problem = Sampled
    label = "identity"
    trials = 64
    batch = 64

    def settings(self) -> Space:
        """Dimension, spread."""
        return Space(d=DIMENSION, std=STD)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Sampled:
        """Four independent sets of draws."""
        target_key, schedule_key, data_key, noise_key = jax.random.split(key, 4)
        target, schedule = sampled_mixture(target_key, setting["d"], setting["std"]), sampled_schedule(schedule_key)
        clean = target.sample(data_key, 4 * _PARTICLES)
        times = jnp.repeat(jnp.asarray([0.0, FIRST, 0.25, HORIZON]), _PARTICLES)
        return Sampled(target, schedule, *jnp.split(schedule.noised(noise_key, times, clean), 4))

    def hypotheses(self, problem: Sampled) -> list[Hypothesis]:
        """Second moments, and a schedule that forgets (Assumption 6.3)."""
        return [
            *problem.schedule.hypotheses(),
            Hypothesis("components are normal (spread)", problem.target.std, ">", 0.0, "second moments are finite"),
        ]


class ForwardMoments(AbstractSampled):
    """The law of x(t) given x(0) is that of the explicit solution, N(alpha x(0), (1 - alpha²) I): over paths of (3)

        E <x(t), x(0)> = alpha E |x(0)|²   and   E |x(t)|² = alpha² E |x(0)|² + d (1 - alpha²)

    at every time; t = 1 is looked at.
    """

    title = "The forward process and its explicit solution"
    source = Source("gu2024softmax", "(3)")
    # With u_j = g(t_j) h / 2 the steps shrink the mean by prod (1 - u_j) instead of exp(-G/2). For g <= 4 on [0, 1] and
    # h = 1/128 the logarithms differ by sum u_j²/2 <= 0.016 and, the sum of u_j being a left Riemann sum of a slope of
    # at most 2, by h/2 = 0.004; squares by twice that.
    relation = EqualInMean(margin=0.04)
    controls = "the law of noised data"
    unexplained = "nothing: the law is normal"
    trials = 256

    def predict(self, problem: Sampled) -> Array:
        """The two moments at t = 1, with the second moment of the drawn x(0)."""
        alpha, v = problem.schedule.scale(jnp.ones(())), problem.schedule.variance(jnp.ones(()))
        second = jnp.mean(jnp.sum(problem.clean**2, axis=1))
        return jnp.stack([alpha * second, alpha**2 * second + problem.clean.shape[1] * v])

    def measure(self, problem: Sampled, key: Key[Array, ""]) -> Array:
        """The same over simulated paths."""
        noised = simulate_forward(key, problem.schedule, problem.clean, 1.0, _FORWARD_STEPS)
        product = lambda a, b: jnp.mean(jnp.sum(a * b, axis=1))
        return jnp.stack([product(noised, problem.clean), product(noised, noised)])

    def control(self) -> Control:
        """Noise that is added without shrinking as fast."""

        def variance(moments, problem):
            v = problem.schedule.variance(jnp.ones(()))
            return moments.at[1].add(problem.clean.shape[1] * (1 - problem.schedule.scale(jnp.ones(())) - v))

        return Control("the variance is 1 - alpha", variance)


class AbstractTransport(AbstractSampled):
    """With the exact score, draws of p_T are carried to draws of p_0, here stopped at t = 0.02."""

    # A step of relative size 1/128 moves the samples by a hundredth of themselves at most; the energy distance is
    # quadratic in that: below 1e-3.
    relation = EqualInMean(relative=False, margin=1e-3, resolution=5e-3)
    controls = "the law of generated samples, in energy distance"
    unexplained = "the number of steps that a law needs"
    trials = 32
    batch = 32

    def predict(self, problem: Sampled) -> Array:
        """No distance."""
        return jnp.zeros(())

    def control(self) -> Control:
        """Data that are still noised."""

        def noised(zero, problem):
            return energy_distance(problem.early, problem.first)

        return Control("the samples are those of t = 1/4", noised)


class ReverseEquation(AbstractTransport):
    """The reverse equation dy = (g y/2 + g grad log p_{T-s}(y)) ds + sqrt(g) dB, g at T - s, started from p_T, has at s
    the law p_{T-s}:

        the expected unbiased energy distance between its samples and samples of p_{T-s} is 0.
    """

    title = "The reverse equation returns to the data"
    source = Source("gu2024softmax", "(4)")

    def measure(self, problem: Sampled, key: Key[Array, ""]) -> Array:
        """The energy distance to independent draws."""
        score = lambda t, x: problem.target.score(problem.schedule, t, x)
        return energy_distance(sample_reverse(key, score, problem.schedule, problem.last), problem.first)


class ProbabilityFlow(AbstractTransport):
    """The flow dx/dt = -g (x + grad log p_t(x)) / 2, without noise, run backwards from p_T, has the marginals of the
    reverse equation:

        the expected unbiased energy distance between its samples and samples of p_t is 0.
    """

    title = "The probability flow returns to the data"
    source = Source("song2021score", "Section 4.3", note="the probability flow of equation (3) of gu2024softmax")

    def measure(self, problem: Sampled, key: Key[Array, ""]) -> Array:
        """The energy distance to independent draws."""
        score = lambda t, x: problem.target.score(problem.schedule, t, x)
        return energy_distance(probability_flow(score, problem.schedule, problem.last, steps=32), problem.first)


class StartFromNoise(AbstractSampled):
    """To start from N(0, I) in place of p_T costs, in Wasserstein distance, at most

        W_2(p_T, N(0, I)) <= exp(-G(T)/2) W_2(p_0, N(0, I)),

    since the same noise carries both laws and shrinks their distance by alpha. Shown for one normal component,
    p_0 = N(mu, s² I), where W_2² = |mu|² + d (s - 1)².
    """

    title = "The price of starting from noise"
    source = Source("gu2024softmax", "Section 6.1, practical reverse equation", note="y(0) ~ N(0, I)")
    relation = AtMost()
    label = "upper"
    controls = "the distance of the noised data from pure noise"
    unexplained = "what the reverse equation makes of that distance"
    trials = 128

    def predict(self, problem: Sampled) -> Array:
        """alpha W_2 at the first component."""
        mean, spread = problem.target.means[0], problem.target.std
        return problem.schedule.scale(jnp.ones(())) * jnp.sqrt(mean @ mean + len(mean) * (spread - 1) ** 2)

    def measure(self, problem: Sampled, key: Key[Array, ""]) -> Array:
        """W_2 of the component at t = 1, from its mean and its variance."""
        one = GaussianMixture(problem.target.means[:1], jnp.ones(1), problem.target.std)
        t, origin = jnp.ones(()), jnp.zeros(problem.clean.shape[1])
        curvature = -jax.jacfwd(one.score, argnums=2)(problem.schedule, t, origin)[0, 0]
        mean = one.score(problem.schedule, t, origin) / curvature
        return jnp.sqrt(mean @ mean + len(mean) * (curvature**-0.5 - 1) ** 2)

    def trivial(self, problem: Sampled) -> Array:
        """The distance at t = 0."""
        mean, spread = problem.target.means[0], problem.target.std
        return jnp.sqrt(mean @ mean + len(mean) * (spread - 1) ** 2)

    def control(self) -> Control:
        """The rate at which variances shrink."""

        def faster(bound, problem):
            return bound * problem.schedule.scale(jnp.ones(()))

        return Control("it shrinks by exp(-G)", faster)


@eqx.filter_jit
def _learned_distances(problem: Sampled, key: Key[Array, ""]) -> Float[Array, " r"]:
    data_key, start_key = jax.random.split(key)
    drawn = training_set(data_key, problem.target, problem.schedule, int(_PAIRS[-1]), HORIZON, FIRST)
    start = jax.random.normal(start_key, problem.last.shape)
    scores = [learn_score(problem.schedule, *(a[: int(n)] for a in drawn)) for n in _PAIRS]
    flow = lambda score: probability_flow(score, problem.schedule, start, steps=32)
    return jnp.stack([energy_distance(flow(score), problem.first) for score in scores])


class LearnedSampler(AbstractSampled):
    """A score learned by kernel ridge regression on n pairs of noised and clean data makes samples that near the data:

        the energy distance between what the flow makes of N(0, I) and the data falls as n grows

    from 16 to 128 pairs, at a ridge that stays as it is.
    """

    title = "A learned score's samples near the data"
    source = Source("gu2024softmax", "Section 6.1, practical reverse equation")
    relation = Order("n", _PAIRS)
    label = "rate"
    controls = "the law of samples made with a learned score"
    unexplained = "the rate; the best regularisation"
    traced = False
    trials = 12

    def settings(self) -> Space:
        """Dimension."""
        return Space(d=Integer(2, 1, 4, "dimension of the data"), std=STD)

    def predict(self, problem: Sampled) -> Array:
        """It falls."""
        return -jnp.ones(())

    def measure(self, problem: Sampled, key: Key[Array, ""]) -> Array:
        """The energy distance at each n, the same noise for all."""
        return _learned_distances(problem, key)

    def control(self) -> Control:
        """As if more data did harm."""
        return Control("it rises", lambda sign, problem: -sign)
