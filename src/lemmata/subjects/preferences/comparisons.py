"""Rewards from comparisons: when a fit exists, how large its error is, and what comparisons cannot show.

This theory is about the Bradley-Terry model, in which item i beats item j with probability sigma(r_i - r_j), where
sigma is the logistic function. It assumes that this model is true and that comparisons are independent. It leaves
unexplained what a fit means if people disagree. The module `ambiguity` treats this question.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.optimize import linprog
from scipy.sparse.csgraph import connected_components

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Source
from lemmata.subjects.preferences._preference_comparisons import (
    ComparisonGraphs,
    Contest,
    Contests,
    PromptRewards,
    ShiftedPrompts,
    SparseTournaments,
)

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}

_FITS, _STEPS = 4, 10
_WHOLE = -1


def _connected(problem: ComparisonGraphs, connection: str) -> Array:
    graphs = np.asarray(problem.wins) > 0
    return jnp.asarray([connected_components(wins, connection=connection)[0] == 1 for wins in graphs], float)


def _has_one_fit(wins: np.ndarray) -> bool:
    """Whether every change of the rewards, except adding a constant, makes some comparison less likely.

    A step in a direction d with d_i >= d_j for each win of i over j never lowers the likelihood. If some such d raises
    the likelihood (found by a linear program), there is no maximum. If some d that is not constant leaves the
    likelihood unchanged (found by the rank), there are many maxima.
    """
    winners, losers = np.nonzero(wins)
    items = len(wins)
    rows = np.eye(items)[winners] - np.eye(items)[losers]
    found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * items)
    return bool(-found.fun < 1e-7 and np.linalg.matrix_rank(rows) == items - 1)


class BradleyTerryExistence(Claim[ComparisonGraphs]):
    """Let items be compared in pairs, and let r_i be the reward of item i. The likelihood of the rewards r is prod
    sigma(r_i - r_j) over all wins of an item i over an item j, where sigma(t) = 1/(1 + e^-t). This likelihood has a
    maximum that is unique up to a constant if and only if the directed graph of wins is strongly connected. A graph is
    strongly connected if a chain of wins leads from every item to every other item.

    In the test, each problem consists of four tournaments. The value of a tournament is 1 if the fit exists and is
    unique, and 0 otherwise.
    """

    title = "A unique Bradley-Terry fit exists if and only if the graph of wins is strongly connected"
    source = Source("ford1957", note="main result")
    population = SparseTournaments()
    relation = Equal(block=_WHOLE)
    control = Control(
        "it is enough that comparisons connect all items, whichever item wins",
        lambda value, problem: _connected(problem, "weak"),
    )
    controls = "whether comparisons determine rewards at all"
    unexplained = "how precisely comparisons determine rewards; what to do with items that are not connected"
    traced = False  # linear programs

    def predict(self, problem: ComparisonGraphs) -> Array:
        return _connected(problem, "strong")

    def measure(self, problem: ComparisonGraphs, key: Key[Array, ""]) -> Array:
        return jnp.asarray([_has_one_fit(wins) for wins in np.asarray(problem.wins)], float)


def _risk(contest: Contest, information: Float[Array, " p"]) -> Array:
    return jnp.trace(jnp.linalg.pinv(contest.laplacian(contest.comparisons * information)))


def _fitted(contest: Contest, shares: Float[Array, " p"]) -> Float[Array, " k"]:
    """Fit rewards by Newton's method to the share of comparisons that the first item of each pair won."""
    items = len(contest.rewards)
    first, second = contest.pairs
    signs = np.eye(items)[first] - np.eye(items)[second]

    def step(_, rewards):
        chance = jax.nn.sigmoid(signs @ rewards)
        curvature = signs.T @ ((chance * (1 - chance))[:, None] * signs) + jnp.ones((items, items))
        return rewards + jnp.linalg.solve(curvature, signs.T @ (shares - chance))

    return jax.lax.fori_loop(0, _STEPS, step, jnp.zeros(items))


class RewardRisk(Claim[Contest]):
    """Let k items have true rewards r with mean 0. Let m_ij be the number of comparisons of item i with item j. In each
    of them, i wins with probability sigma(r_i - r_j), where sigma is the logistic function. Let r^ be the maximum
    likelihood rewards, also with mean 0. Let L be the Laplacian of a graph on the items, in which the pair i, j has the
    weight m_ij sigma(r_i - r_j) sigma(r_j - r_i). Let L^+ be the pseudo-inverse of L. As the number of comparisons of
    each pair grows,

        E |r^ - r|² -> tr L^+.

    Both sides fall to 0, and their ratio tends to 1. With m comparisons of each pair, the relative difference between
    the two sides is of the order 1/m.
    """

    title = "The mean squared error of fitted Bradley-Terry rewards tends to the trace of a Laplacian's pseudo-inverse"
    source = Source("emergence2026", "Figure 20.5", note="the error of the estimate, by the Fisher information")
    population = Contests()
    relation = EqualInMean(margin=0.05, resolution=0.05)
    control = Control(
        "every comparison is as informative as one between equal items, with the factor 1/4",
        lambda value, problem: _risk(problem, jnp.full(len(problem.gaps), 0.25)),
    )
    controls = "the mean squared error of rewards that are fitted to comparisons"
    unexplained = "comparisons that are chosen after seeing earlier answers; preferences that do not follow rewards"
    trials = 384

    def predict(self, problem: Contest) -> Array:
        return _risk(problem, jax.nn.sigmoid(problem.gaps) * jax.nn.sigmoid(-problem.gaps))

    def measure(self, problem: Contest, key: Key[Array, ""]) -> Array:
        """Simulate a few contests, fit the rewards of each, and return the mean squared error."""

        def one(own):
            drawn = jax.random.uniform(own, (problem.comparisons, len(problem.gaps)), jnp.float32)
            shares = jnp.mean(drawn < jax.nn.sigmoid(problem.gaps), axis=0)
            return jnp.sum((_fitted(problem, shares) - problem.rewards) ** 2)

        return jnp.mean(jax.vmap(one)(jax.random.split(key, _FITS)))


def _log_likelihood(problem: PromptRewards, factor: float = 1.0) -> Array:
    rows = jnp.arange(len(problem.shifts))[:, None]
    won, lost = problem.rewards[rows, problem.winners], problem.rewards[rows, problem.losers]
    return jnp.sum(jax.nn.log_sigmoid(factor * (won - lost)), axis=1)


class PromptShiftsAreInvisible(Claim[PromptRewards]):
    """Let r(x, y) be the reward of answer y to prompt x, and let c(x) be any function of the prompt. Under the
    Bradley-Terry model, answer y to prompt x is preferred to another answer y' to x with a probability that is equal
    for the rewards r(x, y) and r(x, y) + c(x):

        exp(r(x, y)) / (exp(r(x, y)) + exp(r(x, y'))).

    So every data set has the same likelihood under both rewards. Comparisons of answers to the same prompt cannot
    compare the rewards of different prompts.
    """

    title = "Adding a constant to all rewards of a prompt does not change the likelihood of comparisons"
    source = Source("emergence2026", "Proposition 20.5", "Figure 20.4")
    population = ShiftedPrompts()
    relation = Equal(block=1)
    control = Control(
        "rewards that are multiplied by 9/10 have the same likelihood, too",
        lambda value, problem: _log_likelihood(problem, 0.9),
    )
    controls = "the log likelihood of the comparisons of each prompt"
    unexplained = (
        "which of the equivalent rewards a network learns; the rewards of a network on prompts that are compared"
    )

    def predict(self, problem: PromptRewards) -> Array:
        return _log_likelihood(problem)

    def measure(self, problem: PromptRewards, key: Key[Array, ""]) -> Array:
        """Compute the log likelihoods with the shifted rewards, by the quotient of exponentials."""
        weights = jnp.exp(problem.rewards + problem.shifts[:, None])
        rows = jnp.arange(len(problem.shifts))[:, None]
        won, lost = weights[rows, problem.winners], weights[rows, problem.losers]
        return jnp.sum(jnp.log(won / (won + lost)), axis=1)

    def condition(self, problem: PromptRewards) -> Array:
        """Bound the rounding errors. The exponential of a shifted reward has a relative rounding error of eps times the
        exponent.
        """
        return 8 * (1 + jnp.abs(problem.rewards).max() + jnp.abs(problem.shifts).max())
