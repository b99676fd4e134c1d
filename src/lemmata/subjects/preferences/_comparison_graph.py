"""Find items that are connected by chains of wins, and fit rewards of items to wins and ties by Newton's method.

Without ties, the model is the Bradley-Terry model. With ties, it is Davidson's model (1970). If the rewards of two
items differ by d, a win, a loss and a tie have probabilities in the ratio exp(d/2) : exp(-d/2) : nu, where nu > 0. The
log likelihood is concave in the rewards and ln nu.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.sparse.csgraph import NegativeCycleError, bellman_ford, connected_components
from scipy.special import expit, log_expit, log_softmax

from lemmata.errors import SolverError

_STEPS, _TOLERANCE = 100, 1e-10


def separated_part(wins: Int[np.ndarray, "k k"]) -> tuple[np.ndarray, int, bool] | None:
    """Return a part, as a mask of its items, whose items never beat an item outside the part. Also return the number of
    parts, and whether an item in the part loses to an item outside.

    A part is a strongly connected component of the graph of wins. The result is None if chains of wins lead from every
    item to every other item.

    Args:
        wins: the number of times that the row's item beat the column's item.
    """
    count, labels = connected_components(wins > 0, connection="strong")
    if count == 1:
        return None
    # at least one part never wins against another part, because chains of wins between parts form no cycle
    for part in range(count):
        inside = labels == part
        if not wins[np.ix_(inside, ~inside)].any():
            return inside, count, bool(wins[np.ix_(~inside, inside)].any())
    raise AssertionError("one part must come last if there are no circles")


def laplacian(weights: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """Return the Laplacian matrix of a graph.

    Args:
        weights: the weights of the edges, symmetric with zeros on the diagonal.
    """
    return np.diag(weights.sum(axis=1)) - weights


def bradley_terry(wins: Int[np.ndarray, "k k"]) -> Float[np.ndarray, " k"]:
    """Return the maximum-likelihood rewards of the Bradley-Terry model, with mean 0. Newton's method halves a step if
    the likelihood would decrease.

    Args:
        wins: the number of times that the row's item beat the column's item. The graph of wins must be strongly
            connected.

    Raises:
        SolverError: if the gradient is not near 0 after 100 steps.
    """
    items, games = len(wins), wins + wins.T
    rewards = np.zeros(items)
    value = -np.inf
    for _ in range(_STEPS):
        chance = expit(rewards[:, None] - rewards[None, :])
        gradient = (wins - games * chance).sum(axis=1)
        if np.abs(gradient).max() <= _TOLERANCE * games.sum():
            return rewards
        curvature = laplacian(games * chance * chance.T)
        step = np.linalg.solve(curvature + np.trace(curvature) / items**2, gradient)
        value = _log_likelihood(wins, rewards)
        length = 1.0
        while _log_likelihood(wins, rewards + length * step) < value - 1e-9 * abs(value) and length > 1e-6:
            length /= 2
        rewards = rewards + length * step
        rewards = rewards - rewards.mean()
    raise _unfinished(np.abs(gradient).max())  # pyright: ignore[reportPossiblyUnboundVariable]  # _STEPS > 0


def _unfinished(gradient: float) -> SolverError:
    return SolverError(
        "fit of rewards",
        found=f"a gradient of {gradient:.3g} after {_STEPS} steps",
        rule="a gradient of 0 up to rounding, as at the largest likelihood",
        remedy="check for items that nearly always win or lose",
    )


def _log_likelihood(wins: np.ndarray, rewards: np.ndarray) -> float:
    return float(np.sum(wins * log_expit(rewards[:, None] - rewards[None, :])))


def ties_are_bounded(wins: Int[np.ndarray, "k k"], ties: Int[np.ndarray, "k k"]) -> bool:
    """Return whether some cycle of items has more wins than ties. If so, the maximum-likelihood nu is finite.

    Otherwise, there are numbers v with v_i - v_j >= 2 for each win of i over j and |v_i - v_j| <= 2 for each tie. The
    likelihood never decreases if the rewards move along v and ln nu grows at the same time.

    Args:
        wins: the number of times that the row's item beat the column's item.
        ties: the number of ties between the row's item and the column's item.
    """
    items = len(wins)
    if connected_components(wins > 0, connection="strong")[0] < items:
        return True  # a strong component with several items contains a cycle of wins only
    winner, loser = np.nonzero(wins)
    one, other = np.nonzero((ties > 0) & (wins == 0))
    lengths = np.concatenate([np.full(len(winner), -1.0), np.ones(len(one))])
    places = (np.concatenate([winner, one]), np.concatenate([loser, other]))
    try:
        bellman_ford(csr_array((lengths, places), shape=wins.shape), indices=0)
    except NegativeCycleError:
        return True
    return False


def outcomes(rewards: Float[np.ndarray, " k"], log_nu: float) -> tuple[Float[np.ndarray, "k k"], np.ndarray]:
    """Return the probabilities that the row's item beats the column's item, and that the two items tie.

    Args:
        rewards: the rewards of the items.
        log_nu: ln nu of Davidson's model; -inf without ties.
    """
    found = np.exp(_log_outcomes(rewards, log_nu))
    return found[..., 0], found[..., 2]


def _log_outcomes(rewards: np.ndarray, log_nu: float) -> np.ndarray:
    """Return the logarithms of the probabilities of a win, a loss and a tie, for each pair."""
    half = (rewards[:, None] - rewards[None, :]) / 2
    return log_softmax(np.stack([half, -half, np.full(half.shape, log_nu)], axis=-1), axis=-1)


def information(
    games: Int[np.ndarray, "k k"], win: Float[np.ndarray, "k k"], tie: Float[np.ndarray, "k k"]
) -> tuple[Float[np.ndarray, "k k"], Float[np.ndarray, " k"], float]:
    """Return three blocks of the Fisher information: rewards with rewards, rewards with ln nu, and ln nu with ln nu.

    Args:
        games: the number of comparisons of each pair, ties included.
        win: the probability that the row's item beats the column's item.
        tie: the probability of a tie.
    """
    decided = win + win.T
    own = laplacian(games * (win * win.T + tie * decided / 4))
    return own, -(games * (win - win.T) * tie).sum(axis=1) / 2, float((games * tie * decided).sum() / 2)


def davidson(wins: Int[np.ndarray, "k k"], ties: Int[np.ndarray, "k k"]) -> tuple[Float[np.ndarray, " k"], float]:
    """Return the maximum-likelihood rewards of Davidson's model, with mean 0, and ln nu, by Newton's method.

    Args:
        wins: the number of times that the row's item beat the column's item. The graph of wins and ties must be
            strongly connected.
        ties: the number of ties between the row's item and the column's item. The matrix must be symmetric and not 0,
            and `ties_are_bounded` must be true.

    Raises:
        SolverError: if the gradient is not near 0 after 100 steps.
    """
    items, games = len(wins), wins + wins.T + ties
    count = games.sum() / 2
    share = ties.sum() / 2 / count
    at = np.append(np.zeros(items), np.log(2 * share / (1 - share)))
    value = lambda at: _log_likelihood_of_ties(wins, ties, at)
    gradient = np.full(items + 1, np.inf)
    for _ in range(_STEPS):
        win, tie = outcomes(at[:-1], at[-1])
        by_rewards = (wins - wins.T - games * (win - win.T)).sum(axis=1) / 2
        gradient = np.append(by_rewards, (ties - games * tie).sum() / 2)
        if np.abs(gradient).max() <= _TOLERANCE * count:
            return at[:-1], float(at[-1])
        own, mixed, last = information(games, win, tie)
        lift = np.trace(own) / items**2
        step = np.linalg.solve(
            np.block([[own + lift, mixed[:, None]], [mixed[None, :], np.full((1, 1), last)]]), gradient
        )
        length = 1.0
        while value(at + length * step) < value(at) - 1e-9 * abs(value(at)) and length > 1e-6:
            length /= 2
        at = at + length * step
        at[:-1] -= at[:-1].mean()
    raise _unfinished(np.abs(gradient).max())


def _log_likelihood_of_ties(wins: np.ndarray, ties: np.ndarray, at: np.ndarray) -> float:
    found = _log_outcomes(at[:-1], at[-1])
    return float(np.sum(wins * found[..., 0]) + np.sum(ties * found[..., 2]) / 2)
