"""Find the known regression algorithms whose predictions are nearest to those of a predictor that learns in context."""

import dataclasses
import html
import io
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy import stats

from lemmata.answers import Condition, inside, whole
from lemmata.core import array_of, numbers_of, single_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import clean

from ._algorithms import Prompts, predictions, scales
from ._predictors import Call, calls_of

_CLAIMS = (
    "in_context.linear_attention.layers_are_descent",
    "in_context.linear_attention.ridge_is_bayes",
    "routing.solvers.newton_layers_square",
    "routing.families.overlapping_families_stay_mixed",
)
_FEWEST, _SHOWN = 20, 6
_MOST_COLUMNS, _SAME = 1000, 1e-4
_LARGEST = 1e140  # the square of this number, times a number of prompts, is finite


@dataclasses.dataclass(frozen=True, eq=False)
class AlgorithmDistances:
    """The squared distances between a predictor and known algorithms, for prompts with several numbers of examples.

    Args:
        names: the names of the algorithms.
        lengths: the numbers of examples that the predictor received, here called lengths.
        distances: the mean squared difference between the predictor and each algorithm, for each length.
        intervals: confidence intervals of the distances.
        behind: for each length, the distance of each algorithm minus the distance of the nearest algorithm.
        behind_intervals: confidence intervals of these differences, paired over prompts. The intervals hold jointly for
            all algorithms.
        farther: whether each algorithm is significantly farther away than the nearest algorithm, on average or in most
            prompts.
        nearest: the name of the nearest algorithm, for each length.
        size: the mean square of the predictor's answers (its predictions), for each length.
        ridge: the variance of the noise divided by the variance of a weight, fitted by the joint evidence of all
            prompts.
        prompts: the number of prompts that were used.
        level: the confidence level of the intervals.
        conditions: the conditions under which the results hold.
        claims: names of the claims that state the results.
    """

    names: tuple[str, ...]
    lengths: tuple[int, ...]
    distances: Float[np.ndarray, "k a"]
    intervals: Float[np.ndarray, "k a 2"]
    behind: Float[np.ndarray, "k a"]
    behind_intervals: Float[np.ndarray, "k a 2"]
    farther: Bool[np.ndarray, "k a"]
    nearest: tuple[str, ...]
    size: Float[np.ndarray, " k"]
    ridge: float
    prompts: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        last = len(self.lengths) - 1
        lines = [f"{self.prompts} prompts of {self.lengths[last]} examples; mean square of the predictor "
                 f"{self.size[last]:.3g}"]  # fmt: skip
        order = np.argsort(self.distances[last], kind="stable")[:_SHOWN]
        width = max(len(self.names[place]) for place in order)
        for place in order:
            low, high = self.intervals[last, place]
            word = ""
            if self.names[place] == self.nearest[last]:
                word = "  nearest"
            elif not self.farther[last, place]:
                word = "  not shown to be farther"
            lines.append(
                f"{self.names[place]:<{width}}  {self.distances[last, place]:.3g} ({low:.3g} to {high:.3g}){word}"
            )
        if last:
            lines.append(f"nearest by number of examples: {', '.join(self._runs())}")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _runs(self) -> list[str]:
        """Return texts of the nearest algorithms, one for each run of lengths at which one algorithm is the nearest."""
        runs: list[list[Any]] = []
        for n, name in zip(self.lengths, self.nearest, strict=True):
            if runs and runs[-1][2] == name:
                runs[-1][1] = n
            else:
                runs.append([n, n, name])
        return [f"{first if first == last else f'{first} to {last}'}: {name}" for first, last, name in runs]

    def plot(self) -> Any:
        """Return an Altair chart of the distances against the length, divided by the predictor's mean square.

        The chart shows the algorithms that are nearest at some length, and the six nearest on average.
        """
        import altair as alt

        ink: dict[str, Any] = {"labelColor": "#7b828c", "titleColor": "#7b828c"}
        shown = [name for name in self.names if name in self.nearest or self.names.index(name) in self._near_ones()]
        rows = [
            {"n": n, "share": max(float(self.distances[k, self.names.index(name)] / self.size[k]), 1e-12), "what": name}
            for k, n in enumerate(self.lengths)
            if self.size[k] > 0
            for name in shown
        ]
        chart = alt.Chart(alt.Data(values=rows)).mark_line(point=True).encode(
            alt.X("n:Q", scale=alt.Scale(type="log"), axis=alt.Axis(title="examples in the prompt", grid=False)),
            alt.Y("share:Q", scale=alt.Scale(type="log"),
                  axis=alt.Axis(title="squared distance / mean square", grid=False)),
            alt.Color("what:N", title=None, sort=shown),
            tooltip=["what:N", alt.Tooltip("n:Q"), alt.Tooltip("share:Q", format=".3g")],
        )  # fmt: skip
        chart = chart.properties(width=280, height=220).configure(background="transparent")
        return chart.configure_axis(**ink).configure_legend(labelColor="#7b828c").configure_view(stroke=None)

    def _near_ones(self) -> set[int]:
        """Return the indices of the six algorithms with the smallest mean relative distance."""
        some = self.size > 0
        share = np.mean(self.distances[some] / self.size[some, None], axis=0)
        return set(np.argsort(share, kind="stable")[:_SHOWN].tolist())

    def _repr_html_(self) -> str:
        drawn = io.StringIO()
        self.plot().save(drawn, format="svg")
        text = html.escape(clean(str(self), lines=True))
        return f'<div><pre style="white-space: pre-wrap">{text}</pre>{drawn.getvalue()}</div>'


def which_algorithm(
    predict: Any,
    prompts: Any,
    *,
    tasks: Any = None,
    lengths: Any = None,
    level: float | int = 0.95,
) -> AlgorithmDistances:
    """Compare a predictor that learns in context with known algorithms for linear regression, by squared distances.

    The predictor is called once for each prompt and length, and once more for the first prompt. The algorithms are:
    predicting 0; the mean of the targets; the nearest neighbour; ridge regression; the least-squares solution of
    smallest norm; 1 to 16 steps of gradient descent from 0; Newton's iteration for the inverse of S = X'X/n, starting
    at S/|S|²; and the posterior mean over `tasks`. The ridge maximises the evidence of all prompts. Gradient descent
    has one step size for all prompts of a length. The step size is chosen so that the descent is nearest to the
    predictor.

    No algorithm has an intercept. If the mean of your targets is not 0, add a column of ones to the inputs.

    Args:
        predict: a function of inputs (n, d), targets (n,) and a query (d,) that returns a number. A function receives
            NumPy arrays. A torch.nn.Module receives tensors in the precision of its parameters, and runs in evaluation
            mode.
        prompts: inputs (m, n, d), targets (m, n) and queries (m, d) of m prompts. If an array has single or half
            precision, a function receives it in single precision, and otherwise in double precision.
        tasks: weight vectors (t, d) of linear tasks that the predictor may have memorised.
        lengths: the number of examples that the predictor receives, one number or several numbers; by default, at most
            5 numbers from n/16 to n.
        level: the confidence level of the intervals.

    Raises:
        SettingError: if the predictor cannot be called or fails, or a setting is invalid.
        ShapeError, DataError: if the shapes of the prompts do not fit each other, there are fewer than 20 prompts, or
            numbers are not finite. These errors are also raised if targets or predictions are all 0, or if answers are
            not single numbers.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x, w = rng.normal(size=(200, 24, 4)), rng.normal(size=(200, 4))
        >>> y = np.einsum("mnd,md->mn", x, w) + 0.5 * rng.normal(size=(200, 24))
        >>> step = lambda x, y, query: 0.8 * query @ x.T @ y / len(y)
        >>> print(which_algorithm(step, (x, y, rng.normal(size=(200, 4))), lengths=24).nearest)
        ('descent, 1 step',)
    """
    (x, y, queries), kinds = _prompts(prompts)
    known_tasks = _tasks(tasks, x.shape[2])
    level = inside("level", level, 0.0, 1.0)
    sizes = _lengths(lengths, x.shape[1])
    unit_x, unit_y = np.abs(x).max(), np.abs(y).max()
    scaled = Prompts(x / unit_x, y / unit_y, queries / unit_x, None)
    if known_tasks is not None:
        with np.errstate(over="ignore"):
            scaled = dataclasses.replace(scaled, tasks=known_tasks * unit_x / unit_y)
        if not np.isfinite(scaled.tasks).all():  # type: ignore[arg-type]
            raise DataError("tasks", found=f"{np.abs(known_tasks).max():.3g} as the largest absolute value",
                            rule="weights whose predictions are about as large as the targets")  # fmt: skip
    known = scales(scaled)
    with calls_of(predict, kinds) as call:
        answers = np.stack([_answers(call, x, y, queries, n) for n in sizes]) / unit_y
        again = _answers(call, x[:1], y[:1], queries[:1], sizes[-1])[0] / unit_y - answers[-1, 0]
    largest = float(np.abs(answers).max())
    if not 1 / _LARGEST < largest < _LARGEST:
        raise DataError("answers of predict", found=f"{largest * unit_y:.3g} as the largest absolute value",
                        rule=f"between {1 / _LARGEST:g} and {_LARGEST:g} times the largest target")  # fmt: skip
    tables = [predictions(scaled.first(n), known, own) for n, own in zip(sizes, answers, strict=True)]
    names = tuple(tables[0])
    apart = np.stack([[(table[name] - own) ** 2 for name in names] for table, own in zip(tables, answers, strict=True)])
    size = np.mean(answers**2, axis=1)
    best = np.argmin(apart.mean(axis=2), axis=1)
    behind = apart - np.take_along_axis(apart, best[:, None, None], axis=1)
    square = float(unit_y) ** 2
    heaviest = _heaviest(apart[-1], size[-1])
    rows = np.concatenate([x.reshape(len(x), -1), y, queries], axis=1)
    repeated = len(rows) - len(np.unique(rows, axis=0))
    conditions = (
        Condition("prompts are independent draws of one distribution", None, None, "for the intervals"),
        Condition("prompts that repeat an earlier prompt", float(repeated), repeated == 0,
                  "otherwise the intervals are too short"),
        Condition("the largest share of one prompt in a distance", heaviest, heaviest <= 0.5,
                  "otherwise intervals mislead"),
        Condition("the predictor gives the same answer to the first prompt twice (difference)",
                  float(again * unit_y), bool(abs(again) <= _SAME * largest),
                  "otherwise the answers depend on chance or on earlier prompts"),
        Condition("the evidence is largest at a ridge inside the range", None, known.inside,
                  "otherwise the ridge predictor equals least squares, or 0"),
    )  # fmt: skip
    left = float(apart[-1].mean(axis=1).min() / size[-1]) if size[-1] > 0 else 0.0
    conditions += (
        Condition("the nearest algorithm is near (its distance divided by the mean square of the predictor)", left,
                  left < 0.5, "otherwise the predictor is not one of these algorithms"),
    )  # fmt: skip
    error = (1 - level) / (2 * (len(names) - 1))  # error probability of each of the two tests of an algorithm
    between = _interval(behind, 1 - error, signed=True)
    return AlgorithmDistances(
        names=names, lengths=sizes, distances=square * apart.mean(axis=2), intervals=square * _interval(apart, level),
        behind=square * behind.mean(axis=2), behind_intervals=square * between,
        farther=(between[..., 0] > 0) | _in_most(behind, error), nearest=tuple(names[place] for place in best),
        size=square * size, ridge=known.ridge * float(unit_x) ** 2, prompts=len(x), level=level, conditions=conditions,
    )  # fmt: skip


def _in_most(behind: Float[np.ndarray, "k a m"], error: float) -> Bool[np.ndarray, "k a"]:
    """Return whether a sign test shows that an algorithm is farther than the nearest one in most prompts."""
    more, less = (behind > 0).sum(axis=2), (behind < 0).sum(axis=2)
    return stats.binom.sf(more - 1, more + less, 0.5) <= error


def _prompts(prompts: Any) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], tuple[np.dtype, ...]]:
    """Return the prompts in double precision, and the types (single or double) of the arrays for a predictor."""
    if not isinstance(prompts, tuple | list) or len(prompts) != 3:
        raise ShapeError("prompts", found=f"a {type(prompts).__name__}", rule="three arrays: inputs, targets, queries")
    names = ("inputs", "targets", "queries")
    given = [numbers_of(name, single_of(name, own)) for name, own in zip(names, prompts, strict=True)]
    kinds = tuple(np.dtype(np.float32 if own.dtype == np.float32 else np.float64) for own in given)
    x, y, queries = (own.astype(float) for own in given)
    if x.ndim != 3:
        raise ShapeError("inputs", found=f"shape {x.shape}", rule="shape (prompts, examples, columns)")
    m, n, d = x.shape
    for name, own, shape in (("targets", y, (m, n)), ("queries", queries, (m, d))):
        if own.shape != shape:
            raise ShapeError(name, found=f"shape {own.shape}", rule=f"shape {shape}, to fit inputs of shape {x.shape}")
    if m < _FEWEST:
        raise DataError("prompts", found=f"{m} prompts", rule=f"at least {_FEWEST} prompts, for the intervals")
    if d > _MOST_COLUMNS:
        raise DataError("inputs", found=f"{d} columns", rule=f"at most {_MOST_COLUMNS} columns")
    for name, own in (("inputs", x), ("targets", y), ("queries", queries)):
        if not np.abs(own).max() > 0:
            raise DataError(name, found="0 everywhere", rule=f"{name} that are not all 0")
        if not 1 / _LARGEST < np.abs(own).max() < _LARGEST:
            raise DataError(name, found=f"{np.abs(own).max():.3g} as the largest absolute value",
                            rule=f"between {1 / _LARGEST:g} and {_LARGEST:g}", remedy="change the unit")  # fmt: skip
    ratio = np.abs(queries).max() / np.abs(x).max()
    if not 1e-8 < ratio < 1e8:
        raise DataError(
            "queries", found=f"{ratio:.3g} times the largest input", rule="queries about as large as the inputs"
        )
    if (x == x[0]).all() and (y == y[0]).all() and (queries == queries[0]).all():
        raise DataError("prompts", found="one prompt, repeated", rule="prompts that differ")
    return (x, y, queries), kinds


def _tasks(tasks: Any, d: int) -> np.ndarray | None:
    if tasks is None:
        return None
    given = numbers_of("tasks", tasks).astype(float)
    if given.ndim != 2 or given.shape[1] != d:
        raise ShapeError(
            "tasks", found=f"shape {given.shape}", rule=f"shape (tasks, {d}), one weight vector in each row"
        )
    return np.unique(given, axis=0)


def _lengths(lengths: Any, n: int) -> tuple[int, ...]:
    if lengths is None:
        return tuple(sorted({round(k) for k in np.geomspace(max(1, n / 16), n, 5)}))
    given = np.atleast_1d(array_of("lengths", lengths))
    if given.ndim != 1 or not len(given):
        raise SettingError("lengths", found=f"shape {given.shape}", rule="a number of examples, or a list of them")
    sizes = tuple(sorted({whole("lengths", k, 1) for k in given.tolist()}))
    if sizes[-1] > n:
        raise SettingError("lengths", found=sizes[-1], rule=f"at most {n}, the number of examples in a prompt")
    return sizes


def _answers(call: Call, x: np.ndarray, y: np.ndarray, queries: np.ndarray, n: int) -> np.ndarray:
    """Return the predictions from the first n examples of each prompt."""
    found = np.empty(len(x))
    for place in range(len(x)):
        answer = single_of("answer of predict", call(x[place, :n], y[place, :n], queries[place]))
        if answer.size != 1:
            raise ShapeError("answer of predict", found=f"shape {answer.shape}", rule="one number for each prompt")
        found[place] = numbers_of("answer of predict", answer).astype(float).ravel()[0]
    return found


def _interval(values: Float[np.ndarray, "k a m"], level: float, signed: bool = False) -> Float[np.ndarray, "k a 2"]:
    """Return Student's t intervals of means over prompts. If `signed` is false, lower ends below 0 are set to 0."""
    m = values.shape[2]
    half = stats.t.ppf((1 + level) / 2, m - 1) * values.std(axis=2, ddof=1) / np.sqrt(m)
    mean = values.mean(axis=2)
    low = mean - half if signed else np.maximum(mean - half, 0.0)
    return np.stack([low, mean + half], axis=2)


def _heaviest(apart: Float[np.ndarray, "a m"], size: float) -> float:
    """Return the largest share that one prompt has in the summed squared distance to an algorithm.

    Algorithms whose distance is as small as rounding errors are ignored.
    """
    total = apart.sum(axis=1)
    counted = apart.mean(axis=1) > 1e-20 * size
    return float(np.max(apart.max(axis=1)[counted] / total[counted], initial=0.0))
