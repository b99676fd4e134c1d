"""Score matching: learning the score of noised data is least squares for the clean data.

This theory controls what the training objective of a diffusion model measures: by Tweedie's formula the score is an
affine function of the denoiser F*(t, x) = E[x(0) | x(t) = x], so that regressing x(0) on (t, x(t)) learns the score.
It assumes normal noise; it leaves unexplained how well a model does the regression, which is the subject of
`score_error`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Equal, EqualInMean, Hypothesis, Source, Space

from .forward_process import (
    DIMENSION,
    STD,
    AbstractTarget,
    GaussianMixture,
    Schedule,
    sampled_mixture,
    sampled_schedule,
)

_DRAWS = 512


def score_from_denoiser(
    schedule: Schedule, t: Float[Array, ""], x: Float[Array, " d"], denoised: Float[Array, " d"]
) -> Float[Array, " d"]:
    """The score that belongs to a denoiser: (alpha F - x) / (1 - alpha²), Tweedie's formula.

    Args:
        schedule: how data are forgotten.
        t: the time.
        x: the place.
        denoised: F(t, x).
    """
    return (schedule.scale(t) * denoised - x) / schedule.variance(t)


def loss_weight(schedule: Schedule, t: Float[Array, "*s"]) -> Float[Array, "*s"]:
    """lambda(t) = (1 - alpha²)² / alpha²: the weight at which the score's loss (5) is the denoiser's loss."""
    return (schedule.variance(t) / schedule.scale(t)) ** 2


def training_set(
    key: Key[Array, ""], target: AbstractTarget, schedule: Schedule, n: int, horizon: float = 1.0, first: float = 0.0
) -> tuple[Float[Array, " n"], Float[Array, "n d"], Float[Array, "n d"]]:
    """Times t_i uniform on [first, horizon], places x(t_i)_i and noisy labels x(0)_i: Section 6.1.

    Args:
        key: randomness.
        target: the law of x(0).
        schedule: how data are forgotten.
        n: pairs.
        horizon: T.
        first: T_0.
    """
    time_key, data_key, noise_key = jax.random.split(key, 3)
    times = jax.random.uniform(time_key, (n,), minval=first, maxval=horizon)
    clean = target.sample(data_key, n)
    return times, schedule.noised(noise_key, times, clean), clean


class TwoModels(eqx.Module):
    """Two random models (1 - t) A_a x + t b_a of a score or a denoiser, to be compared on noised data.

    Args:
        target: the law of the data.
        schedule: how it is forgotten.
        matrices: the A of both.
        shifts: the b of both.
        key: randomness of the expectations that a prediction needs.
    """

    target: GaussianMixture
    schedule: Schedule
    matrices: Float[Array, "2 d d"]
    shifts: Float[Array, "2 d"]
    key: Key[Array, ""]

    def outputs(self, t: Float[Array, " n"], x: Float[Array, "n d"]) -> Float[Array, "2 n d"]:
        """Both models at the points."""
        return (1 - t)[:, None] * jnp.einsum("aij,nj->ani", self.matrices, x) + t[:, None] * self.shifts[:, None, :]

    def scores(self, t: Float[Array, " n"], x: Float[Array, "n d"]) -> Float[Array, "2 n d"]:
        """Both scores at the points."""
        rows = jax.vmap(lambda a, b, f: score_from_denoiser(self.schedule, a, b, f))
        return jax.vmap(lambda f: rows(t, x, f))(self.outputs(t, x))

    def draw(self, key: Key[Array, ""], n: int = _DRAWS, first: float = 0.0) -> tuple[Array, Array, Array]:
        """Times on [first, 1], places and clean data."""
        return training_set(key, self.target, self.schedule, n, first=first)

    def at(self, function, t: Float[Array, " n"], x: Float[Array, "n d"]) -> Float[Array, "n d"]:
        """The target's score or denoiser at the points."""
        return jax.vmap(lambda a, b: function(self.schedule, a, b))(t, x)


class AbstractTwoModels(Claim[TwoModels]):
    """A comparison of two models on noised data."""

    # Losses are of order 1 and are means of 512 draws; over 256 trials the interval is about 0.04 wide at level 1e-3.
    relation = EqualInMean(relative=False, resolution=0.1)
    label = "identity"
    controls = "what the training objective of a diffusion model measures"
    problem = TwoModels
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Dimension, spread."""
        return Space(d=DIMENSION, std=STD)

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoModels:
        """A random mixture; the first model shrinks its input, the second is larger."""
        target_key, schedule_key, matrix_key, shift_key, key = jax.random.split(key, 5)
        d, sizes = setting["d"], jnp.asarray([0.25, 1.0])
        return TwoModels(
            sampled_mixture(target_key, d, setting["std"]),
            sampled_schedule(schedule_key),
            sizes[:, None, None] * jax.random.normal(matrix_key, (2, d, d)) / d**0.5,
            sizes[:, None] * jax.random.normal(shift_key, (2, d)) / d**0.5,
            key,
        )

    def hypotheses(self, problem: TwoModels) -> list[Hypothesis]:
        """Second moments."""
        return [Hypothesis("components are normal (spread)", problem.target.std, ">", 0.0, "second moments are finite")]


class DenoisingScoreMatching(AbstractTwoModels):
    """Matching the score of p_t, (5), and matching the conditional score given x(0), (6), rank models alike: on the
    same times and with the same weight, here 1 - alpha², the two losses of any two models have the same difference,

        J(s_1) - J(s_2) = J_cond(s_1) - J_cond(s_2).

    The source prints (5) on [0, T] and (6) on [T_0, T] with T_0 unnamed. For T_0 > 0 the differences are not the same
    (the control); for T_0 = 0 the second loss is infinite under a weight that does not vanish at t = 0.
    """

    title = "Denoising score matching"
    source = Source("gu2024softmax", "(5)", "(6)")
    unexplained = "the noise that the conditional score adds to the loss"

    def predict(self, problem: TwoModels) -> Array:
        """The difference of the losses (5) on [0, 1]."""
        return _explicit_difference(problem, 0.0)

    def measure(self, problem: TwoModels, key: Key[Array, ""]) -> Array:
        """The difference of the losses (6) on [0, 1], on independent draws."""
        times, places, clean = problem.draw(key)
        alpha, v = problem.schedule.scale(times)[:, None], problem.schedule.variance(times)
        aim = (alpha * clean - places) / v[:, None]
        losses = jnp.mean(v * jnp.sum((problem.outputs(times, places) - aim) ** 2, axis=2), axis=1)
        return losses[0] - losses[1]

    def control(self) -> Control:
        """The intervals of the source."""
        return Control(
            "the difference of (5) on [1/2, 1] is that of (6) on [0, 1]",
            lambda difference, problem: _explicit_difference(problem, 0.5),
        )


def _explicit_difference(problem: TwoModels, first: float) -> Array:
    """The difference of the losses (5) of two models, with the weight 1 - alpha², on [first, 1]."""
    times, places, _ = problem.draw(problem.key, first=first)
    gaps = jnp.sum((problem.outputs(times, places) - problem.at(problem.target.score, times, places)) ** 2, axis=2)
    losses = jnp.mean(problem.schedule.variance(times) * gaps, axis=1)
    return losses[0] - losses[1]


class ExcessRisk(AbstractTwoModels):
    """Least squares on noisy labels learns the denoiser: with y = x(0) and F*(t, x) = E[y | t, x(t) = x],

        E |F - y|² - E |F* - y|² = E |F - F*|²

    for every F, so that F* minimises the training objective of the source in expectation, and what is above the
    minimum is the squared distance from F*. It says nothing about the sum over a given training set.
    """

    title = "Least squares on noisy labels learns the denoiser"
    source = Source("gu2024softmax", "Section 6.1, training objective", "Section 6.1, target F_*")
    unexplained = "the minimiser over a training set, which fits the noise"

    def predict(self, problem: TwoModels) -> Array:
        """E |F - F*|² of both models."""
        times, places, _ = problem.draw(problem.key)
        gap = problem.outputs(times, places) - problem.at(problem.target.denoiser, times, places)
        return jnp.mean(jnp.sum(gap**2, axis=2), axis=1)

    def measure(self, problem: TwoModels, key: Key[Array, ""]) -> Array:
        """The excess of both models' losses over that of F*, on independent draws."""
        times, places, clean = problem.draw(key)
        loss = lambda f: jnp.mean(jnp.sum((f - clean) ** 2, axis=-1), axis=-1)
        return loss(problem.outputs(times, places)) - loss(problem.at(problem.target.denoiser, times, places))

    def control(self) -> Control:
        """The bound that one needs without the identity."""
        return Control("the excess is twice the squared distance", lambda distance, problem: 2 * distance)


class LossWeight(AbstractTwoModels):
    """With s = (alpha F - x) / (1 - alpha²) and the weight lambda(t) = (1 - alpha²)² / alpha², the loss (5) of the
    score s is the loss of the denoiser F, at every time and place:

        lambda(t) |s - grad log p_t|² = |F - F*|².

    The step from (6) to the sum of squares in the source, and from the denoiser's error to the score's in Theorem 6.5,
    holds for this weight alone; the source leaves it open. It vanishes like t² at t = 0: nothing is asked there.
    """

    title = "The weight under which score matching is least squares"
    source = Source("gu2024softmax", "Section 6.1, training objective", note="rewritten")
    relation = Equal()
    trials = 128
    unexplained = "which weight makes good samples"

    def predict(self, problem: TwoModels) -> Array:
        """|F - F*|² of both models at 32 points."""
        times, places, _ = problem.draw(problem.key, 32)
        return jnp.sum(
            (problem.outputs(times, places) - problem.at(problem.target.denoiser, times, places)) ** 2, axis=2
        )

    def measure(self, problem: TwoModels, key: Key[Array, ""]) -> Array:
        """The weighted squared distance of the scores, that of the data from their density."""
        times, places, _ = problem.draw(problem.key, 32)
        gap = problem.scores(times, places) - problem.at(problem.target.score, times, places)
        return loss_weight(problem.schedule, times) * jnp.sum(gap**2, axis=2)

    def condition(self, problem: TwoModels) -> Array:
        """Scores near t = 0 are differences of numbers of the size 1 / (1 - alpha²)."""
        times, places, _ = problem.draw(problem.key, 32)
        return (1 + jnp.abs(places).max()) / problem.schedule.variance(times).min()

    def control(self) -> Control:
        """The weight that is common in practice."""

        def practical(distance, problem):
            times, _, _ = problem.draw(problem.key, 32)
            return distance * problem.schedule.scale(times) ** 2

        return Control("the weight is (1 - alpha²)²", practical)
