"""The smoothness of pairs of digits by the power of their labels, beside leave-one-out errors, at several lengthscales.

python benchmarks/digit_smoothness.py prints a row of docs/papers.md's table: estimates of `lemmata.spectra.smoothness`
with its defaults (labels +-1 less their mean, all rows of scikit-learn's digits of the pair, pixels in [0, 1], Laplace
kernel exp(-|x - x'|/l)), and the least leave-one-out squared error of kernel ridge regression over 13 ridges.
"""

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

from lemmata.kernels import Laplace, gram
from lemmata.solvers import leave_one_out_residuals
from lemmata.spectra import Smoothness, smoothness, spectrum

PAIRS = ((0, 1), (1, 7), (4, 9), (3, 5))
LENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)
RIDGES = np.geomspace(1e-6, 1.0, 13)


def pair(one: int, other: int, length: float) -> tuple[Smoothness, float]:
    """What is found of one digit against another, and the least leave-one-out squared error."""
    x, digit = load_digits(return_X_y=True)
    kept = (digit == one) | (digit == other)
    y = np.where(digit[kept] == one, 1.0, -1.0)
    y = jnp.asarray(y - y.mean())
    matrix = gram(Laplace(length), jnp.asarray(x[kept] / 16))
    errors = [float(jnp.mean(leave_one_out_residuals(matrix, y, ridge) ** 2)) for ridge in RIDGES]
    return smoothness(spectrum(matrix), y), min(errors)


def main() -> None:
    """One line a lengthscale and pair."""
    for length in LENGTHS:
        for one, other in PAIRS:
            found, error = pair(one, other, length)
            said = (
                f"s {found.estimate:.2f} +- {found.error:.2f}, decay {found.decay:.2f}, last index {found.indices[1]}"
            )
            print(f"lengthscale {length:g}, {one} against {other}: {said}, leave-one-out {error:.3f}", flush=True)


if __name__ == "__main__":
    jax.config.update("jax_enable_x64", True)
    main()
