"""Predictions of known regression algorithms on prompts, computed from singular value decompositions of the inputs."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import optimize, special

_log_sum: Callable[..., Any] = special.logsumexp  # the type stubs of SciPy also allow a pair as the result
_STEPS, _NEWTON = (1, 2, 4, 8, 16), (2, 4, 6)
_RATES = (-6.0, 1.0)  # exponents, to base 10, of the step size times the largest eigenvalue
_RIDGES = (-12.0, 12.0)  # exponents, to base 10, of the ridge divided by the mean eigenvalue
_EXACT = 1e-12


@dataclasses.dataclass(frozen=True)
class Prompts:
    """Prompts of examples and a query, scaled so that inputs and targets have a largest absolute value of 1.

    Args:
        x: the inputs of the examples.
        y: the targets of the examples.
        queries: the inputs at which targets are predicted.
        tasks: weight vectors of linear tasks that a predictor may have memorised; None if there are none.
    """

    x: Float[np.ndarray, "m n d"]
    y: Float[np.ndarray, "m n"]
    queries: Float[np.ndarray, "m d"]
    tasks: Float[np.ndarray, "t d"] | None

    def first(self, n: int) -> "Prompts":
        """Return the prompts with only the first n examples of each prompt."""
        return Prompts(self.x[:, :n], self.y[:, :n], self.queries, self.tasks)


@dataclasses.dataclass(frozen=True)
class Scales:
    """Parameters of the algorithms, fitted to the whole set of prompts.

    Args:
        ridge: the variance of the noise divided by the variance of a weight, chosen to maximise the evidence (marginal
            likelihood).
        inside: whether the evidence is largest inside the searched range of ridges, and not at an end of this range.
        noise: the standard deviation of the targets around the predictions of the memorised tasks; None without tasks.
    """

    ridge: float
    inside: bool
    noise: float | None


def scales(prompts: Prompts) -> Scales:
    """Fit the ridge by the joint evidence of all prompts, and the noise around memorised tasks by maximum likelihood.

    Args:
        prompts: the prompts with all of their examples.
    """
    roots, along, _ = _along(prompts)
    values, along = roots**2, (roots * along) ** 2
    square, unit = float(np.sum(prompts.y**2)), float(np.mean(values))

    def cost(power: float) -> float:
        ridge = unit * 10.0**power
        rest = max(square - float(np.sum(along / (values + ridge))), _EXACT * square)
        return prompts.y.size * math.log(rest) + float(np.sum(np.log1p(values / ridge)))

    power, inside = _least(cost, _RIDGES)
    noise = None
    if prompts.tasks is not None:
        rest = _residuals(prompts)
        count = prompts.y.shape[1]

        def unlikely(power: float) -> float:
            variance = 10.0 ** (2 * power)
            return float(-np.sum(_log_sum(-rest / (2 * variance), axis=1))) + count * len(rest) * power * (
                math.log(10.0)
            )

        noise = 10.0 ** _least(unlikely, (-8.0, 2.0))[0]
    return Scales(unit * 10.0**power, inside, noise)


def _least(cost: Callable[[float], float], ends: tuple[float, float], count: int = 57) -> tuple[float, bool]:
    """Return the minimiser of a cost over a range of numbers, and whether the best grid point is not at an end.

    The search uses a grid, and then the interval between the two neighbours of the best grid point.
    """
    grid = np.linspace(*ends, count)
    best = int(np.argmin([cost(at) for at in grid]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, count - 1)]
    found: Any = optimize.minimize_scalar(cost, bounds=(low, high), method="bounded", options={"xatol": 1e-10})
    at = float(found.x) if found.fun <= cost(float(grid[best])) else float(grid[best])
    return at, 0 < best < count - 1


def _residuals(prompts: Prompts) -> Float[np.ndarray, "m t"]:
    """Return the sum of squared residuals of each task in each prompt."""
    assert prompts.tasks is not None
    return np.stack([np.sum((prompts.y - prompts.x @ task) ** 2, axis=1) for task in prompts.tasks], axis=1)


def predictions(prompts: Prompts, known: Scales, target: Float[np.ndarray, " m"]) -> dict[str, Float[np.ndarray, " m"]]:
    """Return the predictions of each algorithm at the queries, by the name of the algorithm.

    Gradient descent has one step size for all prompts. The step size is chosen so that the predictions of the descent
    are nearest to `target`.

    Args:
        prompts: the prompts, with only the examples that the algorithms may use.
        known: the ridge and the noise of the whole set.
        target: the predictions to which the step sizes of gradient descent are fitted.
    """
    n = prompts.x.shape[1]
    roots, along, queries = _along(prompts)
    values, weights = roots**2 / n, queries * along * roots / n
    top = values[:, :1]
    kept = roots > max(prompts.x.shape[1:]) * np.finfo(float).eps * roots[:, :1]
    safe = np.where(kept, values, float(top.max()) or 1.0)
    by = lambda filters: np.sum(weights * np.where(kept, filters, 0.0), axis=1)
    found = {
        "zero": np.zeros(len(values)),
        "mean of the targets": prompts.y.mean(axis=1),
        "nearest neighbour": _nearest(prompts),
        "ridge": by(1 / (safe + known.ridge / n)),
        "least squares": by(1 / safe),
    }
    largest = float(top.max())

    def descent(power: float, steps: int) -> np.ndarray:
        rate = 10.0**power / largest if largest > 0 else 0.0
        return by((1 - (1 - rate * safe) ** steps) / safe)

    for steps in _STEPS:
        power, _ = _least(lambda at, k=steps: float(np.mean((descent(at, k) - target) ** 2)), _RATES)
        found[f"descent, {steps} step{'s' if steps > 1 else ''}"] = descent(power, steps)
    for layers in _NEWTON:
        left = (1 - (safe / np.where(top > 0, top, 1.0)) ** 2) ** (2.0**layers)
        found[f"Newton, {layers} iterations"] = by((1 - left) / safe)
    if prompts.tasks is not None and known.noise is not None:
        odds = special.softmax(-_residuals(prompts) / (2 * known.noise**2), axis=1)
        found["memorised tasks"] = np.sum(odds * (prompts.queries @ prompts.tasks.T), axis=1)
    return found


def _along(prompts: Prompts) -> tuple[Float[np.ndarray, "m k"], Float[np.ndarray, "m k"], Float[np.ndarray, "m k"]]:
    """Return the singular values of each prompt's inputs, and the coordinates of targets and query along their vectors.

    Targets are expanded in the left singular vectors of the inputs, and the query in the right ones.
    """
    left, roots, right = np.linalg.svd(prompts.x, full_matrices=False)
    return roots, np.einsum("mnk,mn->mk", left, prompts.y), np.einsum("mkd,md->mk", right, prompts.queries)


def _nearest(prompts: Prompts) -> Float[np.ndarray, " m"]:
    """Return the target of the input nearest to the query, or the mean target of several equally near inputs."""
    apart = np.sum((prompts.x - prompts.queries[:, None]) ** 2, axis=2)
    near = apart <= apart.min(axis=1, keepdims=True) * (1 + 1e-12)
    return np.sum(near * prompts.y, axis=1) / np.sum(near, axis=1)
