"""Graphical models: belief propagation is exact on trees, and on one loop its error has a closed form.

The models have spins s_i = -1, 1 with couplings J_ij on the edges of a graph and fields h_i. The theory is about the
marginal probabilities that belief propagation computes, and about the sum over all states. It does not treat graphs
with many loops and couplings of both signs, on which the messages need not converge.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source
from lemmata.subjects.textbook._ising_models import IsingModel, IsingModels

ABOUT = {"tool": "statistics", "architecture": "graph network", "object": "estimator"}

_KEY = "younes2024introduction"


@functools.cache
def spins(n: int) -> Float[np.ndarray, "states n"]:
    """Return all 2^n states of n spins, one in each row."""
    return 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1


def log_weights(model: IsingModel) -> Float[np.ndarray, " states"]:
    """Return the logarithm of the weight of each state."""
    s = spins(len(model.fields))
    return np.einsum("si,ij,sj->s", s, model.couplings, s) / 2 + s @ model.fields


def log_mean_weight(model: IsingModel) -> float:
    """Return log(Z / 2^n), the logarithm of the mean weight of a state."""
    logs = log_weights(model)
    return float(logs.max() + np.log(np.mean(np.exp(logs - logs.max()))))


def marginals(model: IsingModel) -> Float[np.ndarray, " n"]:
    """Return the probabilities of s_i = 1, by the sum over all states."""
    logs = log_weights(model)
    weights = np.exp(logs - logs.max())
    return weights @ (spins(len(model.fields)) > 0) / weights.sum()


def loop_eigenvalues(model: IsingModel) -> tuple[float, float]:
    """Return the eigenvalues of the product of the matrices exp(J_i,i+1 s s' + h_i s) around a loop, largest first."""
    n, s = len(model.fields), np.array([-1.0, 1.0])
    product = np.eye(2)
    for i in range(n):
        coupling = model.couplings[i, (i + 1) % n]
        product = product @ np.exp(coupling * np.outer(s, s) + model.fields[i] * s[:, None])
    half, determinant = np.trace(product) / 2, np.linalg.det(product)
    root = np.sqrt(half**2 - determinant)
    return half + root, determinant / (half + root)


def bethe_log_mean_weight(model: IsingModel) -> float:
    """Return Bethe's approximation of log(Z / 2^n), from the beliefs of spins and of pairs.

    The approximation adds up energies and entropies of the pairs. It then subtracts the entropies of spins that belong
    to several pairs, since these are counted more than once.
    """
    entropy = lambda p: -np.sum(p * np.log(p))
    value, s = 0.0, np.array([-1.0, 1.0])
    for i, total in enumerate(model.totals):
        belief = np.exp(total * s) / np.exp(total * s).sum()
        degree = np.count_nonzero(model.couplings[i])
        value += model.fields[i] * (belief @ s) + (1 - degree) * entropy(belief)
    for i, j in np.argwhere(np.triu(model.couplings)):
        without = model.totals[i] - model.messages[j, i], model.totals[j] - model.messages[i, j]
        pair = np.exp(model.couplings[i, j] * np.outer(s, s) + without[0] * s[:, None] + without[1] * s)
        pair /= pair.sum()
        value += model.couplings[i, j] * np.sum(pair * np.outer(s, s)) + entropy(pair)
    return float(value - len(model.fields) * np.log(2))


class BeliefsOnTrees(Claim[IsingModel]):
    """Let spins s_i = -1, 1 on a tree have couplings J_ij and fields h_i. Let u_ij be the message of belief propagation
    from spin i to its neighbour j. Let the messages be at a fixed point. That is, with the sum over the neighbours k of
    i other than j,

        tanh u_ij = tanh J_ij tanh(h_i + sum over k other than j of u_ki).

    Then the beliefs 1/(1 + exp(-2 (h_i + sum of u_ki))), with the sum over all neighbours k of i, are the probabilities
    of s_i = 1.
    """

    title = "Belief propagation computes exact marginals on trees"
    source = Source(_KEY, "Abstract, graphical models", note="on trees")
    population = IsingModels("tree")
    relation = Equal()
    control = Control("messages are J_ij tanh of the field", lambda beliefs, problem: _weakened(problem))
    controls = "the marginal probabilities of single spins"
    unexplained = "graphs with loops"
    traced = False

    def predict(self, problem: IsingModel) -> Array:
        return jnp.asarray(problem.beliefs)

    def measure(self, problem: IsingModel, key: Key[Array, ""]) -> Array:
        """The probabilities of s_i = 1, by the sum over all states."""
        return jnp.asarray(marginals(problem))

    def condition(self, problem: IsingModel) -> Array:
        """Return the condition number of messages that are added one after the other along the tree."""
        return jnp.asarray(len(problem.fields) ** 2 * np.exp(2 * np.abs(problem.totals).max()))


def _weakened(problem: IsingModel) -> Array:
    """Return the beliefs from messages that are of first order in the couplings."""
    sent = problem.couplings * np.tanh(problem.totals[:, None] - problem.messages.T)
    return jnp.asarray(1 / (1 + np.exp(-2 * (problem.fields + sent.sum(0)))))


class BeliefsOnLoopsCorrected(Claim[IsingModel]):
    """Let spins s_i = -1, 1 on a single loop have couplings J_i,i+1 and fields h_i. For each i, consider the 2 x 2
    matrix with the entries exp(J_i,i+1 s s' + h_i s) for s, s' = -1, 1. Multiply these matrices around the loop. Let r
    be the larger and q the smaller eigenvalue of this product. At a fixed point of belief propagation, let b_i be the
    belief in s_i = 1. The probability p_i of s_i = 1 is

        p_i = (r b_i + q (1 - b_i)) / (r + q).

    Hence the beliefs are overconfident if q > 0. They always lie on the correct side of 1/2 (Weiss).
    """

    title = "On a single loop, the beliefs of belief propagation and two eigenvalues give the exact marginals"
    source = Source(_KEY, "Abstract, graphical models", note="with the correction for one loop")
    population = IsingModels("loop", strength=1.3)
    relation = Equal()
    control = Control("the beliefs themselves", lambda found, problem: jnp.asarray(problem.beliefs))
    controls = "the error of belief propagation on a loop"
    unexplained = "graphs with two or more loops"
    traced = False

    def predict(self, problem: IsingModel) -> Array:
        larger, smaller = loop_eigenvalues(problem)
        beliefs = problem.beliefs
        return jnp.asarray((larger * beliefs + smaller * (1 - beliefs)) / (larger + smaller))

    def measure(self, problem: IsingModel, key: Key[Array, ""]) -> Array:
        """The probabilities of s_i = 1, by the sum over all states."""
        return jnp.asarray(marginals(problem))

    def condition(self, problem: IsingModel) -> Array:
        """Return a bound on the rounding errors. Messages converge at the rate of the ratio of the eigenvalues."""
        larger, smaller = loop_eigenvalues(problem)
        rest = len(problem.fields) ** 2 / (1 - abs(smaller / larger))
        return jnp.asarray(rest * np.exp(2 * np.abs(problem.totals).max()))


class BetheFromBelow(Claim[IsingModel]):
    """Let n spins on any graph have nonnegative couplings and any fields. Let Z be the partition function. Let Z_Bethe
    be its Bethe approximation, computed from the messages at a fixed point of belief propagation. Then log Z_Bethe <=
    log Z. The test subtracts n log 2 from both sides:

        log Z_Bethe - n log 2 <= log Z - n log 2   (Ruozzi).
    """

    title = "Bethe's approximation of the partition function is a lower bound if no coupling is negative"
    source = Source(_KEY, "Abstract, graphical models", note="for attractive models")
    population = IsingModels("dense", attractive=True)
    relation = AtMost()
    control = Control("the approximation is at most 0.9 of the bound", lambda value, problem: 0.9 * value)
    controls = "the partition function"
    unexplained = "couplings of both signs, for which the approximation may exceed the partition function"
    traced = False

    def predict(self, problem: IsingModel) -> Array:
        return jnp.asarray(log_mean_weight(problem))

    def measure(self, problem: IsingModel, key: Key[Array, ""]) -> Array:
        """Bethe's approximation of log Z - n log 2, computed from the beliefs."""
        return jnp.asarray(bethe_log_mean_weight(problem))

    def trivial(self, problem: IsingModel) -> Array:
        """Return an upper bound on the logarithm of the largest weight of a state."""
        return jnp.asarray(np.triu(problem.couplings).sum() + np.abs(problem.fields).sum())

    def condition(self, problem: IsingModel) -> Array:
        """Return the condition number of sums with one term per pair, and of messages that have converged to 1e-13."""
        return jnp.asarray(100 * len(problem.fields) ** 2 / log_mean_weight(problem))
