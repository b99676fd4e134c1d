"""Measure the accuracy of predicted values on held-out rows: R² and root mean squared error, per output and overall."""

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.intervals import Interval
from lemmata.subjects.trained_models import Trained, held_outputs, held_rows
from lemmata.workflows.records.model_tables import OutputScore

from ._other_quantities import is_mean

TOGETHER = "all together"
_LEVEL = 0.95


def output_scores(trained: Trained, names: tuple[str, ...] | None = None) -> list[OutputScore]:
    """Return the scores of each output of a regression. The list is empty for other models and for quantiles.

    If there are several outputs, the list ends with the scores of the total squared distance over all outputs.

    Let e_i be the squared error of row i, and v_i the squared error at row i of the mean of the training targets. R² is
    1 - sum e / sum v. The interval of R² is Student's interval for the mean of e_i - (1 - R²) v_i, which determines the
    error of the ratio sum e / sum v to first order. The ends for the root mean squared error are the roots of the ends
    for the mean of e.

    Args:
        trained: a model with its rows.
        names: the names of the outputs. If it is None or has another length, positions are used.
    """
    of_values = not trained.task.is_classification and not trained.task.is_language
    if trained.held is None or not of_values or not is_mean(trained):
        return []
    f, y = trained.task.means(held_outputs(trained)), held_rows(trained)[1]
    if len(y) < 2 or not np.isfinite(f).all():
        return []
    own, other, count = (f - y) ** 2, (y - trained.y.mean(0)) ** 2, y.shape[1]
    told = list(names) if names is not None and len(names) == count else [f"output {k}" for k in range(count)]
    found = [_score(told[k], own[:, k], other[:, k]) for k in range(count)]
    return found if count == 1 else [*found, _score(TOGETHER, own.sum(1), other.sum(1))]


def _score(name: str, own: Float[np.ndarray, " m"], other: Float[np.ndarray, " m"]) -> OutputScore:
    mean = float(own.mean())
    reach, base = _reach(own), float(other.mean())
    rmse = Interval(mean**0.5, max(mean - reach, 0.0) ** 0.5, (mean + reach) ** 0.5)
    if base == 0:
        return OutputScore(name, rmse, None)
    kept = mean / base
    spread = _reach((own - kept * other) / base)
    return OutputScore(name, rmse, Interval(1 - kept, 1 - kept - spread, min(1 - kept + spread, 1.0)))


def _reach(values: Float[np.ndarray, " m"]) -> float:
    """Return half the width of Student's interval of the mean."""
    return float(stats.t.ppf((1 + _LEVEL) / 2, len(values) - 1)) * float(values.std(ddof=1)) / len(values) ** 0.5
