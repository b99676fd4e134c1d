"""Families of statements of known truth, on which the engine's own error rates are measured.

Each family draws finished trials: predictions, measurements, a control's predictions and trivial values. A parameter
moves the statement from true to a near neighbour that is false.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

from ._bounds import AtLeast, AtMost, Witness
from ._equalities import Equal, EqualInMean
from ._ladders import Limit, Order, Rate
from ._relations import Relation, Sample

RUNGS = tuple(float(2**k) for k in range(5, 11))
_LADDER = np.asarray(RUNGS)
Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Family:
    """Trials of known truth under one relation.

    Args:
        relation: how they are judged.
        what: the family in words.
        asked: "not refuted" (true), "refuted" (a near neighbour), "not supported", or "covered" (the interval of the
            relation holds `truth`).
        trials: in one verification.
        draw: predictions and measurements of so many trials.
        truth: the value that the interval estimates, for coverage.
        trivial: the trivial value, where vacuity is asked about.
    """

    relation: Relation
    what: str
    asked: str
    trials: int
    draw: Draw
    truth: float = np.nan
    trivial: float | None = None

    def sample(self, rng: np.random.Generator) -> Sample:
        """The trials of one verification."""
        predicted, measured = self.draw(rng, self.trials)
        return Sample(predicted, measured, np.ones(self.trials))


def _problem(rng: np.random.Generator, trials: int) -> np.ndarray:
    return rng.uniform(1.0, 3.0, trials)


def bound(factor: float) -> Draw:
    """A number uniform on [0, p] against the bound factor p."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        return factor * p, p * rng.uniform(size=trials)

    return draw


def floor(factor: float) -> Draw:
    """A number uniform on [p, 2p] against the lower bound factor p."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        return factor * p, p * rng.uniform(1.0, 2.0, trials)

    return draw


def failing(rate: float) -> Draw:
    """A bound that fails with a probability."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        return p, np.where(rng.uniform(size=trials) < rate, 2.0, 0.5) * p

    return draw


def infinite(rng: np.random.Generator, trials: int) -> tuple[np.ndarray, np.ndarray]:
    """A bound of infinity."""
    return np.full(trials, np.inf), _problem(rng, trials)


def identity(relative: float, size: float = 1.0) -> Draw:
    """Three numbers known to rounding, the first off by a relative error, the last of another size."""

    def draw(rng, trials):
        values = np.stack([_problem(rng, trials) for _ in range(3)], axis=1) * np.array([1.0, 1.0, size])
        rounded = values * (1 + np.finfo(float).eps * rng.uniform(-4, 4, values.shape))
        return values * np.array([1 + relative, 1.0, 1.0]), rounded

    return draw


def mean(factor: float, spread: float, between: float = 0.0, replicates: int = 2) -> Draw:
    """Lognormal measurements of mean p(1 ± between) against factor p; the sign is the problem's own."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        own = p * (1 + between * np.sign(rng.normal(size=trials)))
        noise = np.exp(spread * rng.normal(size=(trials, replicates)) - spread**2 / 2)
        measured = own[:, None] * noise
        return factor * p, measured if replicates > 1 else measured[:, 0]

    return draw


def power(exponent: float, stated: float) -> Draw:
    """A noisy C n^exponent against a stated exponent."""

    def draw(rng, trials):
        noise = np.exp(0.3 * rng.normal(size=(trials, len(_LADDER))))
        return np.full(trials, stated), _problem(rng, trials)[:, None] * _LADDER**exponent * noise

    return draw


def approach(plateau: float, first: float, rate: float) -> Draw:
    """measured / p - 1 = plateau + first (n / n_0)^rate, with noise of a tenth, against the limit p."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        way = 1 + plateau + first * (_LADDER / _LADDER[0]) ** rate
        return p, p[:, None] * (way + 0.1 * rng.normal(size=(trials, len(_LADDER))))

    return draw


def order(step: float) -> Draw:
    """A sequence that falls by a tenth from rung to rung, but for one step that changes by `step`."""

    def draw(rng, trials):
        steps = np.full(len(_LADDER), -0.1)
        steps[-1] = step
        return np.full(trials, -1.0), np.cumsum(steps) + 0.1 * rng.normal(size=(trials, len(_LADDER)))

    return draw


def construction(rate: float) -> Draw:
    """A construction that attains the value with a probability."""

    def draw(rng, trials):
        p = _problem(rng, trials)
        return p, p * np.where(rng.uniform(size=trials) < rate, 1.5, 0.5)

    return draw


_TIGHT, _SURE, _FLOOR = AtMost(delta=0.05), AtMost(), AtLeast()
_MEAN, _POOLED = EqualInMean(resolution=0.1), EqualInMean(resolution=0.1, over="problems")
_RATE, _UPPER = Rate("n", RUNGS), Rate("n", RUNGS, upper=True)
_LIMIT, _ORDER, _SEEN = Limit("n", RUNGS), Order("n", RUNGS), Witness(probability=0.4)

FAMILIES = (
    Family(_TIGHT, "a bound that fails as often as it may", "not refuted", 400, failing(0.05)),
    Family(_TIGHT, "a bound that fails three times as often as it may", "refuted", 400, failing(0.15)),
    Family(_TIGHT, "a bound that fails as often as it may", "covered", 400, failing(0.05), truth=0.05),
    Family(_TIGHT, "a bound that fails as often as it may", "not supported", 400, failing(0.05)),
    Family(_SURE, "a bound that always holds", "not refuted", 132, bound(1.0)),
    Family(_SURE, "constant x 0.8", "refuted", 132, bound(0.8)),
    Family(_SURE, "constant x 0.5", "refuted", 132, bound(0.5)),
    Family(_SURE, "a bound that is infinite", "not supported", 132, infinite, trivial=5.0),
    Family(_SURE, "a bound that is vacuous", "not supported", 132, bound(9.0), trivial=5.0),
    Family(_FLOOR, "a lower bound that always holds", "not refuted", 132, floor(1.0)),
    Family(_FLOOR, "constant / 0.8", "refuted", 132, floor(1 / 0.8)),
    Family(_FLOOR, "constant / 0.5", "refuted", 132, floor(1 / 0.5)),
    Family(Equal(), "an identity", "not refuted", 132, identity(0.0)),
    Family(Equal(), "off by 1e-13", "refuted", 132, identity(1e-13)),
    Family(Equal(), "off by a factor 3 beside a component of 1e16", "refuted", 132, identity(2.0, 1e16)),
    Family(_MEAN, "an exact mean of lognormal numbers", "not refuted", 256, mean(1.0, 0.4)),
    Family(_MEAN, "mean x 0.8", "refuted", 256, mean(0.8, 0.4)),
    Family(_MEAN, "mean x 0.5", "refuted", 256, mean(0.5, 0.4)),
    Family(_MEAN, "an exact mean of lognormal numbers", "covered", 256, mean(1.0, 0.4), truth=0.0),
    Family(_MEAN, "each problem off by 50 %, up or down", "not supported", 256, mean(1.0, 0.1, 0.5)),
    Family(_MEAN, "each problem off by 50 %, up or down", "refuted", 256, mean(1.0, 0.1, 0.5)),
    Family(_POOLED, "an exact mean over problems", "not refuted", 256, mean(1.0, 0.4, 0.2, 1)),
    Family(_POOLED, "mean x 0.8", "refuted", 256, mean(0.8, 0.4, 0.2, 1)),
    Family(_POOLED, "an exact mean over problems", "covered", 256, mean(1.0, 0.4, 0.2, 1), truth=0.0),
    Family(_RATE, "an exact rate", "not refuted", 64, power(-0.5, -0.5)),
    Family(_RATE, "exponent + 0.1", "refuted", 192, power(-0.5, -0.4)),
    Family(_RATE, "exponent - 0.1", "refuted", 192, power(-0.5, -0.6)),
    Family(_RATE, "exponent + 0.25", "refuted", 64, power(-0.5, -0.25)),
    Family(_RATE, "exponent - 0.25", "refuted", 64, power(-0.5, -0.75)),
    Family(_RATE, "exponent + 0.25", "not supported", 64, power(-0.5, -0.25)),
    Family(_RATE, "an exact rate", "covered", 64, power(-0.5, -0.5), truth=-0.5),
    Family(_UPPER, "a decay that is as slow as it may be", "not refuted", 64, power(-0.5, -0.5)),
    Family(_UPPER, "a decay slower by 0.1", "refuted", 192, power(-0.4, -0.5)),
    Family(_UPPER, "a decay slower by 0.25", "refuted", 64, power(-0.25, -0.5)),
    Family(_LIMIT, "a limit approached as 1/n", "not refuted", 100, approach(0.0, 0.6, -1.0)),
    Family(
        Limit("n", RUNGS, slowest=0.25),
        "a limit approached as n^(-1/4), as slowly as stated",
        "not refuted",
        100,
        approach(0.0, 0.6, -0.25),
    ),
    Family(_LIMIT, "a limit approached as n^(-1/2), as slowly as stated", "not refuted", 100, approach(0.0, 0.9, -0.5)),
    Family(_LIMIT, "a plateau at a quarter of the first gap", "refuted", 256, approach(0.15, 0.45, -1.0)),
    Family(_LIMIT, "a plateau at a quarter of the first gap", "not supported", 100, approach(0.15, 0.45, -1.0)),
    Family(_LIMIT, "limit x 0.8", "refuted", 100, approach(0.25, 0.6, -1.0)),
    Family(_LIMIT, "limit x 0.5", "refuted", 100, approach(1.0, 0.6, -1.0)),
    Family(_ORDER, "a sequence that stops falling", "not refuted", 100, order(0.0)),
    Family(_ORDER, "a last step the other way", "refuted", 100, order(0.1)),
    Family(_ORDER, "a last step the other way", "not supported", 100, order(0.1)),
    Family(_SEEN, "a construction as rare as it may be", "not refuted", 400, construction(0.4)),
    Family(_SEEN, "probability x 0.5", "refuted", 400, construction(0.2)),
    Family(_SEEN, "successes in 2 % of the trials", "not supported", 400, construction(0.02)),
    Family(Witness(), "a construction that fails once in 50", "refuted", 200, construction(0.98)),
    Family(_SEEN, "a construction as rare as it may be", "covered", 400, construction(0.4), truth=0.4),
)
