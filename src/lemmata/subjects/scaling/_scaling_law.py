"""A fitted scaling law, and the questions that it answers."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq

from lemmata.answers import Condition, positive
from lemmata.errors import SettingError
from lemmata.printable import preformatted

from ._fit import Fit
from ._numbers import best_data, best_loss, best_size, loss_at
from ._profile import Functional, both_intervals
from ._records import AbstractFinding, stated

EXTRAPOLATION = "scaling.laws.extrapolation_interval"
ALLOCATION = "scaling.laws.balanced_allocation"
INFERENCE = "scaling.laws.inference_aware_allocation"
_CALIBRATED = 100.0  # largest multiple of the largest size at which the coverage was measured
_FAR = 1e30


@dataclasses.dataclass(frozen=True, kw_only=True)
class Extrapolation(AbstractFinding):
    """The loss that the law gives at one point, or the size n at which the law reaches a loss.

    Args:
        leave_one_out: the jackknife interval over sizes n. Its ends are NaN if this interval was not computed.
        beyond: the size n of the point, divided by the largest size that was fitted.
    """

    leave_one_out: tuple[float, float]
    beyond: float


@dataclasses.dataclass(frozen=True, kw_only=True)
class Allocation(AbstractFinding):
    """The best use of a compute budget; the value is the loss of the law there.

    Args:
        n, d: the sizes with the least loss.
        n_interval, d_interval: the intervals of n and d at the level `level`.
    """

    n: float
    d: float
    n_interval: tuple[float, float]
    d_interval: tuple[float, float]


@dataclasses.dataclass(frozen=True, kw_only=True)
class ScalingLaw(AbstractFinding):
    """The fitted law loss = floor + A n^-alpha + B d^-beta; the value is alpha.

    Args:
        constants: the floor, A and alpha, and also B and beta if d was given.
        intervals: the interval of each constant by profile likelihood.
        leave_one_out: the interval of each constant by the jackknife over sizes n.
        told: for each constant, whether the data determine it well. To be determined well, a floor must be
            distinguishable from zero, and other constants must be known to a factor of 4.
        noise: the standard deviation of the log losses around the law.
        runs: the number of runs of equal signs in the residuals (see `runs_test`).
        broken: the probability of at most this many runs if the law holds. A small probability shows that the law
            breaks.
        largest: the largest n, and the largest d.
    """

    constants: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    leave_one_out: dict[str, tuple[float, float]]
    told: dict[str, bool]
    noise: float
    runs: int
    broken: float
    largest: tuple[float, ...]
    fit: Fit = dataclasses.field(repr=False)
    others: list[Fit] = dataclasses.field(repr=False)

    def __str__(self) -> str:
        terms = [f"{self.constants['floor']:.4g}"] if self.fit.design.floor else []
        terms += [f"{self.constants['A']:.4g} n^-{self.constants['alpha']:.3g}"]
        terms += [f"{self.constants['B']:.4g} d^-{self.constants['beta']:.3g}"] if len(self.largest) > 1 else []
        lines = [f"loss = {' + '.join(terms)}, within {100 * self.noise:.2g} % of {len(self.fit.log_loss)} points"]
        for name, value in self.constants.items():
            if name == "floor" and not self.fit.design.floor:
                continue
            said = "" if self.told[name] else "; the data do not determine it"
            lines.append(f"{name}: {stated(value, self.intervals[name], self.level)}{said}")
        return "\n".join([*lines, *(f"- {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def extrapolate(self, n: float | int, d: float | int | None = None) -> Extrapolation:
        """Return the loss of the law at n (and d, if the law has d). One noisy run may have another loss.

        Raises:
            SettingError: if n or d is not positive and finite, if d is given for a law without d, or if d is missing.
        """
        sizes = self._point(n, d)
        interval, jackknife = self._intervals(loss_at(self.fit.design, sizes))
        beyond = float(np.exp(sizes - np.log(self.largest)).max())
        value = float(np.exp(self.fit.design.log_loss(self.fit.theta, sizes[None])[0][0]))
        return self._answer(value, interval, jackknife, beyond)

    def needed(self, loss: float | int, d: float | int | None = None) -> Extrapolation:
        """Return the n at which the law reaches a loss; n is infinite if the floor is above this loss.

        The interval contains every n for which this loss lies in the interval that `extrapolate` gives at n.

        Raises:
            SettingError: for a loss that is not positive, that is below the interval of the loss at unlimited n, or
                that is above every loss of the law.
        """
        loss = positive("the loss that is needed", loss)
        top = _FAR * self.largest[0]
        low, high = (self._intervals(loss_at(self.fit.design, self._point(top, d)))[0][end] for end in (0, 1))
        if loss < low:
            rule = f"a loss that the law can reach, which is at least {low:.4g} with {100 * self.level:g} % confidence"
            raise SettingError("loss", found=f"{loss:g}", rule=rule)

        def crossing(curve) -> float:
            """Return the n at which a falling curve reaches the loss; infinite if no size reaches it."""
            smallest = math.exp(self.fit.design.sizes[:, 0].min()) / _FAR
            if curve(math.log(smallest)) < loss:
                raise SettingError("loss", found=f"{loss:g}", rule="a loss that is below the loss of very small sizes")
            if curve(math.log(top)) > loss:
                return math.inf
            at = brentq(lambda at: curve(at) - loss, math.log(smallest), math.log(top), xtol=1e-3)
            return math.exp(at)  # pyright: ignore

        point = lambda at: self._point(math.exp(at), d)
        end = lambda which: lambda at: self._intervals(loss_at(self.fit.design, point(at)), False)[0][which]
        fitted = lambda fit: lambda at: float(np.exp(fit.design.log_loss(fit.theta, point(at)[None])[0][0]))
        value = crossing(fitted(self.fit))
        interval = (min(value, crossing(end(0))), max(value, math.inf if high > loss else crossing(end(1))))
        notes = (
            () if math.isfinite(value) else ("the fitted law never falls to this loss, because its floor is higher",)
        )
        answer = self._answer(value, interval, (math.nan, math.nan), value / self.largest[0])
        return dataclasses.replace(answer, notes=notes + answer.notes)

    def allocate(self, compute: float | int, cost: float | int = 6.0, served: float | int = 0.0) -> Allocation:
        """Return the n and d with the least loss if `cost` n d + 2 n `served` = compute.

        Args:
            compute: the budget, in operations.
            cost: operations for each unit of n and of d in training; 6 for a transformer's parameters and tokens.
            served: the units of d that the model will process after training, at 2 operations for each unit of n.

        Raises:
            SettingError: for a budget or cost that is not positive, a negative `served`, or a law without d.
        """
        if len(self.largest) == 1:
            rule = "a law with a term in d"
            raise SettingError("allocate", found="a law in n alone", rule=rule, remedy="fit the law with d=...")
        compute, cost = positive("compute", compute), positive("cost", cost)
        if served != 0:
            served = positive("served", served)
        design = self.fit.design
        size, data, loss = (question(design, compute, cost, served) for question in (best_size, best_data, best_loss))
        n, d, least = (float(np.exp(question(self.fit.theta)[0])) for question in (size, data, loss))
        beyond = max(n / self.largest[0], d / self.largest[1])
        answer = self._answer(least, self._intervals(loss, False)[0], (math.nan, math.nan), beyond)
        fields = {field.name: getattr(answer, field.name) for field in dataclasses.fields(AbstractFinding)}
        fields["claim"] = INFERENCE if served else ALLOCATION
        intervals = (self._intervals(question, False)[0] for question in (size, data))
        return Allocation(**fields, n=n, d=d, n_interval=next(intervals), d_interval=next(intervals))

    def _point(self, n: float | int, d: float | int | None) -> Float[np.ndarray, "terms"]:
        if (d is not None) != (len(self.largest) > 1):
            found = "no d" if d is None else "d"
            raise SettingError(
                "point", found=found, rule="a value of d if the law was fitted with d, and no value otherwise"
            )
        return np.log([positive("n", n)] + ([] if d is None else [positive("d", d)]))

    def _intervals(self, number: Functional, both: bool = True) -> tuple[tuple[float, float], tuple[float, float]]:
        return both_intervals(self.fit, self.others if both else [], number, self.level)

    def _answer(self, value, interval, jackknife, beyond: float) -> Extrapolation:
        notes = list(self.notes)
        if beyond > 1 and math.isfinite(beyond):
            said = (
                f"{beyond:.3g} times the largest fitted size: the value is valid only if the same law continues there, "
                "which no fit can show"
            )
            notes = [said, *notes]
        if beyond > _CALIBRATED:
            notes.append(f"the coverage of intervals was measured only up to {_CALIBRATED:g} times the largest size")
        if math.isinf(interval[0]) or math.isinf(interval[1]):
            notes.append("the data do not bound this number on both sides")
        goes_on = Condition("the same law holds at this size", beyond, None if beyond > 1 else True)
        return Extrapolation(
            value=value, interval=interval, level=self.level, claim=EXTRAPOLATION, notes=tuple(notes),
            hypotheses=(*self.hypotheses, goes_on), leave_one_out=jackknife, beyond=beyond,
        )  # fmt: skip
