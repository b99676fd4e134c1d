"""The interval of a predicted learning curve holds what fresh splits measure, whatever the rows, kernel and targets.

Each case draws cells at random (a table, a kernel, targets, a ridge, sizes) and fits fresh splits as a textbook does.
"""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.spectra import learning_curve, spectrum
from tests.spectra.subsets import laplace, linear, rbf, split_errors

CELLS, SIZES, MEANS, RESAMPLES = 10, 3, 25, 8
COLUMNS = {36: 1, 110: 2}  # of targets, by the number of rows: each shape is compiled anew


def rows_of(draw, total):
    """Normal, uniform, heavy-tailed, binary rows or a lattice; some of them repeated, clustered or far out."""
    dimension = int(draw.integers(1, 5))
    x = {
        "normal": lambda: draw.normal(size=(total, dimension)),
        "uniform": lambda: draw.uniform(-2, 2, size=(total, dimension)),
        "tails": lambda: draw.standard_t(3, size=(total, dimension)),
        "binary": lambda: draw.integers(2, size=(total, dimension)).astype(float),
        "lattice": lambda: np.linspace(-2, 2, total)[:, None],
    }[str(draw.choice(["normal", "uniform", "tails", "binary", "lattice"]))]()
    if draw.uniform() < 0.3:
        x = x[draw.integers(total // int(draw.integers(1, 5)), size=total)]
    if draw.uniform() < 0.3:
        x = 0.05 * x + 4 * draw.normal(size=(4, x.shape[1]))[draw.integers(4, size=total)]
    return x


def kernel_of(draw, x):
    return {
        "rbf": lambda: rbf(x, 10 ** draw.uniform(-0.5, 1)),
        "laplace": lambda: laplace(x),
        "linear": lambda: linear(x),
        "cubic": lambda: (1 + linear(x) / x.shape[1]) ** 3,
        "rank 6": lambda: linear(draw.normal(size=(len(x), 6))),
    }[str(draw.choice(["rbf", "rbf", "laplace", "linear", "cubic", "rank 6"]))]()


def targets_of(draw, x):
    """A function of the rows with noise, or a constant; now and then with an outlier. Of many rows, two columns."""
    y = np.sin(x @ draw.normal(size=(x.shape[1], COLUMNS[len(x)])) + draw.normal())
    y += 10 ** draw.uniform(-3, 0) * draw.normal(size=y.shape)
    if draw.uniform() < 0.2:
        y = np.full(y.shape, draw.normal())
    if draw.uniform() < 0.3:
        y[draw.integers(len(x))] += 10 ** draw.uniform(0, 2)
    return y * 10 ** draw.uniform(-6, 6)


def cell(draw):
    """Of one cell: the shares of fresh measurements below, inside and above the interval at each size."""
    total = int(draw.choice(list(COLUMNS)))
    x = rows_of(draw, total)
    matrix, y, ridge = kernel_of(draw, x), targets_of(draw, x), 10 ** draw.uniform(-5, 1)
    sizes = np.sort(draw.choice(np.arange(2, total), SIZES, replace=False))
    curve = learning_curve(spectrum(matrix), jnp.asarray(y), sizes.tolist(), ridge)
    assert np.all((curve.lower <= curve.error) & (curve.error <= curve.upper))
    found = []
    for n, low, high in zip(sizes, np.asarray(curve.lower), np.asarray(curve.upper), strict=True):
        order = np.argsort(draw.random((MEANS * RESAMPLES, total)), axis=1)
        means = split_errors(matrix, y, order[:, :n], order[:, n:], ridge).reshape(MEANS, RESAMPLES).mean(axis=1)
        found.append([np.mean(means < low), np.mean((low <= means) & (means <= high)), np.mean(means > high)])
    return found


@pytest.mark.parametrize("seed", range(12))
def test_the_interval_holds_what_fresh_splits_measure(seed):
    draw = np.random.default_rng([46, seed])
    below, inside, above = np.mean([cell(draw) for _ in range(CELLS)], axis=(0, 1))
    # nominally 5, 90 and 5 %: over 3 sizes of 10 cells, some of them with heavy tails, the mean varies by 2 to 3 %
    assert inside >= 0.82, (below, inside, above)
    assert max(below, above) <= 0.15, (below, inside, above)
