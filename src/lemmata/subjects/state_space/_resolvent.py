"""The impulse response of a diagonal plus low-rank system from its generating function, without powers of A."""

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Complex

from ._checks import check_length, check_step
from ._matrices import DiagonalPlusLowRank, solved


def resolvent_response(
    matrix: DiagonalPlusLowRank,
    truncated: Complex[Array, "1 n"],
    b: Complex[Array, "n 1"],
    step: ArrayLike,
    length: int,
) -> Complex[Array, " t"]:
    """Return K_s = C A'^s B', s < T, of the bilinear rule from T sums over the poles (Gu, Goel and Ré, 2022).

    The system has the state matrix A = diag(l) - P Q*, and D is the time step. Let A' = (1 - D A/2)^-1 (1 + D A/2),
    B' = (1 - D A/2)^-1 D B and C_T = C (I - A'^T). At the T-th roots of unity z,

        sum_s K_s z^s = C_T (I - z A')^-1 B' = C_T (g - w A)^-1 2 B,    g = (2/D)(1 - z), w = 1 + z,

    and by Woodbury's identity, with R = (g - w l)^-1, the right side is 2 [C_T R B - w C_T R P (I + w Q* R P)^-1 Q* R
    B]. The usual form divides by w and has (2/D)(1 - z)/(1 + z), which is infinite at z = -1. The form used here is
    finite there.

    Args:
        matrix: the matrix A = diag(l) - P Q*.
        truncated: the output vector C_T.
        b: the input vector B.
        step: the time step D.
        length: the number T of steps.

    Raises:
        SettingError: if the step is not positive and finite, or the length is below 1.
    """
    check_step(step)
    check_length(length)
    nodes = jnp.exp(-2j * jnp.pi * jnp.arange(length) / length)
    left, right = matrix.left, matrix.right.conj().T

    def generating(node: Array) -> Array:
        weight = 1 + node
        inverse = 1 / ((2 / step) * (1 - node) - weight * matrix.poles)
        small = jnp.eye(left.shape[1]) + weight * right @ (inverse[:, None] * left)
        first, scaled = truncated * inverse, inverse[:, None] * b
        return 2 * (first @ b - weight * (first @ left) @ solved(small, right @ scaled))[0, 0]

    # z^s = exp(-2 pi i j s / T): the sums over s are a discrete Fourier transform of K
    return jnp.fft.ifft(jax.vmap(generating)(nodes))
