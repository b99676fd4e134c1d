"""Markov chains: how fast they forget where they started.

The distance of a chain's law after t steps from its stationary law is bounded by what all states have in common, and
for reversible chains it is held from both sides by the second eigenvalue. The theory controls the total variation from
the worst start; it leaves open how to know those numbers for a chain that is not given as a matrix.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Source
from lemmata.subjects.textbook._finite_chains import FiniteChain, RenewedChains, ReversibleChains

ABOUT = {"tool": "spectral theory", "architecture": "any", "object": "sampler"}

_SOURCE = Source("younes2024introduction", "Abstract, Markov chains", note="as known for finite chains")


def distances(chain: FiniteChain) -> Float[np.ndarray, " steps"]:
    """Total variation of the law after 1, 2, ... steps from the stationary law, from the worst start."""
    found, law = [], np.eye(len(chain.law))
    for _ in range(chain.steps):
        law = law @ chain.transition
        found.append(np.abs(law - chain.law).sum(1).max() / 2)
    return np.array(found)


def second_modulus(chain: FiniteChain) -> float:
    """The largest modulus of an eigenvalue but 1, of a reversible chain."""
    root = np.sqrt(chain.law)
    values = np.linalg.eigvalsh(root[:, None] * chain.transition / root)
    return float(max(values[-2], -values[0]))


def _powers(rate: float, chain: FiniteChain) -> Float[np.ndarray, " steps"]:
    return rate ** np.arange(1, chain.steps + 1)


class MinorisationForgetsStart(Claim[FiniteChain]):
    """Let a = sum over j of min over i of P_ij be the probability that all rows of a transition matrix P share. After t
    steps the law of the chain, from any start, is within

        (1 - a)^t

    of the stationary law in total variation, t = 1, ..., 5.
    """

    title = "What all states share makes a chain forget"
    source = _SOURCE
    population = RenewedChains()
    relation = AtMost()
    control = Control("half of it is enough", lambda bound, problem: bound / 2)
    controls = "the distance from the stationary law after t steps"
    unexplained = "chains of which no two rows overlap in one step"
    traced = False

    def predict(self, problem: FiniteChain) -> Array:
        return jnp.asarray(_powers(1 - problem.transition.min(0).sum(), problem))

    def measure(self, problem: FiniteChain, key: Key[Array, ""]) -> Array:
        """Powers of the matrix."""
        return jnp.asarray(distances(problem))

    def trivial(self, problem: FiniteChain) -> Array:
        """Total variation is at most 1."""
        return jnp.ones(problem.steps)

    def condition(self, problem: FiniteChain) -> Array:
        """Distances are what is left of probabilities."""
        return jnp.asarray(len(problem.law) / distances(problem))


class GapFromAbove(Claim[FiniteChain]):
    """A reversible chain with stationary law pi whose eigenvalues but 1 have modulus at most r is after t steps, from
    any start, within

        1/2 sqrt(1/min pi - 1) r^t

    of its stationary law in total variation.
    """

    title = "A spectral gap makes a reversible chain forget"
    source = _SOURCE
    population = ReversibleChains()
    relation = AtMost()
    control = Control("half of it is enough", lambda bound, problem: bound / 2)
    controls = "the distance from the stationary law after t steps"
    unexplained = "how the first factor grows with the number of states"
    traced = False

    def predict(self, problem: FiniteChain) -> Array:
        first = np.sqrt(1 / problem.law.min() - 1) / 2
        return jnp.asarray(first * _powers(second_modulus(problem), problem))

    def measure(self, problem: FiniteChain, key: Key[Array, ""]) -> Array:
        """Powers of the matrix."""
        return jnp.asarray(distances(problem))

    def trivial(self, problem: FiniteChain) -> Array:
        """Total variation is at most 1."""
        return jnp.ones(problem.steps)

    def condition(self, problem: FiniteChain) -> Array:
        """Distances are what is left of probabilities."""
        return jnp.asarray(len(problem.law) / distances(problem))


class GapFromBelow(Claim[FiniteChain]):
    """A reversible chain with an eigenvalue of modulus r other than 1 is after t steps, from its worst start, at least

        r^t / 2

    away from its stationary law in total variation.
    """

    title = "No chain forgets faster than its second eigenvalue"
    source = _SOURCE
    population = ReversibleChains()
    relation = AtLeast()
    control = Control("1.5 times as far", lambda bound, problem: 1.5 * bound)
    controls = "the distance from the stationary law after t steps"
    unexplained = "starts other than the worst"
    traced = False

    def predict(self, problem: FiniteChain) -> Array:
        return jnp.asarray(_powers(second_modulus(problem), problem) / 2)

    def measure(self, problem: FiniteChain, key: Key[Array, ""]) -> Array:
        """Powers of the matrix."""
        return jnp.asarray(distances(problem))

    def trivial(self, problem: FiniteChain) -> Array:
        """A distance is not negative."""
        return jnp.zeros(problem.steps)

    def condition(self, problem: FiniteChain) -> Array:
        """Distances are what is left of probabilities."""
        return jnp.asarray(len(problem.law) / distances(problem))
