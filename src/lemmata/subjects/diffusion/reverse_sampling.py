"""Sampling from noise to data by the reverse equation or the probability flow, with an exact or a learned score.

This theory is about the distribution of the samples. Let p_t be the distribution of the data with noise at time t, and
T the last time. With the score of p_t, both equations carry p_T to p_0. Only three errors separate the samples from the
data: the error of a learned score, the start from N(0, I), and the finite steps. Distances are energy distances between
samples. The theory does not explain which errors of a score matter most.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, EqualInMean, Order, Source
from lemmata.engine.problems.targets import GaussianMixture
from lemmata.subjects.diffusion._diffusion import FIRST, HORIZON, NoisedDraws, Sampled, training_set

from ._samplers import LearnedScore as LearnedScore
from ._samplers import energy_distance as energy_distance
from ._samplers import energy_interval as energy_interval
from ._samplers import learn_score as learn_score
from ._samplers import probability_flow as probability_flow
from ._samplers import sample_reverse as sample_reverse
from ._samplers import simulate_forward as simulate_forward
from ._samplers import train_score as train_score

ABOUT = {"tool": "dynamical systems", "architecture": "diffusion model", "object": "sampler"}

_FORWARD_STEPS = 128
_PAIRS = (16.0, 45.0, 128.0)
_RIDGE = 0.3


def _second_is_one_minus_alpha(moments: Array, problem: Sampled) -> Array:
    """Return false moments, with the mean shrunk by alpha² (as for the drift g x) and the variance 1 - alpha."""
    alpha, v = problem.schedule.scale(jnp.ones(())), problem.schedule.variance(jnp.ones(()))
    return jnp.stack([alpha * moments[0], moments[1] + problem.clean.shape[1] * (1 - alpha - v)])


class ForwardMoments(Claim[Sampled]):
    """Let dx = -g x/2 dt + sqrt(g) dB be the forward process (3) of the source. Let G be the integral of its rate g,
    and let alpha = exp(-G(t)/2). Given x(0) in d dimensions, x(t) has the distribution of the explicit solution,
    N(alpha x(0), (1 - alpha²) I). So over paths of the process,

        E <x(t), x(0)> = alpha E |x(0)|²   and   E |x(t)|² = alpha² E |x(0)|² + d (1 - alpha²)

    at every time. The test uses t = 1.
    """

    title = "The moments of the forward process agree with its explicit solution"
    source = Source("gu2024softmax", "(3)")
    population = NoisedDraws()
    # With u_j = g(t_j) h / 2 the steps shrink the mean by prod (1 - u_j) instead of exp(-G/2). For g <= 4 on [0, 1] and
    # h = 1/128, the logarithms differ by sum u_j²/2 <= 0.016. They also differ by h/2 = 0.004, because the sum of u_j
    # is a left Riemann sum of a slope of at most 2. Squares differ by twice that.
    relation = EqualInMean(margin=0.04)
    control = Control("the mean shrinks by alpha², and the variance is 1 - alpha", _second_is_one_minus_alpha)
    controls = "the distribution of noised data"
    unexplained = "nothing: the distribution is normal"
    trials = 256

    def predict(self, problem: Sampled) -> Array:
        """Return the two moments of the claim at t = 1, computed from the second moment of the drawn x(0)."""
        alpha, v = problem.schedule.scale(jnp.ones(())), problem.schedule.variance(jnp.ones(()))
        second = jnp.mean(jnp.sum(problem.clean**2, axis=1))
        return jnp.stack([alpha * second, alpha**2 * second + problem.clean.shape[1] * v])

    def measure(self, problem: Sampled, key: Key[Array, ""]) -> Array:
        """Return the same two moments over simulated paths."""
        noised = simulate_forward(key, problem.schedule, problem.clean, 1.0, _FORWARD_STEPS)
        product = lambda a, b: jnp.mean(jnp.sum(a * b, axis=1))
        return jnp.stack([product(noised, problem.clean), product(noised, noised)])


class AbstractTransport(Claim[Sampled]):
    """Claims that the exact score carries draws of p_T, the distribution at the last time T, to draws of p_0, the data.
    The trials stop at t = 0.02.
    """

    population = NoisedDraws()
    # A step of relative size 1/128 moves the samples by at most a hundredth of themselves. The energy distance is
    # quadratic in this, so it is below 1e-3. The draws at both ends belong to the problem, so the mean is taken over
    # them.
    relation = EqualInMean(relative=False, margin=1e-3, resolution=4e-3, over="problems")
    control = Control(
        "the samples are draws of x(1/7) instead of x(0.02)",
        lambda zero, problem: energy_distance(problem.early, problem.first),
    )
    controls = "the distribution of generated samples, in energy distance"
    unexplained = "the number of steps that a distribution needs"
    trials = 64
    predict = 0.0

    @abc.abstractmethod
    def generated(self, problem: Sampled, key: Key[Array, ""]) -> Float[Array, "n d"]:
        """Return samples at t = 0.02 from samples at t = 2, by the exact score."""

    def measure(self, problem: Sampled, key: Key[Array, ""]) -> Array:
        """Return the energy distance between the generated samples and independent draws of x(0.02)."""
        return energy_distance(self.generated(problem, key), problem.first)


def _exact_score(problem: Sampled):
    return lambda t, x: problem.target.score(problem.schedule, t, x)


class ReverseEquation(AbstractTransport):
    """Let p_t be the distribution of x(t) in dx = -g x/2 dt + sqrt(g) dB, and let T be the last time. The reverse
    equation

        dy = (g y/2 + g grad log p_{T-s}(y)) ds + sqrt(g) dB,   g at T - s,

    started from p_T, has the distribution p_{T-s} at time s. Let X and X' be independent solutions at time s, and let Y
    and Y' be independent draws of p_{T-s}. Then the energy distance 2 E|X - Y| - E|X - X'| - E|Y - Y'| is 0. The test
    estimates this distance without bias.
    """

    title = "The reverse diffusion equation carries noised data back to the data distribution"
    source = Source("gu2024softmax", "(4)")

    def generated(self, problem: Sampled, key: Key[Array, ""]) -> Float[Array, "n d"]:
        return sample_reverse(key, _exact_score(problem), problem.schedule, problem.last)


class ProbabilityFlow(AbstractTransport):
    """Let p_t be the distribution of x(t) in dx = -g x/2 dt + sqrt(g) dB, and let T be the last time. The flow without
    noise

        dx/dt = -g (x + grad log p_t(x)) / 2,

    run backwards from p_T, has the distribution p_t at every time t. Let X and X' be independent solutions at time t,
    and let Y and Y' be independent draws of p_t. Then the energy distance 2 E|X - Y| - E|X - X'| - E|Y - Y'| is 0. The
    test estimates this distance without bias.
    """

    title = "The probability flow of a diffusion carries noised data back to the data distribution"
    source = Source("song2021score", "Section 4.3", note="the probability flow of equation (3) of Gu et al. (2024)")
    trials = 128

    def generated(self, problem: Sampled, key: Key[Array, ""]) -> Float[Array, "n d"]:
        return probability_flow(_exact_score(problem), problem.schedule, problem.last, steps=32)


def _distance_at_start(problem: Sampled) -> Array:
    """Return W_2(N(mu, s² I), N(0, I)), where N(mu, s² I) is the first component of the mixture of the data."""
    mean, spread = problem.target.means[0], problem.target.std
    return jnp.sqrt(mean @ mean + len(mean) * (spread - 1) ** 2)


class StartFromNoise(Claim[Sampled]):
    """Let p_t be the distribution of x(t) in the forward process dx = -g x/2 dt + sqrt(g) dB with the rate g, and let T
    be the last time. If the reverse equation starts from N(0, I) instead of p_T, its start is off by the Wasserstein
    distance W_2(p_T, N(0, I)). This distance satisfies

        W_2(p_T, N(0, I)) <= exp(-G(T)/2) W_2(p_0, N(0, I)),   G(T) = integral_0^T g.

    Proof: start the forward process from a draw of p_0 and from a draw of N(0, I), with the same noise. The process
    multiplies the distance of the two draws by alpha = exp(-G/2), and it leaves N(0, I) unchanged.

    The test uses one normal component, p_0 = N(mu, s² I) in d dimensions. The squared distance W_2² of this component
    from N(0, I) is |mu|² + d (s - 1)².
    """

    title = (
        "The Wasserstein distance of noised data from pure noise falls at least exponentially in the integral of "
        "the rate"
    )
    source = Source("gu2024softmax", "Section 6.1, practical reverse equation", note="y(0) ~ N(0, I)")
    population = NoisedDraws(std=0.9)  # the bound is attained at s = 1, where only the means are apart
    relation = AtMost()
    control = Control(
        "the distance shrinks by exp(-0.6 G)", lambda b, problem: b * problem.schedule.scale(jnp.ones(())) ** 0.2
    )
    controls = "the distance of the noised data from pure noise"
    unexplained = "how this distance changes along the reverse equation"

    def predict(self, problem: Sampled) -> Array:
        return problem.schedule.scale(jnp.ones(())) * _distance_at_start(problem)

    def measure(self, problem: Sampled, key: Key[Array, ""]) -> Array:
        """Return W_2 between N(0, I) and the component with noise at t = 1. Mean and variance of the component follow
        from its score.
        """
        one = GaussianMixture(problem.target.means[:1], jnp.ones(1), problem.target.std)
        t, origin = jnp.ones(()), jnp.zeros(problem.clean.shape[1])
        curvature = -jax.jacfwd(one.score, argnums=2)(problem.schedule, t, origin)[0, 0]
        mean = one.score(problem.schedule, t, origin) / curvature
        return jnp.sqrt(mean @ mean + len(mean) * (curvature**-0.5 - 1) ** 2)

    def trivial(self, problem: Sampled) -> Array:
        """Return the distance W_2(p_0, N(0, I)) at t = 0."""
        return _distance_at_start(problem)


def _distance_learned(problem: Sampled, start: Float[Array, "n d"], pairs: tuple[Array, ...]) -> Array:
    """Return the energy distance between draws of x(0.02) and the end points of the flow of a learned score."""
    score = learn_score(problem.schedule, *pairs, ridge=_RIDGE)
    return energy_distance(probability_flow(score, problem.schedule, start, first=FIRST, steps=32), problem.first)


@eqx.filter_jit
def _ladder(problem: Sampled, key: Key[Array, ""]) -> Float[Array, " r"]:
    data_key, start_key = jax.random.split(key)
    drawn = training_set(data_key, problem.target, problem.schedule, int(_PAIRS[-1]), HORIZON, FIRST)
    start = jax.random.normal(start_key, problem.last.shape)
    few, some, all_pairs = (_distance_learned(problem, start, tuple(a[: int(n)] for a in drawn)) for n in _PAIRS)
    again = jnp.arange(int(_PAIRS[-1])) % int(_PAIRS[0])
    repeated = _distance_learned(problem, start, tuple(a[again] for a in drawn))
    return jnp.stack([few, some, all_pairs + jnp.maximum(0.0, few - repeated)])


class LearnedSampler(Claim[Sampled]):
    """Let x(t) be data with the noise of time t. Learn the score by kernel ridge regression with the softmax kernel and
    the ridge 0.3 on n pairs of noised and clean data. Start the probability flow of this score from N(0, I) and stop it
    at t = 0.02. Let D(n) be the energy distance between samples of the flow and draws of x(0.02). Let D' be the energy
    distance if the score is learned from the first 16 pairs, each repeated 8 times. The means over problems of

        D(16),   D(45),   D(128) + max(0, D(16) - D')

    fall in this order. So D falls from 16 to 45 pairs and from 45 to 128 pairs. The fall from 45 to 128 pairs is larger
    than D(16) - D', the fall that comes from repeating the first 16 pairs.
    """

    title = "With more training pairs, samples made with a learned score come closer to the data"
    source = Source("gu2024softmax", "Section 6.1, practical reverse equation")
    population = NoisedDraws(largest=4)
    relation = Order("n", _PAIRS, over="problems")
    control = Control("the distance rises", lambda sign, problem: -sign)
    controls = "the distribution of samples made with a learned score"
    unexplained = "the rate, and the best regularisation"
    traced = False
    trials = 128
    predict = -1.0

    def measure(self, problem: Sampled, key: Key[Array, ""]) -> Array:
        """Use the same noise for all sizes. The pairs of each size are the first pairs of the next larger size."""
        return _ladder(problem, key)
