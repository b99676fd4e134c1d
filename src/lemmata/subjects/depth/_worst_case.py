"""The worst case of gradient descent with given steps, with a proof and with a value that some function attains."""

import dataclasses
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, positive
from lemmata.core import array_of, numbers_of
from lemmata.errors import SettingError, SolverError
from lemmata.pictures import lines, styled
from lemmata.printable import preformatted

from ._performance import Certificate, certificate

_CLAIMS = ("depth.worst_cases.gradient_descent_worst", "depth.worst_cases.long_steps")
_MOST = 15
_ACCURACY = 1e-6
_LONGEST = 10.0


@dataclasses.dataclass(frozen=True, eq=False)
class WorstCase:
    """The largest f(x_n) - f(x*) over all functions, in units of |x_0 - x*|².

    Args:
        bound: an upper bound for all functions, proved by the multipliers.
        attained: a value that some function attains.
        unit_steps: the worst case of n steps 1/smoothness, where n is the number of `steps`. For convexity 0, this is
            smoothness/(4n + 2). The value is nan if rounding prevents the accuracy.
        steps: the n step sizes, in order.
        smoothness, convexity: the constants of the class of functions.
        multipliers: the multipliers of the inequalities, one for each ordered pair of the points x_0, ..., x_n, x*. The
            first point of the pair determines the row, and the second point the column.
        conditions: the conditions for the bound.
        claims: names of the claims that state the bound.
    """

    bound: float
    attained: float
    unit_steps: float
    steps: Float[np.ndarray, " n"]
    smoothness: float
    convexity: float
    multipliers: Float[np.ndarray, "m m"]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def after(self, distance: float) -> float:
        """Return the bound on f(x_n) - f(x*) if |x_0 - x*| is at most the distance.

        Args:
            distance: |x_0 - x*|, or an upper bound.

        Raises:
            SettingError: for a distance that is not positive, or for which the result overflows or is rounded to 0.
        """
        number = positive("distance", distance)
        loss = self.bound * number * number
        if not 0 < loss < math.inf:
            rule, remedy = "a distance for which bound * distance² is a positive number", "change the unit"
            raise SettingError("distance", found=f"{number:g}", rule=rule, remedy=remedy)
        return loss

    def __str__(self) -> str:
        n = len(self.steps)
        kind = f"{self.convexity:g}-strongly convex" if self.convexity else "convex"
        found = f"f(x_{n}) - f(x*) <= {self.bound:.5g} |x_0 - x*|² for every {kind}, {self.smoothness:g}-smooth f"
        other = f"; with {n} step{'s' if n > 1 else ''} of 1/{self.smoothness:g}, the bound is {self.unit_steps:.5g}"
        known = "" if math.isnan(self.unit_steps) else other
        lines = [found, f"a function attains {self.attained:.5g}{known}"]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the bound after each number of these steps, and of the bound of unit steps.

        The bounds after the first 1, 2, ... steps are computed for the chart. The chart leaves out values that are
        inaccurate because of rounding. The bound of k unit steps 1/smoothness on convex functions is smoothness/(4k +
        2).
        """
        ratio, scaled = self.convexity / self.smoothness, self.steps * self.smoothness
        found = [_solved(scaled[:place], ratio) for place in range(1, len(scaled))]
        values = [own.bound * self.smoothness if _accurate(own) else math.nan for own in found]
        count = np.arange(1, len(scaled) + 1)
        series = {
            "these steps": (count, np.array([*values, self.bound])),
            "steps of 1/smoothness: smoothness/(4k + 2)": (count, self.smoothness / (4 * count + 2)),
        }
        titles = ("number k of steps", "worst f(x_k) - f(x*) for |x_0 - x*| = 1")
        return styled(lines(series, titles, logarithmic="y"))


def worst_case(steps: Any, smoothness: float, convexity: float = 0.0) -> WorstCase:
    """Compute the exact worst case of gradient descent x_(i+1) = x_i - steps_i grad f(x_i), over a class of functions.

    The worst case is the value of a semidefinite program. The dual program yields a proof of the bound. The primal
    program yields a function that attains the bound up to a relative accuracy of 1e-6. The bound holds in every
    dimension.

    Args:
        steps: 1 to 15 step sizes, each above 0 and at most 10/smoothness.
        smoothness: the Lipschitz constant of the gradients.
        convexity: the constant of strong convexity: f - convexity |x|²/2 is convex. Pass 0 for convex functions. The
            constant must be below smoothness.

    Raises:
        SettingError: for steps or constants outside the allowed range.
        SolverError: if rounding prevents the relative accuracy, for example for a single step of 1e-10/smoothness.

    Example:
        >>> print(worst_case([1.0, 1.0], smoothness=1.0))
        f(x_2) - f(x*) <= 0.1 |x_0 - x*|² for every convex, 1-smooth f
        a function attains 0.1; with 2 steps of 1/1, the bound is 0.1
    """
    smoothness = positive("smoothness", smoothness)
    given, ratio = _checked(steps, smoothness), _ratio(convexity, smoothness)
    found = _solved(given * smoothness, ratio)
    if not _accurate(found):
        raise SolverError(
            "worst case of these steps",
            found=f"between {found.attained * smoothness:.8g} and {found.bound * smoothness:.8g}",
            rule=f"a relative accuracy of {_ACCURACY:g}",
            remedy="use longer steps, fewer steps or a smaller convexity",
        )
    n = len(given)
    unit = 1 / (4 * n + 2)
    if ratio:
        usual = _solved(np.ones(n), ratio)
        unit = usual.bound if _accurate(usual) else math.nan
    multipliers = np.zeros((n + 2, n + 2))
    multipliers[~np.eye(n + 2, dtype=bool)] = found.multipliers
    conditions = (
        Condition("the smoothness and the convexity hold on the whole space"),
        Condition("gradients are exact, and the steps do not depend on them"),
        Condition("the bound is below the bound without any step, which is smoothness/2 (their ratio)", 2 * found.bound,
                  2 * found.bound < 1, "otherwise the worst case at the end is no better than at the start"),
    )  # fmt: skip
    return WorstCase(
        bound=found.bound * smoothness,
        attained=found.attained * smoothness,
        unit_steps=unit * smoothness,
        steps=given,
        smoothness=smoothness,
        convexity=float(convexity),
        multipliers=multipliers,
        conditions=conditions,
    )


def _solved(steps: np.ndarray, ratio: float) -> Certificate:
    """Return the certificate, or an infinite bound if a matrix of the search is singular or not finite."""
    nothing = Certificate(np.inf, 0.0, np.zeros(0), -np.inf)
    try:
        with np.errstate(all="ignore"):
            return certificate(steps, ratio, accuracy=_ACCURACY / 100)
    except (np.linalg.LinAlgError, ValueError):
        return nothing


def _accurate(found: Certificate) -> bool:
    return bool(found.bound - found.attained <= _ACCURACY * found.bound < math.inf)


def _checked(steps: Any, smoothness: float) -> np.ndarray:
    given = array_of("steps", steps)
    if given.ndim != 1 or not 1 <= len(given) <= _MOST:
        found = f"{len(given)} steps" if given.ndim == 1 else f"shape {given.shape}"
        remedy = "pass fewer steps" if given.ndim == 1 and len(given) else "pass at least one step, in a list"
        raise SettingError("steps", found=found, rule=f"a list of 1 to {_MOST} numbers", remedy=remedy)
    given = numbers_of("steps", given).astype(float)
    # compared in units of 1/smoothness, because 10/smoothness may overflow or underflow
    if not (given.min() > 0 and given.max() * smoothness <= _LONGEST * (1 + 1e-12)):
        rule = f"above 0 and at most {_LONGEST:g}/smoothness = {_LONGEST / smoothness:g}"
        remedy = "pass steps within these limits, and leave out steps of 0"
        raise SettingError("steps", found=f"{given.min():g} to {given.max():g}", rule=rule, remedy=remedy)
    return given


def _ratio(convexity: Any, smoothness: float) -> float:
    rule = f"0, or a number below the smoothness {smoothness:g}"
    remedy = "pass convexity=0 for functions that are convex but not strongly convex"
    if isinstance(convexity, int | float) and not isinstance(convexity, bool) and not 0 <= convexity < smoothness:
        raise SettingError("convexity", found=f"{convexity:g}", rule=rule, remedy=remedy)
    zero = not isinstance(convexity, bool | str) and np.ndim(convexity) == 0 and convexity == 0
    number = 0.0 if zero else positive("convexity", convexity)
    if not number < smoothness:
        raise SettingError("convexity", found=f"{number:g}", rule=rule, remedy=remedy)
    return number / smoothness
