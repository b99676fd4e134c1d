"""Look-up tables: the first layer of a network whose points are sequences of tokens.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from lemmata.core import check_real, whole
from lemmata.errors import SettingError

from ._layer import AbstractLayer, Shape
from ._state import INPUTS, Grid, State


class Embedding(AbstractLayer):
    r"""The layer that maps each token to a row of a random table E: h(p) = w E[x(p)].

    All entries of E are standard normal and trained.

    Points are sequences of tokens (length,), or grids of tokens. Tokens are whole numbers from 0 to `vocabulary` - 1,
    stored as floating-point numbers like all points of a kernel. With w = `weight_std`,

        nngp'(p, q) = ntk'(p, q) = w² where x(p) = y(q), and 0 elsewhere.

    The outputs are exactly Gaussian at every width. The layer equals `Dense(width, w * sqrt(vocabulary))` on fields of
    unit vectors with one coordinate for each token. But it never forms these vectors.

    Args:
        vocabulary: the number of tokens.
        width: the number of outputs at each position.
        weight_std: w, the standard deviation of an output.

    Raises:
        SettingError: for a vocabulary or width below 1, a negative standard deviation, or points that are not tokens of
            the vocabulary. This error is also raised if another layer precedes this layer. Under a transformation of
            JAX, no error can be raised, and wrong tokens give NaN.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Dense, Embedding, GlobalAveragePool, NNGPKernel, Serial
        >>> kernel = NNGPKernel(Serial([Embedding(5, 64), GlobalAveragePool(), Dense(1)]))
        >>> float(kernel(jnp.array([0.0, 1.0, 2.0, 3.0]), jnp.array([0.0, 2.0, 4.0, 4.0])))  # two pairs of sixteen
        0.125
    """

    vocabulary: int
    width: int
    weight_std: float = 1.0

    def __check_init__(self):
        if min(whole("vocabulary", self.vocabulary), whole("width of an embedding", self.width)) < 1:
            found = (self.vocabulary, self.width)
            raise SettingError(
                "vocabulary and width of an embedding", found=found, rule="two whole numbers, each at least 1"
            )
        rule = "a standard deviation that is finite and not negative"
        check_real("weight_std", self.weight_std, rule, lambda number: number >= 0)

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[dict[str, Array], Shape]:
        """Draw {"table": (vocabulary, width)}, for points of shape `fan_in`: a length, or the shape of a grid."""
        table = jax.random.normal(key, (self.vocabulary, self.width), dtype)
        return {"table": table}, (*((fan_in,) if isinstance(fan_in, int) else fan_in), self.width)

    def apply(self, params: dict[str, Array], x: Float[Array, "*sites"]) -> Float[Array, "*sites width"]:
        """Return the rows of the table, multiplied by `weight_std`."""
        tokens = token_points(x, self.vocabulary)
        known = ~jnp.isnan(tokens)
        rows = params["table"][jnp.where(known, tokens, 0.0)[..., 0].astype(int)]
        return jnp.where(known, self.weight_std * rows, jnp.nan)

    def apply_masked(
        self, params: dict[str, Array], x: Float[Array, "*sites"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites width"], Bool[Array, "*sites"]]:
        """Return the rows of the table for all tokens, including the arbitrary tokens at empty positions."""
        return self.apply(params, x), mask

    def push(self, state: State) -> State:
        """Return the moments: w² if the tokens are equal, and 0 otherwise."""
        if state.fan_in != _NONE:
            raise SettingError(
                "input of Embedding",
                found="vectors",
                rule="tokens, because an Embedding must be the first layer of the network, or of each branch of the "
                "network's first layer",
                remedy="use Dense for vectors",
            )
        w2 = self.weight_std**2
        nngp, xx, yy = w2 * state.nngp, w2 * state.xx, w2 * state.yy
        return state.replace(nngp=nngp, ntk=nngp, xx=xx, yy=yy, fan_in=self.width, law=state.law.drawn())

    def token_count(self) -> int | None:
        """The size of the vocabulary."""
        return self.vocabulary


# Tokens have no coordinates.
_NONE = 0


def token_points(x: Float[Array, "*n"], count: int) -> Float[Array, "*n 1"]:
    """Return the tokens as a field with one channel.

    Under a transformation of JAX, a token that is not a whole number from 0 to count - 1 becomes NaN.

    Raises:
        SettingError: for a token outside the vocabulary. Under a transformation of JAX, no error can be raised.
    """
    valid = (x >= 0) & (x < count) & (x == jnp.round(x))
    try:
        wrong = np.argwhere(~np.asarray(valid)).tolist()
    except jax.errors.TracerArrayConversionError:
        wrong = []
    if wrong:
        position = tuple(wrong[0])
        raise SettingError(
            "tokens",
            found=f"{float(x[position])} at position {position}"
            + (f", and {len(wrong) - 1} other wrong tokens" if len(wrong) > 1 else ""),
            rule=f"whole numbers from 0 to {count - 1}, because the vocabulary of the embedding has size {count}",
        )
    return jnp.where(valid, x, jnp.nan)[..., None]


def token_state(x: Float[Array, "n *sites 1"], y: Float[Array, "m *sites 1"], pairs: bool) -> State:
    """Return the moments of all pairs of points made of tokens. A covariance is 1 if two tokens are equal, else 0."""
    sites, (a, b) = x.shape[1:-1], (points.reshape(len(points), -1).T for points in (x, y))
    a, b = (a[:, None, :, None], b[None, :, None, :]) if pairs else (a[:, :, None], b[:, None, :])
    state = _equal(a, b, sites, pairs)
    return state.with_grid(left=_own(x, pairs), right=_own(y, pairs)) if pairs else state


def own_token_state(x: Float[Array, "n *sites 1"], pairs: bool) -> State:
    """Return the moments of every point made of tokens with itself."""
    bare = _own(x, pairs)
    return bare.with_grid(left=bare, right=bare) if pairs else bare


def _own(x: Array, pairs: bool) -> State:
    a = x.reshape(len(x), -1).T
    return _equal(*((a[:, None], a[None, :]) if pairs else (a, a)), x.shape[1:-1], pairs)


def _equal(a: Array, b: Array, sites: tuple[int, ...], pairs: bool) -> State:
    positions, ones = (2, (1,) * len(sites)) if pairs else (1, ())

    # An unknown token is NaN, and so are its moments.
    def moments(one: Array, other: Array, grid: tuple[int, ...]) -> Array:
        equal = jnp.where(one == other, 1.0, 0.0 * (one + other)).astype(a.dtype)
        return equal.reshape(*grid, *equal.shape[positions:])

    nngp = moments(a, b, (*sites, *sites) if pairs else sites)
    xx, yy = moments(a, a, (*sites, *ones)), moments(b, b, (*ones, *sites))
    return State(nngp, jnp.zeros_like(nngp), xx, yy, _NONE, INPUTS, None, Grid(sites, pairs))
