"""Fit a scaling law to measured losses, and report which parameters the losses do not determine."""

import math

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, inside
from lemmata.errors import DataError, ShapeError

from ._columns import positive_column
from ._fit import Fit, fit_law, without_each_scale
from ._laws import Design
from ._numbers import amplitude, exponent, log_floor, loss_at
from ._profile import Functional, both_intervals
from ._residuals import runs_test
from ._scaling_law import EXTRAPOLATION, ScalingLaw

_TOLD = 4.0  # an exponent counts as unknown if it is known only up to a larger factor
_BROKEN = 0.05


def fit_scaling_law(
    n: object, loss: object, d: object = None, *, floor: bool = True, level: float | int = 0.9, robust: bool = True
) -> ScalingLaw:
    """Fit loss = E + A n^-alpha (+ B d^-beta) to measured losses, and report what the losses determine.

    The fit minimises Huber's loss on log losses, from a grid of starts. The result has two intervals for each number:
    by profile likelihood (`intervals`), and by leaving out one size after another (`leave_one_out`). Intervals of level
    0.9 were tested on 1800 simulated curves that were not used for tuning. The curves had 6 to 14 sizes over 1.5 to 4
    decades, with noise of 0.1 to 2 %. The noise was normal, or of Student's distribution with 3 degrees of freedom, or
    with one outlier. The intervals contained the law at 10 and at 100 times the largest size in 92 to 93 % of the
    curves. The intervals contained the floor and alpha in 91 to 93 % of the curves. The leave-one-out intervals
    contained these numbers in 92 to 96 % of the curves. All of this holds if one law holds at all sizes. `broken` is
    small if residuals show that no single law holds.

    Args:
        n: the size of each run.
        loss: the loss of each run.
        d: the amount of data of each run, if the amount was varied too.
        floor: whether the law has a constant E.
        level: the confidence of the intervals.
        robust: whether to use Huber's loss at 1.345 robust standard deviations instead of least squares.

    Raises:
        DataError: for numbers that are not positive and finite, for fewer points or fewer different sizes than the
            parameters need, or for n and d that vary together.
        ShapeError: for columns of different lengths.
        SettingError: for a level outside (0, 1).

    >>> n = [1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9, 3e9]
    >>> loss = [5.354, 4.203, 3.367, 2.854, 2.458, 2.214, 2.046, 1.935]
    >>> law = fit_scaling_law(n, loss)
    >>> print(law)
    loss = 1.693 + 398.4 n^-0.34, within 0.22 % of 8 points
    floor: 1.693, 90 % interval 1.676 to 1.71
    alpha: 0.3395, 90 % interval 0.3338 to 0.3455
    A: 398.4, 90 % interval 367.3 to 432.5
    >>> print(law.extrapolate(1e11))
    1.767, 90 % interval 1.754 to 1.779
    - 33.3 times the largest fitted size: the value is valid only if the same law continues there, which no fit can show
    """
    level = inside("level", level, 0.0, 1.0)
    losses = positive_column("loss", loss)
    columns = [positive_column("n", n)] + ([] if d is None else [positive_column("d", d)])
    for name, column in zip("nd", columns, strict=False):
        if len(column) != len(losses):
            raise ShapeError(
                f"{name} and loss",
                found=f"{len(column)} and {len(losses)} values",
                rule="one value of each for every run",
            )
    log_loss = np.log(losses)
    design = Design.of(np.log(np.column_stack(columns)), bool(floor), log_loss)
    _enough(design)
    _falling(design, log_loss)
    fit = fit_law(design, log_loss, robust)
    others = without_each_scale(fit) if _spare(design) else []
    constants = design.constants(fit.theta)
    intervals, jackknives = {}, {}
    for name, number in _questions(design).items():
        intervals[name], jackknives[name] = both_intervals(fit, others, number, level)
    told = {name: _is_told(name, interval) for name, interval in intervals.items()}
    runs, broken = runs_test(fit)
    noise = math.sqrt(float((fit.residuals**2).sum()) / (len(losses) - design.parameters))
    return ScalingLaw(
        value=constants["alpha"], interval=intervals["alpha"], level=level, claim=EXTRAPOLATION,
        hypotheses=_conditions(fit, broken), notes=_notes(fit, told, broken), constants=constants,
        intervals=intervals, leave_one_out=jackknives, told=told, noise=noise, runs=runs, broken=broken,
        largest=tuple(float(column.max()) for column in columns), fit=fit, others=others,
    )  # fmt: skip


def extrapolation_interval(
    n: Float[np.ndarray, "m"], loss: Float[np.ndarray, "m"], at: float, *, floor: bool = True, level: float | int = 0.9
) -> tuple[float, float]:
    """Return only the interval of `fit_scaling_law(n, loss).extrapolate(at)`, for a tenth of the work.

    Args:
        n: the size of each run.
        loss: the loss of each run.
        at: the size to which the law is extrapolated.
        floor: whether the law has a constant E.
        level: the confidence of the interval.

    >>> n = np.array([1e6, 1e7, 1e8, 1e9, 1e10])
    >>> low, high = extrapolation_interval(n, np.array([5.35, 3.37, 2.46, 2.05, 1.86]), 1e12)
    >>> low < 1.7 + 400 * 1e12**-0.34 < high
    True
    """
    log_loss = np.log(positive_column("loss", loss))
    design = Design.of(np.log(positive_column("n", n))[:, None], floor, log_loss)
    _enough(design)
    return both_intervals(fit_law(design, log_loss), [], loss_at(design, np.log([at])), level)[0]


def _enough(design: Design) -> None:
    """Raise DataError for sizes that cannot determine the parameters for any losses."""
    points, needed = len(design.sizes), design.parameters
    if points <= needed:
        rule = f"at least {needed + 1} points for {needed} parameters, because one more is needed to judge the fit"
        remedy = "measure more sizes, or fit without a floor" if design.floor else "measure more sizes"
        raise DataError("number of points", found=points, rule=rule, remedy=remedy)
    least = 2 + int(design.floor)
    for name, column in zip("nd", design.sizes.T, strict=False):
        found = len(np.unique(column))
        if found < least:
            raise DataError(
                f"different values of {name}", found=found, rule=f"at least {least} values, to fit a curve in {name}"
            )
    if design.terms == 2:
        # log d = a + b log n, for example if every run has twenty tokens for each parameter; this is one curve, not two
        spread = np.linalg.svd(design.sizes - design.centre, compute_uv=False)
        if spread[1] < 1e-3 * spread[0]:
            remedy = "vary them separately, or fit only n"
            raise DataError(
                "n and d",
                found="values whose logarithms lie on one line",
                rule="values of n and d that vary independently",
                remedy=remedy,
            )


def _spare(design: Design) -> bool:
    """Return whether a law can still be fitted after any one size is left out."""
    _, runs = np.unique(design.sizes[:, 0], return_counts=True)
    return len(runs) > 2 + int(design.floor) and len(design.sizes) - int(runs.max()) >= design.parameters


def _falling(design: Design, log_loss: np.ndarray) -> None:
    """Raise DataError for losses that do not fall, because a power law does not describe them."""
    lines = np.column_stack([np.ones(len(log_loss)), design.sizes - design.centre])
    slopes = np.linalg.lstsq(lines, log_loss, rcond=None)[0][1:]
    for name, slope in zip("nd", slopes, strict=False):
        if slope > -1e-9:
            raise DataError(
                f"the loss does not fall with {name}",
                found=f"slope {slope:.3g} in logarithms",
                rule="a slope below 0",
                remedy="measure more sizes, or check that the columns are not swapped",
            )


def _questions(design: Design) -> dict[str, Functional]:
    first = int(design.floor)
    found = {"floor": log_floor(design)} if design.floor else {}
    for j, (size, power) in enumerate((("A", "alpha"), ("B", "beta"))[: design.terms]):
        found |= {size: amplitude(design, j), power: exponent(first + 2 * j + 1)}
    return found


def _is_told(name: str, interval: tuple[float, float]) -> bool:
    if name == "floor":
        return interval[0] > 0
    return interval[0] > 0 and interval[1] <= _TOLD * interval[0]


def _conditions(fit: Fit, broken: float) -> tuple[Condition, ...]:
    spare = len(fit.log_loss) - fit.design.parameters
    return (
        Condition("points beyond parameters", float(spare), True),
        Condition("runs of equal signs of the residuals (probability of so few)", broken, broken >= _BROKEN),
        Condition("noise is independent between runs and proportional to the loss"),
    )


def _notes(fit: Fit, told: dict[str, bool], broken: float) -> tuple[str, ...]:
    notes = []
    if broken < _BROKEN:
        notes.append(
            f"the law is wrong: the residuals change sign too rarely (p = {broken:.2g}), so the intervals do not hold"
        )
    if fit.design.floor and not told["floor"]:
        notes.append("the floor is not significantly above zero: a law without a floor fits these points, too")
    if not fit.design.floor:
        notes.append(
            "no floor was fitted: near a floor the slope in logarithms falls to -alpha (1 - "
            "floor/loss), so the extrapolation is too low (scaling.laws.local_slope)"
        )
    for name in ("alpha", "beta"):
        if name in told and not told[name]:
            notes.append(
                f"{name} is not determined to a factor of {_TOLD:g}: the points span too small a range, "
                "or are too noisy"
            )
    if len(fit.log_loss) - fit.design.parameters < 3:
        notes.append("fewer than 3 points more than parameters: a wrong law cannot be distinguished from a right one")
    return tuple(notes)
