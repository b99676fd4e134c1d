"""Kernels of networks that are estimated by Monte Carlo, with a standard error on every entry."""

import math
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.core import ResultPlan
from lemmata.errors import SettingError, ShapeError

from ._attention import Attention
from ._dropout import with_keys
from ._entries import NetworkEntries
from ._kernels import AbstractNetworkKernel
from ._reading import as_read

# the observed number of matrices of all pairs of positions that a replicate stores, with one or two attention layers
_MATRICES = 48


class MonteCarloMean(NamedTuple):
    """A matrix that was estimated by independent replicates.

    Attributes:
        mean: the mean over the replicates.
        standard_error: the standard deviation of the replicates, entry by entry, divided by the square root of the
            number of replicates.
    """

    mean: Float[Array, "n m"]
    standard_error: Float[Array, "n m"]


def with_standard_error(
    kernel: AbstractNetworkKernel,
    x: Float[Array, "n *sites c"],
    y: Float[Array, "m *sites c"] | None = None,
    *,
    key: Key[Array, ""],
    replicates: int = 16,
) -> MonteCarloMean:
    """Estimate a kernel of a network that has softmax attention with scaling 1/sqrt(d), with standard errors.

    Each replicate draws the logits of all inputs jointly (see `Attention`). A replicate has as many draws as the
    setting `draws` of the attention layer, and uses each draw with both signs. So, if y is not given, the matrix of a
    replicate and the mean are positive semidefinite by construction. The mean is unbiased if all layers after attention
    are linear in the moments (Dense, convolutions, pooling, Flatten). After an activation or another softmax, the mean
    has a bias of order 1/`draws`. More replicates do not reduce this bias, and the standard error does not include it.
    To see the bias, compare the results with an attention layer of twice as many `draws`.

    Let x and y together have N = n + m points of s positions. A replicate stores up to 48 matrices of N s rows at once,
    and costs `draws` products of such matrices.

    Args:
        kernel: the kernel of the whole network.
        x: fields, or grids of tokens (n, *sites) if the network begins with an Embedding.
        y: other fields of the same shape; `None` means x itself.
        key: the random key of all replicates.
        replicates: the number of replicates, at least 2.

    Raises:
        SettingError: for fewer than 2 replicates, or if values are not finite.
        ShapeError: if x and y are not fields of the same shape.
        MemoryPlanError: if the matrices do not fit into memory.

    Example:
        >>> import jax
        >>> from lemmata.architectures import Attention, Dense, Flatten, NNGPKernel, Serial, with_standard_error
        >>> network = Serial([Attention(8, 2, draws=32), Flatten(), Dense(1)])
        >>> x = jax.random.normal(jax.random.key(0), (5, 3, 4))
        >>> mean, error = with_standard_error(NNGPKernel(network), x, key=jax.random.key(1), replicates=4)
        >>> mean.shape, bool((error < 0.2 * mean[0, 0]).all())
        ((5, 5), True)
    """
    if replicates < 2:
        raise SettingError(
            "replicates",
            found=replicates,
            rule="a whole number of at least 2, because a standard error needs two replicates",
        )
    x = as_read(kernel.network, x)
    y = None if y is None else as_read(kernel.network, y)
    if jnp.ndim(x) < 3 or (y is not None and jnp.shape(y)[1:] != jnp.shape(x)[1:]):
        found = f"shapes {jnp.shape(x)} and {jnp.shape(x if y is None else y)}"
        raise ShapeError("points x and y", found=found, rule="fields of shape (n, *sites, channels) on the same grid")
    everything = x if y is None else jnp.concatenate([x, y])
    size = len(everything) * math.prod(everything.shape[1:-1])
    plan = ResultPlan("joint moments of all positions", (_MATRICES, size, size), everything.dtype.itemsize)
    plan.require(everything, remedy="pass fewer points or positions, use float32, or use kernel.cross for the mean")
    mean, error = _replicated(kernel.entries(), everything, jax.random.split(key, replicates))
    if not bool(jnp.isfinite(mean).all()):
        rule = "finite values; they require finite inputs and finite moments"
        raise SettingError("kernel of the network", found="values that are not finite", rule=rule)
    columns = slice(None) if y is None else slice(len(x), None)
    return MonteCarloMean(mean[: len(x), columns], error[: len(x), columns])


@eqx.filter_jit
def _replicated(entries: NetworkEntries, points: Array, keys: Key[Array, " r"]) -> tuple[Array, Array]:
    def one(key: Key[Array, ""]) -> Array:
        network = with_keys(entries.network, Attention, key)
        drawn = NetworkEntries(network, entries.face)
        matrix = drawn.exact(drawn.fields(points, points).with_grid(joint=True))
        return (matrix + matrix.T) / 2

    values = jax.lax.map(one, keys)
    return jnp.mean(values, axis=0), jnp.std(values, axis=0, ddof=1) / len(keys) ** 0.5
