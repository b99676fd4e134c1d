"""Rewards from comparisons: when a fit exists, how far it is off, and what no comparison can show.

This theory controls the Bradley-Terry model, in which item i beats j with probability sigma(r_i - r_j), sigma the
logistic function. It assumes that this law is true and that comparisons are independent; it leaves unexplained what a
fit means where people disagree, of which the section on ambiguity speaks.
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
    """Whether no change of rewards but a constant leaves every comparison at least as likely as before.

    A direction d with d_i >= d_j for each win of i over j never lowers the likelihood: where one gains, by the linear
    program, there is no maximum; where one changes nothing and is no constant, by the rank, there are many.
    """
    winners, losers = np.nonzero(wins)
    items = len(wins)
    rows = np.eye(items)[winners] - np.eye(items)[losers]
    found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=[(-1, 1)] * items)
    return bool(-found.fun < 1e-7 and np.linalg.matrix_rank(rows) == items - 1)


class BradleyTerryExistence(Claim[ComparisonGraphs]):
    """The likelihood prod sigma(r_i - r_j) over all wins of an item i over an item j, sigma(t) = 1/(1 + e^-t), has a
    maximum over the rewards r, unique up to a constant, exactly if the directed graph of wins is strongly connected:
    from every item a chain of wins leads to every other.

    Each problem is four tournaments; the value of each is 1 where the fit exists and is unique, else 0.
    """

    title = "Rewards can be fitted exactly if wins connect all items both ways"
    source = Source("ford1957", note="main result")
    population = SparseTournaments()
    relation = Equal(block=_WHOLE)
    control = Control(
        "it is enough that comparisons connect all items", lambda value, problem: _connected(problem, "weak")
    )
    controls = "whether comparisons determine rewards at all"
    unexplained = "how precisely they do; what to do with parts that are not connected"
    traced = False  # linear programs

    def predict(self, problem: ComparisonGraphs) -> Array:
        return _connected(problem, "strong")

    def measure(self, problem: ComparisonGraphs, key: Key[Array, ""]) -> Array:
        return jnp.asarray([_has_one_fit(wins) for wins in np.asarray(problem.wins)], float)


def _risk(contest: Contest, information: Float[Array, " p"]) -> Array:
    return jnp.trace(jnp.linalg.pinv(contest.laplacian(contest.comparisons * information)))


def _fitted(contest: Contest, shares: Float[Array, " p"]) -> Float[Array, " k"]:
    """Rewards by Newton's method from the share of its comparisons that the first item of each pair won."""
    items = len(contest.rewards)
    first, second = contest.pairs
    signs = np.eye(items)[first] - np.eye(items)[second]

    def step(_, rewards):
        chance = jax.nn.sigmoid(signs @ rewards)
        curvature = signs.T @ ((chance * (1 - chance))[:, None] * signs) + jnp.ones((items, items))
        return rewards + jnp.linalg.solve(curvature, signs.T @ (shares - chance))

    return jax.lax.fori_loop(0, _STEPS, step, jnp.zeros(items))


class RewardRisk(Claim[Contest]):
    """For many comparisons of each pair the maximum likelihood rewards r^ of k items, both r^ and the true r with mean
    0, have

        E |r^ - r|² -> tr L^+,

    L the Laplacian of the graph of compared pairs with the weights m_ij sigma(r_i - r_j) sigma(r_j - r_i), m_ij the
    number of comparisons of i with j, and L^+ its pseudo-inverse. The difference is of the order 1/m relative to it.
    """

    title = "The error of fitted rewards is the trace of an inverse Laplacian"
    source = Source("emergence2026", "Figure 20.5", note="the error of the estimate, by the Fisher information")
    population = Contests()
    relation = EqualInMean(margin=0.05, resolution=0.05)
    control = Control(
        "every comparison informs as one of equals, 1/4",
        lambda value, problem: _risk(problem, jnp.full(len(problem.gaps), 0.25)),
    )
    controls = "the mean squared error of rewards from comparisons"
    unexplained = "comparisons that are chosen by the answers; preferences that follow no rewards"
    trials = 384

    def predict(self, problem: Contest) -> Array:
        return _risk(problem, jax.nn.sigmoid(problem.gaps) * jax.nn.sigmoid(-problem.gaps))

    def measure(self, problem: Contest, key: Key[Array, ""]) -> Array:
        """The mean over a few contests, each simulated comparison by comparison and fitted."""

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
    """Rewards r(x, y) and r(x, y) + c(x), with any function c of the prompt x, give every comparison of two answers to
    one prompt the same Bradley-Terry probability

        e^r(x, y) / (e^r(x, y) + e^r(x, y')),

    and so every data set the same likelihood: comparisons never tell rewards of different prompts apart.
    """

    title = "Preference likelihoods do not see shifts of a prompt"
    source = Source("emergence2026", "Proposition 20.5", "Figure 20.4")
    population = ShiftedPrompts()
    relation = Equal(block=1)
    control = Control("nor do they see a scale of 9/10", lambda value, problem: _log_likelihood(problem, 0.9))
    controls = "the log likelihood of the comparisons of each prompt"
    unexplained = "which of the equivalent rewards a network learns, and what it does on prompts that are compared"

    def predict(self, problem: PromptRewards) -> Array:
        return _log_likelihood(problem)

    def measure(self, problem: PromptRewards, key: Key[Array, ""]) -> Array:
        """With the shifted rewards, by the quotient of exponentials."""
        weights = jnp.exp(problem.rewards + problem.shifts[:, None])
        rows = jnp.arange(len(problem.shifts))[:, None]
        won, lost = weights[rows, problem.winners], weights[rows, problem.losers]
        return jnp.sum(jnp.log(won / (won + lost)), axis=1)

    def condition(self, problem: PromptRewards) -> Array:
        """The exponential of a shifted reward is off by eps times its exponent."""
        return 8 * (1 + jnp.abs(problem.rewards).max() + jnp.abs(problem.shifts).max())
