"""Maxima and sums of noise in the proof of Lemma 6: what they are along numbers of features and of examples.

This theory controls the correlation of noise with the worst of n features, and with the misfit of rho*; it assumes
independent noise with normal tails. It leaves unexplained where the maximum stops to grow.

The source bounds the maximum over n features by sqrt(log N/N). It grows like sqrt(log n/N), until n features exhaust
what ramps in d dimensions can do on N points: the hidden constant depends on d, or n is at most a power of N.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Hypothesis, Integer, Rate, Source, Space, Status
from lemmata.functions import GaussianBumps, features_of
from lemmata.problems._proximal_runs import bounded
from lemmata.problems._sampled import draws

_EXAMPLES = (32.0, 64.0, 128.0, 256.0)
_FEATURES = (64.0, 256.0, 1024.0, 4096.0)


class Ladder(eqx.Module):
    """Examples in high dimension, noise, and many features: everything that a ladder of sizes takes a part of.

    Args:
        features: one row an example.
        noise: z.
        misfit: f - phi rho* at each example.
    """

    features: Float[Array, "rows p"]
    noise: Float[Array, "*r N"]
    misfit: Float[Array, "*r N"]


class AbstractMaximumClaim(Claim[Ladder]):
    """Statements about the correlation of noise with the features of 32 points on the sphere of 16 dimensions."""

    label = "rate"
    controls = "the largest correlation of the noise with a feature"
    unexplained = "where it stops to grow: ramps in d dimensions have limited patterns on N points"
    problem = Ladder
    trials = 96
    batch = 32

    def settings(self) -> Space:
        """Examples and dimension."""
        return Space(N=Integer(32, 8, 128, "examples"), d=Integer(16, 2, 64, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Ladder:
        """Features of the class of bumps, standard normal noise."""
        functions, number = GaussianBumps(setting["d"], 2.0), int(_FEATURES[-1])
        examples = setting["N"]
        x, noise, normal = draws(key, (examples, setting["d"]), (examples,), (number, functions.columns + 1))
        x = x / jnp.linalg.norm(x, axis=1, keepdims=True)
        return Ladder(features_of(functions, normal, 16.0)(x)[:, :-1], noise, jnp.zeros_like(noise))

    def hypotheses(self, problem: Ladder) -> list[Hypothesis]:
        """Bounded features."""
        return [bounded(problem.features)]

    def predict(self, problem: Ladder) -> Array:
        """The exponent."""
        return jnp.zeros(())

    def control(self) -> Control:
        """What it would be if more features helped."""
        return Control("it falls with the number of features", lambda exponent, problem: exponent - 0.2)


def _largest(problem: Ladder) -> Array:
    """|mean z phi_i| over the first n features, for each n of the ladder."""
    found = jnp.abs(problem.noise @ problem.features) / len(problem.noise)
    return jnp.stack([found[: int(number)].max() for number in _FEATURES])


class MaximumOverFeatures(AbstractMaximumClaim):
    """|mean z phi|_inf = O(sigma sqrt(log(2(n+1))/N)): over sqrt(log(2(n+1))) it does not grow with n, while n rises
    from 64 to 4096 at N = 32; without the logarithm it grows.
    """

    title = "The noise along the worst of n features"
    source = Source("li2025incontext", "(96)", note="proof of Lemma 6, the maximum over features")
    relation = Rate("n", _FEATURES, upper=True, margin=0.03, resolution=0.03)

    def measure(self, problem: Ladder, key: Key[Array, ""]) -> Array:
        """The largest correlation over the square root of the logarithm."""
        return _largest(problem) / jnp.sqrt(jnp.log(2 * (jnp.asarray(_FEATURES) + 1)))


class AbstractNoiseSumClaim(Claim[Ladder]):
    """Statements about the third term of the decomposition at rho = rho*, along numbers of examples."""

    relation = Rate("N", _EXAMPLES, margin=0.1)
    label = "rate"
    controls = "the noise in the fit"
    unexplained = "the constant"
    problem = Ladder
    trials = 64
    batch = 64

    def sample(self, setting: dict, key: Key[Array, ""]) -> Ladder:
        """64 repetitions of the largest prompt: normal noise and a misfit uniform in [-1, 1]."""
        noise, misfit = draws(key, (64, int(_EXAMPLES[-1])), (64, int(_EXAMPLES[-1])))
        return Ladder(jnp.ones((1, 1)), noise, 2 * jax.scipy.stats.norm.cdf(misfit) - 1)

    def hypotheses(self, problem: Ladder) -> list[Hypothesis]:
        """A bounded misfit."""
        return [Hypothesis("the misfit is bounded", jnp.abs(problem.misfit).max(), "<=", 1.0, "epsilon_dis")]

    def predict(self, problem: Ladder) -> Array:
        """The exponent."""
        return jnp.asarray(-0.5)

    def control(self) -> Control:
        """What it would be without noise."""
        return Control("like 1/N", lambda exponent, problem: exponent - 0.5)


def _sums(problem: Ladder) -> Array:
    """Mean size of 2 sum z_i (f(x_i) - phi_i rho*) over the first N examples."""
    products = problem.noise * problem.misfit
    return jnp.stack([2 * jnp.abs(products[:, : int(size)].sum(axis=1)).mean() for size in _EXAMPLES])


class NoiseSumAsPrinted(AbstractNoiseSumClaim):
    """As printed: the term E_3 = 2 |sum_i z_i (f(x_i) - phi_i rho)| of the decomposition is O(sqrt(log N/N))."""

    title = "The third term of the decomposition, as printed"
    source = Source("li2025incontext", "(91)", "(96)", note="proof of Lemma 6")
    expected = Status.REFUTED

    def measure(self, problem: Ladder, key: Key[Array, ""]) -> Array:
        """The sum."""
        return _sums(problem)


class NoiseSum(AbstractNoiseSumClaim):
    """The term E_3 = (2/N) |sum_i z_i (f(x_i) - phi_i rho)| of the decomposition falls like N^(-1/2)."""

    title = "The third term of the decomposition"
    source = Source("li2025incontext", "(91)", "(96)", note="proof of Lemma 6, with the factor 1/N that (91) lacks")
    corrects = "generalisation.maxima_of_noise.noise_sum_as_printed"

    def measure(self, problem: Ladder, key: Key[Array, ""]) -> Array:
        """The mean."""
        return _sums(problem) / jnp.asarray(_EXAMPLES)
