"""Sampling: the distributions of accepted samples, and their cost.

The theory gives the stationary distribution of the Metropolis-Hastings chain, the acceptance rate of rejection
sampling, and the variance of importance weights. It does not say how to find good proposals.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Source
from lemmata.engine.problems.generators import generator_of
from lemmata.subjects.textbook._finite_chains import PairsOfLaws, ProposedTarget, ProposedTargets, TwoLaws

ABOUT = {"tool": "statistics", "architecture": "any", "object": "sampler"}

_SOURCE = Source("younes2024introduction", "Abstract, sampling")
_PROPOSALS, _DRAWS, _REPEATS = 400, 40, 160


def stationary(proposal: Float[np.ndarray, "s s"], accept: Float[np.ndarray, "s s"]) -> Float[np.ndarray, " s"]:
    """Return the stationary distribution of a chain that moves to accepted proposals and otherwise stays."""
    moves = proposal * accept
    np.fill_diagonal(moves, 0.0)
    generator = moves - np.diag(moves.sum(1))
    s = len(moves)
    return np.linalg.lstsq(np.concatenate([generator.T, np.ones((1, s))]), np.append(np.zeros(s), 1.0))[0]


def _ratios(problem: ProposedTarget) -> Float[np.ndarray, "s s"]:
    return problem.target[None, :] / problem.target[:, None]


class MetropolisKeepsTarget(Claim[ProposedTarget]):
    """Let p be a target distribution on finitely many states. Let a chain propose to move from state i to state j with
    probability q_ij, and accept the move with probability

        min(1, p_j q_ji / (p_i q_ij))

    For all such proposals, the stationary distribution of the chain is p.
    """

    title = "The Metropolis-Hastings chain has the target as its stationary distribution"
    source = _SOURCE
    population = ProposedTargets()
    relation = Equal(block=-1)
    control = Control(
        "p_j / p_i alone decides the acceptance",
        lambda law, problem: jnp.asarray(stationary(problem.proposal, np.minimum(1, _ratios(problem)))),
    )
    controls = "the distribution that a chain samples in the long run"
    unexplained = "how long convergence takes"
    traced = False

    def predict(self, problem: ProposedTarget) -> Array:
        return jnp.asarray(problem.target)

    def measure(self, problem: ProposedTarget, key: Key[Array, ""]) -> Array:
        """The stationary distribution, from the null vector of the chain's matrix minus the identity."""
        ratios = _ratios(problem) * problem.proposal.T / problem.proposal
        return jnp.asarray(stationary(problem.proposal, np.minimum(1, ratios)))

    def condition(self, problem: ProposedTarget) -> Array:
        """Return a bound on the rounding errors. The null vector is as accurate as the rarest move allows."""
        least = min(problem.target.min(), problem.proposal.min())
        return jnp.asarray(len(problem.target) / least)


class RejectionAccepts(Claim[TwoLaws]):
    """Let p be a target distribution, q a proposal distribution, and M = max p/q. Rejection sampling draws x from q and
    accepts it with probability p(x) / (M q(x)). The probability that a draw is accepted is

        1/M.
    """

    title = "Rejection sampling accepts the fraction 1/M of its draws"
    source = _SOURCE
    population = PairsOfLaws()
    relation = EqualInMean()
    control = Control("the accepted share is the square root of the stated one", lambda share, problem: jnp.sqrt(share))
    controls = "the number of draws per accepted sample"
    unexplained = "the growth of M with the dimension, which is exponential for products"
    traced = False
    trials = 96

    def predict(self, problem: TwoLaws) -> Array:
        return jnp.asarray(1 / problem.ratio.max())

    def measure(self, problem: TwoLaws, key: Key[Array, ""]) -> Array:
        """The share of 400 proposals that are accepted."""
        rng = generator_of(key)
        x = rng.choice(len(problem.q), _PROPOSALS, p=problem.q)
        accept = problem.ratio / problem.ratio.max()
        return jnp.asarray((rng.uniform(size=_PROPOSALS) < accept[x]).mean())


class ImportanceVariance(Claim[TwoLaws]):
    """Let p be a target distribution and q the distribution of n independent draws. The mean of the importance weights
    p/q over the draws estimates 1 with variance

        chi²(p, q) / n,   where chi² = sum of (p - q)²/q.

    So the effective sample size of n draws is n / (1 + chi²).
    """

    title = "The variance of the mean importance weight is chi²(p, q) / n"
    source = _SOURCE
    population = PairsOfLaws()
    relation = EqualInMean()
    control = Control(
        "the variance has the divergence with p and q exchanged", lambda value, problem: _exchanged(problem)
    )
    controls = "the variance of a mean by importance weights"
    unexplained = "means of functions that are large together with the weights"
    traced = False
    trials = 160

    def predict(self, problem: TwoLaws) -> Array:
        return jnp.asarray(np.sum((problem.p - problem.q) ** 2 / problem.q) / _DRAWS)

    def measure(self, problem: TwoLaws, key: Key[Array, ""]) -> Array:
        """The mean square error of 160 means of n = 40 weights each."""
        x = generator_of(key).choice(len(problem.q), (_REPEATS, _DRAWS), p=problem.q)
        return jnp.asarray(np.mean((problem.ratio[x].mean(1) - 1) ** 2))


def _exchanged(problem: TwoLaws) -> Array:
    return jnp.asarray(np.sum((problem.p - problem.q) ** 2 / problem.p) / _DRAWS)
