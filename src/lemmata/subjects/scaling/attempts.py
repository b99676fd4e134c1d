"""Repeated attempts: how often at least one of many is right, and on which problems another attempt helps most.

This theory describes the probability that at least one of k attempts solves a problem, and its mean over problems. It
assumes that attempts on a problem are independent, and that a right answer is recognised. It leaves unexplained how a
right answer is recognised without an oracle; the module `votes` is about this question.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import betaln, gammaln
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Rate, Source
from lemmata.subjects.scaling import allocate, pass_at_k
from lemmata.subjects.scaling._attempted_problems import (
    ATTEMPTED_PROBLEMS,
    SHARED_BUDGETS,
    Attempted,
    BetaDifficulties,
    Difficulties,
    Multiplied,
    MultipliedAttempts,
    SharedBudget,
)

from ._search import lowest_point

ABOUT = {"tool": "statistics", "architecture": "any", "object": "sampler"}

_DRAWS = 4096
_MONKEYS = Source("schaeffer2025", note="main result, for beta-distributed success probabilities")


def _any_right(success: Float[Array, ""], attempts: int) -> Float[Array, ""]:
    return 1 - (1 - success) ** attempts


class OraclePass(Claim[Attempted]):
    """Let each of k independent attempts solve a problem with probability p. The probability that at least one attempt
    solves the problem is

        1 - (1 - p)^k.
    """

    title = "At least one of k attempts is right with probability 1 - (1 - p)^k"
    source = Source("emergence2026", "Lemma 17.8")
    population = ATTEMPTED_PROBLEMS
    relation = EqualInMean(resolution=0.03)
    control = Control(
        "each attempt adds p, up to 1", lambda value, problem: jnp.minimum(1.0, problem.asked * problem.success)
    )
    controls = "coverage: whether any attempt is right"
    unexplained = "which of the attempts is right"
    trials = 96

    def predict(self, problem: Attempted) -> Array:
        return _any_right(problem.success, problem.asked)

    def measure(self, problem: Attempted, key: Key[Array, ""]) -> Array:
        return jax.random.bernoulli(key, problem.success, (_DRAWS, problem.asked)).any(axis=1).mean()


def _plug_in(value: Float[Array, ""], problem: Attempted) -> Float[Array, ""]:
    """Return the mean of 1 - (1 - c/n)^k over binomial counts c."""
    count, n = jnp.arange(problem.made + 1.0), float(problem.made)
    logs = gammaln(n + 1) - gammaln(count + 1) - gammaln(n - count + 1)
    law = jnp.exp(logs + count * jnp.log(problem.success) + (n - count) * jnp.log1p(-problem.success))
    return law @ (1 - (1 - count / n) ** problem.asked)


class UnbiasedPassAtK(Claim[Attempted]):
    """Let one attempt solve a problem with probability p, and let c of n independent attempts be right. The number
    pass@k is the probability that at least one of k attempts is right, which is 1 - (1 - p)^k. Let C(n, k) be the
    binomial coefficient. The estimator of pass@k

        1 - C(n - c, k) / C(n, k),   k <= n,

    has the mean 1 - (1 - p)^k.
    """

    title = "The usual estimator of pass@k is unbiased"
    source = Source("chen2021code", "(1)")
    population = ATTEMPTED_PROBLEMS
    relation = EqualInMean(resolution=0.02)
    control = Control("the estimator has the mean of the plug-in estimator 1 - (1 - c/n)^k", _plug_in)
    controls = "coverage with k attempts, estimated from n attempts"
    unexplained = "coverage with more attempts than were made"
    trials = 96
    traced = False  # the estimator is SciPy's

    def predict(self, problem: Attempted) -> Array:
        return _any_right(problem.success, problem.asked)

    def measure(self, problem: Attempted, key: Key[Array, ""]) -> Array:
        right = jax.random.bernoulli(key, problem.success, (_DRAWS // 4, problem.made)).sum(axis=1)
        return jnp.asarray(pass_at_k(np.asarray(right), problem.made, problem.asked).value)


class BetaFailures(Claim[Difficulties]):
    """Let the success probability of a problem follow the distribution Beta(a, b). The expected share of problems on
    which all K attempts fail is

        B(a, b + K) / B(a, b),

    where B is the beta function. This share differs from (1 - p)^K, which is the probability that all attempts fail on
    a problem with the mean success probability p = a/(a+b).
    """

    title = "For beta-distributed success probabilities, all K attempts fail on a share B(a, b + K)/B(a, b) of problems"
    source = _MONKEYS
    population = BetaDifficulties()
    relation = EqualInMean(resolution=0.03)
    control = Control(
        "the share is (1 - p)^K at the mean p",
        lambda value, problem: (problem.b / (problem.a + problem.b)) ** problem.attempts,
    )
    controls = "the share of problems that no attempt solves"
    unexplained = "the distribution of difficulties"
    trials = 96

    def predict(self, problem: Difficulties) -> Array:
        return jnp.exp(betaln(problem.a, problem.b + problem.attempts) - betaln(problem.a, problem.b))

    def measure(self, problem: Difficulties, key: Key[Array, ""]) -> Array:
        success_key, try_key = jax.random.split(key)
        success = problem.draw(success_key, _DRAWS)
        right = jax.random.bernoulli(try_key, success[:, None], (_DRAWS, problem.attempts))
        return 1 - right.any(axis=1).mean()


class BetaTail(Claim[Difficulties]):
    """Let the success probability of a problem follow the distribution Beta(a, b). The share of problems on which all K
    attempts fail falls as

        K^-a,

    which is a power of the number of attempts. The exponent comes from the hard problems, because the density at a
    small success probability p is proportional to p^(a-1). On each single problem, the probability that all attempts
    fail falls exponentially.
    """

    title = "Hard problems make the failure rate a power law in the number of attempts"
    source = _MONKEYS
    population = BetaDifficulties()
    # B(a, b + K)/B(a, b) is K^-a up to a relative a (a + 2b - 1)/(2K): 1 % at the first size for the largest a and b
    relation = Rate("attempts", (1024.0, 4096.0, 16384.0, 65536.0), margin=0.02, resolution=0.05)
    control = Control("the share falls as 1/K, as for evenly spread probabilities", lambda rate, problem: -jnp.ones(()))
    controls = "the tail of coverage in the number of attempts"
    unexplained = "problems that no attempt ever solves, which leave a plateau"
    trials = 48

    def predict(self, problem: Difficulties) -> Array:
        return -problem.a

    def measure(self, problem: Difficulties, key: Key[Array, ""]) -> Array:
        """Average over weighted draws from Beta(a/4, b), because draws from Beta(a, b) rarely have a small enough p."""
        drawn_as = problem.a / 4
        success = Difficulties(drawn_as, problem.b, problem.attempts).draw(key, 2 * _DRAWS)
        weights = success ** (problem.a - drawn_as) * jnp.exp(
            betaln(drawn_as, problem.b) - betaln(problem.a, problem.b)
        )
        failed = jnp.exp(jnp.asarray(self.relation.rungs)[:, None] * jnp.log1p(-success))
        return (failed * weights).mean(axis=1)


_LEAST = -25.0  # the logarithm of a probability below the best of all that are asked for


def _all_fail(log_success: Float[Array, ""], attempts: Float[Array, ""]) -> Float[Array, ""]:
    """Return (1 - p)^k, to full accuracy even for a small p."""
    return jnp.exp(attempts * jnp.log1p(-jnp.exp(log_success)))


def _best_success(before: Float[Array, ""], factor: Float[Array, ""]) -> Float[Array, ""]:
    """Return the p at which (1-p)^m - (1-p)^(Km) is largest, by golden section in log p."""
    gain = lambda u: _all_fail(u, before * factor) - _all_fail(u, before)
    return jnp.exp(lowest_point(gain, jnp.asarray(_LEAST), jnp.zeros(())))


class RareSuccessGainsMost(Claim[Multiplied]):
    """Multiply the number of attempts on a problem by K, from m to K m. The probability of solving the problem rises by
    (1 - p)^m - (1 - p)^(Km). This gain is largest for problems with the success probability

        p = 1 - K^(-1/(m (K - 1))).

    This probability is close to log(K)/(m K) for large K, and it tends to 0 as K grows. The gain from attempt number K
    m alone is p (1 - p)^(K m - 1), which is largest at p = 1/(K m).
    """

    title = (
        "The more attempts per problem, the rarer are right attempts on the problems that gain most from further ones"
    )
    source = Source("emergence2026", "Figure 17.13", "Figure 17.19", note="with the best probability")
    population = MultipliedAttempts()
    relation = Equal()
    control = Control(
        "the gain is largest at p = 1/(m + 1), as from m to m + 1 attempts", lambda best, problem: _next(best, problem)
    )
    controls = "the difficulty at which more attempts gain most"
    unexplained = "attempts that depend on each other"
    condition = 100000000.0  # a maximum is flat, so its place is known only to half of the digits

    def predict(self, problem: Multiplied) -> Array:
        spread = -jnp.expm1(-jnp.log(problem.factor) / (problem.before * (problem.factor - 1)))
        return jnp.stack([spread, 1 / (problem.before * problem.factor)])

    def measure(self, problem: Multiplied, key: Key[Array, ""]) -> Array:
        every = problem.before * problem.factor
        alone = lambda u: -jnp.exp(u) * _all_fail(u, every - 1)
        last = jnp.exp(lowest_point(alone, jnp.asarray(_LEAST), jnp.zeros(())))
        return jnp.stack([_best_success(problem.before, problem.factor), last])


def _next(best: Float[Array, "2"], problem: Multiplied) -> Float[Array, "2"]:
    return jnp.broadcast_to(1 / (problem.before + 1), best.shape)


def _best_plan(success: np.ndarray, budget: int) -> tuple[float, list[int]]:
    """Return the largest expected number of solved problems, and the attempts on each, by dynamic programming."""
    value, plans = np.zeros(budget + 1), [[] for _ in range(budget + 1)]
    for p in success:
        solved = 1 - (1 - p) ** np.arange(budget + 1)
        table = [[value[left - given] + solved[given] for given in range(left + 1)] for left in range(budget + 1)]
        given = [int(np.argmax(row)) for row in table]
        plans = [[*plans[left - given[left]], given[left]] for left in range(budget + 1)]
        value = np.array([row[chosen] for row, chosen in zip(table, given, strict=True)])
    return float(value[budget]), plans[budget]


class AdaptiveAttempts(Claim[SharedBudget]):
    """Let problems have known success probabilities p_i. Give each attempt to the problem with the largest p_i (1 -
    p_i)^(k_i), where k_i is the number of attempts already made on problem i. For every budget of attempts, this rule
    maximises the expected number of problems solved. Under this rule, easy problems get one attempt, and very hard
    problems get no attempt until the budget is large. The test compares the expected number of problems that the rule
    solves with this maximum.
    """

    title = "Giving each attempt to the problem where it gains most maximises the expected number of problems solved"
    source = Source("emergence2026", "Figure 17.18", note="for a known difficulty")
    population = SHARED_BUDGETS
    relation = Equal()
    control = Control(
        "the best rule gives attempts in proportion to 1/p", lambda solved, problem: jnp.asarray(_inverse(problem))
    )
    controls = "the expected number of problems that a budget of attempts solves"
    unexplained = "difficulties that must be estimated"
    traced = False  # the optimum is found by dynamic programming

    def predict(self, problem: SharedBudget) -> Array:
        return jnp.asarray(allocate(np.asarray(problem.success), problem.budget).value)

    def measure(self, problem: SharedBudget, key: Key[Array, ""]) -> Array:
        return jnp.asarray(_best_plan(np.asarray(problem.success), problem.budget)[0])


def _inverse(problem: SharedBudget) -> float:
    """Return the expected number solved with attempts in proportion to 1/p, the largest remainders rounded up."""
    success = np.asarray(problem.success)
    shares = problem.budget / success / (1 / success).sum()
    attempts = np.floor(shares)
    for i in itertools.islice(np.argsort(attempts - shares), int(problem.budget - attempts.sum())):
        attempts[i] += 1
    return float((1 - (1 - success) ** attempts).sum())
