"""The discrepancy between two conditional distributions of z given y, computed from Gram matrices. The discrepancy
compares the conditional mean operators and the conditional covariance operators.

The kernels k of z and l of y have feature maps phi and psi. Take n pairs (z, y), and let Phi and Psi have the features
of the pairs as columns. Let K = k(z, z) and L = l(y, y) be the Gram matrices, e a ridge and H the centring matrix. The
conditional mean operator and the conditional covariance operator are

    U = C_zy (C_yy + e)^-1 = Phi A Psi',                   A = (L + n e)^-1,
    R = C_zz - C_zy (C_yy + e)^-1 C_yz = Phi H B H Phi'/n,  B = n e (H L H + n e)^-1.

The moments C are about 0 in U and about the mean in R. Suppose that kernels are linear and that the mean of z given y
is linear in y. Suppose also that the covariance of z given y is the same for all y. In the limit of many pairs and a
ridge that goes to 0, this mean is U y, and this covariance is R.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers, known
from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import AbstractKernel, gram


class ConditionalDiscrepancy(eqx.Module):
    """Two squared distances between conditional distributions. The discrepancy is the square root of their sum.

    Args:
        mean: |U_s - U_t|² of the conditional mean operators, in the Hilbert-Schmidt norm.
        covariance: the squared Bures distance of the conditional covariance operators.
    """

    mean: Float[Array, ""]
    covariance: Float[Array, ""]

    @property
    def value(self) -> Float[Array, ""]:
        """The discrepancy, which is a metric on pairs of a mean operator and a covariance operator."""
        squared = self.mean + self.covariance
        none = squared <= 0  # the square root has no derivative at 0; its gradient is then set to 0
        return jnp.where(none, 0.0, jnp.sqrt(jnp.where(none, 1.0, squared)))


def conditional_mean_distance(
    source: tuple[Float[Array, "n n"], Float[Array, "n n"]],
    target: tuple[Float[Array, "m m"], Float[Array, "m m"]],
    between: tuple[Float[Array, "n m"], Float[Array, "n m"]],
    ridge: float | Float[Array, ""],
) -> Float[Array, ""]:
    """Return the squared distance of two conditional mean operators, computed from Gram matrices K of z and L of y.

        |U_s - U_t|² = tr(L_s A_s K_s A_s) + tr(L_t A_t K_t A_t) - 2 tr(L_ts A_s K_st A_t), A = (L + n e)^-1.

    Args:
        source: K_s and L_s, the Gram matrices of z and y in the source.
        target: K_t and L_t of the target.
        between: K_st and L_st, the Gram matrices between source and target.
        ridge: the ridge e, above 0.

    Raises:
        ShapeError: if matrices are not symmetric, or do not fit each other.
        DataError: if a number is not finite.
        SettingError: if the ridge is not a finite number above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.embeddings import conditional_mean_distance
        >>> y = jnp.array([[1.0], [-1.0]])
        >>> grams = lambda slope: (slope**2 * y @ y.T, y @ y.T)
        >>> moved = conditional_mean_distance(grams(2.0), grams(3.0), (6.0 * y @ y.T, y @ y.T), ridge=1.0)
        >>> round(float(moved), 3)  # slopes 2 and 3 with a ridge of the variance of y: (2 - 3)²/4
        0.25
    """
    _check_grams(source, target, between, ridge)
    (k_s, l_s), (k_t, l_t), (k_st, l_st) = source, target, between
    weighted = lambda own, k: jnp.linalg.solve(own, jnp.linalg.solve(own, k).T).T
    shifted = lambda own: own + len(own) * ridge * jnp.eye(len(own))
    a_s, a_t = shifted(l_s), shifted(l_t)
    across = jnp.linalg.solve(a_t, jnp.linalg.solve(a_s, k_st).T).T
    square = lambda own, shift, k: jnp.sum(own * weighted(shift, k).T)
    return square(l_s, a_s, k_s) + square(l_t, a_t, k_t) - 2 * jnp.sum(l_st * across)


def conditional_covariance_distance(
    source: tuple[Float[Array, "n n"], Float[Array, "n n"]],
    target: tuple[Float[Array, "m m"], Float[Array, "m m"]],
    between: Float[Array, "n m"],
    ridge: float | Float[Array, ""],
) -> Float[Array, ""]:
    """Return the squared Bures distance of two conditional covariance operators.

    The squared distance is

        tr R_s + tr R_t - 2 tr (R_s^1/2 R_t R_s^1/2)^1/2,

    where tr R = tr(H K H B)/n, H is the centring matrix and B = n e (H L H + n e)^-1. The last trace is the sum of the
    singular values of B_s^1/2 H K_st H B_t^1/2, divided by the square root of n m. Here n and m are the numbers of rows
    of source and target.

    Args:
        source: K_s and L_s, the Gram matrices of z and y in the source.
        target: K_t and L_t of the target.
        between: K_st, the Gram matrix of z between source and target.
        ridge: the ridge e, above 0.

    Raises:
        ShapeError: if matrices are not symmetric, or do not fit each other.
        DataError: if a number is not finite.
        SettingError: if the ridge is not a finite number above 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.embeddings import conditional_covariance_distance
        >>> z, flat = jnp.array([[1.0], [-1.0], [1.0], [-1.0]]), jnp.zeros((4, 4))
        >>> grams = lambda scale: (scale**2 * z @ z.T, flat)  # y says nothing
        >>> apart = conditional_covariance_distance(grams(2.0), grams(5.0), 10.0 * z @ z.T, ridge=0.1)
        >>> round(float(apart), 3)  # deviations 2 and 5
        9.0
    """
    _check_grams(source, target, (between,), ridge)
    root_s, root_t = _residual_root(source[1], ridge), _residual_root(target[1], ridge)
    own = lambda k, root: jnp.sum((root @ _centred(k)) * root) / len(k)
    across = root_s @ _centred(between) @ root_t
    singular = jnp.linalg.svd(across, compute_uv=False)
    return own(source[0], root_s) + own(target[0], root_t) - 2 * jnp.sum(singular) / jnp.sqrt(1.0 * across.size)


def _check_ridge(ridge: float | Float[Array, ""]) -> None:
    value = known(ridge)
    if value is not None and not (value.shape == () and 0 < value < np.inf):
        rule, remedy = "a finite number above 0", "0.05 for a kernel that is 1 on its diagonal"
        raise SettingError("ridge", found=value, rule=rule, remedy=f"use {remedy}")


def _check_grams(
    source: tuple[Array, Array], target: tuple[Array, Array], between: tuple[Array, ...], ridge: float | Array
) -> None:
    """Check the Gram matrices and the ridge. Both distances use this function."""
    _check_ridge(ridge)
    for name, pair in (("source", source), ("target", target)):
        for letter, matrix in zip("KL", pair, strict=True):
            check_gram(f"{letter} of the {name}", matrix)
        if pair[0].shape != pair[1].shape:
            found = f"K {pair[0].shape} and L {pair[1].shape}"
            raise ShapeError(name, found=found, rule="Gram matrices of the same rows, with equal shapes")
    rows = (len(source[0]), len(target[0]))
    for letter, matrix in zip("KL", between, strict=False):
        if jnp.shape(matrix) != rows:
            rule = f"shape {rows}: one row for each row of the source, one column for each row of the target"
            raise ShapeError(f"{letter} between the two", found=f"shape {jnp.shape(matrix)}", rule=rule)
        check_numbers(f"{letter} between the two", matrix)


def _centred(k: Float[Array, "n m"]) -> Float[Array, "n m"]:
    """Return H K H, the centred Gram matrix."""
    return k - k.mean(axis=0) - k.mean(axis=1)[:, None] + k.mean()


def _residual_root(gram_y: Float[Array, "n n"], ridge: float | Float[Array, ""]) -> Float[Array, "n n"]:
    """Return the square root of B = n e (H L H + n e)^-1, where L is `gram_y` and e is the ridge."""
    values, vectors = jnp.linalg.eigh(_centred(gram_y))
    shift = len(gram_y) * ridge
    return (vectors * jnp.sqrt(shift / (jnp.maximum(values, 0.0) + shift))) @ vectors.T


def conditional_discrepancy(
    source: tuple[Float[Array, "n d"], Float[Array, "n q"]],
    target: tuple[Float[Array, "m d"], Float[Array, "m q"]],
    kernel: AbstractKernel,
    label_kernel: AbstractKernel,
    ridge: float = 0.05,
) -> ConditionalDiscrepancy:
    """Return the conditional operator discrepancy, a distance of two conditional distributions of z given y, from
    samples.

    Args:
        source: representations z and labels y of the source, one row for each example.
        target: representations and labels of the target.
        kernel: the kernel of z.
        label_kernel: the kernel of y.
        ridge: the ridge e, above 0. A smaller ridge makes the distance sensitive to more of the conditional
            distribution, but also to more noise of the sample.

    Returns:
        The two squared distances; `value` is the root of their sum.

    Raises:
        ShapeError: if the numbers of rows or columns do not fit each other.
        DataError: if a number is not finite.
        SettingError: if the ridge is not a finite number above 0.

    References:
        yang2024cod, abstract. If the labels of source and target have different distributions, equal conditional
        distributions have a discrepancy above 0. The reason is that the ridge shrinks each operator, by an amount that
        depends on the labels of its sample.

    Example:
        >>> import jax
        >>> from lemmata.subjects.embeddings import conditional_discrepancy
        >>> from lemmata.kernels import RBF
        >>> y = jax.random.normal(jax.random.key(0), (60, 1))
        >>> same = conditional_discrepancy((y, y), (y, y), RBF(1.0), RBF(1.0))
        >>> moved = conditional_discrepancy((y, y), (y + 1.0, y), RBF(1.0), RBF(1.0))
        >>> bool(same.mean < 1e-6 < moved.mean)
        True
    """
    (z_s, y_s), (z_t, y_t) = source, target
    _check_ridge(ridge)
    for name, z, y in (("source", z_s, y_s), ("target", z_t, y_t)):
        if len(z) != len(y) or len(z) == 0:
            raise ShapeError(
                name,
                found=f"{len(z)} representations and {len(y)} labels",
                rule="one label for each representation, and at least one",
            )
    if z_s.shape[1:] != z_t.shape[1:] or y_s.shape[1:] != y_t.shape[1:]:
        found = f"{z_s.shape} and {z_t.shape}, {y_s.shape} and {y_t.shape}"
        raise ShapeError("source and target", found=found, rule="the same number of columns in both")
    own = [(gram(kernel, z), gram(label_kernel, y)) for z, y in (source, target)]
    across = gram(kernel, z_s, z_t), gram(label_kernel, y_s, y_t)
    return ConditionalDiscrepancy(
        conditional_mean_distance(own[0], own[1], across, ridge),
        conditional_covariance_distance(own[0], own[1], across[0], ridge),
    )
