"""The risk of ridgeless least squares on a user's own columns: the price of interpolation, and the best columns."""

import dataclasses
import html
import io
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lemmata.answers import Condition, whole
from lemmata.core import array_of, numbers_of
from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.pictures import BLUE, RED, styled
from lemmata.printable import clean

from ._anisotropic import LinearTarget, from_covariance, from_rows, ridgeless
from ._conditions_of_fits import of_content, of_fits, of_noise

_CLAIMS = (
    "high_dimension.price_of_interpolation.anisotropic_risk",
    "high_dimension.price_of_interpolation.tempered_interpolation",
    "high_dimension.finite_samples.best_overparameterisation",
)
_SPARE = 10  # least number of rows beyond the number of columns for estimates of noise and coefficients
_GRID = 16
_DEFINITE = 1e-12  # least ratio of a covariance's eigenvalues to its largest entry
_SQUARES = 1e100  # largest number whose square surely does not overflow


@dataclasses.dataclass(frozen=True, eq=False)
class RidgelessRisk:
    """The squared error of minimum-norm least squares, for each number n of training rows.

    Args:
        sizes: the numbers of training rows.
        error: the expected squared error at a new row: bias + variance + noise.
        bias: the part of the error that fits without noise would have.
        variance: the part of the error that the noise in the training rows adds.
        noise: the variance of the target that no linear function of the columns explains.
        signal: the variance of the target that the best linear function explains. With rows, this is an unbiased
            estimate, which may be negative.
        price: the price of interpolation n/(n - D), with D as in `ridgeless_risk`. The fit multiplies noise and bias by
            this factor.
        kappa: the effective regularisation; 0 from n = p on.
        parameters: the number p of columns.
        columns: the numbers of leading columns that were compared.
        errors: the expected squared error for each size and each of these numbers of columns.
        best_columns: for each size, the number of columns with the least error.
        best_ratio: `best_columns` divided by the size.
        isotropic_ratio: the best ratio above 1 of columns to rows under two assumptions. The covariance is a multiple
            of the identity, and the signal does not depend on the number of columns. The ratio is sqrt(SNR)/(sqrt(SNR)
            - 1) with SNR = signal/noise, or None if SNR is at most 1. In the second case, the error at every ratio
            above 1 exceeds the error of the prediction 0.
        measured: the mean squared error of direct fits to random rows, measured at the other rows; NaN without fits.
        spread: the standard error of `measured` over the fits; NaN for one fit.
        conditions: the conditions for the results.
        claims: names of the claims that state these results.
    """

    sizes: Int[np.ndarray, " s"]
    error: Float[np.ndarray, " s"]
    bias: Float[np.ndarray, " s"]
    variance: Float[np.ndarray, " s"]
    noise: float
    signal: float
    price: Float[np.ndarray, " s"]
    kappa: Float[np.ndarray, " s"]
    parameters: int
    columns: Int[np.ndarray, " c"]
    errors: Float[np.ndarray, "s c"]
    best_columns: Int[np.ndarray, " s"]
    best_ratio: Float[np.ndarray, " s"]
    isotropic_ratio: float | None
    measured: Float[np.ndarray, " s"]
    spread: Float[np.ndarray, " s"]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        heads = ("rows", "p/rows", "price", "bias", "variance", "error", "direct fits", "best columns")
        table = [
            (f"{n}", f"{self.parameters / n:.3g}", f"{self.price[i]:.3g}", f"{self.bias[i]:.3g}",
             f"{self.variance[i]:.3g}", f"{self.error[i]:.3g}",
             "-" if np.isnan(self.measured[i]) else f"{self.measured[i]:.3g}", f"{self.best_columns[i]}")
            for i, n in enumerate(self.sizes.tolist())
        ]  # fmt: skip
        wide = [max(map(len, column)) for column in zip(heads, *table, strict=True)]
        lines = [
            "  ".join(f"{cell:>{width}}" for cell, width in zip(row, wide, strict=True)) for row in (heads, *table)
        ]
        lines.append(f"p = {self.parameters} columns, noise {self.noise:.3g}, signal {self.signal:.3g}")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def plot(self) -> Any:
        """Return an Altair chart with two panels: the error against the number of rows, and the error against the
        columns per row for each size.
        """
        import altair as alt

        line = [
            {"rows": n, "error": e, "name": "formula"}
            for n, e in zip(self.sizes.tolist(), self.error.tolist(), strict=True)
        ]
        dots = [
            {"rows": n, "error": e, "name": "direct fits"}
            for n, e in zip(self.sizes.tolist(), self.measured.tolist(), strict=True)
        ]
        ratios = [
            {"ratio": k / n, "error": e, "rows": n}
            for n, row in zip(self.sizes.tolist(), self.errors.tolist(), strict=True)
            for k, e in zip(self.columns.tolist(), row, strict=True)
        ]
        kept = lambda rows: alt.Chart(alt.Data(values=[row for row in rows if np.isfinite(row["error"])]))
        y = alt.Y(
            "error:Q",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(title="expected squared error", grid=False),
        )
        x = lambda name, title: alt.X(
            f"{name}:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(title=title, grid=False, tickCount=6)
        )
        scale = alt.Scale(domain=["formula", "direct fits"], range=[BLUE, RED])
        named = alt.Color("name:N", scale=scale, legend=alt.Legend(title=None, orient="top"))
        across = x("rows", "training rows")
        left = kept(line).mark_line().encode(x=across, y=y, color=named)
        points = kept(dots).mark_point(filled=True, opacity=1).encode(x=across, y=y, color=named)
        colour = alt.Color("rows:O", scale=alt.Scale(scheme="tableau10"), legend=alt.Legend(title="rows", orient="top"))
        right = kept(ratios).mark_line(point=True).encode(x=x("ratio", "columns per row"), y=y, color=colour)
        panels = [alt.layer(left, points).properties(width=260, height=200), right.properties(width=260, height=200)]
        return styled(*panels).resolve_scale(color="independent")

    def _repr_html_(self) -> str:
        drawn = io.StringIO()
        self.plot().save(drawn, format="svg")
        return f"<div><pre>{html.escape(clean(str(self), lines=True))}</pre>{drawn.getvalue()}</div>"


def ridgeless_risk(
    x: Any,
    y: Any,
    sizes: Any,
    *,
    covariance: Any = None,
    coefficients: Any = None,
    noise: Any = None,
    columns: Any = None,
    fits: int | float = 10,
    seed: int = 0,
) -> RidgelessRisk:
    """Compute the expected squared error of minimum-norm least squares on n rows of your columns, without a ridge.

    Let l_i be the eigenvalues of the covariance of the p columns, and let b_i be the coefficients of the target in the
    directions of the eigenvectors. Let kappa be the root of sum l_i/(l_i + kappa) = n, and let D = sum (l_i/(l_i +
    kappa))². For p > n, where the fit interpolates, and large p and n,

        error = n/(n - D) (noise + kappa² sum l_i b_i²/(l_i + kappa)²).

    The factor n/(n - D) is the price of interpolation. For p < n, the factor is n/(n - p), and there is no bias. The
    fit does not centre columns and target and has no intercept. Therefore the covariance is the matrix of second
    moments about 0.

    Noise and coefficients are estimated from N rows by least squares. The formula is corrected for the spread of the
    eigenvalues of N rows around the eigenvalues of the covariance. Direct fits to some of the rows test the curve. The
    errors for only the first k columns, for each k in `columns`, are computed in the same way. Then the part of the
    target that only the other columns explain counts as noise. Therefore put the most useful columns first.

    Args:
        x: rows (N, p), with N at least p + 10; None if the covariance is given.
        y: targets (N,); None if the covariance is given.
        sizes: the numbers n of training rows.
        covariance: the covariance of the columns (p, p), in place of rows.
        coefficients: the coefficients of the target (p,), which are required with the covariance.
        noise: the variance of the noise, which is required with the covariance. With rows, None means an estimate.
        columns: numbers of leading columns to compare; by default at most 16 numbers from 1 to p.
        fits: the number of direct fits at each size; 0 for none.
        seed: the random seed for the rows of the direct fits.

    Raises:
        SettingError: for invalid sizes, columns, fits or noise, or a covariance without its target.
        ShapeError, DataError: for arrays that do not fit each other, too few rows, or columns that are combinations of
            others.
        NotPositiveDefiniteError: for a covariance that is not positive definite.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(400, 100)) / np.arange(1, 101)
        >>> y = x[:, 0] + 0.5 * rng.normal(size=400)
        >>> found = ridgeless_risk(x, y, [10, 50, 200], fits=0)
        >>> found.price.round(1).tolist()
        [2.0, 2.9, 2.0]
    """
    generator = np.random.default_rng(whole("seed", seed))
    fits, rows = whole("fits", fits), None
    own = None if noise is None else _noise(noise)
    if covariance is None:
        if coefficients is not None:
            raise SettingError(
                "coefficients", found="no covariance", rule="None if rows are given, because lemmata estimates "
                    "them from the rows",
                remedy="pass covariance and noise in place of rows, or leave out coefficients",
            )  # fmt: skip
        rows = _rows(x, y)
        p = rows[0].shape[1]
        ns, ks = _wholes("sizes", sizes), _columns(columns, p)
        # A given noise is the noise with all columns. With fewer columns, the noise is estimated, because it includes
        # the part of the target that the other columns explain.
        problems = [_of_rows(rows[0][:, :k], rows[1], own if k == p else None) for k in (p, *ks)]
    else:
        matrix, target, own = _population(x, y, covariance, coefficients, own)
        p = len(matrix)
        ns, ks = _wholes("sizes", sizes), _columns(columns, p)
        problems = [from_covariance(matrix, target, own, k) for k in (p, *ks)]
    whole_problem = problems[0]
    found = [ridgeless(whole_problem, n) for n in ns.tolist()]
    dimension = np.array([risk.dimension for risk in found])
    with np.errstate(divide="ignore"):
        price = np.where(ns == dimension, np.inf, ns / np.where(ns == dimension, 1, ns - dimension))
    bias, variance = (np.array([getattr(risk, part) for risk in found]) for part in ("bias", "variance"))
    errors = np.array([[_error(problem, n) for problem in problems[1:]] for n in ns.tolist()])
    best = np.asarray(ks)[errors.argmin(axis=1)]
    predicted = bias + variance + whole_problem.noise
    measured, spread = _direct(rows, ns, fits, generator)
    ratio = np.sqrt(max(whole_problem.signal, 0.0) / whole_problem.noise) if whole_problem.noise > 0 else np.inf
    return RidgelessRisk(
        sizes=ns, error=predicted, bias=bias, variance=variance, noise=whole_problem.noise,
        signal=whole_problem.signal, price=price, kappa=np.array([risk.kappa for risk in found]), parameters=p,
        columns=np.asarray(ks), errors=errors, best_columns=best, best_ratio=best / ns,
        isotropic_ratio=float(1 / (1 - 1 / ratio)) if ratio > 1 else None, measured=measured, spread=spread,
        conditions=(
            *of_fits(ns, p, predicted, measured, spread), *of_noise(rows, own),
            *of_content(ns, predicted, max(whole_problem.signal, 0.0) + whole_problem.noise, rows),
        ),
    )  # fmt: skip


def _error(problem: LinearTarget, n: int) -> float:
    risk = ridgeless(problem, n)
    return risk.bias + risk.variance + problem.noise


def _rows(x: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
    if x is None or y is None:
        raise SettingError(
            "x and y",
            found="None",
            rule="either rows and targets, or covariance, coefficients and noise",
            remedy="pass rows x and targets y",
        )
    rows, targets = array_of("x", x), array_of("y", y)
    if rows.ndim != 2:
        raise ShapeError("x", found=f"shape {rows.shape}", rule="shape (N, p), one row for each target")
    if targets.shape != (len(rows),):
        raise ShapeError("y", found=f"shape {targets.shape}", rule=f"one target for each of the {len(rows)} rows")
    rows, targets = _moderate("x", rows), _moderate("y", targets)
    count, p = rows.shape
    if count < p + _SPARE:
        raise DataError(
            "x and y", found=f"{count} row{'s' if count > 1 else ''} of {p} columns",
            rule=f"at least p + {_SPARE} = {p + _SPARE} rows, because noise and coefficients "
            "are estimated by least squares",
            remedy="add rows, use fewer columns, or pass covariance, coefficients and noise",
        )  # fmt: skip
    return rows, targets


def _moderate(name: str, values: np.ndarray) -> np.ndarray:
    """Return the values as floats, and raise DataError if their squares might overflow or underflow."""
    numbers = numbers_of(name, values).astype(float)
    largest = float(np.abs(numbers).max())
    if largest > _SQUARES or 0 < largest < 1 / _SQUARES:
        raise DataError(
            name, found=f"{largest:.3g} as the largest absolute value",
            rule=f"0, or between {1 / _SQUARES:g} and {_SQUARES:g}, because variances are squares",
            remedy="change the unit",
        )  # fmt: skip
    return numbers


def _of_rows(x: np.ndarray, y: np.ndarray, noise: float | None) -> LinearTarget:
    problem = from_rows(x, y, noise)
    if problem is None:
        raise DataError(
            "x", found="columns that are combinations of others, up to rounding", rule="a covariance of full rank",
            remedy="remove such columns, or replace x by its principal components",
        )  # fmt: skip
    return problem


def _population(x: Any, y: Any, covariance: Any, coefficients: Any, noise: float | None):
    if x is not None or y is not None:
        raise SettingError(
            "x and y",
            found="rows and a covariance",
            rule="both must be None if the covariance is given",
            remedy="leave out the rows or the covariance",
        )
    if coefficients is None or noise is None:
        raise SettingError(
            "covariance",
            found="no coefficients or no noise",
            rule="all three together",
            remedy="pass coefficients and noise as well",
        )
    matrix, target = array_of("covariance", covariance), array_of("coefficients", coefficients)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError("covariance", found=f"shape {matrix.shape}", rule="a square matrix")
    if target.shape != (len(matrix),):
        raise ShapeError("coefficients", found=f"shape {target.shape}", rule=f"shape ({len(matrix)},)")
    # In single precision, the products of a matrix may differ from those of its transpose.
    close = 1e-5 if matrix.dtype == np.float32 else 1e-8
    matrix, target = _moderate("covariance", matrix), _moderate("coefficients", target)
    if not np.allclose(matrix, matrix.T, rtol=close, atol=1e-12 * np.abs(matrix).max()):
        raise DataError("covariance", found="a matrix that is not symmetric", rule="a symmetric matrix",
                        remedy="pass (covariance + covariance.T) / 2 if only rounding differs")  # fmt: skip
    matrix = (matrix + matrix.T) / 2
    least, largest = float(np.linalg.eigvalsh(matrix)[0]), float(np.abs(matrix).max())
    if not least > _DEFINITE * largest:
        raise NotPositiveDefiniteError(
            "covariance", found=f"the eigenvalue {least:.3g}",
            rule="eigenvalues above 0" + (f", by more than rounding ({_DEFINITE * largest:.3g})" if least > 0 else ""),
            remedy="pass a covariance matrix, for example np.cov(x, rowvar=False)" if least < -_DEFINITE * largest
            else "remove columns that are combinations of others"
            + (", or choose units in which columns have similar variances" if least > 0 else ""),
        )  # fmt: skip
    return matrix, target, noise


def _noise(noise: Any) -> float:
    number = isinstance(noise, int | float | np.integer | np.floating) and not isinstance(noise, bool)
    if not number or not 0 <= noise < np.inf:
        found = " ".join(repr(noise).split())[:60]
        raise SettingError(
            "noise", found=found, rule="a variance that is finite and not negative", remedy="pass a number such as 1"
        )
    return float(noise)


def _wholes(name: str, given: Any) -> np.ndarray:
    values = np.atleast_1d(array_of(name, given))
    if values.ndim != 1 or not values.size:
        raise SettingError(name, found=f"shape {values.shape}", rule="a list of whole numbers, each at least 1",
                           remedy="pass one list, for example [10, 100]")  # fmt: skip
    return np.array([whole(name, value, 1) for value in values.tolist()])


def _columns(given: Any, p: int) -> list[int]:
    if given is None:
        return np.unique(np.round(np.geomspace(1, p, _GRID)).astype(int)).tolist()
    values = _wholes("columns", given)
    if values.max() > p:
        raise SettingError(
            "columns",
            found=int(values.max()),
            rule=f"at most {p}, the number of columns",
            remedy="pass smaller numbers",
        )
    return values.tolist()


def _direct(rows: Any, sizes: np.ndarray, fits: int, generator: np.random.Generator):
    """Fit random rows, and return the mean squared errors at all other rows, with standard errors over the fits."""
    measured, spread = np.full(len(sizes), np.nan), np.full(len(sizes), np.nan)
    if rows is None or fits < 1:
        return measured, spread
    x, y = rows
    for place, n in enumerate(sizes):
        if n > len(y) - _SPARE:
            continue
        errors = []
        for _ in range(fits):
            order = generator.permutation(len(y))
            chosen, others = order[:n], order[n:]
            fit = np.linalg.lstsq(x[chosen], y[chosen], rcond=None)[0]
            errors.append(float(np.mean((y[others] - x[others] @ fit) ** 2)))
        measured[place] = np.mean(errors)
        spread[place] = np.std(errors, ddof=1) / np.sqrt(fits) if fits > 1 else np.nan
    return measured, spread
