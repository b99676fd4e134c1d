"""Random Markov chains on a few states with their stationary distributions, and target distributions with proposals."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.generators import generator_of


class FiniteChain(eqx.Module):
    """A Markov chain P (one row per state), its stationary distribution, and the number of steps to study."""

    transition: Float[np.ndarray, "s s"]
    law: Float[np.ndarray, " s"]
    steps: int = eqx.field(static=True)

    @property
    def imbalance(self) -> float:
        """The largest |law_i P_ij - law_j P_ji|, where law is the stationary distribution."""
        flow = self.law[:, None] * self.transition
        return float(np.abs(flow - flow.T).max())


def _space() -> Space:
    return Space(states=Integer(4, 2, 12, "states", corners=(3, 6)), steps=Integer(5, 1, 20, "steps"))


class RenewedChains(Population[FiniteChain]):
    """Chains P = a 1 nu' + (1 - a) Q. With probability a, the next state is drawn from nu, and otherwise by the
    transition matrix Q. In half of the problems, Q is the identity.
    """

    settings = _space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> FiniteChain:
        """Draw a number a, uniform on 0.2 to 0.7, and nu and the rows of Q from Dirichlet distributions."""
        rng, s = generator_of(key), setting["states"]
        fresh = rng.uniform(0.2, 0.7)
        moves = np.eye(s) if rng.uniform() < 0.5 else rng.dirichlet(np.ones(s), s)
        transition = fresh * rng.dirichlet(np.ones(s)) + (1 - fresh) * moves
        values = np.linalg.lstsq(
            np.concatenate([transition.T - np.eye(s), np.ones((1, s))]), np.append(np.zeros(s), 1.0)
        )
        return FiniteChain(transition, values[0], setting["steps"])

    def hypotheses(self, problem: FiniteChain) -> list[Hypothesis]:
        gap = np.abs(problem.law @ problem.transition - problem.law).max()
        return [
            Hypothesis(
                "largest change of the stationary distribution in one step",
                gap,
                "<=",
                1e-12,
                "distances are measured to the stationary distribution",
            )
        ]


class ReversibleChains(Population[FiniteChain]):
    """Random walks on weighted graphs, P_ij = c_ij / c_i, where c_ij are the weights and c_i is the sum of c_ij over j.
    In half of the problems, the states form two groups with small weights between the groups.
    """

    settings = _space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> FiniteChain:
        """Draw weights of 1/2 to 1, and add the transposed matrix. Weights between groups are multiplied by 0.05."""
        rng, s = generator_of(key), setting["states"]
        weights = rng.uniform(0.5, 1.0, (s, s))
        if rng.uniform() < 0.5:
            half = np.arange(s) < s // 2
            weights = np.where(half[:, None] == half, weights, 0.05 * weights)
        weights = weights + weights.T
        return FiniteChain(weights / weights.sum(1, keepdims=True), weights.sum(1) / weights.sum(), setting["steps"])

    def hypotheses(self, problem: FiniteChain) -> list[Hypothesis]:
        return [
            Hypothesis("largest |law_i P_ij - law_j P_ji|", problem.imbalance, "<=", 1e-14, "the chain is reversible")
        ]


class ProposedTarget(eqx.Module):
    """A target distribution on s states, and a matrix whose row i is the proposal distribution in state i."""

    target: Float[np.ndarray, " s"]
    proposal: Float[np.ndarray, "s s"]


class ProposedTargets(Population[ProposedTarget]):
    """Random target distributions, and proposals that are not symmetric."""

    settings = Space(states=Integer(5, 2, 12, "states", corners=(3, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ProposedTarget:
        rng, s = generator_of(key), setting["states"]
        return ProposedTarget(rng.dirichlet(np.full(s, 2.0)), rng.dirichlet(np.full(s, 2.0), s))

    def hypotheses(self, problem: ProposedTarget) -> list[Hypothesis]:
        least = min(problem.target.min(), problem.proposal.min())
        return [
            Hypothesis("least probability", least, ">", 0.0, "the sampler reaches every state from every other state")
        ]


class TwoLaws(eqx.Module):
    """Two distributions p and q on k atoms: a target and a proposal, or data and a generator."""

    p: Float[np.ndarray, " k"]
    q: Float[np.ndarray, " k"]

    @property
    def ratio(self) -> Float[np.ndarray, " k"]:
        """The ratio p/q."""
        return self.p / self.q


class PairsOfLaws(Population[TwoLaws]):
    """Distributions p = q w. The ratio w is between 1/5 and 3 before it is scaled to the mean 1 under q."""

    settings = Space(atoms=Integer(6, 2, 40, "atoms", corners=(4, 12)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoLaws:
        """Draw ratios p/q that are alternately low and high."""
        rng, k = generator_of(key), setting["atoms"]
        q = rng.dirichlet(np.full(k, 8.0))
        w = np.where(np.arange(k) % 2, rng.uniform(1.5, 3.0, k), rng.uniform(0.2, 0.5, k))
        return TwoLaws(q * w / (q * w).sum(), q)

    def hypotheses(self, problem: TwoLaws) -> list[Hypothesis]:
        """Return the hypothesis that every atom has a positive probability under q."""
        return [Hypothesis("least probability q", problem.q.min(), ">", 0.0, "p/q is finite")]
