"""The matrices of HiPPO-LegS (LegS), a system whose states are Legendre coefficients of past inputs."""

import jax.numpy as jnp
from jaxtyping import Array, Complex, Float

from lemmata.errors import SettingError

from ._matrices import DiagonalPlusLowRank


def legs(states: int) -> tuple[Float[Array, "n n"], Float[Array, "n 1"]]:
    """Return the state matrix A and the input vector B of LegS (gu2020hippo).

    For n, k = 0, ..., N - 1, B_n = sqrt(2n+1), A_nk = -sqrt((2n+1)(2k+1)) for n > k, A_nn = -(n+1), and A_nk = 0 for
    n < k.

    Args:
        states: the number N of states.

    Raises:
        SettingError: if N is not a whole number above 0.

    >>> legs(2)[0].round(3).tolist()
    [[-1.0, 0.0], [-1.732, -2.0]]
    """
    _check(states)
    roots = jnp.sqrt(2 * jnp.arange(states) + 1.0)
    return jnp.diag(-jnp.arange(1.0, states + 1)) - jnp.tril(jnp.outer(roots, roots), -1), roots[:, None]


def legs_skew(states: int) -> Float[Array, "n n"]:
    """Return the skew-symmetric matrix S = A + I/2 + P P^T with P_n = sqrt(n + 1/2) and A from `legs`.

    The entries of S are -sqrt((2n+1)(2k+1)) / 2 below the diagonal and +sqrt((2n+1)(2k+1)) / 2 above.

    Args:
        states: the number N of states.

    Raises:
        SettingError: if N is not a whole number above 0.
    """
    _check(states)
    roots = jnp.sqrt(2 * jnp.arange(states) + 1.0)
    half = jnp.tril(jnp.outer(roots, roots), -1) / 2
    return half.T - half


def legs_low_rank(states: int) -> tuple[DiagonalPlusLowRank, Complex[Array, "n n"]]:
    """Return A of LegS in the eigenbasis V of its normal part, V* A V = diag(l) - (V* P)(V* P)*, and V.

    The normal part is A + P P^T = -I/2 + S with the S and P of `legs_skew`, and l are its eigenvalues. The normal part
    has orthonormal eigenvectors, so the change of basis is well conditioned. The eigenvectors of A itself are badly
    conditioned.

    Args:
        states: the number N of states.

    Raises:
        SettingError: if N is not a whole number above 0.
    """
    frequencies, basis = jnp.linalg.eigh(-1j * legs_skew(states))
    low = basis.conj().T @ jnp.sqrt(jnp.arange(states) + 0.5)[:, None]
    return DiagonalPlusLowRank(-0.5 + 1j * frequencies, low, low), basis


def _check(states: int) -> None:
    if isinstance(states, bool) or not isinstance(states, int) or states < 1:
        raise SettingError("states", found=repr(states), rule="a whole number that is at least 1")
