"""Choosing among attempts by a vote, by a verifier that says yes or no, or by the highest score.

This theory describes the accuracy of the chosen answer as attempts are added. It assumes independent attempts. It does
not cover answers that depend on each other, or the source of a verifier's mistakes.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key
from scipy import stats

from lemmata.engine.claims import (
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Limit,
    Order,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, positive, uniform
from lemmata.subjects.scaling import plurality_error

ABOUT = {"tool": "statistics", "architecture": "any", "object": "sampler"}


class TwoAnswers(eqx.Module):
    """The probabilities of the right answer and of its rival, the strongest wrong answer; others are too rare to win.

    Args:
        right: the probability p1 of the right answer in one sample.
        rival: the probability p2 of the strongest wrong answer.
    """

    right: Float[Array, ""]
    rival: Float[Array, ""]


class VotedAnswers(Population[TwoAnswers]):
    """Pairs of answers whose probabilities differ by one or two tenths.

    Args:
        right_leads: whether the right answer is more frequent than the wrong one.
    """

    right_leads: bool = eqx.field(static=True, default=True)
    settings = Space(lead=Real(0.2, 0.05, 0.4, "difference of the two probabilities", corners=(0.15, 0.25)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoAnswers:
        weaker = jax.random.uniform(key, minval=0.1, maxval=0.25)
        pair = (weaker + setting["lead"], weaker)
        return TwoAnswers(*(pair if self.right_leads else pair[::-1]))

    def hypotheses(self, problem: TwoAnswers) -> list[Hypothesis]:
        lead = problem.right - problem.rival
        leads = Hypothesis(
            "lead of the right answer",
            lead,
            ">" if self.right_leads else "<",
            0.0,
            "the limit depends on which answer leads",
        )
        return [leads, Hypothesis("p1 + p2", problem.right + problem.rival, "<=", 1.0, "each sample gives one answer")]


class Verified(eqx.Module):
    """Attempts and a verifier that says yes or no.

    Args:
        success: the probability p that an attempt is right.
        accepts_right: the probability t that a right attempt is accepted.
        accepts_wrong: the probability f that a wrong attempt is accepted.
        attempts: the number K of attempts.
    """

    success: Float[Array, ""]
    accepts_right: Float[Array, ""]
    accepts_wrong: Float[Array, ""]
    attempts: int = eqx.field(static=True)


class Scored(eqx.Module):
    """Attempts that are right with probability `success`. Scores are N(lead, 1) if right, else N(0, spread²)."""

    success: Float[Array, ""]
    lead: Float[Array, ""]
    spread: Float[Array, ""]


def _scored(spread: Real) -> Drawn:
    """Return a generator of problems: right answers have a higher mean score, and wrong scores have the set spread."""
    return Drawn(
        Scored,
        positive("lead", "a useful verifier scores right answers higher"),
        success=uniform(0.2, 0.5),
        lead=Real(1.0, 0.2, 3.0, "lead of right answers", corners=(0.8, 1.2)),
        spread=spread,
    )


_VOTE = Source("emergence2026", "Figure 17.14", note="with the rate, by the Chernoff information of two answers")
_SELECTION = Source("emergence2026", "Proposition 17.9", note="with the accuracy, for a model of the verifier")
_DRAWS = 2048
_SCORES = 512


class PluralityExponent(Claim[TwoAnswers]):
    """Let p1 be the probability of the right answer in one sample, and let p2 < p1 be the probability of the strongest
    wrong answer. Let P(K) be the probability that, among K samples, this wrong answer gets at least as many votes as
    the right answer. For large K, this probability falls as exp(-c K)/sqrt(K), where

        c = -log(1 - (sqrt(p1) - sqrt(p2))²).

    The test measures (log P(K) - log P(2K))/K - log(2)/(2K). The subtracted term is the contribution of the factor
    1/sqrt(K).
    """

    title = "The error of a plurality vote over K samples falls exponentially in K if the right answer is most frequent"
    source = _VOTE
    population = VotedAnswers()
    relation = Limit("votes", (80.0, 160.0, 320.0, 640.0), margin=0.02, resolution=0.03)
    control = Control(
        "the exponent is Hoeffding's, (p1 - p2)²/2", lambda rate, problem: (problem.right - problem.rival) ** 2 / 2
    )
    controls = "how fast self-consistency converges"
    unexplained = "wrong answers that occur together, as when samples share a mistake"
    trials = 48
    traced = False  # the exact sums are SciPy's

    def predict(self, problem: TwoAnswers) -> Array:
        return -jnp.log1p(-((jnp.sqrt(problem.right) - jnp.sqrt(problem.rival)) ** 2))

    def measure_at(self, problem: TwoAnswers, key: Key[Array, ""], votes: float) -> Array:
        p1, p2, count = float(problem.right), float(problem.rival), int(votes)
        ratio = plurality_error(p1, p2, count) / plurality_error(p1, p2, 2 * count)
        return (jnp.log(ratio) - jnp.log(2.0) / 2) / votes


def _right_wins(p1: float, p2: float, votes: int) -> float:
    """Return the probability, by exact sums, that answer 1 gets more votes than answer 2."""
    cast = np.arange(votes + 1)  # votes for one of the two
    return float(stats.binom.pmf(cast, votes, p1 + p2) @ stats.binom.sf(cast // 2, cast, p1 / (p1 + p2)))


class VotesForTheRival(Claim[TwoAnswers]):
    """Let p1 be the probability of the right answer in one sample. Let p2 > p1 be the probability of the most frequent
    answer, which is wrong. Let P(K) be the probability that, among K samples, the right answer gets more votes than
    this wrong answer. For large K, this probability falls as exp(-c K)/sqrt(K), where

        c = -log(1 - (sqrt(p2) - sqrt(p1))²).

    The test measures (log P(K) - log P(2K))/K - log(2)/(2K). The subtracted term is the contribution of the factor
    1/sqrt(K).
    """

    title = "Votes over many samples amplify a wrong answer that is more frequent than the right answer"
    source = Source("emergence2026", "Figure 17.14", note="if the right answer is not the most frequent one")
    population = VotedAnswers(right_leads=False)
    relation = Limit("votes", (80.0, 160.0, 320.0, 640.0), margin=0.02, resolution=0.03)
    control = Control(
        "the exponent is Hoeffding's, (p2 - p1)²/2", lambda rate, problem: (problem.rival - problem.right) ** 2 / 2
    )
    controls = "the accuracy of self-consistency on problems that are mostly answered wrongly"
    unexplained = "small numbers of votes, with which the right answer may win more often at first"
    trials = 48
    traced = False  # the exact sums are SciPy's

    def predict(self, problem: TwoAnswers) -> Array:
        return -jnp.log1p(-((jnp.sqrt(problem.rival) - jnp.sqrt(problem.right)) ** 2))

    def measure_at(self, problem: TwoAnswers, key: Key[Array, ""], votes: float) -> Array:
        p1, p2, count = float(problem.right), float(problem.rival), int(votes)
        ratio = _right_wins(p1, p2, count) / _right_wins(p1, p2, 2 * count)
        return (jnp.log(ratio) - jnp.log(2.0) / 2) / votes


def _none_accepted(problem: Verified) -> Float[Array, ""]:
    """Return the probability that no attempt is accepted and that an attempt chosen at random is right."""
    p, t = problem.success, problem.accepts_right
    rejected = p * (1 - t) + (1 - p) * (1 - problem.accepts_wrong)
    return rejected ** (problem.attempts - 1) * p * (1 - t)


class VerifierCeiling(Claim[Verified]):
    """Let an attempt be right with probability p. Let a verifier accept right attempts with probability t, and wrong
    attempts with probability f > 0. Make K attempts, and choose an accepted attempt at random. If no attempt is
    accepted, choose any attempt at random. Let q = p t + (1-p) f be the probability that an attempt is accepted. The
    chosen attempt is right with probability

        (1 - (1-q)^K) p t/q + (1-q)^K p (1-t)/(1-q).

    As K grows, this probability tends to p t/q < 1. So more attempts do not help against a verifier's mistakes.
    """

    title = "A verifier's mistakes set a ceiling on the accuracy of an answer chosen from many attempts"
    source = _SELECTION
    population = Drawn(
        Verified,
        positive("accepts_wrong", "otherwise there is no ceiling below 1"),
        success=uniform(0.15, 0.3),
        accepts_right=uniform(0.6, 0.95),
        accepts_wrong=uniform(0.1, 0.3),
        attempts=Integer(3, 2, 1000, "attempts", corners=(2, 6)),
    )
    relation = EqualInMean(resolution=0.03)
    control = Control(
        "the second term is missing, as if no attempt could be right if the verifier accepts none",
        lambda value, problem: value - _none_accepted(problem),
    )
    controls = "the accuracy of verified attempts"
    unexplained = "mistakes of a verifier that depend on each other"
    trials = 96

    def predict(self, problem: Verified) -> Array:
        p, t = problem.success, problem.accepts_right
        accepted = p * t + (1 - p) * problem.accepts_wrong
        return (1 - (1 - accepted) ** problem.attempts) * p * t / accepted + _none_accepted(problem)

    def measure(self, problem: Verified, key: Key[Array, ""]) -> Array:
        right_key, accept_key = jax.random.split(key)
        shape = (_DRAWS, problem.attempts)
        right = jax.random.bernoulli(right_key, problem.success, shape)
        rate = jnp.where(right, problem.accepts_right, problem.accepts_wrong)
        # the first accepted answer; if none is accepted, the first of all
        chosen = jnp.argmax(jax.random.bernoulli(accept_key, rate), axis=1)
        return jnp.take_along_axis(right, chosen[:, None], axis=1).mean()


def _best_is_right(problem: Scored, key: Key[Array, ""], attempts: int) -> Float[Array, ""]:
    """Return how often the highest score belongs to a right answer, as a mean over draws of the highest score.

    A single score exceeds the highest score x of K attempts with probability 1 - U^(1/K), where U is uniform. The
    probability that x belongs to a right answer follows from the densities of right and wrong scores at x.
    """
    below = jax.random.uniform(key, (_SCORES,), minval=1e-300)
    above = -jnp.expm1(jnp.log(below) / attempts)
    p, lead, spread = problem.success, problem.lead, problem.spread

    def half(_, ends):
        middle = (ends[0] + ends[1]) / 2
        # the upper tails themselves, because 1 minus them would lose digits
        survival = p * norm.cdf(lead - middle) + (1 - p) * norm.cdf(-middle / spread)
        return jnp.where(survival > above, middle, ends[0]), jnp.where(survival > above, ends[1], middle)

    ends = jnp.full(_SCORES, -40.0), jnp.full(_SCORES, 60.0)
    best = jax.lax.fori_loop(0, 50, half, ends)[0]
    right, wrong = norm.logpdf(best - lead), norm.logpdf(best / spread) - jnp.log(spread)
    return jax.nn.sigmoid(jnp.log(p) - jnp.log1p(-p) + right - wrong).mean()


class HeavyTailedMistakes(Claim[Scored]):
    """Let a verifier's scores be N(delta, 1) for right answers, delta > 0, and N(0, s²) for wrong answers with s > 1.
    Choose the answer with the highest score among all attempts. Beyond a certain number of attempts (here 64), the
    accuracy of this choice falls as attempts are added. The reason is that right answers have higher scores on average,
    but the very highest scores belong to wrong answers.
    """

    title = "If scores vary more for wrong than for right answers, more attempts make best-of-K less accurate"
    source = _SELECTION
    population = _scored(Real(1.6, 1.3, 4.0, "standard deviation of wrong scores", corners=(1.5, 1.8)))
    relation = Order("attempts", (64.0, 256.0, 1024.0, 4096.0))
    control = Control("the accuracy rises as attempts are added", lambda sign, problem: -sign)
    controls = "the accuracy of best-of-K by a score"
    unexplained = "the number of attempts with the highest accuracy"
    trials = 48
    predict = -1.0

    def measure_at(self, problem: Scored, key: Key[Array, ""], attempts: float) -> Array:
        return _best_is_right(problem, key, int(attempts))


class LightTailedMistakes(Claim[Scored]):
    """Let a verifier's scores be N(delta, 1) for right answers, delta > 0, and N(0, s²) for wrong answers with s <= 1.
    Choose the answer with the highest score among all attempts. The accuracy of this choice rises with the number of
    attempts.
    """

    title = "If scores vary no more for wrong than for right answers, more attempts make best-of-K more accurate"
    source = _SELECTION
    population = _scored(Real(1.0, 0.5, 1.0, "standard deviation of wrong scores", corners=(0.85, 1.0)))
    relation = Order("attempts", (4.0, 16.0, 64.0, 256.0))
    control = Control("the accuracy falls as attempts are added", lambda sign, problem: -sign)
    controls = "the accuracy of best-of-K by a score"
    unexplained = "how slowly the accuracy rises: at s = 1 only as exp(delta sqrt(2 log K))"
    trials = 48
    predict = 1.0

    def measure_at(self, problem: Scored, key: Key[Array, ""], attempts: float) -> Array:
        return _best_is_right(problem, key, int(attempts))
