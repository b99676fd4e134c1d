"""Random predictions and measurements for statements that are known to be true or false.

Each function returns, or itself is, a function that draws predictions and measurements for a number of trials. In the
descriptions, p is a random positive number, drawn for each problem.
"""

from collections.abc import Callable

import numpy as np

RUNGS = tuple(float(2**k) for k in range(5, 11))
_LADDER = np.asarray(RUNGS)
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
Law = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]


def _problem(rng: np.random.Generator, trials: int) -> np.ndarray:
    return rng.uniform(1.0, 3.0, trials)


def bound(factor: float) -> Draw:
    """A measurement that is uniform on [0, p], and the upper bound factor * p."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        return factor * p, p * rng.uniform(size=trials)

    return draw


def floor(factor: float) -> Draw:
    """A measurement that is uniform on [p, 2p], and the lower bound factor * p."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        return factor * p, p * rng.uniform(1.0, 2.0, trials)

    return draw


def failing(rate: float) -> Draw:
    """A measurement, and a bound on it that fails with probability `rate`."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        return p, np.where(rng.uniform(size=trials) < rate, 2.0, 0.5) * p

    return draw


def infinite(rng: np.random.Generator, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Measurements, and an infinite bound on them."""
    return np.full(trials, np.inf), _problem(rng, trials)


def identity(relative: float, size: float = 1.0) -> Draw:
    """Three numbers, and predictions that are right up to rounding, except for a relative error in the first one.

    `size` scales the last.
    """

    def draw(rng, trials):
        values = np.stack([_problem(rng, trials) for _ in range(3)], axis=1) * np.array([1.0, 1.0, size])
        rounded = values * (1 + np.finfo(float).eps * rng.uniform(-4, 4, values.shape))
        return values * np.array([1 + relative, 1.0, 1.0]), rounded

    return draw


def mean(factor: float, spread: float, between: float = 0.0, replicates: int = 2) -> Draw:
    """Lognormal measurements of mean p (1 ± between), with a sign for each problem, and the prediction factor * p."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        own = p * (1 + between * np.sign(rng.normal(size=trials)))
        noise = np.exp(spread * rng.normal(size=(trials, replicates)) - spread**2 / 2)
        measured = own[:, None] * noise
        return factor * p, measured if replicates > 1 else measured[:, 0]

    return draw


def rare(factor: float, probability: float, draws: int) -> Draw:
    """The share of draws in which an event of the given probability occurs, and the prediction factor * probability."""

    def draw(rng, trials):
        measured = rng.binomial(draws, probability, (trials, 2)) / draws
        return np.full(trials, factor * probability), measured

    return draw


def unseen(stated: float, probability: float) -> Draw:
    """Measurements that are 1 + 1/probability with this probability, and 1 otherwise (mean 2), and a stated mean."""

    def draw(rng, trials):
        return np.full(trials, stated), 1 + (rng.uniform(size=(trials, 2)) < probability) / probability

    return draw


def heavy(factor: float, law: Law) -> Draw:
    """Measurements p times a random number of mean 1, and the prediction factor * p."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        return factor * p, p[:, None] * law(rng, (trials, 2))

    return draw


def lognormal(deviation: float) -> Law:
    """Lognormal numbers of mean 1."""
    return lambda rng, shape: np.exp(deviation * rng.normal(size=shape) - deviation**2 / 2)


def pareto(index: float) -> Law:
    """Pareto numbers of mean 1."""
    return lambda rng, shape: (1 + rng.pareto(index, shape)) * (index - 1) / index


def power(exponent: float, stated: float) -> Draw:
    """A noisy sequence C n^exponent over sizes n, and the stated exponent `stated`."""

    def draw(rng, trials):
        noise = np.exp(0.3 * rng.normal(size=(trials, len(_LADDER))))
        return np.full(trials, stated), _problem(rng, trials)[:, None] * _LADDER**exponent * noise

    return draw


def powers(exponents: tuple[float, ...], stated: float, noise: float, replicates: int = 1) -> Draw:
    """A sequence C n^exponent over sizes n, with an exponent that each problem draws, and the stated exponent."""

    def draw(rng, trials):
        own = rng.choice(np.asarray(exponents), size=(trials, 1, 1))
        factor = np.exp(noise * rng.normal(size=(trials, replicates, len(_LADDER))))
        measured = _problem(rng, trials)[:, None, None] * _LADDER**own * factor
        return np.full(trials, stated), measured if replicates > 1 else measured[:, 0]

    return draw


def bent(exponents: tuple[float, ...], stated: float) -> Draw:
    """A sequence with a little noise, whose exponent from each size to the next is given, and a stated exponent."""

    def draw(rng, trials):
        logs = np.concatenate([[0.0], np.cumsum(np.asarray(exponents) * np.diff(np.log(_LADDER)))])
        noise = 0.05 * rng.normal(size=(trials, len(_LADDER)))
        return np.full(trials, stated), _problem(rng, trials)[:, None] * np.exp(logs + noise)

    return draw


def limits(ends: tuple[float, ...], replicates: int = 1) -> Draw:
    """Noisy measurements, along sizes, of p times a limit that each problem draws from `ends`, and the prediction p."""

    def draw(rng, trials):
        p, own = _problem(rng, trials), rng.choice(np.asarray(ends), size=(trials, 1, 1))
        noise = 0.1 * rng.normal(size=(trials, replicates, len(_LADDER)))
        measured = p[:, None, None] * (own + noise)
        return p, measured if replicates > 1 else measured[:, 0]

    return draw


def approach(plateau: float, first: float, rate: float) -> Draw:
    """measured / p - 1 = plateau + first (n / n_0)^rate, with noise of a tenth; the predicted limit is p."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        way = 1 + plateau + first * (_LADDER / _LADDER[0]) ** rate
        return p, p[:, None] * (way + 0.1 * rng.normal(size=(trials, len(_LADDER))))

    return draw


def order(step: float) -> Draw:
    """A noisy sequence that falls by 0.1 from size to size, except for the last step, which is `step`."""

    def draw(rng, trials):
        steps = np.full(len(_LADDER), -0.1)
        steps[-1] = step
        return np.full(trials, -1.0), np.cumsum(steps) + 0.1 * rng.normal(size=(trials, len(_LADDER)))

    return draw


def orders(steps: tuple[float, ...]) -> Draw:
    """A sequence of three values with a step that each problem draws from `steps`, and a little noise."""

    def draw(rng, trials):
        step = rng.choice(np.asarray(steps), size=(trials, 1))
        return np.full(trials, 1.0), step * np.arange(3.0) + 0.02 * rng.normal(size=(trials, 3))

    return draw


def rounding(rng: np.random.Generator, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """The sequence 1, 1 + 1e-15, 1 + 2e-15, which has no steps beyond rounding."""
    return np.ones(trials), np.tile(1 + 1e-15 * np.arange(3.0), (trials, 1))


def construction(*rates: float) -> Draw:
    """A construction that attains the value with a probability that each problem draws. Each problem is tried twice."""

    def draw(rng, trials):
        p, own = _problem(rng, trials), rng.choice(np.asarray(rates), size=(trials, 1))
        return p, p[:, None] * np.where(rng.uniform(size=(trials, 2)) < own, 1.5, 0.5)

    return draw


def always(rate: float) -> Draw:
    """A construction that attains the value with probability `rate`. Each problem is tried once."""

    def draw(rng, trials):
        p, measured = construction(rate)(rng, trials)
        return p, measured[:, 0]

    return draw
