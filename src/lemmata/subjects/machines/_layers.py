"""One layer of a machine: the Gram matrix of its features, from a prior and a learned factor."""

from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from lemmata.errors import UnknownNameError

from ._rectify import rectify

GramMap = Literal["relu", "linear"]
_MAPS = {"relu": rectify, "linear": lambda cross, left, right: cross + 0 * (left + right)}


class Grams(NamedTuple):
    """Inner products of a layer's features at p inducing rows and n other rows.

    Attributes:
        inducing: the inner products among the inducing rows, (p, p).
        cross: the inner products of inducing rows and other rows, (p, n).
        own: the inner product of each other row with itself, (n,).
    """

    inducing: Float[Array, "p p"]
    cross: Float[Array, "p n"]
    own: Float[Array, " n"]


def mapped(grams: Grams, kernel: GramMap) -> Grams:
    """Return the prior expectation K(G) of the next layer: covariances of ReLU features, or G itself.

    Args:
        grams: the inner products of a layer.
        kernel: the map K: "relu" for ReLU features, or "linear" for G itself.
    """
    through, diagonal = _MAPS[kernel], jnp.diagonal(grams.inducing)
    inducing = through(grams.inducing, diagonal[:, None], diagonal[None, :])
    return Grams(
        inducing, through(grams.cross, diagonal[:, None], grams.own[None, :]), through(grams.own, grams.own, grams.own)
    )


def learned(prior: Grams, factor: Float[Array, "p p"]) -> Grams:
    """Return the layer whose inducing rows have the Gram matrix G = L A A' L', for the prior K = L L' and a factor A.

    The other rows t follow their conditional distribution under the prior, given the inducing rows i. With B = L^-1
    K_it,

        G_it = L A A' B,    g_t = k_t - sum B² + sum (A' B)²,

    that is, G_ti = K_ti K_ii^-1 G_ii, as in a Gaussian process whose inducing values have the covariance G.
    """
    root = jnp.linalg.cholesky(prior.inducing)
    half = solve_triangular(root, prior.cross, lower=True)
    moved, mixed = root @ factor, factor.T @ half
    return Grams(moved @ moved.T, moved @ mixed, prior.own + jnp.sum(mixed**2 - half**2, axis=0))


def triangular(raw: Float[Array, "p p"]) -> Float[Array, "p p"]:
    """Return a lower triangular matrix from free numbers, with exponentials of the numbers on the diagonal. If all
    numbers are 0, the matrix is the identity.
    """
    return jnp.tril(raw, -1) + jnp.diag(jnp.exp(jnp.diagonal(raw)))


def factor_divergence(raw: Float[Array, "p p"]) -> Float[Array, ""]:
    """Return `gaussian_divergence` of L A A' L' from L L', with A = `triangular(raw)`.

    The divergence is equal for all invertible L.
    """
    return 0.5 * jnp.sum(triangular(raw) ** 2) - jnp.trace(raw) - 0.5 * len(raw)


def check_kernel(kernel: str) -> None:
    """Raise an error if the name of a map is not known."""
    if not isinstance(kernel, str) or kernel not in _MAPS:
        raise UnknownNameError("kernel", found=repr(kernel), rule=f"one of {', '.join(_MAPS)}")
