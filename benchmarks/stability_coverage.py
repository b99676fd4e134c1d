"""How often the intervals of lemmata.subjects.stability hold the truth, on laws and fits that nothing was tuned on.

python benchmarks/stability_coverage.py [repetitions] prints one line for each law and fit, at a nominal 90 %.
"""

import sys

import numpy as np
from sklearn.linear_model import Lasso
from sklearn.tree import DecisionTreeRegressor

from lemmata.subjects.stability import bias_variance, stability

TRUTHS = 1500
FRESH = 400


def features(count: int):
    """Ridge regression on so many random cosines of the inputs."""
    frequencies = np.random.default_rng(7).normal(size=(64, count))

    def fit(x, y):
        lift = lambda inputs: np.cos(inputs @ frequencies[: x.shape[1]] + np.arange(count))
        known = lift(x)
        weights = np.linalg.solve(known.T @ known + 0.5 * np.eye(count), known.T @ y)
        return lambda inputs: lift(inputs) @ weights

    return fit


def neighbours(x, y):
    """The mean of the three nearest rows."""
    return lambda new: y[np.argsort(((new[:, None] - x) ** 2).sum(axis=2), axis=1)[:, :3]].mean(axis=1)


def waves(rng, n):
    """A wave of a sum, uniform inputs in 3 dimensions, normal noise."""
    x = rng.uniform(-1, 1, (n, 3))
    return x, np.sin(2 * x.sum(axis=1)) + 0.5 * rng.normal(size=n)


def products(rng, n):
    """A product and a line, normal inputs in 6 dimensions, Laplace noise."""
    x = rng.normal(size=(n, 6))
    return x, x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * rng.laplace(size=n)


def steps(rng, n):
    """Steps of the first of 4 uniform inputs, noise that grows with the second."""
    x = rng.uniform(size=(n, 4))
    return x, np.floor(4 * x[:, 0]) + (0.2 + 0.8 * x[:, 1]) * rng.normal(size=n)


def line(x, y):
    """Least squares with a constant."""
    lift = lambda inputs: np.concatenate([np.ones((len(inputs), 1)), inputs], axis=1)
    weights = np.linalg.lstsq(lift(x), y, rcond=None)[0]
    return lambda inputs: lift(inputs) @ weights


CASES = {
    "line, steps, n = 70": (line, steps, 70),
    "8 cosines, steps, n = 110": (features(8), steps, 110),
    "3 neighbours, steps, n = 140": (neighbours, steps, 140),
    "12 cosines, wave, n = 90": (features(12), waves, 90),
    "40 cosines, product, n = 150": (features(40), products, 150),
    "3 neighbours, product, n = 60": (neighbours, products, 60),
    "Lasso, product, n = 120": (lambda x, y: Lasso(0.1).fit(x, y), products, 120),
    "tree, wave, n = 120": (
        lambda x, y: DecisionTreeRegressor(min_samples_leaf=5, random_state=0).fit(x, y), waves, 120
    ),
}  # fmt: skip


def errors(model, x, y):
    """Squared errors of a fit."""
    return (getattr(model, "predict", model)(x) - y) ** 2


def true_gap(fit, law, n, rng):
    """The mean over samples of the mean loss at new rows less that at their own."""
    gaps = []
    for _ in range(TRUTHS // 2):
        (x, y), new = law(rng, n), law(rng, FRESH)
        model = fit(x, y)
        gaps.append(errors(model, *new).mean() - errors(model, x, y).mean())
    return np.mean(gaps)


def true_parts(fit, law, n, rng):
    """Error, variance and rest of fits to n rows, from independent pairs."""
    found = []
    for _ in range(TRUTHS):
        x, y = law(rng, FRESH)
        one, two = (getattr(model, "predict", model)(x) for model in (fit(*law(rng, n)) for _ in range(2)))
        variance, rest = np.mean((one - two) ** 2) / 2, np.mean((y - one) * (y - two))
        found.append((variance + rest, variance, rest))
    return np.mean(found, axis=0)


def main(repetitions: int) -> None:
    """Print the shares."""
    rng = np.random.default_rng(11)
    for name, (fit, law, n) in CASES.items():
        aside = max(4, round(n / 10))
        gap, parts = true_gap(fit, law, n - aside, rng), true_parts(fit, law, int(0.4 * n), rng)
        held = []
        for seed in range(repetitions):
            x, y = law(rng, n)
            stable = stability(fit, x, y, seed=seed)
            split = bias_variance(fit, x, y, 30, seed=seed)
            limits = (stable.interval, split.error_interval[0], split.variance_interval[0], split.rest_interval[0])
            held.append([low <= truth <= high for (low, high), truth in zip(limits, (gap, *parts), strict=True)])
        shares = " ".join(f"{100 * share:5.1f}" for share in np.mean(held, axis=0))
        print(f"{name:32} gap, error, variance, rest: {shares} %", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
