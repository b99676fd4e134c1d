"""Paths of training, and the times at which eigenvalues of an embedding's cross-correlation reach 1/2."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.subjects.dynamics import StepwisePrediction, aligned_start, embedding_flow
from lemmata.subjects.dynamics._small_starts import SmallStart

_TIMES = 400
_TOLERANCE = 1e-7  # a thousandth of the resolution of every claim about these paths
_BEYOND = 1.5  # paths end at this multiple of the last step time


def foreseen(problem: SmallStart, scale: float) -> StepwisePrediction:
    """Return the predicted steps of training from the weights `scale * problem.start`. The prediction treats the start
    as aligned with Gamma (see `StepwisePrediction`).
    """
    sizes = aligned_start(scale * problem.start, problem.vectors[:, : problem.dimension])
    return StepwisePrediction(problem.leading, sizes)


def learned(problem: SmallStart, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Return times (t,) of the flow of W from `scale * problem.start`, and eigenvalues (t, d) of W Gamma W'.

    The eigenvalues at each time are in descending order.
    """
    times = jnp.linspace(0.0, _BEYOND * float(foreseen(problem, scale).times[-1]), _TIMES + 1)[1:]
    path = np.asarray(embedding_flow(problem.matrix, scale * problem.start, times, tolerance=_TOLERANCE))
    found = np.linalg.eigvalsh(path @ np.asarray(problem.matrix) @ path.transpose(0, 2, 1))
    return np.asarray(times), found[:, ::-1]


def crossings(times: Float[np.ndarray, " t"], sizes: Float[np.ndarray, "t d"]) -> Float[np.ndarray, " d"]:
    """Return the time at which each eigenvalue first reaches 1/2, interpolated in the log-odds; infinity if there is
    none.
    """
    found = []
    for column in sizes.T:
        above = np.flatnonzero(column >= 0.5)
        if not len(above):
            found.append(np.inf)
            continue
        after = above[0]
        if after == 0:
            found.append(times[0])
            continue
        odds = [np.log(size / max(1 - size, 1e-12)) for size in np.clip(column[after - 1 : after + 1], 1e-12, 1)]
        found.append(times[after - 1] + (times[after] - times[after - 1]) * odds[0] / (odds[0] - odds[1]))
    return np.array(found)


def company(times: Float[np.ndarray, " t"], sizes: Float[np.ndarray, "t d"]) -> float:
    """Return the largest eigenvalue j + 1 at the time when eigenvalue j reaches 1/2, over all j but the last."""
    at = crossings(times, sizes)
    values = [np.exp(np.interp(at[j], times, np.log(np.maximum(sizes[:, j + 1], 1e-300)))) for j in range(len(at) - 1)]
    return float(np.max(values))


def squares(problem: SmallStart, weights: Float[Array, "d m"]) -> Float[np.ndarray, "m m"]:
    """Return W'W, which does not change if the outputs are rotated."""
    return np.asarray(weights).T @ np.asarray(weights)
