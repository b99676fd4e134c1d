"""Outside the hypotheses: other functions, other noise, another number of examples than the weights were built for.

This theory controls nothing here: the source assumes functions of the class, sub-Gaussian noise and the N that stands
in the weights. The claims say what happens where one of these fails: the risk grows with the frequency, averages of
heavy noise fall more slowly than 1/sqrt(N), and predictions are off by the ratio of the two N. It leaves unexplained
how a model could notice.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Hypothesis, Order, Rate, Real, Source, Space
from lemmata.functions import GaussianBumps, UniversalFeatures, features_of
from lemmata.networks import InContextTransformer, forward_steps
from lemmata.problems._prompts import FAMILY, Prompt, sampled_prompt
from lemmata.problems._sampled import draws, points_in_ball

_FREQUENCIES = (2.0, 4.0, 8.0, 16.0)
_LENGTHS = (32.0, 64.0, 128.0)
_COUNTS = (64.0, 256.0, 1024.0, 4096.0)


class FrequencyOutside(Claim[Prompt]):
    """On the waves f(x) = cos(w <u, x>), which leave the class of bumps as w grows, the transformer's risk rises with w

    at the same N, n and L, although every wave has the same size: C_f = w is what the bound charges for.
    """

    title = "Functions outside the class are predicted worse"
    source = Source("li2025incontext", "Theorem 1", note="beyond its class")
    relation = Order("w", _FREQUENCIES)
    label = "rate"
    controls = "the risk on functions outside the class"
    unexplained = "at which frequency the prediction becomes useless"
    problem = Prompt
    trials = 48
    batch = 48

    def settings(self) -> Space:
        """The noise."""
        return Space(sigma=Real(0.1, 0.0, 1.0, "standard deviation of the noise"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A prompt of 64 examples and 64 queries in the plane, 64 features of bumps, 100 steps with momentum."""
        return sampled_prompt(
            key, n=64, examples=64, queries=64, sigma=setting["sigma"], layers=201, penalty=1e-3, accelerated=True
        )

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """The unit ball."""
        return [Hypothesis("inputs lie in the unit ball", jnp.linalg.norm(problem.x, axis=1).max(), "<=", 1.0)]

    def predict(self, problem: Prompt) -> Array:
        """It rises."""
        return jnp.ones(())

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """Mean squared error at the queries for waves along the first feature's direction."""
        way = problem.model.features.directions[0]
        prompt, asked = problem.prompt, problem.model.features(problem.queries)

        def risk(w: Array) -> Array:
            wave = lambda x: jnp.cos(w * x @ way)
            found = forward_steps(problem.model, prompt, wave(problem.x) + problem.noise, asked, record=False)[1][0]
            return jnp.mean((found - wave(problem.queries)) ** 2)

        return jax.lax.map(risk, jnp.asarray(_FREQUENCIES))

    def control(self) -> Control:
        """As if the class did not matter."""
        return Control("it falls", lambda sign, problem: -sign)


class HeavyNoise(eqx.Module):
    """Noise of tail index 3/2 in front of features.

    Args:
        noise: z, one row a repetition.
        features: phi at the examples, one row an example.
    """

    noise: Float[Array, "r N"]
    features: Float[Array, "N p"]


class NoiseAverages(Claim[HeavyNoise]):
    """For noise with P(|z| > u) = u^(-3/2), of infinite variance, the average that the noise adds to the gradient falls

        median |(1/N) sum_i z_i phi_i|_inf ~ N^(-1/3)

    and not like sqrt(log N / N): Lemma 6 needs sub-Gaussian noise.
    """

    title = "Heavy noise averages out more slowly"
    source = Source("li2025incontext", "Lemma 6", note="without assumption (2)")
    # The sum of N such numbers over N^(2/3) tends to a stable law of index 3/2; what is left at N = 64 bends the slope.
    relation = Rate("N", _COUNTS, margin=0.05, resolution=0.1)
    label = "rate"
    controls = "the noise in the gradient of the Lasso"
    unexplained = "the loss that would be robust"
    problem = HeavyNoise
    trials = 32
    batch = 8

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeavyNoise:
        """Signed Pareto noise by inversion, and 8 features of points in the plane."""
        most = int(_COUNTS[-1])
        noise, drawn, bumps = draws(key, (32, most), (most, 3), (8, 6))
        rank = jax.scipy.stats.norm.cdf(-jnp.abs(noise)) * 2
        model = sampled_features(bumps)
        return HeavyNoise(jnp.sign(noise) * rank ** (-2 / 3), model(points_in_ball(drawn)))

    def hypotheses(self, problem: HeavyNoise) -> list[Hypothesis]:
        """Features at most 1."""
        return [Hypothesis("features are at most 1", jnp.abs(problem.features).max(), "<=", 1.0)]

    def predict(self, problem: HeavyNoise) -> Array:
        """1/1.5 - 1."""
        return jnp.asarray(-1 / 3)

    def measure(self, problem: HeavyNoise, key: Key[Array, ""]) -> Array:
        """The median over repetitions, for the first N examples."""
        largest = lambda count: jnp.abs(problem.noise[:, :count] @ problem.features[:count]).max(axis=1) / count
        return jnp.stack([jnp.median(largest(int(count))) for count in _COUNTS])

    def control(self) -> Control:
        """The rate of noise with a variance."""
        return Control("like N^(-1/2)", lambda exponent, problem: exponent - 1 / 6)


def sampled_features(normal: Float[Array, "n e"]) -> UniversalFeatures:
    """Features of the class of bumps in the plane.

    Args:
        normal: 6 standard normal numbers a feature.
    """
    return features_of(GaussianBumps(2), normal, 16.0)


class AnotherLength(Claim[Prompt]):
    """On N examples, weights built for 2 N predict 2 times what they should, up to a relative error ~ 1/N:

        |y_hat - 2 <phi, rho>| / |<phi, rho>| ~ 1/N,

    rho being what weights for N find. Attn2 carries the N it was built for, attention divides by the prompt's, and the
    query's own term in Attn1, which Attn2's prediction cancels, is one of N.
    """

    title = "Weights built for another number of examples"
    source = Source("li2025incontext", "(11)", note="with another N")
    relation = Rate("N", _LENGTHS, margin=0.1, resolution=0.2)
    label = "rate"
    controls = "predictions on prompts of another length"
    unexplained = "attention that divides by what it attends to"
    problem = Prompt
    trials = 48
    batch = 48

    def settings(self) -> Space:
        """The class."""
        return Space(family=FAMILY)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """The longest prompt, with 16 queries and a function that is not small."""
        return sampled_prompt(key, family=setting["family"], examples=int(_LENGTHS[-1]), queries=16, layers=61)

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """The unit ball."""
        return [Hypothesis("inputs lie in the unit ball", jnp.linalg.norm(problem.x, axis=1).max(), "<=", 1.0)]

    def predict(self, problem: Prompt) -> Array:
        """The exponent."""
        return jnp.asarray(-1.0)

    def measure(self, problem: Prompt, key: Key[Array, ""]) -> Array:
        """The distance from twice the prediction, root mean square over queries and relative, for the first N."""
        asked = problem.model.features(problem.queries)

        def gap(count: int) -> Array:
            prompt, y = problem.prompt[:count], problem.y[:count]
            built = lambda examples: _with_examples(problem.model, examples)
            run = lambda examples: forward_steps(built(examples), prompt, y, asked, record=False)[1][0]
            right = run(count)
            return jnp.sqrt(jnp.mean((run(2 * count) - 2 * right) ** 2) / jnp.mean(right**2))

        return jnp.stack([gap(int(count)) for count in _LENGTHS])

    def control(self) -> Control:
        """A gap of the order of the noise."""
        return Control("the gap falls like N^(-1/2)", lambda exponent, problem: exponent + 0.5)


def _with_examples(model: InContextTransformer, examples: int) -> InContextTransformer:
    return dataclasses.replace(model, examples=examples)
