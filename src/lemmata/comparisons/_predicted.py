"""What the eigenvalues of a kernel predict of its learning curve, beside what was measured."""

import dataclasses

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.spectra import Spectrum, cumulative_alignment, effective_dimension, measured_curve, spectrum

from ._head import RIDGES
from ._measure import Candidate, Measured
from ._splits import Splits

SHOWN = (10, 100)
SOLVES, MANY = 8, 10**6
"""With all rows for training none is held out, so that no measurement varies: the interval is that of the estimate."""


@dataclasses.dataclass(frozen=True)
class Predicted:
    """The prediction of a family.

    Args:
        sizes: numbers of training rows; the last is twice the largest measured one, where there are so many rows.
        error, lower, upper: relative to guessing, as means over the splits at the settings and ridges chosen there.
        effective_dimension: tr K (K + ridge)^-1 on all rows, at what most splits chose.
        alignment: the share of the target in the first 10 and the first 100 eigenvectors.
        direct: the error with all training rows by direct solves of the same matrix at what most splits chose: where it
            is near the measured error and `error` is not, the deterministic equivalent is what fails.
    """

    sizes: tuple[int, ...]
    error: Float[np.ndarray, " s"]
    lower: Float[np.ndarray, " s"]
    upper: Float[np.ndarray, " s"]
    effective_dimension: float
    alignment: tuple[float, ...]
    direct: float


def predict(candidate: Candidate, y: Float[np.ndarray, "N k"], of: Splits, measured: Measured) -> Predicted:
    """The deterministic equivalent from the centred Gram matrix of all rows (`lemmata.spectra.measured_curve`).

    Settings and ridges are those that leave-one-out chose in the splits; the error of guessing is the target's variance
    times 1 + 1/n. Coordinates are standardised by all rows, which differs from the splits by O(n^-1/2).
    """
    total, y = len(y), y - y.mean(axis=0)
    modes: dict[int, Spectrum] = {}
    spread = float((y**2).sum()) / (total - 1)
    sizes = of.sizes if 2 * of.sizes[-1] > total else (*of.sizes, 2 * of.sizes[-1])
    ends = np.zeros((3, len(sizes)))
    known: dict[tuple[int, int, int], np.ndarray] = {}
    for s, n in enumerate(sizes):
        choices = measured.chosen[min(s, len(of.sizes) - 1)]
        for choice in choices:
            key = (n, choice.setting, choice.ridge)
            if key not in known:
                own = modes.setdefault(choice.setting, _spectrum(candidate, choice.setting, total, modes))
                ridge = float(RIDGES[choice.ridge]) * float(jnp.sum(own.eigenvalues)) / total
                curve = measured_curve(
                    own,
                    jnp.asarray(y),
                    [n],
                    ridge,
                    intercept=True,
                    solves=0,
                    resamples=len(of.orders) if n < total else MANY,
                )
                known[key] = np.array([float(part[0]) for part in (curve.error, curve.lower, curve.upper)])
            ends[:, s] += known[key] / (spread * (1 + 1 / n)) / len(choices)
    last = measured.chosen[-1]
    usual = max(last, key=last.count)
    own = modes[usual.setting]
    ridge = float(RIDGES[usual.ridge]) * float(jnp.sum(own.eigenvalues)) / total
    n = of.sizes[-1]
    solved = measured_curve(own, jnp.asarray(y), [n], ridge, intercept=True, solves=SOLVES)
    share = np.asarray(cumulative_alignment(own, jnp.asarray(y)))
    error, lower, upper = ends
    return Predicted(
        sizes, error, lower, upper, float(effective_dimension(own, ridge)),
        tuple(float(share[min(k, total) - 1]) for k in SHOWN), float(solved.error[0]) / (spread * (1 + 1 / n)),
    )  # fmt: skip


def _spectrum(candidate: Candidate, setting: int, total: int, known: dict[int, Spectrum]) -> Spectrum:
    if setting in known:
        return known[setting]
    matrix = candidate.kernel(setting, np.arange(total))
    columns = matrix.mean(axis=0)
    centred = matrix - columns - columns[:, None] + columns.mean()
    return spectrum(jnp.asarray((centred + centred.T) / 2))
