"""Self-attention with infinitely many heads.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from lemmata.core import check_real, whole
from lemmata.errors import SettingError

from ._attention_weights import (
    Averages,
    Contracted,
    Logits,
    Moments,
    drawn_softmax,
    fixed,
    identity,
    joint_softmax,
    own_softmax,
    relu,
    weights,
)
from ._fields import field_shape, filled, with_own_variances
from ._layer import AbstractLayer, Shape, with_channels
from ._positions import PositionalEmbedding
from ._state import Grid, State


class Attention(AbstractLayer):
    r"""Self-attention over the positions of a field, in the NTK parameterisation (Hron et al., 2020).

    Let X be the matrix of a field, with s positions and c channels. Let q, k, v be `query_std`, `key_std` and
    `value_std`. Head h has queries Q = q X W_Q / sqrt(c), keys K = k X W_K / sqrt(c), values V = v X W_V / sqrt(c),
    logits G, weights zeta(G) and output zeta(G) V. One dense layer of w = `weight_std` and b = `bias_std` maps the
    outputs of all heads, side by side, to `width` outputs. All weights are standard normal. Let d = `key_width` and g =
    q k, and let N = nngp and T = ntk of the input. As the number of heads and the key and value widths go to infinity,

    * `scaling="1/d"`: G = Q K^T / d. Queries and keys share their weights, because otherwise G would tend to 0. The
      logits tend to g N(x, x), so nngp' = (v w)² zeta N zeta^T + b² and ntk' = 2 nngp' - b² + (v w)² zeta T zeta^T.
    * `scaling="1/sqrt(d)"`: G = Q K^T / sqrt(d) is Gaussian, with Cov(G_ac(x), G_bd(y)) = g² N_ab N_cd, and the heads
      are independent. Let E be the mean over the logits, let J_a be the Jacobian of row a of zeta with respect to its
      logits, and let S_ab(P) = sum_ef E[(J_a N J_b^T)_ef] P_ef.

          nngp' = (v w)² E[zeta N zeta^T] + b²,
          ntk' = 2 nngp' - b² + (v w)² (E[zeta T zeta^T] + g² [(2 N + T) S(N) + N S(T)])   (products entry by entry).

    The mechanism zeta is `"softmax"` over the keys, or `"relu"`, or `"identity"`, which is also called `"linear"`. ReLU
    and the identity do not divide the weights by the number of positions. The means E have closed forms except for
    softmax with scaling 1/sqrt(d). For this softmax, the means are Monte Carlo estimates over the Gaussian logits of
    both inputs. The estimates of nngp' and ntk' of this layer are unbiased. Later layers that are not linear in the
    moments turn the variance of the estimates, which is of order 1/`draws`, into a bias of the same order.
    `with_standard_error` gives a standard error on every entry of a kernel. For a fixed `key`, the estimate is a
    symmetric function of the two inputs, and the matrix of the estimates is positive semidefinite up to their error.
    `with_standard_error` draws the logits of all inputs jointly, so its matrix is exactly positive semidefinite.

    Args:
        width: number of output channels.
        heads: number of heads of the finite network.
        mechanism: the map zeta from logits to weights, as named above.
        scaling: the factor of Q K^T in the logits, `"1/sqrt(d)"` or `"1/d"`.
        query_std, key_std, value_std, weight_std, bias_std: standard deviations. The kernels depend only on query_std *
            key_std, value_std * weight_std and bias_std.
        key_width, value_width: channels of a head of the finite network; `width` if not given.
        causal: whether a position attends only to itself and the positions before it, in row-major order.
        positions: embeddings of positions for queries and keys. The embeddings have their own weights. So with the kind
            `"sum"`, N is replaced by N + sigma² R (see `PositionalEmbedding`) even for inputs with few channels. The
            number of `channels` of the embeddings goes to infinity with the widths. The moments N and T of the values
            do not include the embeddings. For queries and keys, these moments are combined with sigma² R as in
            `PositionalEmbedding`.
        draws: for softmax at scaling 1/sqrt(d), the number of standard normal matrices. Each matrix is used with both
            signs, and for both orders of the two inputs.
        key: the random key of the draws; None means `jax.random.key(0)`.

    Raises:
        SettingError: for an unknown mechanism or scaling, for widths, heads or draws below 1, or for a negative
            standard deviation.
        ShapeError: for vectors instead of fields.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Attention, Dense, GlobalAveragePool, NNGPKernel, Serial
        >>> attention = Attention(64, 8, "identity", scaling="1/d")
        >>> kernel = NNGPKernel(Serial([attention, GlobalAveragePool(), Dense(1)]))
        >>> x = jnp.ones((3, 4))  # three positions with four channels: all logits are 1
        >>> round(float(kernel(x, x)), 4)
        9.0
    """

    width: int
    heads: int
    mechanism: Literal["softmax", "relu", "identity", "linear"] = eqx.field(default="softmax", static=True)
    scaling: Literal["1/sqrt(d)", "1/d"] = eqx.field(default="1/sqrt(d)", static=True, kw_only=True)
    query_std: float = eqx.field(default=1.0, kw_only=True)
    key_std: float = eqx.field(default=1.0, kw_only=True)
    value_std: float = eqx.field(default=1.0, kw_only=True)
    weight_std: float = eqx.field(default=1.0, kw_only=True)
    bias_std: float = eqx.field(default=0.0, kw_only=True)
    key_width: int | None = eqx.field(default=None, static=True, kw_only=True)
    value_width: int | None = eqx.field(default=None, static=True, kw_only=True)
    causal: bool = eqx.field(default=False, static=True, kw_only=True)
    positions: PositionalEmbedding | None = eqx.field(default=None, kw_only=True)
    draws: int = eqx.field(default=256, static=True, kw_only=True)
    key: Key[Array, ""] | None = eqx.field(default=None, kw_only=True)
    whole = True

    def __check_init__(self):
        if self.mechanism not in ("softmax", "relu", "identity", "linear"):
            rule = "'softmax', 'relu', or 'identity' (also 'linear')"
            raise SettingError("mechanism of attention", found=self.mechanism, rule=rule)
        if self.scaling not in ("1/sqrt(d)", "1/d"):
            raise SettingError("scaling of attention", found=self.scaling, rule="'1/sqrt(d)' or '1/d'")
        for name in ("width", "heads", "key_width", "value_width", "draws"):
            value = getattr(self, name)
            if value is not None and whole(f"{name} of attention", value) < 1:
                raise SettingError(f"{name} of attention", found=value, rule="at least 1")
        for name in ("query_std", "key_std", "value_std", "weight_std", "bias_std"):
            rule = "a finite standard deviation that is not negative"
            check_real(name, getattr(self, name), rule, lambda number: number >= 0)

    @property
    def stochastic(self) -> bool:
        """Return whether the layer's moments are computed by Monte Carlo."""
        return self.mechanism == "softmax" and self.scaling == "1/sqrt(d)"

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[dict[str, Any], Shape]:
        """Draw "key", "query" and "value" of shape (heads, channels of a head, channels of the field), and "out".

        "out" has shape (width, heads * value_width). With scaling 1/d, there is no "query". If `bias_std` > 0, there is
        also a "bias". If `positions` is given, there are also "positions", "position_key" and "position_query". All are
        standard normal.
        """
        *sites, c = field_shape("Attention", fan_in)
        keys, values = self.key_width or self.width, self.value_width or self.width
        shapes: dict[str, tuple[int, ...]] = {"key": (self.heads, keys, c), "value": (self.heads, values, c)}
        shapes["out"] = (self.width, self.heads * values)
        tied = self.scaling == "1/d"
        if not tied:
            shapes["query"] = shapes["key"]
        if self.bias_std > 0:
            shapes["bias"] = (self.width,)
        if self.positions is not None:
            own = self.positions.channels or c
            shapes |= {"positions": (math.prod(sites), own), "position_key": (self.heads, keys, own)}
            shapes |= {} if tied else {"position_query": (self.heads, keys, own)}
        split = jax.random.split(key, len(shapes))
        params = {
            name: jax.random.normal(one, shape, dtype) for one, (name, shape) in zip(split, shapes.items(), strict=True)
        }
        return params, with_channels(fan_in, self.width)

    def apply(self, params: dict[str, Any], x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_out"]:
        """Return the result of attention over one field."""
        return self._applied(params, x, None)

    def apply_masked(
        self, params: dict[str, Any], x: Float[Array, "*sites fan_in"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites fan_out"], Bool[Array, "*sites"] | None]:
        """Return the result of attention over one field. Empty positions are not used as keys."""
        return self._applied(params, filled(x, mask), mask), mask

    def _applied(self, params: dict[str, Any], x: Array, valid: Bool[Array, "*sites"] | None) -> Array:
        *sites, c = field_shape("Attention", x.shape)
        rows = x.reshape(-1, c)
        tied, e, shares = self.scaling == "1/d", None, (1.0, 0.0)
        if self.positions is not None:
            shares = self.positions.shares(c)
            e = self.positions.embedding(params["positions"], tuple(sites))

        def projected(name: str) -> Array:
            made = math.sqrt(shares[0] / c) * jnp.einsum("pc,hkc->hpk", rows, params[name])
            if e is not None:
                own = jnp.einsum("pc,hkc->hpk", e, params[f"position_{name}"])
                made = made + math.sqrt(shares[1] / e.shape[-1]) * own
            return made

        keys = projected("key")
        queries = keys if tied else projected("query")
        logits = (self.query_std * self.key_std) * jnp.einsum("hpk,hqk->hpq", queries, keys)
        logits = logits / keys.shape[-1] ** (1.0 if tied else 0.5)
        zeta = weights(self.mechanism, logits, self._seen(len(rows), None if valid is None else valid.reshape(-1)))
        heads = jnp.einsum("hpq,qc,hvc->phv", zeta, rows, params["value"]).reshape(len(rows), -1)
        outputs = (self.value_std * self.weight_std / math.sqrt(c * heads.shape[-1])) * heads @ params["out"].T
        if self.bias_std > 0:
            outputs = outputs + self.bias_std * params["bias"]
        return outputs.reshape(*sites, self.width)

    def _seen(self, size: int, valid: Bool[Array, "... s"] | None) -> Bool[Array, "... s s"]:
        """Return whether each query may attend to each key, among `size` positions of which `valid` are not empty."""
        sees = jnp.tril(jnp.ones((size, size), bool)) if self.causal else jnp.ones((size, size), bool)
        return sees if valid is None else sees & valid[..., None, :]

    def push(self, state: State) -> State:
        """Return the state with nngp' and ntk', by the formulas of the class."""
        grid = state.grid
        field_shape("Attention", (*grid.sites, state.fan_in))
        if grid.left is None or grid.right is None:
            rule = "moments for all pairs of positions"
            raise SettingError(
                "input of Attention", found="moments only for pairs with x and y at the same position", rule=rule
            )
        moments = self._moments(state, grid.left, grid.right)
        if grid.joint:
            # the moments of every input with itself are entries of the matrix of all pairs, from the same draws
            index = jnp.arange(state.nngp.shape[-1])
            left = right = self._outputs_alone(grid.left, [part[index, index] for part in moments])
        else:
            left = self._pushed_alone(grid.left)
            right = left if grid.right is grid.left else self._pushed_alone(grid.right)
        pushed = with_own_variances(self._outputs(state, moments), state, left, right)
        return pushed.with_grid(left=left, right=right)

    def _pushed_alone(self, side: State) -> State:
        """Return the state of the outputs for inputs paired with themselves."""
        return self._outputs_alone(side, self._moments(side, side, side))

    def _outputs_alone(self, side: State, moments: Sequence[Moments]) -> State:
        outputs = self._outputs(side, moments)
        return with_own_variances(outputs, side, outputs, outputs)

    def _outputs(self, state: State, moments: Sequence[Moments]) -> State:
        """Return the state of the outputs, except its variances. The last axes of both given moments are positions."""
        nngp, ntk = (_positions_first(part, state.grid) for part in moments)
        return state.replace(nngp=nngp, ntk=ntk, fan_in=self.width, law=state.law.drawn(), means=None)

    def _moments(self, state: State, left: State, right: State) -> tuple[Moments, Moments]:
        """Return both new moments, nngp' and ntk', between x and y. The axes of positions are last."""
        share, embedded = self._embedded(state)
        given = [_positions_last(part, state.grid) for part in (state.nngp, state.ntk, left.nngp, right.nngp)]
        key_nngp, key_ntk, key_x, key_y = (share * part + embedded for part in given)
        parts = Contracted(given[0], given[1], key_nngp, key_ntk)
        scale = self.query_std * self.key_std
        logits = Logits(scale * key_nngp, scale * key_x, scale * key_y, self._sees(left.grid), self._sees(right.grid))
        found = self._averages(_beside_pairs(logits), parts, state.grid.joint)
        w2, b2 = (self.value_std * self.weight_std) ** 2, self.bias_std**2
        slopes = (2.0 * parts.key_nngp + parts.key_ntk) * found.slopes + parts.key_nngp * found.slope_tangents
        return w2 * found.values + b2, w2 * (2.0 * found.values + found.tangents + scale**2 * slopes) + b2

    def _embedded(self, state: State) -> tuple[float, Float[Array, "s s"] | float]:
        """Return the factor and the summand that turn the moments of inputs into the moments for queries and keys."""
        if self.positions is None:
            return 1.0, 0.0
        share, own = self.positions.shares(state.fan_in)
        return share, own * jnp.asarray(self.positions.covariance(state.grid.sites), state.nngp.dtype)

    def _sees(self, grid: Grid) -> Bool[Array, "*n s s"]:
        """Return whether each query of every input may attend to each key. `grid` pairs the inputs with themselves."""
        size = math.prod(grid.sites)
        return self._seen(size, None if grid.mask_x is None else grid.mask_x.reshape(size, -1).T)

    def _averages(self, logits: Logits, parts: Contracted, joint: bool) -> Averages:
        if self.scaling == "1/d":
            return fixed(self.mechanism, logits, parts)
        if self.mechanism != "softmax":
            return relu(logits, parts) if self.mechanism == "relu" else identity(logits, parts)
        key = jax.random.key(0) if self.key is None else self.key
        if logits.xy.ndim == 3:
            return own_softmax(logits, parts, key, self.draws)
        return (joint_softmax if joint else drawn_softmax)(logits, parts, key, self.draws)

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether all pairs of positions are needed. The logits need all pairs."""
        return True


def _positions_last(values: Float[Array, "..."], grid: Grid) -> Moments:
    """Turn moments of shape (*sites, *sites, *points) into s x s matrices, where s is the number of positions.

    The result has the shape (*points, s, s).
    """
    size = math.prod(grid.sites)
    return jnp.einsum("pq...->...pq", values.reshape(size, size, *values.shape[grid.axes :]))


def _positions_first(matrices: Moments, grid: Grid) -> Float[Array, "..."]:
    """Invert `_positions_last`: turn the shape (*points, s, s) into (*sites, *sites, *points)."""
    return jnp.einsum("...pq->pq...", matrices).reshape(*grid.sites, *grid.sites, *matrices.shape[:-2])


def _beside_pairs(logits: Logits) -> Logits:
    """If `xy` holds all pairs, add an axis for y to arrays of x alone, and an axis for x to arrays of y alone."""
    if logits.xy.ndim == 3:
        return logits
    rows = (part[:, None] if part.ndim == 3 else part for part in (logits.xx, logits.sees_x))
    columns = (part[None] if part.ndim == 3 else part for part in (logits.yy, logits.sees_y))
    (xx, sees_x), (yy, sees_y) = rows, columns
    return Logits(logits.xy, xx, yy, sees_x, sees_y)
