"""Functions with fewer parameters, for fine-tuning in a random subspace or by low-rank additions to matrices."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Key

from lemmata.core import check_whole
from lemmata.errors import SettingError

from ._fine_tuning import Function


def in_subspace(
    f: Function, params: Any, key: Key[Array, ""], dimension: int
) -> tuple[Callable[[Array, Any], Array], Float[Array, " k"]]:
    """Return the function z -> f(params + A z) of a vector z, and its start z = 0. The entries of the random matrix A
    are independent N(0, 1/dimension).

    For gradients g and g' of f, <A'g, A'g'> has the mean <g, g'>. So the kernel of descent in z is an unbiased estimate
    of the kernel of descent in all parameters. To compute the kernel in z, apply `fine_tuning_kernels` to the returned
    function. `rank_needed` gives the dimension k that is needed.

    Args:
        f: f(params, x) of one point.
        params: a tree of arrays; leaves that are not floating-point numbers are fixed.
        key: the random key for A.
        dimension: k, the dimension of z.

    Raises:
        SettingError: if the dimension is not a whole number above 0.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import fine_tuning_kernels, in_subspace
        >>> g, start = in_subspace(lambda w, x: w @ x, jnp.zeros(50), jax.random.key(0), 2000)
        >>> bool(abs(fine_tuning_kernels(g, start, jnp.eye(50)[:1]).sgd[0, 0] - 1) < 0.2)
        True
    """
    check_whole("dimension", dimension, 1, "directions")
    free, fixed = eqx.partition(params, eqx.is_inexact_array)
    flat, restore = ravel_pytree(free)
    directions = jax.random.normal(key, (flat.size, dimension), flat.dtype) / math.sqrt(dimension)
    moved = lambda z, x: f(eqx.combine(restore(flat + directions @ z), fixed), x)
    return moved, jnp.zeros(dimension, flat.dtype)


def low_rank_adapters(
    f: Function, params: Any, key: Key[Array, ""], rank: int
) -> tuple[Callable[[Any, Any], Array], list[dict[str, Array]]]:
    """Return f as a function of factors D and U, and the factors at the start. The function adds D U to every matrix of
    the parameters.

    At the start, D (rows, rank) has independent entries N(0, 1/rank) and U (rank, columns) is 0. So the function is
    still f. Let G and G' be the gradients of f at two points with respect to a matrix. At the start, the gradient with
    respect to D is 0, and the gradient with respect to U is D'G. So the kernel of the factors is the sum of <D'G, D'G'>
    over matrices. The mean of this kernel over D is the kernel of all matrices.

    Args:
        f: f(params, x) of one point.
        params: a tree of arrays; arrays that are not matrices are fixed.
        key: the random key for D.
        rank: the number of columns of D.

    Raises:
        SettingError: if the rank is not a whole number above 0, or if the parameters contain no matrix.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.subjects.dynamics import low_rank_adapters
        >>> f = lambda params, x: params["w"] @ x
        >>> g, start = low_rank_adapters(f, {"w": jnp.eye(3)}, jax.random.key(0), 2)
        >>> start[0]["down"].shape, g(start, jnp.arange(3.0)).tolist()
        ((3, 2), [0.0, 1.0, 2.0])
    """
    check_whole("rank", rank, 1, "columns")
    leaves, tree = jax.tree.flatten(params)
    matrices = [n for n, leaf in enumerate(leaves) if eqx.is_inexact_array(leaf) and leaf.ndim == 2]
    if not matrices:
        raise SettingError("params", found="no matrix", rule="at least one matrix of floating-point numbers")
    factors = []
    for own, n in zip(jax.random.split(key, len(matrices)), matrices, strict=True):
        rows, columns = leaves[n].shape
        down = jax.random.normal(own, (rows, rank), leaves[n].dtype) / math.sqrt(rank)
        factors.append({"down": down, "up": jnp.zeros((rank, columns), leaves[n].dtype)})

    def moved(added: list[dict[str, Array]], x: Any) -> Array:
        now = list(leaves)
        for n, pair in zip(matrices, added, strict=True):
            now[n] = leaves[n] + pair["down"] @ pair["up"]
        return f(jax.tree.unflatten(tree, now), x)

    return moved, factors


def rank_needed(rows: int, error: float, probability: float = 0.1) -> int:
    """Return the dimension k of a random subspace in which the kernel of N rows changes by at most a given error.

    Take the kernel <g_i, g_j> of N rows with gradients g_i, and the kernel of these rows in a random subspace of
    dimension k. Let e be the allowed error. With probability at least 1 - 4 N² exp(-(e² - e³) k / 4), all entries of
    the two kernels differ by at most e max |g_i|² (Johnson and Lindenstrauss). The result is the least k at which 4 N²
    exp(-(e² - e³) k / 4) is at most `probability`.

    Args:
        rows: N, the number of rows.
        error: e, the allowed error as a share of max |g|², between 0 and 1.
        probability: the allowed probability that some entry differs by more.

    Raises:
        SettingError: if the error or the probability is not between 0 and 1.

    Example:
        >>> from lemmata.subjects.dynamics import rank_needed
        >>> rank_needed(32, 0.5), rank_needed(32, 0.1)
        (340, 4721)
    """
    check_whole("rows", rows, 1, "rows")
    for name, value in (("error", error), ("probability", probability)):
        if not 0 < value < 1:
            raise SettingError(name, found=value, rule="a number between 0 and 1")
    return math.ceil(4 * math.log(4 * rows**2 / probability) / (error**2 - error**3))
