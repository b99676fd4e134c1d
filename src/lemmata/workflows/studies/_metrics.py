"""The units in which an error is asked for, measured and told: accuracy, RMSE, R², log-loss, AUC.

Everything is computed as a loss, which is at least 0 and smaller for a better model; a metric is a loss told in the
unit that people plan in.
"""

import dataclasses
import difflib
import math
import re
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

from lemmata.errors import SettingError
from lemmata.workflows.records import spell


def unexplained(
    y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float
) -> Float[np.ndarray, " m"]:
    """Squared error of each row relative to the target's variance: 1 - R² on average, 1 for who predicts the mean."""
    return ((y - output) ** 2).sum(axis=1) / spread


def wrong(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """1 for each row whose class is not the one with the largest output, else 0."""
    return (y.argmax(axis=1) != output.argmax(axis=1)).astype(float)


def surprise(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """-log of the probability given to each row's class, in nats; probabilities below 1e-6 count as 1e-6."""
    chance = np.clip(output, 1e-6, None)
    return -np.log((chance * y).sum(axis=1) / chance.sum(axis=1))


def misranked(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """What each row adds to 1 - AUC: the mean over rows is 1 - AUC, and their variance over m that of the estimate.

    The AUC is that of one class against the rest, averaged over the classes that are present. With A the share of pairs
    that are ranked wrongly, one of the m_1 rows of the class adds A + (m / m_1) (a_i - A), where a_i is the share of
    the other m_0 rows above it, and one of the rest A + (m / m_0) (b_i - A), where b_i is the share of the class below
    it (the projections of a U-statistic, DeLong et al. 1988).
    """
    label, rows = y.argmax(axis=1), np.zeros(len(y))
    present = [c for c in np.unique(label) if (label != c).any()]
    for c in present:
        rank = rankdata(output[:, c])
        for inside, sign in ((label == c, 1), (label != c, -1)):
            others = (~inside).sum()
            below = (rank[inside] - rankdata(output[inside, c])) / others
            wrongly = 1.0 - below if sign == 1 else below
            mean = wrongly.mean()
            rows += mean / 2  # the mean is the same for both
            rows[inside] += (wrongly - mean) * len(y) / inside.sum()
    return rows / len(present) if present else np.full(len(y), math.nan)


def squared(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Squared error of each row over the one-hot columns, summed over classes (the Brier score)."""
    return ((y - output) ** 2).sum(axis=1)


@dataclasses.dataclass(frozen=True)
class Metric:
    """A loss and the unit in which it is told.

    Args:
        name: as `--error` takes it ("rmse").
        task: "regression" or "classification".
        rows: the loss of each row, of outputs (m, k) against targets (m, k); the third is the variance of the target.
        told: the value in the user's unit, from loss and variance.
        understood: the loss of a value in the user's unit.
        rises: whether larger is better.
        percent: whether the value is a share.
        words: what it is, in a few words.
    """

    name: str
    task: str
    rows: Callable[[np.ndarray, np.ndarray, float], np.ndarray]
    told: Callable[[float, float], float]
    understood: Callable[[float, float], float]
    rises: bool
    percent: bool
    words: str


_same = lambda value, spread: value
_rest = lambda value, spread: 1.0 - value
_root = lambda value, spread: math.sqrt(value * spread) if math.isfinite(value) else value
_power = lambda value, spread: value * value / spread

METRICS = (
    Metric(
        "rmse", "regression", unexplained, _root, _power, False, False, "root mean square error, in units of the target"
    ),
    Metric(
        "r2", "regression", unexplained, _rest, _rest, True, False, "share of the target's variance that is predicted"
    ),
    Metric("unexplained", "regression", unexplained, _same, _same, False, False, "share of the variance not predicted"),
    Metric("accuracy", "classification", wrong, _rest, _rest, True, True, "share of rows whose class is predicted"),
    Metric("wrong", "classification", wrong, _same, _same, False, True, "share of rows whose class is not predicted"),
    Metric(
        "log-loss", "classification", surprise, _same, _same, False, False, "mean surprise at the true class, in nats"
    ),
    Metric(
        "auc",
        "classification",
        misranked,
        _rest,
        _rest,
        True,
        False,
        "how often a row of a class is ranked above others",
    ),
    Metric("squared", "classification", squared, _same, _same, False, False, "squared error over one-hot columns"),
)
DEFAULT = {"regression": "rmse", "classification": "accuracy"}
_PLAIN = {"regression": "unexplained", "classification": "wrong"}


def metric(name: str, task: str) -> Metric:
    """The metric of this name.

    Raises:
        SettingError: no such metric for this task; the message lists those there are.
    """
    known = {item.name: item for item in METRICS if item.task == task}
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else None
        raise SettingError(
            f"--error knows no metric {name[:40]!r} for {task}", rule=f"one of {', '.join(known)}", remedy=hint
        )
    return known[name]


def asked(text: str | float, task: str, spread: float) -> tuple[Metric, float]:
    """A metric and the loss that is asked for, from "accuracy 0.95", "rmse 2.5", "accuracy 95%" or a bare number.

    A bare number is the share of the variance that is left (1 - R²), or the share of wrong classes.

    Args:
        text: as given.
        task: "regression" or "classification".
        spread: the variance of the target, in its units squared, summed over outputs.

    Raises:
        SettingError: not a metric and a number, or a value that no model has.

    >>> asked("accuracy 95%", "classification", 1.0)[1]
    0.050000000000000044
    >>> asked("rmse 2", "regression", 16.0)[1]
    0.25
    """
    found = re.fullmatch(
        r"\s*(?:([A-Za-z][\w-]*)[\s:=]\s*)?([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*", str(text)
    )
    if not found:
        names = ", ".join(item.name for item in METRICS if item.task == task)
        raise SettingError(
            f"--error {str(text)[:40]!r} is not a metric and a number",
            rule=f"one of {names}, then a number",
            remedy=f'for example --error "{DEFAULT[task]} {"0.95" if task == "classification" else "2.5"}"',
        )
    name, number, percent = found.groups()
    value = float(number) / (100.0 if percent else 1.0)
    unit = metric((name or _PLAIN[task]).lower(), task)
    if unit.name == "rmse" and value < 0:
        raise SettingError("--error is out of reach for any model", found=f"rmse {value:g}", rule="above 0")
    loss = unit.understood(value, spread) if math.isfinite(value) else math.nan
    most = math.inf if unit.rows in (unexplained, surprise, squared) else 1.0
    if not 0 < loss < most:
        least, bound = unit.told(0.0, spread), unit.told(most, spread) if math.isfinite(most) else None
        rule = (
            f"better than {bound:g} and short of the perfect {least:g}"
            if bound is not None
            else f"short of the perfect {least:g}"
        )
        raise SettingError("--error is out of bounds", found=f"{unit.name} {value:g}", rule=rule)
    return unit, loss


def tell(unit: Metric, loss: float, spread: float) -> str:
    """The loss in the user's unit, as `spell` writes it."""
    return spell(unit.told(loss, spread), unit.percent)
