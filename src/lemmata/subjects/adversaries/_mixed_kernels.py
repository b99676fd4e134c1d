"""Kernels of training on clean and attacked rows together, and a score of an untrained architecture from a kernel."""

from collections.abc import Callable

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_numbers, known, require_float64
from lemmata.errors import NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.kernels import AbstractKernel, gram


class MixedKernels(eqx.Module):
    """Four Gram matrices of the same rows.

    Args:
        clean: the matrix k(x_i, x_j) of the rows, for a kernel k.
        robust: the matrix k(A x_i, A x_j) of the attacked rows, where A is the attack, a map of rows to rows.
        clean_mixed: the matrix of the features (1 - beta) phi(x) + beta phi(A x), with the feature map phi of k.
        robust_mixed: the matrix of the features (1 - beta) phi(A x) + beta phi(A A x).
    """

    clean: Float[Array, "n n"]
    robust: Float[Array, "n n"]
    clean_mixed: Float[Array, "n n"]
    robust_mixed: Float[Array, "n n"]


def mixed_kernels(
    kernel: AbstractKernel | Callable[[Array], Array],
    x: Float[Array, "n *d"],
    attacked: Float[Array, "..."],
    twice: Float[Array, "..."],
    beta: float | Float[Array, ""],
) -> MixedKernels:
    """Compute the kernels of rows, of attacked rows, and of mixtures of both, from one kernel k and an attack A.

    Training on (1 - beta) loss(f(x)) + beta loss(f(A x)) moves a linearised network along the gradients of both
    losses. With K = k(x, x), K' = k(Ax, Ax), C = k(x, Ax), K'' = k(AAx, AAx), C' = k(Ax, AAx), the mixed kernels are

        clean_mixed  = (1 - beta)² K  + beta (1 - beta) (C  + C^T)  + beta² K',
        robust_mixed = (1 - beta)² K' + beta (1 - beta) (C' + C'^T) + beta² K''.

    Let phi be the feature map of k. Each mixed kernel is the Gram matrix of the features (1 - beta) phi(x) + beta
    phi(Ax), at the rows or at the attacked rows. Therefore both kernels are positive semidefinite. If k is the tangent
    kernel of f, both are tangent kernels of (1 - beta) f(x) + beta f(Ax). With beta = 0, the mixed kernels are K and
    K'. With beta = 1, they are K' and K''. `twice` is A applied to attacked rows, not an attack of twice the radius.

    Args:
        kernel: a kernel, or a function that gives the Gram matrix of rows (`EmpiricalKernel(f, params).gram`).
        x: the rows x.
        attacked: the attacked rows A x.
        twice: the rows A A x, attacked twice.
        beta: the weight of attacked rows in the loss, from 0 to 1.

    Raises:
        ShapeError: if the attacked rows and the rows have different shapes.
        SettingError: for a beta outside [0, 1].
        DataError: for numbers that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.adversaries import mixed_kernels
        >>> found = mixed_kernels(lambda z: z @ z.T, jnp.ones((1, 1)), 3 * jnp.ones((1, 1)), jnp.ones((1, 1)), 0.5)
        >>> found.clean_mixed.tolist(), found.robust.tolist()
        ([[4.0]], [[9.0]])

    Reference: wu2024robust.
    """
    number = known(beta)
    if number is not None and not 0 <= float(number) <= 1:
        raise SettingError("beta", found=float(number), rule="a share from 0 to 1")
    for name, rows in (("rows", x), ("attacked rows", attacked), ("rows attacked twice", twice)):
        check_numbers(name, rows)
        if rows.shape != x.shape:
            raise ShapeError(name, found=f"shape {rows.shape}", rule=f"shape {x.shape}, like the rows")
    n, stacked = len(x), jnp.concatenate([x, attacked, twice])
    whole = gram(kernel, stacked) if isinstance(kernel, AbstractKernel) else kernel(stacked)
    if whole.shape != (3 * n, 3 * n):
        raise ShapeError(
            "kernel", found=f"shape {whole.shape}", rule=f"shape ({3 * n}, {3 * n}), the Gram matrix of all rows"
        )
    block = lambda i, j: whole[i * n : (i + 1) * n, j * n : (j + 1) * n]

    def mixed(i: int) -> Array:
        crossed = block(i, i + 1)
        ends = (1 - beta) ** 2 * block(i, i) + beta**2 * block(i + 1, i + 1)
        return ends + beta * (1 - beta) * (crossed + crossed.T)

    return MixedKernels(block(0, 0), block(1, 1), mixed(0), mixed(1))


def label_energy(K: Float[Array, "rows columns"], y: Float[Array, "n *k"]) -> Float[Array, ""]:
    """Return the energy sqrt(y' K^-1 y / n) of n labels y: the norm of their least interpolant, divided by sqrt(n).

    The norm is the norm of the kernel's reproducing space. With several outputs, y' K^-1 y is summed over outputs.
    Bounds on the error of a wide network after training grow with this energy. Therefore a small energy favours an
    architecture.

    Args:
        K: a positive definite Gram matrix.
        y: the n labels, or a matrix with n rows and one column per output.

    Raises:
        ShapeError: if the number of labels differs from the size of the matrix.
        NotPositiveDefiniteError: if the smallest eigenvalue is at most n eps times the largest eigenvalue. If JAX
            traces the function, the energy is infinite instead.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.adversaries import label_energy
        >>> float(label_energy(4 * jnp.eye(2), jnp.ones(2)))
        0.5
    """
    require_float64("the energy of labels")
    if K.ndim != 2 or K.shape[0] != K.shape[1] or len(y) != len(K):
        rule = "a square matrix, and one row of labels for each of its rows"
        raise ShapeError("labels", found=f"kernel {K.shape} and labels {y.shape}", rule=rule)
    values, vectors = jnp.linalg.eigh(K)
    smallest, floor = known(values), len(K) * np.finfo(float).eps * values[-1]
    if smallest is not None and smallest[0] <= float(floor):
        raise NotPositiveDefiniteError(
            "kernel",
            found=f"smallest eigenvalue {float(smallest[0]):.3g} and largest eigenvalue {float(smallest[-1]):.3g}",
            rule="a positive definite matrix, because equal rows with different labels cannot be interpolated",
            remedy="remove duplicate rows",
        )
    parts = vectors.T @ y.reshape(len(y), -1)
    energy = jnp.sqrt(jnp.sum(parts**2 / jnp.where(values > floor, values, 1.0)[:, None]) / len(y))
    return jnp.where(values[0] > floor, energy, jnp.inf)
