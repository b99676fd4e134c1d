"""How often the interval of `spectra.learning_curve` holds what is measured, on cells that it was not tuned on.

`python benchmarks/learning_curve_coverage.py` prints a row a kind of table: the share of cells whose interval holds the
mean over 8 fresh splits (what it is for, nominally 90 %) and the mean over all of them, the share whose error is off by
more than 30 %, for the default and for the bare formula, and the median of upper / lower. A cell is a table, a ridge
and a size. What is measured comes from the textbook's fit to each split, by NumPy alone. It takes about
two minutes of one core.

The settings were chosen on the tables of `tests/spectra/subsets.py`; none of those is drawn here.
"""

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.spectra import deterministic_equivalent, learning_curve, spectrum

RIDGES = (1e-6, 1e-3, 1e-2, 0.1, 1.0)
SMALL, SMALL_SIZES, SMALL_SPLITS, SMALL_SEEDS = 40, (4, 6, 10, 20, 30, 36, 39), 800, 3
SMOOTH, SMOOTH_SIZES, SMOOTH_SPLITS, SMOOTH_SEEDS = 400, (20, 50, 100, 200, 300), 160, 2
TOY = {"SMALL_SIZES": (4, 20), "SMOOTH": 60, "SMOOTH_SIZES": (20, 50), "RIDGES": (1e-2,)}
APART = 101  # seeds begin here

Table = tuple[np.ndarray, np.ndarray]
"""A Gram matrix and its targets."""


def squares(x: np.ndarray) -> np.ndarray:
    return ((x[:, None] - x[None]) ** 2).sum(-1)


def rbf(x: np.ndarray, lengthscale: float = 1.5) -> np.ndarray:
    return np.exp(-squares(x) / (2 * lengthscale**2))


def matern(x: np.ndarray) -> np.ndarray:
    far = np.sqrt(3 * squares(x))
    return (1 + far) * np.exp(-far)


def wave(x: np.ndarray) -> np.ndarray:
    return np.cos(1.5 * x[:, 0] + 0.5) + 0.5 * x[:, -1]


def copies(draw: np.random.Generator, rows: int) -> Table:
    x = draw.normal(size=(rows // 4, 2))[draw.integers(rows // 4, size=rows)]
    return matern(x), wave(x) + 0.2 * draw.normal(size=rows)


def clusters(draw: np.random.Generator, rows: int) -> Table:
    centres = 4 * draw.normal(size=(5, 2))
    x = centres[draw.integers(5, size=rows)] + 0.05 * draw.normal(size=(rows, 2))
    return rbf(x), wave(x) + 0.05 * draw.normal(size=rows)


def outlier(draw: np.random.Generator, rows: int) -> Table:
    x = draw.uniform(-2, 2, size=(rows, 2))
    y = wave(x) + 0.05 * draw.normal(size=rows)
    y[draw.integers(rows)] += 10 ** draw.uniform(1, 3)
    return rbf(x), y


def constant(draw: np.random.Generator, rows: int) -> Table:
    return matern(draw.standard_exponential(size=(rows, 2))), np.full(rows, 3.0)


def rank_six(draw: np.random.Generator, rows: int) -> Table:
    z = draw.normal(size=(rows, 6)) * np.arange(1, 7) ** -0.5
    return z @ z.T, z @ draw.normal(size=6) + 0.2 * draw.normal(size=rows)


def normal(dimension: int, kernel: Callable[[np.ndarray], np.ndarray] = rbf) -> Callable[..., Table]:
    def table(draw: np.random.Generator, rows: int) -> Table:
        x = draw.normal(size=(rows, dimension))
        return kernel(x), np.sin(x[:, 0]) + 0.3 * x[:, -1] ** 2 + 0.1 * draw.normal(size=rows)

    return table


def uniform(draw: np.random.Generator, rows: int) -> Table:
    x = draw.uniform(-2, 2, size=(rows, 2))
    return matern(x), np.stack([wave(x), np.abs(x[:, 0])], axis=1)


def diabetes(draw: np.random.Generator, rows: int) -> Table:
    from sklearn.datasets import load_diabetes

    x, y = map(np.asarray, load_diabetes(return_X_y=True))
    part = draw.permutation(len(y))[:rows]
    return rbf(20 * x[part], 3.0), ((y - y.mean()) / y.std())[part]


KINDS = {
    "small": {
        "copies of rows": copies, "clusters": clusters, "an outlier among the targets": outlier,
        "constant targets": constant, "rank 6": rank_six,
    },
    "smooth": {
        "normal rows, 3 columns, RBF": normal(3), "normal rows, 1 column, RBF": normal(1),
        "normal rows, 5 columns, Matern": normal(5, matern), "uniform rows, Matern, two targets": uniform,
        "diabetes, RBF": diabetes,
    },
}  # fmt: skip


def split_errors(
    matrix: np.ndarray, y: np.ndarray, n: int, ridge: float, splits: int, draw: np.random.Generator
) -> np.ndarray:
    """Held-out squared errors of the textbook's fit to n random rows, summed over targets."""
    found = []
    for _ in range(splits):
        order = draw.permutation(len(y))
        train, rest = order[:n], order[n:]
        weights = np.linalg.solve(matrix[np.ix_(train, train)] + ridge * np.eye(n), y[train])
        found.append(np.mean(np.sum((y[rest] - matrix[np.ix_(rest, train)] @ weights) ** 2, axis=1)))
    return np.array(found)


def cells(table: Table, sizes: tuple[int, ...], ridge: float, splits: int, draw: np.random.Generator) -> np.ndarray:
    """A row a size: inside for 8 fresh splits, inside for all, ln of the error over the truth, ..., of the formula."""
    matrix, y = table[0], table[1].reshape(len(table[0]), -1)
    modes = spectrum(matrix)
    curve = learning_curve(modes, jnp.asarray(y), sizes, ridge)
    bare = np.asarray(deterministic_equivalent(modes, jnp.asarray(y), sizes, ridge).error)
    rows = []
    for n, error, formula, low, high in zip(sizes, curve.error, bare, curve.lower, curve.upper, strict=True):
        errors = split_errors(matrix, y, n, ridge, splits, draw)
        few, truth = errors[: splits // 8 * 8].reshape(-1, 8).mean(axis=1), errors.mean()
        inside = np.mean((low <= few) & (few <= high)), float(low <= truth <= high)
        rows.append((*inside, float(np.log(error / truth)), np.log(formula / truth), float(np.log(high / low))))
    return np.array(rows)


def kind(group: str, name: str, seeds: int, splits: int) -> np.ndarray:
    """All cells of one kind of table."""
    small = group == "small"
    rows, sizes = (SMALL, SMALL_SIZES) if small else (SMOOTH, SMOOTH_SIZES)
    found = []
    for seed in range(APART, APART + seeds):
        draw = np.random.default_rng(seed)
        table = KINDS[group][name](draw, rows)
        found += [cells(table, sizes, ridge, splits, draw) for ridge in RIDGES]
    return np.concatenate(found)


def summary(found: np.ndarray) -> tuple[float, float, float, float, float]:
    """Inside for 8 splits, inside for all, off by more than 30 %, the formula off by that, median of upper / lower."""
    off = np.abs(found[:, 2:4]) > np.log(1.3)
    few, every, own, formula = map(float, [*found[:, :2].mean(axis=0), *off.mean(axis=0)])
    return few, every, own, formula, float(np.exp(np.median(found[:, 4])))


def cost(rows: int, sizes: tuple[int, ...]) -> float:
    """Processor time of `learning_curve` over that of `spectrum`, the median of five, compiled before."""
    matrix, y = normal(3)(np.random.default_rng(APART), rows)
    y, times = jnp.asarray(y), []
    for _ in range(6):
        start = time.process_time()
        modes = jax.block_until_ready(spectrum(matrix))
        middle = time.process_time()
        jax.block_until_ready(learning_curve(modes, y, sizes, 1e-2).error)
        times.append((time.process_time() - middle) / (middle - start))
    return float(np.median(times[1:]))


def main() -> list[tuple[str, str, float]]:
    """Coverage over its nominal 90 % on few cells, and the time of a curve over that of the eigensystem."""
    jax.config.update("jax_enable_x64", True)
    rows = []
    for group, splits in (("small", 80), ("smooth", 16)):
        found = np.concatenate([kind(group, name, 1, splits) for name in KINDS[group]])
        rows.append((f"learning_curve, {group} cells: inside", "0.9", summary(found)[0] / 0.9))
    return [*rows, ("learning_curve, 400 rows at 4 sizes: time", "spectrum", cost(400, (50, 100, 200, 300)))]


def show() -> None:
    """Prints the coverage of each kind of table."""
    print(
        f"{'':<36}{'cells':>6}{'inside: 8 splits':>18}{'all splits':>12}{'off by 30 %':>13}{'formula':>9}{'width':>7}"
    )
    for group, seeds, splits in (("small", SMALL_SEEDS, SMALL_SPLITS), ("smooth", SMOOTH_SEEDS, SMOOTH_SPLITS)):
        parts = {name: kind(group, name, seeds, splits) for name in KINDS[group]}
        for name, found in {**parts, f"all {group} cells": np.concatenate(list(parts.values()))}.items():
            few, every, off, formula, width = summary(found)
            print(
                f"{name:<36}{len(found):>6}{few:>18.1%}{every:>12.1%}{off:>13.1%}{formula:>9.1%}{width:>7.2f}",
                flush=True,
            )
    print(f"time over that of spectrum, 400 rows, 4 sizes: {cost(400, (50, 100, 200, 300)):.2f}")


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    show()
