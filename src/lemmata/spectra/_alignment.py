"""How a target is distributed over the eigenvectors of a Gram matrix."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from ._eigensystem import Spectrum


def target_power(spectrum: Spectrum, y: Float[Array, "n *k"]) -> Float[Array, " n"]:
    """The power |<u_i, y>|² of the target in each eigenvector u_i, summed over outputs.

    The sum over i is |y|² (Parseval).

    Args:
        spectrum: the eigensystem of the Gram matrix.
        y: targets, one row for each point.
    """
    return jnp.sum((y.reshape(len(y), -1).T @ spectrum.eigenvectors) ** 2, axis=0)  # transposes y, not the large matrix


def cumulative_alignment(spectrum: Spectrum, y: Float[Array, "n *k"]) -> Float[Array, " n"]:
    """The fraction of the target's power in the first i eigenvectors, for i = 1..n.

    Kernel regression fits a target well if this fraction rises fast with i. The fraction is zero if the target is zero.

    Args:
        spectrum: the eigensystem of the Gram matrix.
        y: targets, one row for each point.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import cumulative_alignment, spectrum
        >>> cumulative_alignment(spectrum(jnp.diag(jnp.array([2.0, 1.0]))), jnp.array([3.0, 1.0])).tolist()
        [0.9, 1.0]
    """
    power = target_power(spectrum, y)
    total = jnp.sum(power)
    return jnp.cumsum(power) / jnp.where(total > 0, total, 1.0)
