"""Estimate how often a model changes its answer if some of its inputs are changed at random."""

import dataclasses
import html
import io
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, inside, probability, share_interval, whole
from lemmata.core import answer_of, array_of, numbers_of
from lemmata.core.columns import column_names
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.pictures import band, styled
from lemmata.printable import clean

_CLAIMS = ("boolean.noise.noise_formula",)
_COLUMNS = ("auto", "flip", "replace")
_FEWEST = 20
_LABELS = 50  # numbers are not labels if there are more different answers than this


@dataclasses.dataclass(frozen=True, eq=False)
class NoiseSensitivity:
    """The probability that a model's answer changes if each of its inputs is changed at random with a given
    probability.

    Args:
        rates: the probabilities with which each input is changed.
        value: the share of changed answers at each rate.
        intervals: confidence intervals of the probability for a new row of the same distribution.
        flipped: the number of columns that are flipped between their two values.
        replaced: the number of columns that take the value of another row.
        apart: among pairs of different rows, the share with different answers. Answers at unrelated rows differ at
            this rate.
        rows: the number of different rows that were used.
        draws: the number of changed rows that the model answered at each rate.
        level: the confidence level of the intervals.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    rates: Float[np.ndarray, " r"]
    value: Float[np.ndarray, " r"]
    intervals: Float[np.ndarray, "r 2"]
    flipped: int
    replaced: int
    apart: float
    rows: int
    draws: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        pairs = ((self.flipped, "flipped between two values"), (self.replaced, "replaced by values of other rows"))
        ways = [f"{count} column{' is' if count == 1 else 's are'} {way}" for count, way in pairs if count]
        lines = [f"{self.draws} draws from {self.rows} rows: {', '.join(ways)}"]
        for rate, value, (low, high) in zip(self.rates, self.value, self.intervals, strict=True):
            lines.append(f"if each changes with probability {rate:g}, the answer changes with probability {value:.3g}, "
                         f"{100 * self.level:g} % interval {low:.3g} to {high:.3g}")  # fmt: skip
        lines.append(f"the answers at two different rows differ with probability {self.apart:.3g}")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def plot(self) -> Any:
        """Return an Altair chart of the probability that the answer changes against the rate, with intervals."""
        order = np.argsort(self.rates)
        titles = ("probability that an input is changed", "probability that the answer changes")
        return styled(band(self.rates[order], self.value[order], self.intervals[order], titles))

    def _repr_html_(self) -> str:
        drawn = io.StringIO()
        self.plot().save(drawn, format="svg")
        text = html.escape(clean(str(self), lines=True))
        return f'<div><pre style="white-space: pre-wrap">{text}</pre>{drawn.getvalue()}</div>'


def noise_sensitivity(
    model: Any,
    x: Any,
    eta: Any,
    *,
    columns: str = "auto",
    draws: int | float = 2000,
    level: float | int = 0.95,
    seed: int = 0,
) -> NoiseSensitivity:
    """Estimate how often a classifier changes its answer on your rows if each input is changed with probability eta.

    A changed column with two values takes its other value. A column with one value keeps this value. A column with
    more values takes the value of a random other row. For independent and balanced binary columns, the result is the
    noise sensitivity of Boolean functions, which `boolean_fourier` computes exactly. A value from another row with
    probability 2 eta then has the effect of a flip with probability eta.

    If there are at least `draws` rows, each draw uses a different row. The interval is then the Clopper-Pearson
    interval. With fewer than `draws` rows, each row is changed several times. The interval is then computed for the
    number of independent draws that would give the same standard error.

    Args:
        model: a function of rows (n, d) that returns n answers, or an object with a method predict. If `x` is a data
            frame, the model receives data frames.
        x: rows of numbers.
        eta: one probability, or a list of probabilities.
        columns: "auto" is described above. "flip" raises an error for columns with more than two values. "replace"
            replaces values in all columns.
        draws: the least number of changed rows to use at each rate.
        level: the confidence level of the intervals.
        seed: the random seed of the draws.

    Raises:
        SettingError: for a model that cannot be called, or invalid settings.
        ShapeError, DataError: for invalid rows, too few rows, columns that are all constant, or answers that are not
            labels.

    Example:
        >>> x = np.random.default_rng(0).integers(0, 2, size=(2000, 9))
        >>> print(noise_sensitivity(lambda x: x.sum(axis=1) > 4, x, 0.1))
        2000 draws from 2000 rows: 9 columns are flipped between two values
        if each changes with probability 0.1, the answer changes with probability 0.18, 95 % interval 0.164 to 0.198
        the answers at two different rows differ with probability 0.5
    """
    predict = getattr(model, "predict", model)
    if not callable(predict) or isinstance(model, type):
        raise SettingError(
            "model",
            found=f"a {type(model).__name__}",
            rule="a function of rows, or an object with predict",
            remedy="pass a fitted model, or a function of rows",
        )
    rows = _rows(x)
    level, draws, seed = inside("level", level, 0.0, 1.0), whole("draws", draws, 1), whole("seed", seed)
    rates = np.array([probability("eta", rate) for rate in np.atleast_1d(array_of("eta", eta)).tolist()])
    if not len(rates):
        raise SettingError(
            "eta",
            found="no probability",
            rule="a probability, or a list with at least one probability",
            remedy="pass a number like 0.1",
        )
    pairs, replaced = _values(rows, columns, column_names(x, rows.shape[1]))
    generator = np.random.default_rng(seed)
    rule, remedy = f"a fitted model, or a function of rows of {rows.shape[1]} columns", "call model(x) to see the error"
    asked = lambda values: answer_of("model", predict, _like(values, x), rule=rule, remedy=remedy)
    answer = lambda values: _answers(asked(values), len(values))
    n = len(rows)
    repeats = math.ceil(draws / n)
    chosen = np.tile(generator.permutation(n)[: min(draws, n)], repeats)
    before = answer(rows)
    value, limits = [], []
    for rate in rates:
        changed = rows[chosen].copy()
        hit = generator.uniform(size=changed.shape) < rate
        for place in range(rows.shape[1]):
            # A row never receives its own values.
            other = (chosen + generator.integers(1, n, len(chosen))) % n
            low, high = pairs[place]
            new = rows[other, place] if replaced[place] else np.where(changed[:, place] == low, high, low)
            changed[:, place] = np.where(hit[:, place], new, changed[:, place])
        differs = (answer(changed) != before[chosen]).reshape(repeats, -1)
        value.append(float(differs.mean()))
        limits.append(_limits(differs, level))
    _, counts = np.unique(before, return_counts=True)
    apart = 1 - float((counts * (counts - 1)).sum()) / (n * (n - 1))
    conditions = (
        Condition("rows are independent draws of one distribution"),
        Condition("columns are independent; otherwise changed rows are unlike real rows", None, None,
                  "the probability is right for the changed rows in either case"),
        Condition("the model gives different answers to some rows (share of pairs)", apart, apart > 0,
                  "otherwise no noise changes an answer"),
        _seen(rates, np.array(limits).reshape(-1, 2), sum(bool(low != high) for low, high in pairs)),
    )  # fmt: skip
    flipped = int(sum(low != high and not other for (low, high), other in zip(pairs, replaced, strict=True)))
    return NoiseSensitivity(rates, np.array(value), np.array(limits).reshape(-1, 2), flipped, int(replaced.sum()),
                            apart, min(draws, n), len(chosen), level, conditions)  # fmt: skip


def _seen(rates: np.ndarray, limits: np.ndarray, columns: int) -> Condition:
    """Return the condition that the interval at some rate excludes a possible value. Possible values are limited, since
    an answer can change only if a column changes.
    """
    possible = 1 - (1 - rates) ** columns
    excluded = int(((limits[:, 0] > 0) | (limits[:, 1] < possible)).sum())
    return Condition(
        "rates at which the interval excludes a possible value (answers only change if inputs do)", float(excluded),
        excluded > 0, "otherwise the rates are too small for these draws",
    )  # fmt: skip


def _rows(x: Any) -> np.ndarray:
    rows = array_of("x", x)
    if rows.ndim != 2:
        raise ShapeError("x", found=f"shape {rows.shape}", rule="shape (n, d), one row for each point")
    rows = numbers_of("x", rows)
    if len(rows) < _FEWEST:
        raise DataError(
            "x",
            found=f"{len(rows)} rows",
            rule=f"at least {_FEWEST} rows, because the interval is for new rows",
            remedy="add rows",
        )
    return rows


def _values(rows: np.ndarray, columns: str, names: tuple[str, ...]) -> tuple[list[tuple[Any, Any]], np.ndarray]:
    """Return the two values of each flipped column, and which columns are replaced."""
    if not isinstance(columns, str) or columns not in _COLUMNS:
        raise SettingError(
            "columns",
            found=repr(columns),
            rule='"auto", "flip" or "replace"',
            remedy="omit the argument columns, or pass one of these values",
        )
    if (rows == rows[0]).all():
        raise DataError("x", found="one value in each column", rule="at least one column with several values",
                        remedy="add rows that differ, because a constant column cannot be changed")  # fmt: skip
    pairs, replaced = [], []
    for place, column in enumerate(rows.T):
        values = np.unique(column)
        if len(values) > 2 and columns == "flip":
            raise DataError(
                f"column {names[place]}", found=f"{len(values)} different values", rule="at most two values, so "
                    "that one can replace the other",
                remedy="set columns=\"auto\" to replace the values of such columns by the values of other rows",
            )  # fmt: skip
        replaced.append(columns == "replace" or len(values) > 2)
        pairs.append((values[0], values[-1]))
    return pairs, np.array(replaced)


def _like(values: np.ndarray, x: Any) -> Any:
    """Return a copy of the values, which the model may change. If the rows were given as a data frame, the copy is a
    data frame of the same types.
    """
    names = getattr(x, "columns", None)
    if names is None:
        return values.copy()
    if type(x).__module__.startswith("polars"):
        return type(x)(values, schema=list(names)).cast(dict(x.schema))
    frame = type(x)(values.copy(), columns=names)
    return frame.astype(dict(x.dtypes)) if names.is_unique else frame


def _answers(given: Any, count: int) -> np.ndarray:
    answers = array_of("answers of the model", given)
    if answers.size != count or answers.shape[:1] != (count,):
        raise ShapeError(
            "answers of the model", found=f"shape {answers.shape}", rule=f"shape ({count},), one for each row"
        )
    try:
        present = np.unique(answers)
    except TypeError as error:
        raise DataError(
            "answers of the model",
            found="labels of several types",
            rule="only numbers or only texts",
            remedy="turn them into texts, for example lambda x: model.predict(x).astype(str)",
        ) from error
    if answers.dtype.kind == "f" and np.isnan(present).any():
        raise DataError(
            "answers of the model",
            found=f"{int(np.isnan(answers).sum())} answers that are NaN",
            rule="labels",
            remedy="let the model return a label for each row",
        )
    if answers.dtype.kind == "f" and len(present) > _LABELS:
        raise DataError(
            "answers of the model", found=f"{len(present)} different numbers", rule="labels",
            remedy="compare the output with a threshold, for example lambda x: model.predict(x) > 0.5",
        )  # fmt: skip
    return answers.reshape(count)


def _limits(differs: np.ndarray, level: float) -> tuple[float, float]:
    """Return limits of a share over rows that are each drawn several times (a row is a column of `differs`)."""
    repeats, rows = differs.shape
    share = float(differs.mean())
    if repeats == 1:
        return share_interval(share * rows, (1 - share) * rows, level)
    variance = float(differs.mean(axis=0).var(ddof=1)) / rows
    size = share * (1 - share) / max(variance, 1e-300)
    size = min(max(size, 1.0), float(rows * repeats)) if 0 < share < 1 else float(rows)
    return share_interval(share * size, (1 - share) * size, level)
