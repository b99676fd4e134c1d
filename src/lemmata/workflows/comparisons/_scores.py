"""Predict rows from noisy rows by kernels, as a diffusion model does.

The ranking of the families ignores these predictions.
"""

import numpy as np
from jaxtyping import Float

from lemmata.workflows.records.comparisons import ScoreResult

from ._head import fits, standardised
from ._sequences import Sequences
from ._splits import Splits

NOISES = (0.25, 0.5, 1.0)
KERNELS = ("linear", "Gaussian", "Laplace")


def denoising(data: Sequences, of: Splits, seed: int) -> list[ScoreResult]:
    """Predict each row from a noisy version of the row, by kernel ridge regression, on the first split.

    The score is the gradient of the log density. Let z be a noisy row. By Tweedie's formula, the score of the noisy
    rows at z is (E[row | z] - z) / noise². So the kernel that predicts rows best estimates the score best. Errors are
    divided by the error of the linear kernel, which is best for Gaussian rows.

    Args:
        data: the sequences. The tokens of a row are placed side by side, and absent tokens are 0.
        of: the splits of the rows.
        seed: the seed of the noise.
    """
    training, test = of.orders[0], of.tests[0]
    flat = data.x.reshape(len(data.x), -1)
    rows = standardised(flat, training)
    rng, found = np.random.default_rng([seed, 23]), []
    for level in NOISES:
        noisy = rows + level * rng.standard_normal(rows.shape)
        errors = {}
        for name in KERNELS:
            matrix = _kernel(name, noisy, noisy[training])
            fit = fits(matrix[training], matrix[test], [rows[training]])[0]
            errors[name] = float(((rows[test] - fit.outputs) ** 2).mean())
        best = errors["linear"]
        found += [ScoreResult(name, level, error / best) for name, error in errors.items()]
    return found


def _kernel(name: str, z: Float[np.ndarray, "n q"], other: Float[np.ndarray, "m q"]) -> Float[np.ndarray, "n m"]:
    """Return a kernel of width 1. Distances are scaled so that two noisy rows are about sqrt(2 + 2 noise²) apart."""
    product = z @ other.T / z.shape[1]
    if name == "linear":
        return product
    squares = (z**2).mean(axis=1)[:, None] + (other**2).mean(axis=1)[None]
    distances = np.maximum(squares - 2 * product, 0.0)
    return np.exp(-distances / 2) if name == "Gaussian" else np.exp(-np.sqrt(distances))
