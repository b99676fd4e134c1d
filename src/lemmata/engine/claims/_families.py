"""Families of statements that are known to be true or false, on which the engine's error rates are measured.

Each family draws finished trials, which consist of predictions and measurements. For many families, another value of a
parameter turns the true statement into a false statement near it.
"""

import dataclasses

import numpy as np

from ._bounds import AtLeast, AtMost, Witness
from ._equalities import Equal, EqualInMean
from ._ladders import Limit, Order, Rate
from ._laws import (
    RUNGS,
    Draw,
    always,
    approach,
    bent,
    bound,
    construction,
    failing,
    floor,
    heavy,
    identity,
    infinite,
    limits,
    lognormal,
    mean,
    order,
    orders,
    pareto,
    power,
    powers,
    rare,
    rounding,
    unseen,
)
from ._relations import Relation, Sample


@dataclasses.dataclass(frozen=True)
class Family:
    """A family of statements under one relation, for which the right result is known.

    Args:
        relation: the relation by which the trials are judged.
        what: the family in words.
        asked: the required result of a verification: "not refuted" (for a true statement), "refuted" (for a false
            statement near a true statement), "not supported", or "covered" (the interval of the relation contains
            `truth`).
        trials: the number of trials in one verification.
        draw: a function that draws predictions and measurements for a given number of trials.
        truth: the value that the interval estimates, for coverage.
        trivial: the trivial value (which holds without any theory), if the family tests whether vacuous bounds are
            recognised.
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


_TIGHT, _SURE, _FLOOR = AtMost(delta=0.05), AtMost(), AtLeast()
_MEAN, _POOLED = EqualInMean(resolution=0.1), EqualInMean(resolution=0.1, over="problems")
_RATE, _UPPER = Rate("n", RUNGS), Rate("n", RUNGS, upper=True)
_LIMIT, _ORDER, _SEEN = Limit("n", RUNGS), Order("n", RUNGS), Witness(probability=0.4)
_APART = EqualInMean(resolution=0.1, relative=False)
_ASKED = (
    ("the stated mean is true", "not refuted", 1.0),
    ("the statement says half of the true mean", "not supported", 0.5),
    ("the statement says twice the true mean", "not supported", 2.0),
)
_HEAVY = {
    "lognormal, deviation 2": lognormal(2.0),
    "lognormal, deviation 3": lognormal(3.0),
    "Pareto, index 1.5": pareto(1.5),
    "Pareto, index 2.5": pareto(2.5),
}

FAMILIES = (
    Family(_TIGHT, "a bound that fails as often as allowed", "not refuted", 400, failing(0.05)),
    Family(_TIGHT, "a bound that fails three times as often as allowed", "refuted", 400, failing(0.15)),
    Family(_TIGHT, "a bound that fails as often as allowed", "covered", 400, failing(0.05), truth=0.05),
    Family(_TIGHT, "a bound that fails as often as allowed", "not supported", 400, failing(0.05)),
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
    Family(
        Equal(),
        "one component wrong by a factor 3, another component of size 1e16",
        "refuted",
        132,
        identity(2.0, 1e16),
    ),
    Family(_MEAN, "an exact mean of lognormal numbers", "not refuted", 256, mean(1.0, 0.4)),
    Family(_MEAN, "mean x 0.8", "refuted", 256, mean(0.8, 0.4)),
    Family(_MEAN, "mean x 0.5", "refuted", 256, mean(0.5, 0.4)),
    Family(_MEAN, "an exact mean of lognormal numbers", "covered", 256, mean(1.0, 0.4), truth=0.0),
    Family(_MEAN, "each problem wrong by 50 %, up or down", "not supported", 256, mean(1.0, 0.1, 0.5)),
    Family(_MEAN, "each problem wrong by 50 %, up or down", "refuted", 256, mean(1.0, 0.1, 0.5)),
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
    Family(_UPPER, "a decay that is as slow as allowed", "not refuted", 64, power(-0.5, -0.5)),
    Family(_UPPER, "a decay slower by 0.1", "refuted", 192, power(-0.4, -0.5)),
    Family(_UPPER, "a decay slower by 0.25", "refuted", 64, power(-0.25, -0.5)),
    Family(_LIMIT, "a limit approached like 1/n", "not refuted", 100, approach(0.0, 0.6, -1.0)),
    Family(
        Limit("n", RUNGS, slowest=0.25),
        "a limit approached like n^(-1/4), the slowest stated rate",
        "not refuted",
        100,
        approach(0.0, 0.6, -0.25),
    ),
    Family(
        _LIMIT,
        "a limit approached like n^(-1/2), the slowest stated rate",
        "not refuted",
        100,
        approach(0.0, 0.9, -0.5),
    ),
    Family(_LIMIT, "a plateau at a quarter of the first gap", "refuted", 256, approach(0.15, 0.45, -1.0)),
    Family(_LIMIT, "a plateau at a quarter of the first gap", "not supported", 100, approach(0.15, 0.45, -1.0)),
    Family(_LIMIT, "limit x 0.8", "refuted", 100, approach(0.25, 0.6, -1.0)),
    Family(_LIMIT, "limit x 0.5", "refuted", 100, approach(1.0, 0.6, -1.0)),
    Family(_ORDER, "a sequence that stops falling", "not refuted", 100, order(0.0)),
    Family(_ORDER, "a sequence whose last step has the wrong sign", "refuted", 100, order(0.1)),
    Family(_ORDER, "a sequence whose last step has the wrong sign", "not supported", 100, order(0.1)),
    Family(_SEEN, "a construction that succeeds as rarely as allowed", "not refuted", 400, construction(0.4)),
    Family(_SEEN, "probability x 0.5", "refuted", 400, construction(0.2)),
    Family(_SEEN, "successes in 2 % of the trials", "not supported", 400, construction(0.02)),
    Family(Witness(), "a construction that fails once in 50", "refuted", 200, always(0.98)),
    Family(_SEEN, "a construction that succeeds as rarely as allowed", "covered", 400, construction(0.4), truth=0.4),
    *(
        Family(_MEAN, f"an event of probability {p:g} in {draws:,} draws: {what}", asked, trials, rare(f, p, draws))
        for p, draws, sizes in ((1e-6, 4096, (32, 96, 256)), (1e-4, 256, (32, 256)), (1e-2, 64, (64,)))
        for trials in sizes
        for what, asked, f in _ASKED
    ),
    *(
        Family(
            EqualInMean(resolution=p / 10, relative=False),
            f"an event of probability {p:g}, as a difference: {what}",
            asked,
            256,
            rare(f, p, 4096),
        )
        for p in (1e-6, 1e-4)
        for what, asked, f in _ASKED
    ),
    *(
        Family(relation, f"{name}: {what}", asked, trials, heavy(f, law))
        for name, law in _HEAVY.items()
        for relation, sizes in ((_MEAN, (32, 96, 256)), (_APART, (96,)))
        for trials in sizes
        for what, asked, f in _ASKED
    ),
    Family(
        _MEAN,
        "the value 1, and a larger value once in 10,000 draws: the stated mean is true",
        "not refuted",
        96,
        unseen(2.0, 1e-4),
    ),
    Family(
        _MEAN,
        "the value 1, and a larger value once in 10,000 draws: the statement ignores the larger value",
        "not supported",
        96,
        unseen(1.0, 1e-4),
    ),
    Family(
        EqualInMean(resolution=0.1, ends=(0.0, 1.0)),
        "a share of 64 draws, with known ends of its range",
        "not refuted",
        96,
        rare(1.0, 0.3, 64),
    ),
    Family(
        EqualInMean(resolution=0.1, ends=(0.0, 1.0)),
        "a share with known ends of its range, x 0.8",
        "refuted",
        96,
        rare(0.8, 0.3, 64),
    ),
    Family(
        EqualInMean(resolution=0.1, ends=(0.0, np.inf)),
        "lognormal, deviation 3, with a known lower end",
        "not refuted",
        96,
        heavy(1.0, lognormal(3.0)),
    ),
    Family(
        _RATE, "exponents that differ by ±0.6 between problems", "not supported", 256, powers((-1.6, -0.4), -1.0, 0.1)
    ),
    Family(
        Rate("n", RUNGS, replicates=2),
        "exponents that differ by ±0.6, each problem measured twice",
        "refuted",
        256,
        powers((-1.6, -0.4), -1.0, 0.1, 2),
    ),
    Family(
        Rate("n", RUNGS, replicates=2),
        "an exact rate with much noise, each problem measured twice",
        "not refuted",
        256,
        powers((-1.0,), -1.0, 1.0, 2),
    ),
    Family(
        _UPPER,
        "half of the problems slower by 0.6, the other half faster",
        "not supported",
        256,
        powers((-1.6, -0.4), -1.0, 0.1),
    ),
    Family(_RATE, "a slope that flattens out", "not supported", 64, bent((-0.9, -0.8, -0.5, -0.2, 0.0), -0.5)),
    Family(
        _RATE,
        "a slope that comes from the last size alone",
        "not supported",
        64,
        bent((-0.3, -0.3, -0.3, -0.3, -1.6), -0.5),
    ),
    Family(
        _UPPER, "a constant that fails on the large half", "not supported", 64, bent((-1.2, -1.0, -0.5, 0.0, 0.2), -0.5)
    ),
    Family(_LIMIT, "limits of 1.6 and 0.4 on the halves of the problems", "not supported", 256, limits((1.6, 0.4))),
    Family(
        Limit("n", RUNGS, replicates=2),
        "limits of 1.6 and 0.4, each problem measured twice",
        "refuted",
        256,
        limits((1.6, 0.4), 2),
    ),
    Family(_ORDER, "an order that is reversed on half of the problems", "not supported", 256, orders((-1.0, 1.5))),
    Family(_ORDER, "steps that are within rounding", "not supported", 100, rounding),
    Family(Witness(probability=0.5), "successes on only half of the problems", "refuted", 400, construction(0.0, 1.0)),
    Family(
        Witness(probability=0.5),
        "successes on only half of the problems",
        "not supported",
        138,
        construction(0.0, 1.0),
    ),
    Family(Witness(probability=0.05), "one success in 100", "not supported", 200, construction(0.01)),
)
