"""The models that a study compares: kernels, to which the theory applies, and commonly used models."""

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from lemmata.errors import DataError, UnknownNameError
from lemmata.kernels import RBF, AbstractKernel, Linear

from ._architectures import Architecture, architectures, check_names
from ._estimators import Fit, Fitted
from ._gram import padded_gram
from ._kernel_fit import best_of, chances, kernel_fit
from ._large_fit import centres_fit, column_fit
from ._suited import check_amounts, suited
from ._usual import (
    NAIVE,
    USUAL,
    free,
    last_season,
    repeated,
    season,
    usual_models,
)
from ._validation import Groups, parted

MOST_EXACT = 1000
"""Up to this number of training rows, a kernel machine is fitted exactly in a split.

With more rows, the fit is approximate, with this number of rows as centres.
"""
TUNED_ROWS, TUNED_ROWS_OF_MANY, TUNED_CENTRES = 200, 4000, 500
LENGTHSCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
MANY = 2.0
"""No season is searched for if the numbers of rows per time differ, and their mean is above this number."""
DAYS = (1.0, 7.0, 365.2425)
"""The seasons of a calendar in days: a day, a week and a year."""


@dataclasses.dataclass(frozen=True)
class Model:
    """A model with the name by which the user selects it.

    Args:
        name, title: the short name, and the name in words.
        formula: a description of the model.
        theory: whether lemmata's theory applies to the model, which means that the model is a kernel.
        fit: maps (encoded rows (n + m, d), targets of the first n, task, groups of the first n or None) to the outputs
            for the last m. With groups, the settings are chosen on groups that are left out.
        price: a function of n, d and k. The function returns about how many seconds a fit to n rows of d columns and k
            outputs takes on one core. The price decides up to which size and on how many splits a model is measured, so
            that both depend on the command and not on the machine.
        kernels: the kernel of the model, or several kernels, of which leave-one-out chooses one; empty for other
            models.
        naive: whether the model uses no columns and repeats earlier targets.
        own: whether the model is the user's own.
        least: the fewest training rows to which the model can be fitted.
        raw: whether the model takes the user's own columns, in a data frame.
    """

    name: str
    title: str
    formula: str
    theory: bool
    fit: Fitted
    price: Callable[[int, int, int], float] = free
    kernels: tuple[AbstractKernel, ...] = ()
    naive: bool = False
    own: bool = False
    least: int = 1
    raw: bool = False


def models(
    names: Sequence[str] | None,
    x: Float[np.ndarray, "N d"],
    task: str,
    targets: Float[np.ndarray, "rows k"] | None = None,
    ordered: bool = False,
) -> list[Model]:
    """Return the models with these names: kernels (see `architectures`) or models of `usual_models`.

    Args:
        names: the names of kernels and models; None for the models that suit the table.
        x: the encoded rows, or some of them, which determine the scales of the kernels.
        task: "regression" or "classification".
        targets: the targets, which decide whether models of counts or amounts suit.
        ordered: whether rows are ordered in time. If so, the last value and the last season are added to the models.

    Raises:
        UnknownNameError: if there is no model with one of these names for this task.
    """
    check_models(names)
    known = usual_models(task)
    kernels = None if names is None else [name for name in names if name not in USUAL]
    wanted = suited(x, task, targets) if names is None else [name for name in names if name in USUAL]
    missing = [name for name in wanted if name not in known]
    if missing:
        other = "classes" if task == "regression" else "numbers"
        raise UnknownNameError(
            f"model {missing[0]!r} is for {other}",
            rule=f"the models for a {task} are {', '.join(known)}, and kernels",
            remedy=None if task == "regression" else "use --task regression if the target is a number and not a class",
        )
    check_amounts(wanted, targets)
    found = [_kernel(item, x.shape[1]) for item in architectures(kernels, x)] if kernels is None or kernels else []
    found += [usual(known[name], name) for name in dict.fromkeys(wanted)]
    found += [usual(make, name) for name, make in NAIVE.items()] if ordered else []
    return found


def check_models(names: Sequence[str] | None) -> None:
    """Check the names of models before a table is read.

    Raises:
        UnknownNameError: if there is no model with one of these names; the message gives the nearest name.
        SettingError: if no name is given.
    """
    if names is not None:
        check_names(names, USUAL)


def usual(entry: tuple, name: str) -> Model:
    """Make a scikit-learn model or a naive model from its entry in the tables of `_usual`."""
    title, words, fit, price = entry
    return Model(name, title, words, False, fit, price, naive=name in NAIVE)


def seasoned(model: Model, y: Float[np.ndarray, "n k"], order: Float[np.ndarray, " n"], ahead: int) -> Model:
    """Return the last-season model with the season that fits the given rows best; other models are unchanged.

    Args:
        model: the model, which may be any model.
        y: the targets of rows before all predicted rows, from early to late.
        order: the times of these rows.
        ahead: how many rows ahead the model is to forecast.
    """
    if model.name != "season" or not model.naive:
        return model
    period = chosen_season(y, order, ahead)
    title = f"{model.title} ({f'{period:,} rows' if period > 1 else 'none found'})"
    return dataclasses.replace(model, title=title, fit=functools.partial(last_season, period), least=period)


def is_last_value(model: Model) -> bool:
    """Whether this is the last-season model without a season, which predicts the same as the last-value model."""
    return model.naive and model.name == "season" and model.least == 1


def calendar_seasons(order: Float[np.ndarray, " n"]) -> list[int]:
    """Return the lengths of a day, a week and a year in rows, from the number of rows in a day.

    For daily rows, the seasons are 7 and 365 rows. For business days, the seasons are 5 and about 252 rows. The seasons
    are 52 rows for weekly rows, 12 for monthly, 4 for quarterly, and 24, 168 and 8,766 for hourly rows. Times that are
    not dates are read as days, which may be wrong. So the seasons of such times are only candidates, which a forecast
    must confirm.

    Args:
        order: the times in days, from early to late. If each time has the same number of rows, these rows count once.
    """
    times, counts = np.unique(order, return_counts=True)
    if len(times) < 2 or counts.min() != counts.max():
        return []
    each = (len(times) - 1) / float(times[-1] - times[0])
    return [int(counts[0]) * round(each * days) for days in DAYS if 1.5 <= each * days <= len(times)]


def _uneven(order: Float[np.ndarray, " n"]) -> bool:
    """Whether times repeat often (see `MANY`), but not all of them equally often."""
    counts = np.unique(order, return_counts=True)[1]
    return bool(counts.min() < counts.max() and counts.mean() > MANY)


def chosen_season(y: Float[np.ndarray, "n k"], order: Float[np.ndarray, " n"], ahead: int) -> int:
    """Choose the season that forecasts best, from the calendar's seasons and the season with the most similar targets.

    For each season, the last targets are repeated `ahead` rows ahead from the same starts. The result is 1 (the last
    value) if the last value has the smallest error. The season with the smallest median error over starts is best, so
    that a few unusual stretches do not hide a season.

    Args:
        y: the targets of rows before all predicted rows, from early to late.
        order: the times of these rows.
        ahead: how many rows ahead the season is to forecast.
    """
    if _uneven(order):
        return 1  # rows of equal times have no order, so no season can be counted in rows
    ahead = max(1, min(ahead, len(y) // 3))
    candidates = [period for period in (1, season(y), *calendar_seasons(order)) if period <= len(y) - ahead]
    starts = range(len(y) - ahead, max(candidates) - 1, -ahead)

    def error(period: int) -> float:
        apart = [repeated(y[:start], period, ahead) - y[start : start + ahead] for start in starts]
        return float(np.median([(each**2).sum() for each in apart]))

    return min(dict.fromkeys(candidates), key=error)


def _kernel(architecture: Architecture, columns: int) -> Model:
    kernel = architecture.kernel
    tuned = architecture.name == "rbf"
    kernels = [RBF(math.sqrt(columns) * scale) for scale in LENGTHSCALES] if tuned else [kernel]
    formula = "exp(-|x - y|²/(2s²)), s by held-out rows" if tuned else architecture.formula
    fit = functools.partial(_fit_kernel, tuple(kernels))
    price = _linear_price if isinstance(kernel, Linear) else _kernel_price
    return Model(architecture.name, architecture.title, formula, True, fit, price, tuple(kernels))


def kernels_of(name: str, x: Float[np.ndarray, "n d"]) -> tuple[AbstractKernel, ...]:
    """Return the kernel with this name, scaled for these encoded rows, or several of which one is to be chosen."""
    return _kernel(architectures([name], x)[0], x.shape[1]).kernels


def _linear_price(n: int, d: int, k: int) -> float:
    return 2e-9 * n * d * d + 1e-8 * d**3 if n > d else _kernel_price(n, d, k)


def _kernel_price(n: int, d: int, k: int) -> float:
    exact = 5e-10 * n**3 + 2e-9 * n * n * (d + 20 * k)
    return exact if n <= MOST_EXACT else 0.5 + n * (4e-5 + 3e-7 * d)


def _fit_kernel(
    kernels: tuple[AbstractKernel, ...], x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None
) -> Fit:
    n = len(y)
    shown = y
    if isinstance(kernels[0], Linear) and n > x.shape[1]:
        fit = column_fit(x[:n], x[n:], y, groups)
    elif n > MOST_EXACT:
        fit, shown = centres_fit(chosen(kernels, x[:n], y, groups), x[:n], x[n:], y, groups=groups)
    else:
        matrix = padded_gram(chosen(kernels, x[:n], y, groups), x, n)
        if not np.isfinite(matrix).all():
            raise DataError("a kernel is not finite on these rows", rule="finite values", remedy="leave the kernel out")
        fit = kernel_fit(matrix[:n], matrix[n:], y, groups)
    probable = chances(fit, shown) if task == "classification" else None
    return Fit(within(fit.outputs, y), probable, fit.learns)


def within(outputs: Float[np.ndarray, "m k"], y: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "m k"]:
    """Clip predictions so that they exceed the range of the training targets by at most the width of this range."""
    return np.clip(outputs, *near_range(y))


def near_range(y: Float[np.ndarray, "n k"]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Return the least and the greatest allowed prediction of each target column."""
    low, high = y.min(axis=0), y.max(axis=0)
    return low - (high - low), high + (high - low)


def chosen(
    kernels: tuple[AbstractKernel, ...],
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "n k"],
    groups: Groups = None,
) -> AbstractKernel:
    """Choose the kernel with the smallest leave-one-out error on the first 200 training rows.

    With more than 1,000 rows, each kernel is fitted on centres to nine tenths of the first 4,000 rows, and the error on
    the last tenth decides. Rows with groups are sorted by group, so the first rows may belong to one group. With
    groups, the same number of rows is therefore taken evenly from all rows.
    """
    if len(kernels) == 1:
        return kernels[0]
    most = TUNED_ROWS if len(y) <= MOST_EXACT else TUNED_ROWS_OF_MANY
    some = np.arange(len(y))[:most]
    if parted(groups):
        assert groups is not None
        some = np.unique(np.linspace(0, len(y) - 1, min(most, len(y))).astype(int))
        groups = groups[some]
    x, y = x[some], y[some]
    if most == TUNED_ROWS:
        return kernels[best_of([padded_gram(kernel, x) for kernel in kernels], y, groups)]
    found = [centres_fit(kernel, x, x[:1], y, TUNED_CENTRES, groups) for kernel in kernels]
    return kernels[int(np.argmin([((fit.left_out - shown) ** 2).mean() for fit, shown in found]))]
