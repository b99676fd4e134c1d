"""Predict a mixer family's held-out error from training rows alone; compute effective dimension and alignment."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.spectra import Spectrum, cumulative_alignment, effective_dimension, measured_curve, spectrum

from ._head import RIDGES
from ._measure import Candidate, Choice, Measured
from ._splits import Splits

SHOWN = (10, 100)
SOLVES = 8


@dataclasses.dataclass(frozen=True)
class Predicted:
    """The predictions for a family at each number of training rows, made without any held-out row.

    Args:
        error, lower, upper: the error divided by that of guessing, and the ends of its interval, at the chosen settings
            and ridges. These errors are means over the splits.
        effective_dimension: tr K (K + ridge)^-1 of the training rows, as a mean over the splits.
        alignment: the share of the target's squared norm in the first 10 and the first 100 eigenvectors, also as a mean
            over the splits.
        equivalent: the error with all training rows by the deterministic equivalent of ridge regression. This formula
            uses only the eigenvalues and the target's coefficients, and assumes exchangeable rows. If `equivalent` is
            far from `error`, the rows are not exchangeable.
    """

    error: Float[np.ndarray, " s"]
    lower: Float[np.ndarray, " s"]
    upper: Float[np.ndarray, " s"]
    effective_dimension: float
    alignment: tuple[float, ...]
    equivalent: float


def predict(candidate: Candidate, y: Float[np.ndarray, "N k"], of: Splits, measured: Measured) -> Predicted:
    """Predict the held-out error from the targets of the training rows and the kernel between these rows.

    With all training rows, the prediction is the leave-one-out error of the chosen setting and ridge. With fewer rows,
    ridge regression is fitted to random subsets of the training rows (`lemmata.spectra.measured_curve`), and the error
    is measured on the remaining training rows. Both errors are divided by the error of guessing the mean. The error of
    guessing is (1 + 1/n) times the variance of the targets of all training rows, where n is the number of fitted rows.

    The interval is from error exp(-1.96 w) to error exp(1.96 w). Let s be the relative standard error of the
    leave-one-out error of n rows. The training sets of two splits share n/N of their rows, where N is the number of all
    rows. For a mean over r splits therefore w² = s² (1/r + (1 - 1/r) n/N). With fewer rows, w² also contains the
    variance between the splits.
    """
    repeats, total, most = len(of.orders), len(y), of.sizes[-1]
    errors, equivalents, dimensions = np.empty((repeats, len(of.sizes))), np.empty(repeats), np.empty(repeats)
    shares = np.empty((repeats, len(SHOWN)))
    for r, training in enumerate(of.orders):
        own = y[training] - y[training].mean(axis=0)
        spread, modes = float((own**2).sum()) / (most - 1), _Modes(candidate, training)
        for s, n in enumerate(of.sizes):
            choice = measured.chosen[s][r]
            solves = SOLVES if n < most else 0
            curve = measured_curve(
                modes[choice], jnp.asarray(own), [n], modes.ridge(choice), intercept=True, solves=solves
            )
            guess = spread * (1 + 1 / n)
            errors[r, s] = (float(curve.error[0]) if n < most else choice.left_out) / guess
            if n == most:
                equivalents[r] = float(curve.equivalent.error[0]) / guess
                dimensions[r] = float(effective_dimension(modes[choice], modes.ridge(choice)))
                told = np.asarray(cumulative_alignment(modes[choice], jnp.asarray(own)))
                shares[r] = [told[min(k, most) - 1] for k in SHOWN]
    error = errors.mean(axis=0)
    relative = np.mean([choice.uncertainty for choice in measured.chosen[-1]])
    width = relative**2 * (1 / repeats + (1 - 1 / repeats) * most / total) * np.ones(len(of.sizes))
    if repeats > 1:
        width[:-1] += (errors[:, :-1].std(axis=0, ddof=1) / np.maximum(error[:-1], 1e-300)) ** 2 / repeats
    reach = np.exp(1.96 * np.sqrt(width))
    return Predicted(
        error, error / reach, error * reach, float(dimensions.mean()), tuple(shares.mean(axis=0).tolist()),
        float(equivalents.mean()),
    )  # fmt: skip


class _Modes:
    """The eigensystems of the centred kernel between training rows, one for each setting, computed at first use."""

    def __init__(self, candidate: Candidate, training: np.ndarray):
        self._candidate, self._training = candidate, training
        self._known: dict[int, Spectrum] = {}

    def __getitem__(self, choice: Choice) -> Spectrum:
        if choice.setting not in self._known:
            matrix = self._candidate.kernel(choice.setting, self._training)[self._training]
            columns = matrix.mean(axis=0)
            centred = matrix - columns - columns[:, None] + columns.mean()
            self._known[choice.setting] = spectrum(jnp.asarray((centred + centred.T) / 2))
        return self._known[choice.setting]

    def ridge(self, choice: Choice) -> float:
        """Return the ridge that the fits use: the chosen multiple of the mean diagonal of the centred kernel."""
        return float(RIDGES[choice.ridge]) * float(jnp.sum(self[choice].eigenvalues)) / len(self._training)
