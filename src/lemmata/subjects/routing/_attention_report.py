"""Properties of an attention matrix: how many tokens a query reads, here and at other lengths, and contraction."""

import dataclasses
import html
import io
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.answers import Condition, whole
from lemmata.core import array_of, numbers_of, single_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import clean

_CLAIMS = (
    "routing.lookup.bounded_logits_disperse",
    "routing.collapse.attention_contracts",
    "routing.collapse.rank_collapse_is_cubic",
)
_LARGEST = 1e300
_WORK = 4e9  # largest number of absolute differences for exact results over all pairs of rows
_ROWS = 64
_MASK = 1000.0
_ONE = 0.9995  # from here on, a number is printed as 1


@dataclasses.dataclass(frozen=True, eq=False)
class AttentionReport:
    """The number of tokens that the queries of an attention head read, and bounds from the span of its logits.

    Args:
        effective: for each query, the effective number of tokens that the query reads. This number is exp of the
            entropy of the query's weights.
        largest: the largest weight of each query.
        span: the largest difference between two unmasked logits of one query.
        lengths, bounds: numbers of keys, and for each number, the largest weight that logits with this span can give to
            a single key.
        half: the smallest number of keys at which no weight can exceed 1/2 if logits have this span.
        contraction: the largest factor by which the layer can multiply the spread of values (their largest distance).
            The factor is the largest total variation distance between two rows of weights. For many rows, it is an
            upper bound on this distance.
        mixed: the largest mixed difference M = (L_ij - L_ik) - (L_lj - L_lk) of four logits L, over queries i, l and
            keys j, k. The contraction is at most tanh(M/4). M is infinite if the masks of two queries differ.
        masked: the number of logits that are minus infinity.
        conditions: the conditions under which the results hold.
        claims: names of the claims that state the results.
    """

    effective: Float[np.ndarray, " q"]
    largest: Float[np.ndarray, " q"]
    span: float
    lengths: tuple[int, ...]
    bounds: Float[np.ndarray, " k"]
    half: float
    contraction: float
    mixed: float
    masked: int
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def most(self) -> float:
        """The bound tanh(M/4) on the contraction, where M is `mixed`."""
        return math.tanh(self.mixed / 4)

    def __str__(self) -> str:
        own = self.effective
        far = ", ".join(f"{bound:.3g} of {n}" for n, bound in zip(self.lengths, self.bounds, strict=True))
        lines = [
            f"{len(own)} queries read {np.median(own):.4g} tokens (median; {own.min():.4g} to {own.max():.4g}), "
            f"largest weight {np.median(self.largest):.3g}",
            f"if logits span {self.span:.4g}, one key gets a weight of at most {far} keys",
            "a weight above 1/2 is possible for up to 1e+307 keys"
            if math.isinf(self.half)
            else f"from {self.half:.3g} keys on, no weight exceeds 1/2",
            "without a skip connection, the layer multiplies the spread of its values by at most "
            f"{self.contraction:.3g}" + ("" if math.isinf(self.mixed) else f" (tanh(M/4) = {self.most:.3g})"),
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def plot(self) -> Any:
        """Return an Altair histogram of the effective numbers of tokens of the queries."""
        import altair as alt

        ink: dict[str, Any] = {"labelColor": "#7b828c", "titleColor": "#7b828c"}
        counts, edges = np.histogram(self.effective, bins=min(30, max(5, len(self.effective) // 5)))
        bars = zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
        rows = [{"low": low, "high": high, "queries": count} for low, high, count in bars]
        x = alt.X("low:Q", bin="binned", axis=alt.Axis(title="effective number of tokens", grid=False))
        chart = alt.Chart(alt.Data(values=rows)).mark_bar(color="#3b6fb6")
        chart = chart.encode(x=x, x2="high:Q", y=alt.Y("queries:Q", axis=alt.Axis(title="queries", grid=False)))
        chart = chart.properties(width=240, height=180).configure(background="transparent")
        return chart.configure_axis(**ink).configure_view(stroke=None)

    def _repr_html_(self) -> str:
        drawn = io.StringIO()
        self.plot().save(drawn, format="svg")
        text = html.escape(clean(str(self), lines=True))
        return f'<div><pre style="white-space: pre-wrap">{text}</pre>{drawn.getvalue()}</div>'


def attention_report(logits: Any, *, lengths: Any = None) -> AttentionReport:
    """Compute the number of tokens that each query of an attention head reads, and bounds for other sequence lengths.

    Pass the logits before the softmax, after the division by sqrt(d). A masked entry is minus infinity.

    The effective number of tokens is exp of the entropy of a row of weights. The span S of a head is the largest
    difference between two logits of one query. Logits with span S can give one of n keys at most the weight
    1/(1 + (n - 1) e^-S). If the span of a head does not grow with the length, the head can therefore no longer read
    single tokens in long sequences. After the layer, the spread (largest distance) of any values is at most
    `contraction` times their spread before. Let M be the largest mixed difference of four logits (`mixed`). If all
    distances between tokens are multiplied by s < 1, M is multiplied by s². The spread after a layer without a skip
    connection is then multiplied by about s³.

    Args:
        logits: an array of shape (queries, keys). An entry is a number, or minus infinity if the query must not read
            the key.
        lengths: numbers of keys for the bounds; by default 1, 4 and 16 times the number of keys.

    Raises:
        SettingError: if lengths are not valid.
        ShapeError, DataError: if `logits` is not a table of numbers, contains NaN or plus infinity, or has a row in
            which all entries are masked.

    Example:
        >>> print(attention_report([[4.0, 0.0, 0.0, 0.0], [0.0, 4.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]]))
        3 queries read 1.299 tokens (median; 1.299 to 4), largest weight 0.948
        if logits span 4, one key gets a weight of at most 0.948 of 4, 0.784 of 16, 0.464 of 64 keys
        from 55.6 keys on, no weight exceeds 1/2
        without a skip connection, the layer multiplies the spread of its values by at most 0.931 (tanh(M/4) = 0.964)
    """
    table = _table(logits)
    keys = table.shape[1]
    sizes = (keys, 4 * keys, 16 * keys) if lengths is None else _lengths(lengths)
    seen = np.isfinite(table)
    top = table.max(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        below = np.where(seen, table - top, -np.inf)
    weights = np.exp(below)
    total = weights.sum(axis=1, keepdims=True)
    weights = weights / total
    mean_below = np.sum(weights * np.where(weights > 0, below, 0.0), axis=1)
    effective = np.clip(np.exp(np.log(total[:, 0]) - mean_below), 1.0, seen.sum(axis=1))
    span = float(np.where(seen, -below, 0.0).max()) + 0.0  # adding 0 turns -0 into 0
    half = 1 + math.exp(span) if span < 709 else math.inf
    masked = int((~seen).sum())
    contraction, exact = _contraction(weights)
    mixed = _mixed(table, seen)
    if not exact:
        contraction = min(contraction, math.tanh(mixed / 4))
    far = int((seen & (below < -_MASK)).sum())
    bounds = np.array([_bound(n, span) for n in sizes])
    conditions = (
        Condition(
            "the logits of a query span at most this much at other lengths too",
            None,
            None,
            "the bounds at other lengths assume this",
        ),
        Condition(
            f"no finite logit is {_MASK:g} below the largest logit of its query",
            float(far),
            far == 0,
            "otherwise this logit may stand for a mask; write minus infinity there",
        ),
        Condition(
            "the contraction is computed for all pairs of queries",
            None,
            exact,
            "otherwise the contraction is an upper bound",
        ),
        Condition(
            "the span limits the weight of one key (bound at the largest length)",
            float(bounds.min()),
            bool(bounds.min() < _ONE),
            "a bound of 1 is vacuous; pass larger lengths",
        ),
        Condition(
            "the layer reduces the spread of values (factor below 1)",
            contraction,
            contraction < _ONE,
            "a factor of 1 does not show a loss of rank",
        ),
    )
    return AttentionReport(
        effective=effective, largest=weights.max(axis=1), span=span, lengths=sizes,
        bounds=bounds, half=half, contraction=contraction,
        mixed=mixed, masked=masked, conditions=conditions,
    )  # fmt: skip


def _table(logits: Any) -> np.ndarray:
    array = single_of("logits", logits)
    if array.dtype.kind not in "fiub":
        array = numbers_of("logits", array)  # this raises an error that names the wrong entry
    if array.ndim != 2 or 0 in array.shape:
        raise ShapeError(
            "logits", found=f"shape {array.shape}", rule="shape (queries, keys)",
            remedy="pass one head of one sequence at a time",
        )  # fmt: skip
    table = array.astype(float)
    if np.isnan(table).any() or (table == np.inf).any():
        raise DataError("logits", found="NaN or plus infinity", rule="numbers, or minus infinity for a masked entry")
    seen = np.isfinite(table)
    if not seen.any(axis=1).all():
        row = int(np.argmin(seen.any(axis=1)))
        raise DataError("logits", found=f"row {row} without a key", rule="at least one key that is not masked per row",
                        remedy="drop rows of padding")  # fmt: skip
    if np.abs(table[seen]).max() > _LARGEST:
        raise DataError("logits", found=f"{np.abs(table[seen]).max():.3g}", rule=f"numbers of at most {_LARGEST:g}",
                        remedy="use minus infinity for masked entries")  # fmt: skip
    return table


def _lengths(lengths: Any) -> tuple[int, ...]:
    given = np.atleast_1d(array_of("lengths", lengths))
    if given.ndim != 1 or not len(given):
        raise SettingError("lengths", found=f"shape {given.shape}", rule="a number of keys, or a list of them")
    try:
        return tuple(whole("lengths", n, 1) for n in given.tolist())
    except OverflowError as error:
        raise SettingError("lengths", found="a number above 1e308", rule="numbers of keys") from error


def _bound(n: int, span: float) -> float:
    """Return 1/(1 + (n - 1) e^-span), without overflow."""
    return 1 / (1 + math.exp(math.log(n - 1) - span)) if n > 1 and math.log(n - 1) - span < 700 else float(n == 1)


def _contraction(weights: np.ndarray) -> tuple[float, bool]:
    """Return the largest total variation distance of two rows, and True; for many rows, an upper bound, and False.

    The upper bound is twice the largest total variation distance of a row to the mean row.
    """
    q, n = weights.shape
    if q * q * n / 2 > _WORK:
        return min(1.0, float(np.abs(weights - weights.mean(axis=0)).sum(axis=1).max())), False
    most = 0.0
    for row in range(q - 1):
        for start in range(row + 1, q, _ROWS * 16):
            apart = np.abs(weights[start : start + _ROWS * 16] - weights[row]).sum(axis=1).max()
            most = max(most, float(apart) / 2)
    return min(most, 1.0), True


def _mixed(table: np.ndarray, seen: np.ndarray) -> float:
    """Return the largest (L_ij - L_ik) - (L_lj - L_lk), or infinity if the masks of two queries differ.

    For many rows, return an upper bound.
    """
    if (seen != seen[0]).any():
        return math.inf
    table = table[:, seen[0]]
    q, n = table.shape
    if q * q * n / 2 > _WORK:  # M is at most twice the largest span about the mean row
        centred = table - table.mean(axis=0)
        return float(2 * np.ptp(centred, axis=1).max())
    most = 0.0
    for row in range(q - 1):
        most = max(most, float(np.ptp(table[row + 1 :] - table[row], axis=1).max()))
    return most
