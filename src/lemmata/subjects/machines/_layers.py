"""One layer of a machine: the Gram matrix of features between a prior and a factor that is learned."""

from typing import Literal, NamedTuple

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from lemmata.errors import UnknownNameError

from ._rectify import rectify

GramMap = Literal["relu", "linear"]
_MAPS = {"relu": rectify, "linear": lambda cross, left, right: cross + 0 * (left + right)}


class Grams(NamedTuple):
    """Inner products of a layer's features at p inducing rows and at n others.

    Attributes:
        inducing: (p, p), among the inducing rows.
        cross: (p, n), between them and the others.
        own: (n,), of each other row with itself.
    """

    inducing: Float[Array, "p p"]
    cross: Float[Array, "p n"]
    own: Float[Array, " n"]


def mapped(grams: Grams, kernel: GramMap) -> Grams:
    """The expectation of the next layer: the covariances K(G), of ReLU features by `rectify` or of the features.

    Args:
        grams: of a layer.
        kernel: "relu" or "linear".
    """
    through, diagonal = _MAPS[kernel], jnp.diagonal(grams.inducing)
    inducing = through(grams.inducing, diagonal[:, None], diagonal[None, :])
    return Grams(
        inducing, through(grams.cross, diagonal[:, None], grams.own[None, :]), through(grams.own, grams.own, grams.own)
    )


def learned(prior: Grams, factor: Float[Array, "p p"]) -> Grams:
    """The layer whose inducing rows have the Gram matrix G = L A A' L', for K = L L' the prior's and A the factor.

    Other rows follow their conditional law given the inducing ones under the prior: with B = L^-1 K_it,

        G_it = L A A' B,    g_t = k_t - sum B² + sum (A' B)²,

    that is G_ti = K_ti K_ii^-1 G_ii, and as for a Gaussian process whose inducing values have the covariance G.
    """
    root = jnp.linalg.cholesky(prior.inducing)
    half = solve_triangular(root, prior.cross, lower=True)
    moved, mixed = root @ factor, factor.T @ half
    return Grams(moved @ moved.T, moved @ mixed, prior.own + jnp.sum(mixed**2 - half**2, axis=0))


def triangular(raw: Float[Array, "p p"]) -> Float[Array, "p p"]:
    """A triangular factor: the lower triangle of free numbers, with the exponentials of their diagonal. For 0, it is
    the identity.
    """
    return jnp.tril(raw, -1) + jnp.diag(jnp.exp(jnp.diagonal(raw)))


def factor_divergence(raw: Float[Array, "p p"]) -> Float[Array, ""]:
    """`gaussian_divergence` of L A A' L' from L L', for any L and A = `triangular(raw)`."""
    return 0.5 * jnp.sum(triangular(raw) ** 2) - jnp.trace(raw) - 0.5 * len(raw)


def check_kernel(kernel: str) -> None:
    """Refuse a map that is not known."""
    if not isinstance(kernel, str) or kernel not in _MAPS:
        raise UnknownNameError("kernel", found=repr(kernel), rule=f"one of {', '.join(_MAPS)}")
