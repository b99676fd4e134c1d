"""The worst case of a schedule of gradient steps, with proof and with a function that attains it."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, positive
from lemmata.core import check_numbers
from lemmata.errors import SettingError, SolverError
from lemmata.printable import preformatted

from ._performance import certificate

_CLAIMS = ("depth.worst_cases.gradient_descent_worst", "depth.worst_cases.long_steps")
_MOST = 15
_ACCURACY = 1e-6
_LONGEST = 10.0


@dataclasses.dataclass(frozen=True, eq=False)
class WorstCase:
    """The largest f(x_n) - f(x*) over all functions, in units of |x_0 - x*|².

    Args:
        bound: no function exceeds it; the multipliers prove it.
        attained: a function attains it.
        unit_steps: the worst case of as many steps 1/smoothness; for convexity 0 the formula smoothness/(4n + 2).
        steps: the steps.
        smoothness, convexity: of the functions.
        multipliers: of the inequalities between the points x_0, ..., x_n, x* (rows) and each other (columns).
        conditions: what the bound rests on.
        claims: which state it.
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
        """The bound on f(x_n) - f(x*) if x_0 is at most at this distance from x*.

        Args:
            distance: |x_0 - x*|, or an upper bound.

        Raises:
            SettingError: for a distance that is not positive.
        """
        return self.bound * positive("distance", distance) ** 2

    def __str__(self) -> str:
        n = len(self.steps)
        kind = f"{self.convexity:g}-strongly convex" if self.convexity else "convex"
        found = f"f(x_{n}) - f(x*) <= {self.bound:.5g} |x_0 - x*|² for every {kind}, {self.smoothness:g}-smooth f"
        other = f"{n} steps of 1/{self.smoothness:g}: {self.unit_steps:.5g}"
        return f"{found}\na function attains {self.attained:.5g}; {other}"

    def _repr_html_(self) -> str:
        return preformatted(self)


def worst_case(steps: Any, smoothness: float, convexity: float = 0.0) -> WorstCase:
    """The exact worst case of gradient descent x_(i+1) = x_i - steps_i grad f(x_i), over all f of a class.

    The worst case is the value of a semidefinite program. lemmata solves the program and its dual, so that the answer
    has a proof, and a function that attains it to a relative accuracy of 1e-6. The dimension is not limited.

    Args:
        steps: 1 to 15 steps, each above 0 and at most 10/smoothness.
        smoothness: the gradients are Lipschitz with this constant.
        convexity: f - convexity |x|²/2 is convex; 0 for convex functions. It must be below smoothness.

    Raises:
        SettingError: for steps or constants outside the allowed range.
        SolverError: if rounding prevents the accuracy, for example if the worst case is extremely small.

    Example:
        >>> print(worst_case([1.0, 1.0], smoothness=1.0))
        f(x_2) - f(x*) <= 0.1 |x_0 - x*|² for every convex, 1-smooth f
        a function attains 0.1; 2 steps of 1/1: 0.1
    """
    smoothness = positive("smoothness", smoothness)
    given, ratio = _checked(steps, smoothness), _ratio(convexity, smoothness)
    found = certificate(given * smoothness, ratio, accuracy=_ACCURACY / 100)
    if not found.bound - found.attained <= _ACCURACY * found.bound:
        raise SolverError(
            "worst case of these steps",
            found=f"between {found.attained * smoothness:.3g} and {found.bound * smoothness:.3g}",
            rule=f"a relative accuracy of {_ACCURACY:g}",
            remedy="use fewer steps, or a smaller convexity",
        )
    n = len(given)
    unit = 1 / (4 * n + 2) if not ratio else certificate(np.ones(n), ratio).bound
    multipliers = np.zeros((n + 2, n + 2))
    multipliers[~np.eye(n + 2, dtype=bool)] = found.multipliers
    conditions = (
        Condition("the smoothness and the convexity hold on the whole space"),
        Condition("gradients are exact, and the steps do not depend on them"),
    )
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


def _checked(steps: Any, smoothness: float) -> np.ndarray:
    given = np.asarray(steps)
    if given.ndim != 1 or not 1 <= len(given) <= _MOST:
        found = f"shape {given.shape}"
        raise SettingError("steps", found=found, rule=f"a list of 1 to {_MOST} numbers", remedy="pass fewer steps")
    check_numbers("steps", given)
    given = given.astype(float)
    if not (given.min() > 0 and given.max() <= _LONGEST / smoothness):
        rule = f"above 0 and at most {_LONGEST:g}/smoothness = {_LONGEST / smoothness:g}"
        remedy = "leave out steps of 0, and shorten the others"
        raise SettingError("steps", found=f"{given.min():g} to {given.max():g}", rule=rule, remedy=remedy)
    return given


def _ratio(convexity: Any, smoothness: float) -> float:
    number = 0.0 if isinstance(convexity, int | float) and convexity == 0 else positive("convexity", convexity)
    if not number < smoothness:
        raise SettingError("convexity", found=f"{number:g}", rule=f"0, or a number below the smoothness {smoothness:g}")
    return number / smoothness
