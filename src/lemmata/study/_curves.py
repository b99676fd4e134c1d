"""One architecture on one table: its spectrum, and its learning curve as predicted and as measured."""

import dataclasses
import math
import time
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.kernels import gram
from lemmata.solvers import kernel_ridge
from lemmata.spectra import (
    LearningCurve,
    Spectrum,
    condition_number,
    cumulative_alignment,
    effective_dimension,
    gcv,
    learning_curve,
    leave_one_out,
    spectrum,
    target_power,
)

from ._architectures import Architecture
from ._data import Dataset

RESAMPLES = 8
POINTS = 10
FEWEST_SIZES = 4
HELD_OUT = 1000
RIDGES = np.logspace(-8, 1, 19)
SHOWN_MODES = 120


@dataclasses.dataclass(frozen=True)
class Curve:
    """What a study knows of one architecture.

    Args:
        name, title, formula: of the architecture.
        ridge: the ridge on the diagonal, chosen by leave-one-out on all rows and then kept for every size.
        ridge_relative: that ridge relative to the mean diagonal of the Gram matrix.
        jitter: the largest jitter that a fit needed.
        spectrum: the eigensystem of the Gram matrix of all rows.
        targets: the centred targets.
        sizes: numbers of training rows, up to half of all rows.
        predicted, lower, upper: predicted held-out squared error and its interval.
        measured, measured_se: mean over resamples, and its standard error.
        accuracy: measured accuracy for classes, else None.
        leave_one_out, gcv: two estimates of the error at N - 1 rows.
    """

    name: str
    title: str
    formula: str
    ridge: float
    ridge_relative: float
    jitter: float
    spectrum: Spectrum
    targets: np.ndarray
    sizes: np.ndarray
    predicted: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    measured: np.ndarray
    measured_se: np.ndarray
    accuracy: np.ndarray | None
    leave_one_out: float
    gcv: float

    @property
    def total(self) -> int:
        """All rows N."""
        return len(self.targets)

    @property
    def baseline(self) -> float:
        """Error of predicting the mean."""
        return float((self.targets**2).sum(axis=1).mean())

    @property
    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of the Gram matrix of all rows, descending."""
        return np.asarray(self.spectrum.eigenvalues)

    @property
    def power(self) -> np.ndarray:
        """Power of the targets in each eigenvector."""
        return np.asarray(target_power(self.spectrum, jnp.asarray(self.targets)))

    def predict(self, sizes: Float[np.ndarray, " s"] | list[float]) -> LearningCurve:
        """The predicted curve at other sizes up to N."""
        return learning_curve(self.spectrum, jnp.asarray(self.targets), sizes, self.ridge, resamples=RESAMPLES)


def curve_sizes(total: int) -> np.ndarray:
    """About ten sizes in geometric progression, from N/100 (at least 8) to N/2."""
    return np.unique(np.geomspace(max(8, total // 100), total // 2, POINTS).astype(int))


def study_architecture(
    architecture: Architecture,
    dataset: Dataset,
    seed: int,
    progress: Callable[[float], None] = lambda share: None,
    deadline: float = math.inf,
) -> Curve:
    """Spectrum, predicted curve and measured curve of one architecture.

    The measured curve is the held-out squared error, summed over outputs, over 8 resamples a size; every architecture
    sees the same splits. After `deadline` (of `time.monotonic`) no further size is measured, beyond the first four.

    Raises:
        NotPositiveDefiniteError: the kernel is indefinite on these rows.
    """
    x, y = jnp.asarray(dataset.x), jnp.asarray(dataset.y)
    matrix = gram(architecture.kernel, x)
    modes = spectrum(matrix)
    progress(0.2)
    mean_diagonal = float(jnp.trace(matrix)) / len(x)
    scores = [float(leave_one_out(modes, y, float(relative * mean_diagonal))) for relative in RIDGES]
    relative = float(RIDGES[int(np.nanargmin(scores))])
    ridge, sizes = relative * mean_diagonal, curve_sizes(len(x))
    predicted = learning_curve(modes, y, sizes.astype(float), ridge, resamples=RESAMPLES)
    errors, accuracies, jitter = _measure(np.asarray(matrix), dataset, ridge, sizes, seed, progress, deadline)
    done = len(errors)
    return Curve(
        name=architecture.name,
        title=architecture.title,
        formula=architecture.formula,
        ridge=ridge,
        ridge_relative=relative,
        jitter=jitter,
        spectrum=modes,
        targets=dataset.y,
        sizes=sizes[:done],
        predicted=np.asarray(predicted.error)[:done],
        lower=np.asarray(predicted.lower)[:done],
        upper=np.asarray(predicted.upper)[:done],
        measured=errors.mean(axis=1),
        measured_se=errors.std(axis=1, ddof=1) / np.sqrt(RESAMPLES),
        accuracy=accuracies.mean(axis=1) if dataset.classes else None,
        leave_one_out=float(leave_one_out(modes, y, ridge)),
        gcv=float(gcv(modes, y, ridge)),
    )


def _measure(matrix, dataset, ridge, sizes, seed, progress, deadline=math.inf) -> tuple[np.ndarray, np.ndarray, float]:
    """Held-out errors and accuracies (sizes, resamples), and the largest jitter."""
    y, total = dataset.y, len(dataset.y)
    errors, accuracies, jitter = np.zeros((len(sizes), RESAMPLES)), np.zeros((len(sizes), RESAMPLES)), 0.0
    work = np.cumsum(sizes**2 / np.sum(sizes**2))
    for i, n in enumerate(sizes):
        if i >= FEWEST_SIZES and time.monotonic() > deadline:
            return errors[:i], accuracies[:i], jitter
        for r in range(RESAMPLES):
            order = np.random.default_rng([seed, int(n), r]).permutation(total)
            train, held = order[:n], order[n : n + HELD_OUT]
            fit = kernel_ridge(jnp.asarray(matrix[np.ix_(train, train)]), jnp.asarray(y[train]), ridge)
            predictions = matrix[np.ix_(held, train)] @ np.asarray(fit.coefficients)
            errors[i, r] = ((y[held] - predictions) ** 2).sum(axis=1).mean()
            # Targets are one-hot less the class frequencies: put those back before the largest output decides.
            votes = np.argmax(predictions + dataset.y_mean, axis=1)
            accuracies[i, r] = np.mean(votes == np.argmax(y[held] + dataset.y_mean, axis=1))
            jitter = max(jitter, float(fit.jitter))
        progress(0.2 + 0.8 * float(work[i]))
    return errors, accuracies, jitter


def curve_record(curve: Curve, dataset: Dataset) -> dict:
    """The record of one architecture, for study.json."""
    modes = curve.spectrum
    shown = np.unique(np.geomspace(1, curve.total, SHOWN_MODES).astype(int))
    alignment = np.asarray(cumulative_alignment(modes, jnp.asarray(curve.targets)))
    smallest = float(modes.eigenvalues[-1])
    points = [
        {
            "n": int(n),
            "predicted": float(curve.predicted[i]),
            "lower": float(curve.lower[i]),
            "upper": float(curve.upper[i]),
            "measured": float(curve.measured[i]),
            "measured_se": float(curve.measured_se[i]),
            "resamples": RESAMPLES,
            "ratio": float(curve.predicted[i] / curve.measured[i]) if curve.measured[i] > 0 else None,
            "accuracy": None if curve.accuracy is None else float(curve.accuracy[i]),
            "extrapolated": False,
        }
        for i, n in enumerate(curve.sizes)
    ]
    return {
        "name": curve.name,
        "title": curve.title,
        "kernel": curve.formula,
        "ridge": curve.ridge,
        "ridge_relative": curve.ridge_relative,
        "jitter": curve.jitter,
        "spectrum": {
            "index": shown.tolist(),
            "eigenvalues": curve.eigenvalues[shown - 1].tolist(),
            "alignment": alignment[shown - 1].tolist(),
            "smallest": smallest,
            "largest": float(modes.eigenvalues[0]),
            "rank": modes.rank,
            "condition": float(condition_number(modes)),
            "effective_dimension": float(effective_dimension(modes, curve.ridge)),
            "culprits": culprits(modes, dataset),
        },
        "leave_one_out": curve.leave_one_out,
        "gcv": curve.gcv,
        "curve": points,
    }


def culprits(modes: Spectrum, dataset: Dataset) -> list[str]:
    """Why the smallest eigenvalue stands at the rounding floor, where it does."""
    if modes.rank == len(dataset.x):
        return []
    found = []
    if dataset.duplicates.rows:
        pairs = ", ".join(f"{dataset.index[i]} and {dataset.index[j]}" for i, j in dataset.duplicates.examples[:3])
        found.append(
            f"{dataset.duplicates.rows} duplicate rows (rows {pairs} of the table, counted from 0 below the header)"
            " make the smallest eigenvalue zero"
        )
    total, missing = len(dataset.x), len(dataset.x) - modes.rank
    if missing > dataset.duplicates.rows:
        found.append(f"the kernel has rank {modes.rank} on {total} rows: {missing} eigenvalues are zero to rounding")
    return found
