"""Plain problems of a few dozen rows, and their learning curves by brute force over random subsets."""

import dataclasses
from collections.abc import Callable

import numpy as np

RIDGES = (1e-6, 1e-4, 1e-2, 0.1, 1.0)
SIZES = (4, 8, 14, 20, 27, 33, 38)
ROWS = 40


@dataclasses.dataclass(frozen=True)
class Problem:
    """A Gram matrix and its targets, drawn from a seed."""

    draw: Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]

    def __call__(self, seed: int, rows: int = ROWS) -> tuple[np.ndarray, np.ndarray]:
        matrix, y = self.draw(np.random.default_rng(seed), rows)
        return matrix, y.reshape(rows, -1)


def rbf(x: np.ndarray, lengthscale: float = 1.5) -> np.ndarray:
    return np.exp(-((x[:, None] - x[None]) ** 2).sum(-1) / (2 * lengthscale**2))


def laplace(x: np.ndarray) -> np.ndarray:
    return np.exp(-np.sqrt(((x[:, None] - x[None]) ** 2).sum(-1)))


def linear(x: np.ndarray) -> np.ndarray:
    return x @ x.T


def sine(x: np.ndarray, rng: np.random.Generator, noise: float = 0.1) -> np.ndarray:
    return np.sin(2 * x[:, 0]) + noise * rng.normal(size=len(x))


def gaussian(dimension: int):
    def draw(rng, rows):
        x = rng.normal(size=(rows, dimension))
        return rbf(x, 1.5 * max(1, dimension / 3) ** 0.5), sine(x, rng)

    return draw


def regression(dimension: int, tails: float | None = None):
    def draw(rng, rows):
        x = rng.normal(size=(rows, dimension)) if tails is None else rng.standard_t(tails, size=(rows, dimension))
        return linear(x) / dimension, x @ rng.normal(size=dimension) + 0.5 * rng.normal(size=rows)

    return draw


def heavy_tails(rng, rows):
    x = rng.standard_t(2, size=(rows, 2))
    return rbf(x), sine(x, rng)


def outliers(kernel):
    def draw(rng, rows):
        x = np.concatenate([0.2 * rng.normal(size=(rows - 4, 2)), 6 * rng.normal(size=(4, 2))])
        return kernel(x), x.sum(axis=1) + 0.1 * rng.normal(size=rows)

    return draw


def repeated(rng, rows):
    x = np.repeat(rng.normal(size=(rows // 2, 2)), 2, axis=0)
    return rbf(x), sine(x, rng)


def constant(rng, rows):
    return rbf(rng.normal(size=(rows, 3))), np.ones(rows)


def step(rng, rows):
    x = rng.uniform(-2, 2, size=(rows, 1))
    return laplace(x), np.sign(x[:, 0])


def sphere(rng, rows):
    x = rng.normal(size=(rows, 3))
    x = np.sqrt(3) * x / np.linalg.norm(x, axis=1, keepdims=True)
    return rbf(x), sine(x, rng)


def classes(rng, rows):
    label = rng.integers(3, size=rows)
    x = rng.normal(size=(rows, 4)) + 2 * np.eye(3, 4)[label]
    return laplace(x), np.eye(3)[label]


def noise(rng, rows):
    return rbf(rng.normal(size=(rows, 2))), rng.normal(size=rows)


def offset(rng, rows):
    x = rng.normal(size=(rows, 2))
    return rbf(x), 5 + sine(x, rng, 0.3)


PROBLEMS = {
    "gaussian inputs, 1 dimension": Problem(gaussian(1)),
    "gaussian inputs, 3 dimensions": Problem(gaussian(3)),
    "gaussian inputs, 10 dimensions": Problem(gaussian(10)),
    "heavy tails": Problem(heavy_tails),
    "heavy tails, linear kernel": Problem(regression(3, tails=2)),
    "outlying rows": Problem(outliers(rbf)),
    "outlying rows, linear kernel": Problem(outliers(linear)),
    "repeated rows": Problem(repeated),
    "constant target": Problem(constant),
    "linear kernel of rank 8": Problem(regression(8)),
    "linear kernel of rank 20": Problem(regression(20)),
    "step": Problem(step),
    "sphere": Problem(sphere),
    "three classes": Problem(classes),
    "noise": Problem(noise),
    "offset": Problem(offset),
}


def brute_force(matrix, y, n, ridge, subsets, rng, *, intercept=False):
    """Mean held-out squared error over random subsets of n rows, and its standard error."""
    errors = []
    for start in range(0, subsets, 500):
        order = np.argsort(rng.random((min(500, subsets - start), len(y))), axis=1)
        errors.append(split_errors(matrix, y, order[:, :n], order[:, n:], ridge, intercept=intercept))
    errors = np.concatenate(errors)
    return errors.mean(), errors.std(ddof=1) / np.sqrt(len(errors))


def split_errors(matrix, y, train, rest, ridge, *, intercept=False, least_norm=False):
    """The textbook's fit to each split: dense systems of the training rows, bordered by ones for an intercept.

    Least norm is the limit of a vanishing ridge: the pseudo-inverse.
    """
    system = matrix[train[:, :, None], train[:, None, :]] + ridge * np.eye(train.shape[1])
    cross, target = matrix[rest[:, :, None], train[:, None, :]], y[train]
    if intercept and least_norm:
        centre = np.eye(train.shape[1]) - 1 / train.shape[1]
        mean = target.mean(axis=1, keepdims=True)
        weights = np.linalg.pinv(centre @ system @ centre, rcond=1e-10, hermitian=True) @ (target - mean)
        weights -= weights.mean(axis=1, keepdims=True)
        mean = mean - (system @ weights).mean(axis=1, keepdims=True)
        return ((y[rest] - mean - cross @ weights) ** 2).sum(-1).mean(-1)
    if intercept:
        system, cross = _bordered(system, cross)
        target = np.concatenate([target, np.zeros((len(train), 1, y.shape[1]))], axis=1)
    if least_norm:
        weights = np.linalg.pinv(system, rcond=1e-10, hermitian=True) @ target
    else:
        weights = np.linalg.solve(system, target)
    return ((y[rest] - cross @ weights) ** 2).sum(-1).mean(-1)


def _bordered(system, cross):
    batch, n, _ = system.shape
    whole = np.zeros((batch, n + 1, n + 1))
    whole[:, :n, :n], whole[:, n, :n], whole[:, :n, n] = system, 1, 1
    return whole, np.concatenate([cross, np.ones((*cross.shape[:2], 1))], axis=2)
