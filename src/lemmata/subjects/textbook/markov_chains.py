"""Markov chains: how fast they forget their starting state.

The theory bounds the total variation distance to the stationary distribution after t steps, from the worst start. One
bound uses the probability mass that all rows of the transition matrix have in common. For reversible chains the second
eigenvalue gives an upper and a lower bound. The theory does not say how to find the common mass or the eigenvalue for a
chain that is not given as a matrix.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Source
from lemmata.subjects.textbook._finite_chains import FiniteChain, RenewedChains, ReversibleChains

ABOUT = {"tool": "spectral theory", "architecture": "any", "object": "sampler"}

_SOURCE = Source("younes2024introduction", "Abstract, Markov chains", note="in the known form for finite chains")


def distances(chain: FiniteChain) -> Float[np.ndarray, " steps"]:
    """Total variation distances to the stationary distribution after 1, 2, ... steps from the worst start."""
    found, law = [], np.eye(len(chain.law))
    for _ in range(chain.steps):
        law = law @ chain.transition
        found.append(np.abs(law - chain.law).sum(1).max() / 2)
    return np.array(found)


def second_modulus(chain: FiniteChain) -> float:
    """Return the largest modulus of an eigenvalue of a reversible chain other than the eigenvalue 1."""
    root = np.sqrt(chain.law)
    values = np.linalg.eigvalsh(root[:, None] * chain.transition / root)
    return float(max(values[-2], -values[0]))


def _powers(rate: float, chain: FiniteChain) -> Float[np.ndarray, " steps"]:
    return rate ** np.arange(1, chain.steps + 1)


class MinorisationForgetsStart(Claim[FiniteChain]):
    """Let P be the transition matrix of a Markov chain. Let a = sum over j of min over i of P_ij, the probability mass
    that all rows of P have in common. After t = 1, ..., 5 steps from any start, the total variation distance to the
    stationary distribution is at most

        (1 - a)^t
    """

    title = "A Markov chain whose transition rows overlap forgets its start geometrically"
    source = _SOURCE
    population = RenewedChains()
    relation = AtMost()
    control = Control("the distance is at most half of the bound", lambda bound, problem: bound / 2)
    controls = "the distance from the stationary distribution after t steps"
    unexplained = "chains for which no two rows overlap in one step"
    traced = False

    def predict(self, problem: FiniteChain) -> Array:
        return jnp.asarray(_powers(1 - problem.transition.min(0).sum(), problem))

    def measure(self, problem: FiniteChain, key: Key[Array, ""]) -> Array:
        """The total variation distances after each number of steps, from powers of the transition matrix."""
        return jnp.asarray(distances(problem))

    def trivial(self, problem: FiniteChain) -> Array:
        """Return the bound 1, because total variation is at most 1."""
        return jnp.ones(problem.steps)

    def condition(self, problem: FiniteChain) -> Array:
        """Return the condition number of distances, which are small differences of probabilities."""
        return jnp.asarray(len(problem.law) / distances(problem))


class GapFromAbove(Claim[FiniteChain]):
    """Let a reversible Markov chain have the stationary distribution pi. Let all its eigenvalues except 1 have modulus
    at most r. After t steps from any start, the total variation distance to pi is at most

        1/2 sqrt(1/min pi - 1) r^t
    """

    title = "A reversible Markov chain with a spectral gap forgets its start"
    source = _SOURCE
    population = ReversibleChains()
    relation = AtMost()
    control = Control("the distance is at most half of the bound", lambda bound, problem: bound / 2)
    controls = "the distance from the stationary distribution after t steps"
    unexplained = "how the factor before r^t grows with the number of states"
    traced = False

    def predict(self, problem: FiniteChain) -> Array:
        first = np.sqrt(1 / problem.law.min() - 1) / 2
        return jnp.asarray(first * _powers(second_modulus(problem), problem))

    def measure(self, problem: FiniteChain, key: Key[Array, ""]) -> Array:
        """The total variation distances after each number of steps, from powers of the transition matrix."""
        return jnp.asarray(distances(problem))

    def trivial(self, problem: FiniteChain) -> Array:
        """Return the bound 1, because total variation is at most 1."""
        return jnp.ones(problem.steps)

    def condition(self, problem: FiniteChain) -> Array:
        """Return the condition number of distances, which are small differences of probabilities."""
        return jnp.asarray(len(problem.law) / distances(problem))


class GapFromBelow(Claim[FiniteChain]):
    """Let lambda be an eigenvalue, different from 1, of a reversible Markov chain, and let r be the modulus of lambda.
    From the worst start, the total variation distance to the stationary distribution after t steps is at least

        r^t / 2
    """

    title = "The distance of a reversible chain from stationarity falls no faster than its second eigenvalue allows"
    source = _SOURCE
    population = ReversibleChains()
    relation = AtLeast()
    control = Control("the distance is at least 1.5 times the bound", lambda bound, problem: 1.5 * bound)
    controls = "the distance from the stationary distribution after t steps"
    unexplained = "starts other than the worst"
    traced = False

    def predict(self, problem: FiniteChain) -> Array:
        return jnp.asarray(_powers(second_modulus(problem), problem) / 2)

    def measure(self, problem: FiniteChain, key: Key[Array, ""]) -> Array:
        """The total variation distances after each number of steps, from powers of the transition matrix."""
        return jnp.asarray(distances(problem))

    def trivial(self, problem: FiniteChain) -> Array:
        """Return the bound 0, because a distance is not negative."""
        return jnp.zeros(problem.steps)

    def condition(self, problem: FiniteChain) -> Array:
        """Return the condition number of distances, which are small differences of probabilities."""
        return jnp.asarray(len(problem.law) / distances(problem))
