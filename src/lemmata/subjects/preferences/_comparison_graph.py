"""Wins of items over items: which parts of them chains of wins join, and the Bradley-Terry fit by Newton's method."""

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_expit

from lemmata.errors import SolverError

_STEPS, _TOLERANCE = 100, 1e-10


def separated_part(wins: Int[np.ndarray, "k k"]) -> tuple[np.ndarray, int, bool] | None:
    """A part whose items never beat any item outside, how many parts there are, and whether it is compared outside.

    None where chains of wins lead from every item to every other.

    Args:
        wins: how often the row's item beat the column's.
    """
    count, labels = connected_components(wins > 0, connection="strong")
    if count == 1:
        return None
    # of the parts, at least one never wins outside: chains between parts have no circle
    for part in range(count):
        inside = labels == part
        if not wins[np.ix_(inside, ~inside)].any():
            return inside, count, bool(wins[np.ix_(~inside, inside)].any())
    raise AssertionError("parts without circles have a last one")


def laplacian(weights: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """The Laplacian of a graph.

    Args:
        weights: of its edges, symmetric with zeros on the diagonal.
    """
    return np.diag(weights.sum(axis=1)) - weights


def bradley_terry(wins: Int[np.ndarray, "k k"]) -> Float[np.ndarray, " k"]:
    """The rewards of the largest likelihood, with mean 0, by Newton's method with halved steps where needed.

    Args:
        wins: strongly connected.

    Raises:
        SolverError: if the gradient does not vanish.
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
    raise SolverError(
        "fit of rewards",
        found=f"a gradient of {np.abs(gradient).max():.3g} after {_STEPS} steps",  # pyright: ignore[reportPossiblyUnboundVariable]  # _STEPS > 0
        rule="a gradient that vanishes, as it does at the largest likelihood",
        remedy="check for items that nearly always win or lose",
    )


def _log_likelihood(wins: np.ndarray, rewards: np.ndarray) -> float:
    return float(np.sum(wins * log_expit(rewards[:, None] - rewards[None, :])))
