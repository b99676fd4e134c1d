"""Test whether the errors look as if the model was fitted to the held-out rows instead of the training rows."""

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import share_interval
from lemmata.subjects.trained_models import Trained, held_outputs, held_rows, once, training_outputs
from lemmata.workflows.records.examinations import GaugeInterval

from ._baseline import LEVEL, mean_interval

_CHANCE, _FEWEST = 0.001, 10


@once
def exchanged(trained: Trained) -> str | None:
    """Return a sentence if the training error is significantly above the held-out error, else None.

    Two conditions must hold. First, the 95 % interval of the training error lies above the 95 % interval of the
    held-out error. Second, a rank test at level 0.001 shows larger errors on training rows than on held-out rows. A few
    large errors do not affect this test.

    Args:
        trained: the model with its rows. Without held-out rows, or with fewer than ten rows of a kind, the result is
            None.
    """
    if trained.held is None or min(len(trained.y), len(trained.held[1])) < _FEWEST:
        return None
    own = trained.task.errors(training_outputs(trained), trained.y)
    other = trained.task.errors(held_outputs(trained), held_rows(trained)[1])
    if not (np.isfinite(own).all() and np.isfinite(other).all()):
        return None
    seen, held = _ends(trained, own), _ends(trained, other)
    if seen.lower <= held.upper or stats.mannwhitneyu(own, other, alternative="greater").pvalue > _CHANCE:
        return None
    told = (lambda value: f"{100 * value:.3g} %") if trained.task.is_classification else (lambda value: f"{value:.3g}")
    return (
        f"The training error is {told(seen.value)}, but the held-out error is only {told(held.value)}. The model may "
        "have been fitted to the held-out rows. Check whether training and held-out rows were exchanged. If they were "
        "not exchanged, the held-out rows are easier than the training rows: the data may have shifted, or training "
        "labels may be wrong."
    )


def _ends(trained: Trained, errors: Float[np.ndarray, " n"]) -> GaugeInterval:
    """The mean error with exact limits for classes, and with Student's limits otherwise."""
    if not trained.task.is_classification:
        return mean_interval(errors)
    low, high = share_interval(float(errors.sum()), float(len(errors) - errors.sum()), LEVEL)
    return GaugeInterval(float(errors.mean()), low, high, LEVEL)
