"""Judge models that predict a quantile of the target, or only order the rows. Squared error does not fit them."""

import numpy as np

from lemmata.answers import share_interval
from lemmata.subjects.trained_models import Trained, held_outputs, held_rows, training_outputs

from ._baseline import LEVEL, mean_interval, order_kept

_FEWEST = 2


def other_quantity(trained: Trained) -> str | None:
    """Return sentences on the quality of outputs that are not means of the target; None for other models.

    A model with quantile loss at q is judged by the share of targets at or below the outputs, which should be q, and by
    its mean pinball loss max(q r, (q - 1) r) of the residuals r. This loss is compared with that of one answer for all
    rows, the q quantile of the training targets.

    Args:
        trained: the model with its rows. Held-out rows are used if there are at least two, otherwise training rows.
    """
    loss = trained.task.loss
    if isinstance(loss, str) or trained.y.shape[1] != 1:
        return None
    if loss.ordering:
        return (
            f"This model was trained with {loss.said}. Its outputs order the rows but are not values of the target, so "
            "its squared error says nothing. Use a measure of order instead, such as the concordance index."
        )
    if loss.quantile is None:
        return None
    held = trained.held is not None and len(trained.held[0]) >= _FEWEST
    f, y = (held_outputs(trained), held_rows(trained)[1]) if held else (training_outputs(trained), trained.y)
    if len(y) < _FEWEST or not np.isfinite(f).all():
        return None
    return _of_quantile(loss.quantile, f[:, 0], y[:, 0], trained.y[:, 0], "held-out" if held else "training")


def _of_quantile(q: float, f: np.ndarray, y: np.ndarray, known: np.ndarray, which: str) -> str:
    below, n = int((y <= f).sum()), len(y)
    low, high = share_interval(float(below), float(n - below), LEVEL)
    verdict = "which agrees with" if low <= q <= high else "which is significantly more than" if low > q else (
        "which is significantly less than"
    )  # fmt: skip
    pinball = lambda r: np.maximum(q * r, (q - 1) * r)
    own, other = pinball(y - f), pinball(y - np.quantile(known, q))
    gain = mean_interval(other - own)
    better = "significantly better" if gain.lower > 0 else "significantly worse" if gain.upper < 0 else (
        "not significantly better"
    )  # fmt: skip
    return (
        f"This model predicts the {100 * q:.3g} % quantile of the target, not its mean, so squared error does not "
        f"measure its quality. {100 * below / n:.3g} % of the {which} targets are at or below the prediction (95 % "
        f"interval {100 * low:.3g} % to {100 * high:.3g} %), {verdict} {100 * q:.3g} %. The pinball loss of the model "
        f"is {own.mean():.3g}. Always answering this quantile of the training targets would give {other.mean():.3g}, "
        f"so the model is {better}."
    )


def order_without_values(trained: Trained) -> str | None:
    """Return a sentence if the outputs order the rows as the targets do; see `order_kept`."""
    if (kept := order_kept(trained)) is None:
        return None
    error = float(trained.task.errors(training_outputs(trained), trained.y).mean())
    return (
        f"The outputs order the rows much as the targets do (rank correlation {kept:.2g}), but they are not the "
        f"values of the targets. On training rows, the mean squared error is {error:.3g}; always answering the mean "
        f"target would give {trained.y.var(0).sum():.3g}. The outputs may be scores, quantiles, or "
        "values in another unit."
    )


def is_mean(trained: Trained) -> bool:
    """Whether the outputs of a model estimate means of the target, as far as the loss is known."""
    loss = trained.task.loss
    return isinstance(loss, str) or (loss.quantile is None and not loss.ordering)
