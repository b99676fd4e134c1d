"""What an iterative fit has left undone: what a direct solution on some of its centres would still remove."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.kernels import AbstractKernel

ROWS = 1000
"""Rows of the direct solution, and rows on which it is measured, at most."""

_RIDGES = 10.0 ** np.arange(-14, 4)  # as fractions of the largest eigenvalue


class Remainder(eqx.Module):
    """A direct solution on a few rows A, ready for any residuals, and other rows B to measure it.

    Args:
        values, vectors: the eigensystem of K(A, A).
        cross: K(B, A) times the eigenvectors.
        scale: the mean squared target, summed over outputs.
    """

    values: Float[Array, " a"]
    vectors: Float[Array, "a a"]
    cross: Float[Array, "b a"]
    scale: float = eqx.field(static=True)

    def __call__(self, first: Float[Array, "a k"], other: Float[Array, "b k"]) -> float:
        """The root of the removable part of the mean squared residual on B, in units of the targets' root mean square.

        For each of 18 ridges, a kernel ridge regression is fitted to the residuals on A, and the mean decrease of the
        squared residuals on B is taken, less two of its standard errors. The largest counts. Noise has none.

        Args:
            first: residuals on A.
            other: residuals on B.
        """
        if not self.scale > 0:
            return 0.0
        ridges = jnp.asarray(_RIDGES, self.values.dtype)[:, None] * jnp.maximum(self.values[-1], 0)
        weights = 1 / jnp.maximum(self.values + ridges, jnp.finfo(self.values.dtype).tiny)
        fits = jnp.einsum("ba,ra,ak->rbk", self.cross, weights, self.vectors.T @ first)
        gains = jnp.sum(other**2 - (other - fits) ** 2, axis=2)
        sure = jnp.mean(gains, axis=1) - 2 * jnp.std(gains, axis=1) / gains.shape[1] ** 0.5
        return max(0.0, float(jnp.nanmax(sure))) ** 0.5 / self.scale**0.5


def remainder_of(kernel: AbstractKernel, a: Float[Array, "a d"], b: Float[Array, "b d"], scale: float) -> Remainder:
    """The eigensystem of the rows A, and the kernel between both.

    Args:
        kernel: the kernel.
        a: rows of the direct solution.
        b: rows on which it is measured, none of them in A.
        scale: the mean squared target.
    """
    values, vectors = jnp.linalg.eigh(kernel.cross(a, a))
    return Remainder(values, vectors, kernel.cross(b, a) @ vectors, scale)
