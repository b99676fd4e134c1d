"""Two control problems with two coordinates, and their best values on a grid."""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.sparse import csr_array

from lemmata.core import check_whole
from lemmata.errors import SettingError, SolverError

_PASSES, _TOLERANCE = 2000, 1e-6


@dataclasses.dataclass(frozen=True)
class ControlProblem:
    """A deterministic control problem in a box of the plane.

    Args:
        step: a map from states (m, 2) and forces (m,) to the next states.
        reward: a map from states (m, 2) and forces (m,) to rewards (m,).
        box: the smallest and largest value of each coordinate.
        forces: the forces that may be chosen.
        period: the period of the first coordinate; None if it is not periodic.
    """

    step: Callable[[Float[np.ndarray, "m 2"], Float[np.ndarray, " m"]], Float[np.ndarray, "m 2"]]
    reward: Callable[[Float[np.ndarray, "m 2"], Float[np.ndarray, " m"]], Float[np.ndarray, " m"]]
    box: tuple[tuple[float, float], tuple[float, float]]
    forces: tuple[float, ...]
    period: float | None = None


def _swing(state: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Move a pendulum of length and mass 1 by a time step of 0.05; the angle 0 is upright."""
    angle, speed = state.T
    speed = np.clip(speed + 0.05 * (15.0 * np.sin(angle) + 3.0 * force), -8.0, 8.0)
    return np.stack([(angle + 0.05 * speed + np.pi) % (2 * np.pi) - np.pi, speed], axis=1)


def _drive(state: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Move a car in a valley. The motor is too weak for the slope. A car at 0.5 or beyond stays at its place."""
    place, speed = state.T
    there, speed = place >= 0.5, np.clip(speed + 0.001 * force - 0.0025 * np.cos(3 * place), -0.07, 0.07)
    moved = np.clip(place + speed, -1.2, 0.6)
    after = np.stack([moved, np.where((moved <= -1.2) & (speed < 0), 0.0, speed)], axis=1)
    return np.where(there[:, None], state, after)


CONTROLS = {
    "pendulum": ControlProblem(
        _swing, lambda s, a: -(s[:, 0] ** 2 + 0.1 * s[:, 1] ** 2 + 0.001 * a**2),
        ((-np.pi, np.pi), (-8.0, 8.0)), (-2.0, -1.0, 0.0, 1.0, 2.0), 2 * np.pi,
    ),
    "mountain car": ControlProblem(
        _drive, lambda s, a: np.where(s[:, 0] >= 0.5, 0.0, -1.0), ((-1.2, 0.6), (-0.07, 0.07)), (-1.0, 0.0, 1.0)
    ),
}  # fmt: skip


def _reading(box: tuple, points: int, places: Float[np.ndarray, "m 2"]) -> csr_array:
    """Return the matrix of bilinear interpolation. The matrix maps values on a grid to values at places in a box."""
    low, high = np.array(box).T
    at = np.clip((places - low) / (high - low), 0.0, 1.0) * (points - 1)
    corner = np.minimum(at.astype(int), points - 2)
    far = at - corner
    weights, columns = [], []
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weights.append(np.where(i, far[:, 0], 1 - far[:, 0]) * np.where(j, far[:, 1], 1 - far[:, 1]))
        columns.append((corner[:, 0] + i) * points + corner[:, 1] + j)
    rows = np.tile(np.arange(len(places)), 4)
    return csr_array((np.concatenate(weights), (rows, np.concatenate(columns))), (len(places), points**2))


def grid_values(
    problem: ControlProblem, points: int = 401, discount: float = 0.97
) -> Callable[[Float[np.ndarray, "m 2"], Float[np.ndarray, " m"]], Float[np.ndarray, " m"]]:
    """Compute the best discounted sum of rewards Q(s, a) by value iteration on a grid with linear interpolation.

        Q(s, a) = r(s, a) + discount max over b of Q(f(s, a), b).

    Here f(s, a) is the next state. Interpolation smooths the values a little at every step. So the error is of first
    order in the grid spacing divided by the length of a step.

    Args:
        problem: the control problem, with its map of states, rewards and forces.
        points: the number of grid points in each coordinate.
        discount: the discount factor, between 0 and 1.

    Returns:
        A function of states and forces.

    Raises:
        SettingError: for a problem of another type, fewer than 3 points, or a discount that is not between 0 and 1.
        SolverError: if a value still changes by more than 1e-6 in pass 2000, which can happen with a discount near 1.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.decisions import CONTROLS, grid_values
        >>> best = grid_values(CONTROLS["mountain car"], points=21, discount=0.9)
        >>> best(np.array([[0.55, 0.0], [-0.5, 0.0]]), np.zeros(2)).round(1).tolist()
        [0.0, -10.0]
    """
    if not isinstance(problem, ControlProblem):
        remedy = f"pass one of {', '.join(f'CONTROLS[{name!r}]' for name in CONTROLS)}"
        raise SettingError("problem", found=repr(problem), rule="a ControlProblem", remedy=remedy)
    check_whole("points", points, 3, "points in a coordinate")
    if not 0 < discount < 1:
        raise SettingError("discount", found=discount, rule="a number between 0 and 1")
    axes = [np.linspace(low, high, points) for low, high in problem.box]
    states = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)
    tried = [np.full(len(states), force) for force in problem.forces]
    moved = [_reading(problem.box, points, problem.step(states, force)) for force in tried]
    gains = [problem.reward(states, force) for force in tried]
    values, change = np.zeros(points**2), np.inf
    for _ in range(_PASSES):
        best = np.max([gain + discount * (after @ values) for gain, after in zip(gains, moved, strict=True)], axis=0)
        if problem.period is not None:
            best[-points:] = best[:points]
        change, values = np.abs(best - values).max(), best
        if change <= _TOLERANCE:
            break
    else:
        found = f"a change of {change:.2g} in pass {_PASSES}"
        raise SolverError(
            "values on the grid",
            found=found,
            rule=f"a change of at most {_TOLERANCE:g}",
            remedy="use a smaller discount",
        )
    return lambda state, force: (
        problem.reward(state, force) + discount * (_reading(problem.box, points, problem.step(state, force)) @ values)
    )
