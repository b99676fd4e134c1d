"""Score matching: learning the score of noised data is a least squares regression of the clean data.

This theory is about what the training objective of a diffusion model measures. By Tweedie's formula, the score is an
affine function of the denoiser F*(t, x) = E[x(0) | x(t) = x]. So a regression of x(0) on (t, x(t)) learns the score.
The theory assumes normal noise. It does not explain how well a model solves the regression, which is the subject of
`diffusion.score_error`. In this section, x(t) given x(0) is normal with mean alpha x(0) and variance 1 - alpha² in each
coordinate, where alpha = exp(-G(t)/2) and G is the integral of the schedule.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Hypothesis, Population, Source, Space
from lemmata.engine.problems.schedules import Schedule, loss_weight, sampled_schedule, score_from_denoiser
from lemmata.engine.problems.targets import DIMENSION, STD, GaussianMixture, sampled_mixture
from lemmata.subjects.diffusion._diffusion import training_set

ABOUT = {"tool": "statistics", "architecture": "diffusion model", "object": "score"}

# Losses are of order 1. Predictions are means of 2^13 draws that belong to a problem. Their standard error is about
# 0.015, and the margins allow for this in each problem.
_DRAWS = 2**13


class TwoModels(eqx.Module):
    """Two random models (1 - t) A_a x + t b_a of a score or a denoiser, which are compared on noised data.

    Args:
        target: the distribution of the data.
        schedule: the noise schedule.
        matrices: the matrices A_a of both models.
        shifts: the vectors b_a of both models.
        times, places: draws of (t, x(t)), over which a prediction is averaged.
    """

    target: GaussianMixture
    schedule: Schedule
    matrices: Float[Array, "2 d d"]
    shifts: Float[Array, "2 d"]
    times: Float[Array, " n"]
    places: Float[Array, "n d"]

    def outputs(self, t: Float[Array, " n"], x: Float[Array, "n d"]) -> Float[Array, "2 n d"]:
        """Return the outputs of both models at the points."""
        return (1 - t)[:, None] * jnp.einsum("aij,nj->ani", self.matrices, x) + t[:, None] * self.shifts[:, None, :]

    def scores(self, t: Float[Array, " n"], x: Float[Array, "n d"]) -> Float[Array, "2 n d"]:
        """Return the scores of both models at the points."""
        rows = jax.vmap(lambda a, b, f: score_from_denoiser(self.schedule, a, b, f))
        return jax.vmap(lambda f: rows(t, x, f))(self.outputs(t, x))

    def draw(self, key: Key[Array, ""]) -> tuple[Array, Array, Array]:
        """Draw times on [0, 1], places and clean data."""
        return training_set(key, self.target, self.schedule, 512)

    def at(self, function, t: Float[Array, " n"], x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """Return the target's score or denoiser at the points."""
        return jax.vmap(lambda a, b: function(self.schedule, a, b))(t, x)


class PairsOfModels(Population[TwoModels]):
    """A random mixture of normal distributions and two random models, the first of which has smaller parameters."""

    settings = Space(d=DIMENSION, std=STD)

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoModels:
        """Draw two models. On average, the parameters of the second model are four times as large as those of the
        first, which shrinks its input.
        """
        target_key, schedule_key, matrix_key, shift_key, key = jax.random.split(key, 5)
        d, sizes = setting["d"], jnp.asarray([0.25, 1.0])
        target, schedule = sampled_mixture(target_key, d, setting["std"]), sampled_schedule(schedule_key)
        return TwoModels(
            target,
            schedule,
            sizes[:, None, None] * jax.random.normal(matrix_key, (2, d, d)) / d**0.5,
            sizes[:, None] * jax.random.normal(shift_key, (2, d)) / d**0.5,
            *training_set(key, target, schedule, _DRAWS)[:2],
        )

    def hypotheses(self, problem: TwoModels) -> list[Hypothesis]:
        return [Hypothesis("components are normal (spread)", problem.target.std, ">", 0.0, "second moments are finite")]


def _explicit_difference(problem: TwoModels, first: float) -> Array:
    """Return J(s_1) - J(s_2) for the two models, with times on [first, 1].

    Here J(s) = E (1 - alpha²) |s - grad log p_t|² is the loss (5) of the source.
    """
    times, places = problem.times, problem.places
    gaps = jnp.sum((problem.outputs(times, places) - problem.at(problem.target.score, times, places)) ** 2, axis=2)
    losses = jnp.average(problem.schedule.variance(times) * gaps, axis=1, weights=times >= first)
    return losses[0] - losses[1]


class DenoisingScoreMatching(Claim[TwoModels]):
    """Let x(t) given x(0) be normal with mean alpha x(0) and variance 1 - alpha². Let p_t be the density of x(t), and
    let p_t|0 be its density given x(0). Objective (5) of the source matches the score of p_t, and objective (6) matches
    the score of p_t|0. For t uniform on [0, 1] and the weight 1 - alpha², the two objectives are

        J(s) = E (1 - alpha²) |s(t, x) - grad log p_t(x)|²,   J_cond(s) = E (1 - alpha²) |s(t, x) - grad log p_t|0(x)|².

    Both objectives rank models in the same order, since

        J(s_1) - J(s_2) = J_cond(s_1) - J_cond(s_2)   for any two models s_1, s_2.

    The source prints (5) on [0, T] and (6) on [T_0, T], but does not define T_0. If T_0 > 0, the two differences are
    not equal, because the objectives average over different times. If T_0 = 0, objective (6) is infinite for a weight
    that does not vanish at t = 0. The control of the test, which must be refuted, also averages over different times:
    objective (5) over [1/2, 1], and objective (6) over [0, 1].
    """

    title = "Score matching and denoising score matching, with the conditional score, rank models in the same order"
    source = Source("gu2024softmax", "(5)", "(6)")
    population = PairsOfModels()
    relation = EqualInMean(margin=0.03, resolution=0.05, relative=False)
    control = Control(
        "the difference of (5) on [1/2, 1] equals that of (6) on [0, 1]",
        lambda difference, problem: _explicit_difference(problem, 0.5),
    )
    controls = "what the training objective of a diffusion model measures"
    unexplained = "the noise that the conditional score adds to the loss"
    trials = 128

    def predict(self, problem: TwoModels) -> Array:
        return _explicit_difference(problem, 0.0)

    def measure(self, problem: TwoModels, key: Key[Array, ""]) -> Array:
        """Return J_cond(s_1) - J_cond(s_2) with times on [0, 1], from independent draws."""
        times, places, clean = problem.draw(key)
        alpha, v = problem.schedule.scale(times)[:, None], problem.schedule.variance(times)
        aim = (alpha * clean - places) / v[:, None]
        losses = jnp.mean(v * jnp.sum((problem.outputs(times, places) - aim) ** 2, axis=2), axis=1)
        return losses[0] - losses[1]


class ExcessRisk(Claim[TwoModels]):
    """Let y = x(0) be the clean data, let x(t) be noised data, and let F*(t, x) = E[y | t, x(t) = x] be the denoiser.
    For every function F,

        E |F - y|² - E |F* - y|² = E |F - F*|².

    So F* minimises the training objective of the source in expectation, and the excess over the minimum is the mean
    squared distance from F*. This statement holds in expectation, and not for the sum over a given training set.
    """

    title = "Least squares on noised data learns the denoiser"
    source = Source("gu2024softmax", "Section 6.1, training objective", "Section 6.1, target F_*")
    population = PairsOfModels()
    relation = EqualInMean(margin=0.03)
    control = Control("the excess is twice the squared distance", lambda distance, problem: 2 * distance)
    controls = "what the training objective of a diffusion model measures"
    unexplained = "the minimiser over a training set, which fits the noise"
    trials = 128

    def predict(self, problem: TwoModels) -> Array:
        """Return E |F - F*|² of both models."""
        times, places = problem.times, problem.places
        gap = problem.outputs(times, places) - problem.at(problem.target.denoiser, times, places)
        return jnp.mean(jnp.sum(gap**2, axis=2), axis=1)

    def measure(self, problem: TwoModels, key: Key[Array, ""]) -> Array:
        """Return the loss of each model minus the loss of F*, on independent draws."""
        times, places, clean = problem.draw(key)
        loss = lambda f: jnp.mean(jnp.sum((f - clean) ** 2, axis=-1), axis=-1)
        return loss(problem.outputs(times, places)) - loss(problem.at(problem.target.denoiser, times, places))


def _at_32_points(problem: TwoModels) -> tuple[Array, Array, Float[Array, "2 32 d"]]:
    """Return times, places, and F - F* of both models at these times and places."""
    times, places = problem.times[:32], problem.places[:32]
    return times, places, problem.outputs(times, places) - problem.at(problem.target.denoiser, times, places)


class LossWeight(Claim[TwoModels]):
    """Let x(t) given x(0) be normal with mean alpha x(0) and variance 1 - alpha² in each coordinate, where alpha =
    exp(-G(t)/2) and G is the integral of the schedule. Let p_t be the density of x(t), and let F*(t, x) = E[x(0) | x(t)
    = x] be the denoiser. For any model F, let s = (alpha F - x) / (1 - alpha²) be the score that F implies. Let the
    weight be lambda(t) = (1 - alpha²)² / alpha². At every time and every point x, the weighted squared error of the
    score, from objective (5) of the source, equals the squared error of the denoiser:

        lambda(t) |s - grad log p_t|² = |F - F*|².

    The source uses this equality in two steps. One step leads from its objective (6) to a sum of squares. The other
    step, in Theorem 6.5, leads from the error of the denoiser to the error of the score. Both steps need this weight,
    which the source does not specify. The weight vanishes like t² at t = 0, so the objective does not constrain the
    model at t = 0.
    """

    title = "With the weight (1 - alpha²)²/alpha², score matching is equal to least squares for the denoiser"
    source = Source("gu2024softmax", "Section 6.1, training objective", note="rewritten")
    population = PairsOfModels()
    relation = Equal()
    control = Control(
        "the weight is (1 - alpha²)²",  # common in practice
        lambda distance, problem: distance * problem.schedule.scale(_at_32_points(problem)[0]) ** 2,
    )
    controls = "what the training objective of a diffusion model measures"
    unexplained = "which weight makes good samples"

    def predict(self, problem: TwoModels) -> Array:
        """Return |F - F*|² of both models at 32 points."""
        return jnp.sum(_at_32_points(problem)[2] ** 2, axis=2)

    def measure(self, problem: TwoModels, key: Key[Array, ""]) -> Array:
        """Return the weighted squared distance of the scores. The score of the data comes from the data's density."""
        times, places = problem.times[:32], problem.places[:32]
        gap = problem.scores(times, places) - problem.at(problem.target.score, times, places)
        return loss_weight(problem.schedule, times) * jnp.sum(gap**2, axis=2)

    def condition(self, problem: TwoModels) -> Array:
        """Allow for the subtraction of two scores. Scores have the size (1 + |x|) / (1 - alpha²), and their difference
        is alpha (F - F*) / (1 - alpha²).
        """
        times, places, gap = _at_32_points(problem)
        v, alpha = problem.schedule.variance(times), problem.schedule.scale(times)
        size = 1 + jnp.linalg.norm(places, axis=1)
        return size / v * (1 + size / (alpha * jnp.linalg.norm(gap, axis=2)))
