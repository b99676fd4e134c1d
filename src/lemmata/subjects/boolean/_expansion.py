"""Results about a function on the cube: its Fourier coefficients (all, or only the large ones), and sums of their
squares.
"""

import dataclasses
import html
import io
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, positive, probability
from lemmata.errors import DataError, UnknownNameError
from lemmata.pictures import band, bars, styled
from lemmata.printable import clean

_CLAIMS = (
    "boolean.spectra.coefficients_of_products",
    "boolean.spectra.influence_by_sets",
    "boolean.noise.noise_formula",
    "boolean.low_degree.low_degree_error",
)
_SHOWN_RATE, _SHOWN_ERROR = 0.1, 0.1


@dataclasses.dataclass(frozen=True)
class LowDegreePlan:
    """The degree and the number of training rows with which low-degree learning reaches a given expected error.

    Let f be a function of d binary inputs. Low-degree learning estimates the Fourier coefficients of f up to a degree,
    and takes all other coefficients as 0.

    Args:
        error: the expected squared error that is to be reached.
        degree: the largest degree of the products that are estimated.
        products: the number of these products.
        rows: the number of training rows with uniform inputs.
        tail: the weight of f above the degree: the sum of the squared Fourier coefficients of sets with more than
            `degree` inputs.
        points: 2^d, the number of points of the cube.
    """

    error: float
    degree: int
    products: int
    rows: int
    tail: float
    points: int

    @property
    def vacuous(self) -> bool:
        """Whether the plan is vacuous: it needs at least as many rows as the cube has points."""
        return self.rows >= self.points


@dataclasses.dataclass(frozen=True, eq=False)
class BooleanSpectrum:
    """The Fourier expansion of a function f of d binary inputs.

    Args:
        names: the names of the inputs.
        exact: whether all 2^d values were computed.
        two_valued: whether f only has the values -1 and 1 (values 0 and 1 are converted to -1 and 1).
        sets: the sets of inputs of the listed coefficients; the coefficient of the empty set is the mean of f.
        coefficients: the coefficients of these sets, the largest in absolute value first.
        intervals: confidence intervals of the coefficients; all intervals together hold with probability `level`.
        rest: a bound on the absolute value of all unlisted coefficients. For a sampled f, the bound also covers the
            coefficients that the search did not find, and it holds with probability `level`.
        power: E f², the sum of all squared coefficients.
        weights: the weight of each degree k = 0, ..., d, the sum of the squared coefficients of the sets of k inputs;
            for a sampled f, the sum is over the coefficients that were found.
        influences: the influence of each input, the sum of the squared coefficients of the sets that contain this
            input.
        influence_intervals: confidence intervals of the influences, each with probability `level`.
        rates: the noise rates eta at which the sensitivity is given.
        sensitivity: E (f(x) - f(x'))² / 4 at each rate, where x' is x with each input flipped with probability eta. For
            a two-valued f, the sensitivity is the probability that f changes.
        sensitivity_intervals: confidence intervals of the sensitivities, each with probability `level`.
        evaluations: the number of evaluations of f.
        level: the confidence level of the intervals; 1 if everything is exact.
        table: all 2^d coefficients, in the order of `lemmata.functions.degrees`; None for a sampled f.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    names: tuple[str, ...]
    exact: bool
    two_valued: bool
    sets: tuple[tuple[str, ...], ...]
    coefficients: Float[np.ndarray, " k"]
    intervals: Float[np.ndarray, "k 2"]
    rest: float
    power: float
    weights: Float[np.ndarray, " degrees"]
    influences: Float[np.ndarray, " d"]
    influence_intervals: Float[np.ndarray, "d 2"]
    rates: Float[np.ndarray, " r"]
    sensitivity: Float[np.ndarray, " r"]
    sensitivity_intervals: Float[np.ndarray, "r 2"]
    evaluations: int
    level: float
    table: Float[np.ndarray, " sets"] | None
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def coefficient(self, *inputs: str) -> float:
        """Return the coefficient of a set of inputs.

        Args:
            inputs: the names of the inputs in the set; empty for the mean of f.

        Raises:
            UnknownNameError: if there is no input with a given name.
            DataError: for a sampled f, if the set is not one of the listed sets.
        """
        for name in inputs:
            if name not in self.names:
                raise UnknownNameError(
                    "input",
                    found=repr(name),
                    rule=f"one of {', '.join(self.names)}"[:200],
                    remedy="pass one of these names",
                )
        if self.table is not None:
            return float(self.table[sum(1 << self.names.index(name) for name in set(inputs))])
        for known, value in zip(self.sets, self.coefficients.tolist(), strict=True):
            if set(known) == set(inputs):
                return value
        raise DataError(
            f"coefficient of {', '.join(inputs) or 'no input'}",
            rule=f"one of the {len(self.sets)} sets of inputs that the search lists",
            remedy=f"lower the threshold or raise largest; the coefficient is at most {self.rest:.3g} in size",
        )

    def noise(self, eta: float | int) -> float:
        """Return E (f(x) - f(x'))² / 4, where x' is x with each input flipped with probability eta.

        Raises:
            SettingError: if eta is not in [0, 1].
            DataError: for a sampled f, whose noise curve is only known at `rates`.
        """
        eta = probability("eta", eta)
        if not self.exact:
            rates = ", ".join(f"{rate:g}" for rate in self.rates)
            raise DataError("noise of a sampled function", found=f"eta = {eta:g}", rule=f"one of the rates {rates}",
                            remedy="read the attribute sensitivity, or call noise_sensitivity")  # fmt: skip
        factors = (1 - 2 * eta) ** np.arange(len(self.weights))
        return float(((1 - factors) * self.weights).sum() / 2)

    def low_degree(self, error: float | int = _SHOWN_ERROR) -> LowDegreePlan:
        """Find the degree at which low-degree learning reaches an expected squared error with the fewest rows.

        The coefficients of the products of degree at most k are estimated on m rows. The sum of these products, with
        the estimated coefficients, is an estimate g of f. Then E |g - f|² is the weight above degree k plus the sum
        over these products of (E f² - f^(S)²)/m. If f has the values -1 and 1, the sign of g is wrong with probability
        at most E |g - f|². For a sampled f, the weight of the coefficients that were not found counts as weight above
        every degree.

        Args:
            error: the expected squared error that is to be reached.

        Raises:
            SettingError: for an error that is not positive.
            DataError: if the weight of the coefficients that were not found is at least the error.
        """
        error, d = positive("error", error), len(self.names)
        plans = []
        for degree in range(d + 1):
            head = float(self.weights[: degree + 1].sum())
            tail = max(self.power - head, 0.0) if degree < d or not self.exact else 0.0
            products = sum(math.comb(d, k) for k in range(degree + 1))
            if tail < error:
                rows = max(math.ceil((products * self.power - head) / (error - tail) * (1 - 1e-12)), 1)
                plans.append(LowDegreePlan(error, degree, products, rows, tail, 2**d))
        if not plans:
            left = self.power - float(self.weights.sum())
            raise DataError(
                "error", found=f"{error:g}", rule=f"above {left:.3g}, the total weight of the coefficients that "
                    "were not found",
                remedy="lower threshold, so that the search finds more coefficients",
            )  # fmt: skip
        return min(plans, key=lambda plan: (plan.rows, plan.degree))

    def __str__(self) -> str:
        how = f"all {self.evaluations} points" if self.exact else f"{self.evaluations} random points"
        lines = [f"{_counted(len(self.names), 'input')}, {how}"]
        weights = enumerate(self.weights.tolist())
        shown = [(k, value) for k, value in weights if len(self.names) <= 8 or value > 5e-4 * self.power]
        word = "weight by degree" if self.exact else "weight by degree of the coefficients found"
        lines.append(f"{word}: " + (", ".join(f"{k}: {_rounded(value)}" for k, value in shown) or "none"))
        listed = zip(self.sets, self.coefficients.tolist(), self.intervals.tolist(), strict=True)
        parts = [f"{' '.join(names) or 'mean'}: {_rounded(c)}{self._range(ends)}" for names, c, ends in listed]
        lines.append("largest coefficients: " + (", ".join(parts) or "none"))
        if not self.exact:
            lines.append(f"any other coefficient is at most {self.rest:.3g} in absolute value")
        order = np.argsort(-self.influences, kind="stable")[:8].tolist()
        parts = [f"{self.names[i]}: {_rounded(self.influences[i])}{self._range(self.influence_intervals[i])}"
                 for i in order]  # fmt: skip
        lines.append(("influences: " if len(self.names) <= 8 else "largest influences: ") + ", ".join(parts))
        place = int(np.argmin(np.abs(self.rates - _SHOWN_RATE)))
        lines.append(
            f"flipping each input with probability {self.rates[place]:g} "
            + (
                "changes f with probability "
                if self.two_valued
                else "gives a mean squared change of f, divided by 4, of "
            )
            + f"{_rounded(self.sensitivity[place])}{self._range(self.sensitivity_intervals[place])}"
        )
        lines.append(self._plan())
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def plot(self) -> Any:
        """Return an Altair chart of the weight of each degree, and of the noise curve with its intervals."""
        title = "weight" if self.exact else "weight of the coefficients found"
        curve = band(self.rates, self.sensitivity, self.sensitivity_intervals,
                     ("probability that an input is flipped", "change of f"))  # fmt: skip
        return styled(bars(self.weights, "degree", title), curve)

    def _repr_html_(self) -> str:
        drawn = io.StringIO()
        self.plot().save(drawn, format="svg")
        text = html.escape(clean(str(self), lines=True))
        return f'<div><pre style="white-space: pre-wrap">{text}</pre>{drawn.getvalue()}</div>'

    def _range(self, ends: Any) -> str:
        return "" if self.exact else f" ({_rounded(ends[0])} to {_rounded(ends[1])})"

    def _plan(self) -> str:
        error = _SHOWN_ERROR * self.power
        if not error > 0:
            return "f is 0 everywhere"
        try:
            plan = self.low_degree(error)
        except DataError:
            left = self.power - float(self.weights.sum())
            return f"the coefficients that were not found have weight {left:.3g}, so no degree is known to be enough"
        rows = _counted(plan.rows, "row")
        more = f" (vacuous: f has {plan.points} points)" if plan.vacuous and plan.degree else ""
        return f"to learn f with expected squared error {error:.3g} takes degree {plan.degree} and {rows}{more}"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")


def _rounded(value: Any) -> str:
    return f"{0.0 if abs(value) < 5e-13 else value:.3g}"
