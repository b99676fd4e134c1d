"""Average kernels over random initialisations, with standard errors, and extrapolate them to infinite width."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Inexact, Key, Shaped

from lemmata.core import check_whole
from lemmata.errors import SettingError, ShapeError, SolverError

from ._empirical import EmpiricalKernel, Outputs, is_true, options
from ._torch import TorchEmpiricalKernel


class KernelEstimate(eqx.Module):
    """A kernel that was estimated from random draws.

    Attributes:
        mean: the estimate of every entry: the mean over draws, or its extrapolation to infinite width.
        standard_error: the standard error of every entry of the mean.
    """

    mean: Inexact[Array | np.ndarray, "n m *outputs"]
    standard_error: Inexact[Array | np.ndarray, "n m *outputs"]


def monte_carlo_kernel(
    init: Callable[[Key[Array, ""]], Any],
    f: Any,
    x: Shaped[Array, "n *point"],
    y: Shaped[Array, "m *point"] | None = None,
    *,
    key: Key[Array, ""],
    draws: int,
    outputs: Outputs = "mean",
    nngp: bool = False,
) -> KernelEstimate:
    """The mean of a finite network's tangent kernel over independent initialisations, with standard errors.

    Mean and variance are updated after each draw, so the memory does not grow with the number of draws. All entries are
    computed from the same draws, so their errors are correlated.

    Args:
        init: a function that draws parameters from a key. For a network of layers, this is `lambda key:
            network.init(key, fan_in)[0]`.
        f: the function, as for `EmpiricalKernel`.
        x: points.
        y: other points, x itself by default.
        key: the random key of all draws.
        draws: the number of draws, at least 2.
        outputs: as for `EmpiricalKernel.gram`.
        nngp: whether to average `EmpiricalKernel.nngp` instead of the tangent kernel. At infinite width, this average
            tends to the NNGP kernel.

    Raises:
        SettingError: for fewer than two draws, no key, or `outputs` with `nngp`, which is a mean over outputs.
        MemoryPlanError: if four arrays of the size of the kernel, and the working set, need more bytes than are free.
        SolverError: if a draw gave a kernel that is not finite.

    Example:
        >>> import jax
        >>> from lemmata.architectures import relu_network
        >>> from lemmata.networks import monte_carlo_kernel
        >>> network = relu_network(depth=1, width=64)
        >>> init = lambda key: network.init(key, 3)[0]
        >>> found = monte_carlo_kernel(init, network, jax.numpy.eye(3), key=jax.random.key(0), draws=10)
        >>> found.mean.shape, found.standard_error.shape
        ((3, 3), (3, 3))
    """
    _check(draws, outputs, nngp)
    if not (isinstance(key, jax.Array) and (jnp.issubdtype(key.dtype, jax.dtypes.prng_key) or key.shape == (2,))):
        raise SettingError("key", found=repr(key), rule="a key of jax.random", remedy="pass jax.random.key(0)")

    def kernel(own: Any) -> Array:
        empirical = EmpiricalKernel(f, own)
        return empirical.nngp(x, y) if nngp else empirical.gram(x, y, outputs=outputs)

    def add(held: tuple[Array, Array, Array], one: Array) -> tuple[tuple[Array, Array, Array], None]:
        count, mean, squares = held
        found = kernel(init(one))
        count, before = count + 1.0, found - mean
        mean = mean + before / count
        return (count, mean, squares + before * (found - mean)), None

    def planned(one: Any) -> Any:
        plan = EmpiricalKernel(f, init(one)).plan("mean of kernels", (x, x if y is None else y), outputs, copies=4)
        plan.require(x, remedy="use outputs='mean', or pass fewer points at a time")
        return one

    jax.eval_shape(planned, key)
    zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(lambda k: kernel(init(k)), key))
    start = (jnp.zeros((), zero.dtype), zero, zero)
    (_, mean, squares), _ = jax.jit(lambda keys: jax.lax.scan(add, start, keys))(jax.random.split(key, draws))
    if is_true(~jnp.all(jnp.isfinite(squares))):
        raise SolverError(
            "kernels of the draws", found="entries that are not finite", rule="finite entries in every draw"
        )
    return KernelEstimate(mean, jnp.sqrt(squares / (draws * (draws - 1.0))))


def torch_monte_carlo_kernel(
    make: Callable[[int], Any],
    x: Any,
    y: Any = None,
    *,
    draws: int,
    outputs: Outputs = "mean",
    nngp: bool = False,
) -> KernelEstimate:
    """Average the kernels of the PyTorch modules make(0), ..., make(draws - 1) in NumPy, as `monte_carlo_kernel` does.

    Args:
        make: a function that returns a module with independent random parameters for every seed. The function should
            call `torch.manual_seed(seed)`.
        x: points, as for `TorchEmpiricalKernel`.
        y: other points, x itself by default.
        draws: the number of modules, at least 2.
        outputs: as for `TorchEmpiricalKernel.gram`.
        nngp: whether to average `TorchEmpiricalKernel.nngp` instead of the tangent kernel.

    Raises:
        SettingError: for fewer than two draws, for `outputs` with `nngp`, and for everything that
            `TorchEmpiricalKernel` refuses.
        MemoryPlanError: if a kernel needs more bytes than are free.
    """
    _check(draws, outputs, nngp)
    mean: Any = 0.0
    squares: Any = 0.0
    for seed in range(draws):
        kernel = TorchEmpiricalKernel(make(seed))
        found = kernel.nngp(x, y) if nngp else kernel.gram(x, y, outputs=outputs)
        before = found - mean
        mean = mean + before / (seed + 1)
        squares = squares + before * (found - mean)
    return KernelEstimate(mean, np.sqrt(squares / (draws * (draws - 1))))


def _check(draws: Any, outputs: Outputs, nngp: bool) -> None:
    check_whole("draws", draws, 2, "draws (a standard error needs two)")
    options(outputs)
    if nngp and outputs != "mean":
        raise SettingError(
            "outputs", found=repr(outputs), rule="'mean' if nngp is set, because this kernel is a mean over outputs"
        )


def infinite_width(estimates: Sequence[KernelEstimate], widths: Sequence[int]) -> KernelEstimate:
    r"""Estimate the limit K_inf of kernels K(m) = K_inf + c / m, measured at several widths m, entry by entry.

    The method is weighted least squares with weights w = 1 / standard_error². Let <.> be averages with these weights.
    Then

        K_inf = <K> - c <1/m>,  c = <(1/m - <1/m>) K> / <(1/m - <1/m>)²>,
        Var K_inf = 1 / sum w + <1/m>² / (sum w <(1/m - <1/m>)²>).

    The formula K_inf + c / m leaves out terms of order 1/m², where m is the smallest width. The standard error does not
    include the resulting error. Means at different widths must come from independent draws (different keys).

    Args:
        estimates: one estimate for each width.
        widths: the widths, at least two of which differ.

    Raises:
        SettingError: for widths that are not positive, or fewer than two different ones.
        ShapeError: if widths and estimates differ in number or estimates in shape.

    An entry with standard error 0 at every width does not depend on the draw, and is fitted with equal weights. If its
    standard error is 0 at some widths only, the entry counts as exact there and is fitted to these widths alone.
    """
    if len(widths) != len(estimates) or len({found.mean.shape for found in estimates}) > 1:
        raise ShapeError(
            "estimates",
            found=f"{len(estimates)} estimates of shapes {[found.mean.shape for found in estimates]}",
            rule=f"one estimate for each of the {len(widths)} widths, all of the same shape",
        )
    if len(set(widths)) < 2 or not all(math.isfinite(width) and width > 0 for width in widths):
        raise SettingError("widths", found=list(widths), rule="at least two different positive numbers")
    means, errors = (jnp.stack([getattr(found, name) for found in estimates]) for name in ("mean", "standard_error"))
    inverse = jnp.asarray(1.0 / np.asarray(widths), means.dtype).reshape(-1, *(1 for _ in means.shape[1:]))
    # Weights are relative to the smallest error. If this error is 0, it has weight 1, and any other error has a weight
    # of almost 0.
    smallest = jnp.min(errors, axis=0)
    floor = jnp.maximum(smallest, jnp.finfo(means.dtype).tiny)
    weights = (floor / jnp.maximum(errors, floor)) ** 2
    total = weights.sum(axis=0)
    centre = (weights * inverse).sum(axis=0) / total
    spread = (weights * (inverse - centre) ** 2).sum(axis=0) / total
    slope = (weights * (inverse - centre) * means).sum(axis=0) / (total * spread)
    limit = (weights * means).sum(axis=0) / total - slope * centre
    return KernelEstimate(limit, smallest * jnp.sqrt((1.0 + centre**2 / spread) / total))
