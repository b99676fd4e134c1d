"""Answers that are voted on, or chosen by a verifier."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class TwoAnswers(eqx.Module):
    """The right answer and its strongest rival; other answers are too rare to win.

    Args:
        right: p1, the probability of the right answer in one sample.
        rival: p2, that of the strongest wrong one.
    """

    right: Float[Array, ""]
    rival: Float[Array, ""]


class VotedAnswers(Population[TwoAnswers]):
    """One of the two answers leads by a tenth or two.

    Args:
        right_leads: whether the right answer is the more frequent one.
    """

    right_leads: bool = eqx.field(static=True, default=True)

    def settings(self) -> Space:
        """The lead."""
        return Space(lead=Real(0.2, 0.05, 0.4, "difference of the two probabilities", corners=(0.15, 0.25)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoAnswers:
        """The weaker one between 0.1 and 0.25."""
        weaker = jax.random.uniform(key, minval=0.1, maxval=0.25)
        pair = (weaker + setting["lead"], weaker)
        return TwoAnswers(*(pair if self.right_leads else pair[::-1]))

    def hypotheses(self, problem: TwoAnswers) -> list[Hypothesis]:
        """Who leads; one answer a sample."""
        lead = problem.right - problem.rival
        leads = Hypothesis("the right answer leads by", lead, ">" if self.right_leads else "<", 0.0, "the limit")
        return [leads, Hypothesis("p1 + p2", problem.right + problem.rival, "<=", 1.0, "one sample, one answer")]


class Verified(eqx.Module):
    """Attempts and a verifier that says yes or no.

    Args:
        success: p, the probability that an attempt is right.
        accepts_right: t, that a right one is accepted.
        accepts_wrong: f, that a wrong one is.
        attempts: K.
    """

    success: Float[Array, ""]
    accepts_right: Float[Array, ""]
    accepts_wrong: Float[Array, ""]
    attempts: int = eqx.field(static=True)


class VerifiedAttempts(Population[Verified]):
    """Attempts that are mostly wrong, a verifier that is mostly right."""

    def settings(self) -> Space:
        """How many attempts."""
        return Space(attempts=Integer(8, 2, 1000, "attempts", corners=(4, 12)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Verified:
        """Uniform rates."""
        within = lambda key, low, high: jax.random.uniform(key, minval=low, maxval=high)
        keys = jax.random.split(key, 3)
        rates = within(keys[0], 0.15, 0.3), within(keys[1], 0.6, 0.95), within(keys[2], 0.1, 0.3)
        return Verified(*rates, setting["attempts"])

    def hypotheses(self, problem: Verified) -> list[Hypothesis]:
        """Something wrong is accepted."""
        return [Hypothesis("wrong answers are accepted: f", problem.accepts_wrong, ">", 0.0, "else no ceiling below 1")]


class Scored(eqx.Module):
    """Attempts with normal scores: N(lead, 1) where right, N(0, spread²) where wrong.

    Args:
        success: the probability that an attempt is right.
        lead: how much higher right ones score in the mean.
        spread: the standard deviation of the scores of wrong ones.
    """

    success: Float[Array, ""]
    lead: Float[Array, ""]
    spread: Float[Array, ""]


class ScoredAttempts(Population[Scored]):
    """Right answers score higher in the mean; wrong ones vary as declared.

    Args:
        spread: the setting of the spread of wrong scores.
    """

    spread: Real = eqx.field(static=True)

    def settings(self) -> Space:
        """The lead and the spread."""
        return Space(lead=Real(1.0, 0.2, 3.0, "lead of right answers", corners=(0.8, 1.2)), spread=self.spread)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Scored:
        """Success probabilities between 0.2 and 0.5."""
        success = jax.random.uniform(key, minval=0.2, maxval=0.5)
        return Scored(success, jnp.asarray(setting["lead"]), jnp.asarray(setting["spread"]))

    def hypotheses(self, problem: Scored) -> list[Hypothesis]:
        """Scores speak for right answers."""
        return [Hypothesis("right answers score higher in the mean", problem.lead, ">", 0.0, "a useful verifier")]
