"""A short causal convolution of keys, separate for each coordinate, that is applied before a router."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_numbers
from lemmata.errors import ShapeError

from ._dense import check_array
from ._router import check_rows


def key_convolution(
    keys: Float[Array, "n d"], filters: Float[Array, "width channels"], *, activated: bool = False
) -> Float[Array, "n d"]:
    """Return (f * k)_t = sum_j f_j k_(t-j), coordinate by coordinate, with 0 for keys before the first.

    In this formula, k are the keys and f the filters. With `activated`, return k + silu(f * k) instead, where silu(x) =
    x / (1 + exp(-x)).

    Args:
        keys: one row for each position.
        filters: row j holds the weights of the key that is j positions earlier; 3 or 5 rows are usual.
        activated: whether the convolution passes through an activation and is added to the keys.

    Raises:
        ShapeError: for filters whose number of columns is not that of the keys.
        DataError: if an entry is not finite, or if the array has an integer type.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import key_convolution
        >>> key_convolution(jnp.array([[1.0], [0.0], [2.0]]), jnp.array([[1.0], [0.5]])).ravel().tolist()
        [1.0, 0.5, 2.0]
    """
    check_rows("keys", keys)
    check_array("filters", filters)
    if jnp.ndim(filters) != 2 or filters.shape[1] != keys.shape[1]:
        found = f"shape {jnp.shape(filters)} for keys of dimension {keys.shape[1]}"
        raise ShapeError(
            "filters", found=found, rule="shape (width, d): one weight for each step back and each coordinate"
        )
    check_numbers("filters", filters)
    width, n = len(filters), len(keys)
    earlier = jnp.pad(keys, ((width - 1, 0), (0, 0)))
    mixed = sum(filters[j] * earlier[width - 1 - j : width - 1 - j + n] for j in range(width))
    return keys + jax.nn.silu(mixed) if activated else jnp.asarray(mixed)
