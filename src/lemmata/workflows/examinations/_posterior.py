"""Compute the posterior predictive distribution of held-out targets by Laplace's approximation, and test it.

For values, the predictive distribution is Student's around the output, with the variance s² (1 + J H^-1 J') and n -
gamma degrees of freedom. Here J is the Jacobian of the output, H is the Gauss-Newton curvature of the training
objective, s² is the sum of squared residuals over n - gamma, n is the number of training rows, and gamma is the
effective dimension. For two classes whose outputs differ by a, with variance v, the probability is sigma(a / (1 + pi v
/ 8)^1/2), the probit correction of MacKay (1992). For several classes, the probabilities are the mean softmax of up to
1000 drawn outputs and their mirror images.
"""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import stats
from scipy.special import log_softmax

from lemmata.answers import share_interval
from lemmata.errors import SettingError
from lemmata.intervals import Interval
from lemmata.subjects.trained_models import (
    Trained,
    fresh_rows,
    held_rows,
    is_known,
    objective_of,
    once,
    polished_copy,
    posterior_spread,
)
from lemmata.workflows.records.model_tables import PosteriorShown

LEVEL, MOST, FEWEST = 0.9, 2000, 30
MOVED = 0.1
"""The largest allowed change of the outputs by one more Newton step, relative to the size of the outputs."""
_SURE = 0.95
_DRAWS, _LEAST, _NUMBERS = 1000, 100, 5e7
_FREE = 5.0  # the least number of degrees of freedom of the residuals


class PosteriorRows(NamedTuple):
    """The posterior's predictions for held-out rows.

    Args:
        summary: the part of the predictions that the record of the examination stores.
        rows: the positions of the held-out rows with predictions, at most 2000.
        deviations: for values, the standard deviation of each target given the training rows; NaN for classes.
        probabilities: for classes, the probabilities averaged over the posterior; NaN for values.
    """

    summary: PosteriorShown
    rows: Int[np.ndarray, " k"]
    deviations: Float[np.ndarray, "k C"]
    probabilities: Float[np.ndarray, "k C"]


@once
def posterior_rows(trained: Trained) -> PosteriorRows | None:
    """Return posterior predictions of at most 2000 held-out rows; None if a posterior has no meaning for the model.

    If another check has trained a copy of the model to a stationary point, the posterior is that of the copy, and
    otherwise that of the model. If the posterior cannot be computed, the summary holds the reason.

    Args:
        trained: a model with its rows.
    """
    if not has_posterior(trained):
        return None
    try:
        return _found(trained)
    except SettingError as error:
        none = np.zeros((0, trained.y.shape[1]))
        return PosteriorRows(PosteriorShown(str(error.args[0])), np.zeros(0, int), none, none)


def has_posterior(trained: Trained) -> bool:
    """Return whether a posterior has a meaning for the model, and there are held-out rows to predict.

    Args:
        trained: a model with its rows.
    """
    task = trained.task
    if trained.held is None or not trained.model.differentiable or task.is_language:
        return False
    return not task.is_classification or task.probable


def posterior_summary(trained: Trained) -> PosteriorShown | None:
    """Return the part of `posterior_rows` that the record stores.

    Args:
        trained: a model with its rows.
    """
    found = posterior_rows(trained)
    return None if found is None else found.summary


def _found(trained: Trained) -> PosteriorRows:
    decay, task = objective_of(trained).decay, trained.task
    if task.is_counted:
        raise SettingError(
            "the model predicts counts, but this method gives intervals only for values with normal noise"
        )
    copied = decay > 0 and is_known(polished_copy, trained)
    model = polished_copy(trained).model if copied else trained.model.in_double()
    x, y = held_rows(trained)
    rows = np.sort(np.random.default_rng([trained.seed, 37]).permutation(len(x))[:MOST])
    own = posterior_spread(model, trained.x, trained.y, task, decay, x[rows])
    if own is None:
        raise SettingError(
            "the curvature is singular, or its computation is too expensive even for the last layer alone"
        )
    if own.movement > MOVED:
        told = f"another Newton step would change the outputs by {own.movement:.2g} times their size"
        raise SettingError(f"{told}, but Laplace's approximation needs a stationary point")
    f, new = model.outputs(x[rows]), fresh_rows(trained)[rows]
    summary = PosteriorShown("", own.whole, own.dimension, int(new.sum()))
    if task.is_classification:
        return _of_classes(summary, rows, f, y[rows], own.spread, new, trained.seed)
    residuals = trained.y - model.outputs(trained.x)
    return _of_values(summary, rows, f, y[rows], own.spread, new, residuals)


def _of_values(
    summary: PosteriorShown, rows: np.ndarray, f: Float[np.ndarray, "k C"], y: Float[np.ndarray, "k C"],
    spread: Float[np.ndarray, "k C C"], new: np.ndarray, residuals: Float[np.ndarray, "n C"],
) -> PosteriorRows:  # fmt: skip
    width = y.shape[1]
    free = len(residuals) - float(summary.dimension or 0) / width
    if free < _FREE:
        raise SettingError(
            "the effective dimension is close to the number of training rows, so the residuals do "
            "not show how large the noise is"
        )
    noise = (residuals**2).sum(0) / free
    deviations = np.sqrt(noise * (1 + np.diagonal(spread, axis1=1, axis2=2)))
    reach = float(stats.t.ppf((1 + LEVEL) / 2, free))
    inside = (np.abs(y - f) <= reach * deviations)[new]
    changed: dict[str, Any] = {"noise": [float(own) for own in np.sqrt(noise)], "level": LEVEL}
    if len(inside) >= FEWEST:
        changed["covered"] = _share(inside)
    return PosteriorRows(dataclasses.replace(summary, **changed), rows, deviations, np.full(f.shape, np.nan))


def _of_classes(
    summary: PosteriorShown, rows: np.ndarray, f: Float[np.ndarray, "k C"], y: Float[np.ndarray, "k C"],
    spread: Float[np.ndarray, "k C C"], new: np.ndarray, seed: int,
) -> PosteriorRows:  # fmt: skip
    logs = log_means(f, spread, seed)
    plain, corrected = (-(own * y).sum(1)[new] for own in (log_softmax(f, axis=1), logs))
    changed: dict[str, Any] = {}
    if len(plain) >= FEWEST:
        gain = plain - corrected
        reach = float(stats.t.ppf((1 + _SURE) / 2, len(gain) - 1)) * float(gain.std(ddof=1)) / len(gain) ** 0.5
        value = float(gain.mean())
        changed = {"plain": float(plain.mean()), "corrected": float(corrected.mean())}
        changed["gain"] = Interval(value, value - reach, value + reach)
    return PosteriorRows(dataclasses.replace(summary, **changed), rows, np.full(f.shape, np.nan), np.exp(logs))


def _share(inside: np.ndarray) -> Interval:
    """Return the share of targets inside their intervals, with an exact interval of this share.

    For several outputs, the interval is Student's interval over the rows.
    """
    own = inside.mean(1)
    if inside.shape[1] == 1:
        low, high = share_interval(float(own.sum()), float((1 - own).sum()), _SURE)
        return Interval(float(own.mean()), low, high)
    reach = float(stats.t.ppf((1 + _SURE) / 2, len(own) - 1)) * float(own.std(ddof=1)) / len(own) ** 0.5
    return Interval(float(own.mean()), float(own.mean()) - reach, min(float(own.mean()) + reach, 1.0))


def log_means(
    f: Float[np.ndarray, "k C"], spread: Float[np.ndarray, "k C C"], seed: int = 0
) -> Float[np.ndarray, "k C"]:
    """Return the logarithm of the mean softmax of normal outputs. If the variance is 0, this is the log softmax.

    Args:
        f: the means of the outputs.
        spread: the covariances of the outputs.
        seed: the seed of the draws. For two classes, nothing is drawn.
    """
    if f.shape[1] == 2:
        apart = np.maximum(spread[:, 0, 0] + spread[:, 1, 1] - 2 * spread[:, 0, 1], 0.0)
        half = (f[:, 0] - f[:, 1]) / np.sqrt(1 + np.pi / 8 * apart) / 2
        return log_softmax(np.stack([half, -half], axis=1), axis=1)
    rng, root = np.random.default_rng([seed, 38]), roots_of(spread)
    total, count = np.full(f.shape, -np.inf), max(min(_DRAWS, int(_NUMBERS / f.size)), _LEAST)
    for _ in range(count):
        moved = (root @ rng.normal(size=(*f.shape, 1)))[..., 0]
        for own in (f + moved, f - moved):
            total = np.logaddexp(total, log_softmax(own, axis=1))
    return total - np.log(2 * count)


def roots_of(spread: Float[np.ndarray, "k C C"]) -> Float[np.ndarray, "k C C"]:
    """Return square roots of covariances. Eigenvalues that are negative because of rounding count as 0."""
    values, vectors = np.linalg.eigh(spread)
    return (vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]) @ vectors.transpose(0, 2, 1)
