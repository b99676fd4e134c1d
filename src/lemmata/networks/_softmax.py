"""The two-layer softmax network of Gu et al. (2024), its gradient and its tangent kernel in closed form."""

import math
import numbers
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.errors import SettingError

# The number of entries of the features of hidden units that are stored at once: 256 MiB in float64.
_ENTRIES = 2**25
# The number of entries of a block of logits that stays in a processor's cache: 16 MiB in float64.
_CACHED = 2**21


class SoftmaxNetwork(eqx.Module):
    r"""F_l(x) = m <a_l, softmax(W^T x)> for output l, with m = `width` hidden units, trained W and fixed signs a_l.

    Symmetric initialisation: w_{2r-1} ~ N(0, sigma² I) and a_{2r-1} is uniform on {-1, 1}^k; w_2r = w_{2r-1} and a_2r =
    -a_{2r-1}. Therefore F is 0 at every x (Gu et al., 2024, equation 1 and Definition 3.7).

    The tangent kernel with respect to W is m H, where H is the matrix of Definition 3.6 of the source. As m goes to
    infinity, H tends to <x, x'> exp(sigma² <x, x'>) times the identity over outputs. Gradient descent is therefore m
    times faster than gradient descent with the kernel H.

    Args:
        width: the number m of hidden units, which must be even.
        outputs: the number k of outputs.
        sigma: the standard deviation of the entries of W at initialisation.

    Raises:
        SettingError: for an odd width or a width below 2; for no outputs, or a number of outputs that is not an
            integer; for a sigma that is negative or not finite.
    """

    width: int
    outputs: int = 1
    sigma: float = 1.0

    def __check_init__(self):
        for name, value in (("width", self.width), ("outputs", self.outputs)):
            if isinstance(value, bool) or not isinstance(value, numbers.Integral):
                raise SettingError(f"{name} of a softmax network", found=repr(value), rule="an integer")
        if self.width < 2 or self.width % 2:
            raise SettingError(
                "width of a softmax network",
                found=self.width,
                rule="an even number, at least 2, because units come in pairs",
                remedy=f"use width={max(2, self.width + 1)}",
            )
        if self.outputs < 1:
            raise SettingError("outputs of a softmax network", found=self.outputs, rule="at least 1")
        try:
            finite = math.isfinite(self.sigma)
        except TypeError:
            finite = False
        if not (finite and self.sigma >= 0):
            raise SettingError("sigma of a softmax network", found=repr(self.sigma), rule="a finite number, at least 0")

    def init(self, key: Key[Array, ""], fan_in: int, *, dtype: Any = float) -> tuple[dict[str, Array], int]:
        """Draw {"weight": W (fan_in, m), "sign": a (k, m)}; the signs are never trained."""
        weight_key, sign_key = jax.random.split(key)
        weight = self.sigma * jax.random.normal(weight_key, (fan_in, self.width // 2), dtype)
        sign = jax.random.rademacher(sign_key, (self.outputs, self.width // 2)).astype(weight.dtype)
        paired = jnp.stack([sign, -sign], axis=2).reshape(self.outputs, self.width)
        return {"weight": jnp.repeat(weight, 2, axis=1), "sign": paired}, self.outputs

    def apply(self, params: dict[str, Array], x: Float[Array, " d"]) -> Float[Array, " k"]:
        """Return F(x). The gradient with respect to the signs is 0, so descent on all of `params` trains only W."""
        sign = jax.lax.stop_gradient(params["sign"])
        # The two members of all pairs go through the same operations at the same time. So, at the symmetric
        # initialisation, every pair cancels to the last bit. A single product with W might round the two columns of a
        # pair differently.
        odd, even = params["weight"][:, 0::2], params["weight"][:, 1::2]
        logits = jnp.stack([x @ odd, x @ even])
        mass = jnp.exp(logits - jax.scipy.special.logsumexp(logits))
        return self.width * (sign[:, 0::2] * mass[0] + sign[:, 1::2] * mass[1]).sum(axis=1)

    def predict(self, params: dict[str, Array], x: Float[Array, "n d"]) -> Float[Array, "n k"]:
        """Return the outputs F_l(x_i) at the rows x_i of x."""
        return jax.vmap(self.apply, in_axes=(None, 0))(params, x)

    def shares(self, params: dict[str, Array], x: Float[Array, "n d"]) -> Float[Array, "n m"]:
        """The softmax S of the logits <w_r, x_i> over units r. The rows of S sum to 1 for finite logits of any size."""
        return jax.nn.softmax(x @ params["weight"], axis=1)

    def gradient(self, params: dict[str, Array], x: Float[Array, "n d"], y: Float[Array, "n k"]) -> Float[Array, "d m"]:
        r"""The gradient with respect to W of the loss 1/2 sum_il (F_l(x_i) - y_il)², in closed form.

            Delta w_r = m sum_il (F_l(x_i) - y_il) <a_lr 1 - a_l, S_i> S_ir x_i

        with <a_l, S_i> = F_l(x_i) / m. The computation takes four matrix products and does not need differentiation (Gu
        et al., 2024, Definition 3.3 and Claim 3.4).

        Args:
            params: the weights W and the signs a.
            x: points.
            y: targets at these points.
        """
        return _gradient(params["weight"], params["sign"], x, y)

    def step(
        self, params: dict[str, Array], x: Float[Array, "n d"], y: Float[Array, "n k"], rate: Float[Array, ""]
    ) -> dict[str, Array]:
        """Return `params` after one descent step: W minus rate times the gradient (Gu et al., 2024, Definition 3.5)."""
        return {**params, "weight": params["weight"] - rate * self.gradient(params, x, y)}

    def tangent(
        self, params: dict[str, Array], x: Float[Array, "n d"], other: Float[Array, "t d"] | None = None
    ) -> Float[Array, "k n k t"]:
        r"""The matrix H, the tangent kernel over W divided by m, for outputs l, l' at points x_i, x_j.

            H[l, i, l', j] = (1/m) <x_i, x_j> sum_r <v_lr, S_i> m S_ir <v_l'r, S_j> m S_jr,  v_lr = a_lr 1 - a_l

        (Gu et al., 2024, Definition 3.6). Units are processed in blocks, so at most a quarter of a gigabyte is needed
        besides the result and S. `reshape(k n, k t)` gives the order of the source.

        Args:
            params: the weights W and the signs a.
            x: points.
            other: other points; None means x itself.
        """
        return _tangent(params, x, x if other is None else other)

    def tangent_product(
        self, params: dict[str, Array], x: Float[Array, "n d"], v: Float[Array, "n k"]
    ) -> Float[Array, "n k"]:
        """H times the vector with entries v_il, without forming H, by six products with an n x m matrix.

        Args:
            params: the weights W and the signs a at which H is taken.
            x: points.
            v: the vector, one row for each point.
        """
        return _tangent_product(params["weight"], params["sign"], x, v)


@jax.jit
def _gradient(
    weight: Float[Array, "d m"], sign: Float[Array, "k m"], x: Float[Array, "n d"], y: Float[Array, "n k"]
) -> Float[Array, "d m"]:
    m = weight.shape[1]

    def of(rows: tuple[Array, Array]) -> Array:
        points, targets = rows
        logits = points @ weight
        mass = jnp.exp(logits - logits.max(axis=1, keepdims=True))
        total = mass.sum(axis=1, keepdims=True)
        outputs = m * (mass @ sign.T) / total
        residual = outputs - targets
        # sum_l (F - y)_il (a_lr - F_il / m) S_ir; the factor 1 / total of each row is applied in the last product.
        centre = jnp.sum(residual * outputs, axis=1, keepdims=True) / m
        return (points / total).T @ (mass * (residual @ sign - centre))

    # The rows are processed in blocks whose logits stay in the cache. This is twice as fast as processing all rows at
    # once.
    size = min(len(x), max(32, _CACHED // m))
    blocks = -(-len(x) // size)
    if blocks == 1:
        return m * of((x, y))
    # A padded row adds nothing to the gradient, because its point is 0.
    padded = lambda rows: jnp.pad(rows, ((0, blocks * size - len(x)), (0, 0))).reshape(blocks, size, -1)
    add = lambda total, rows: (total + of(rows), None)
    total, _ = jax.lax.scan(add, jnp.zeros_like(weight), (padded(x), padded(y)))
    return m * total


@jax.jit
def _tangent_product(weight: Array, sign: Array, x: Array, v: Array) -> Array:
    shares = jax.nn.softmax(x @ weight, axis=1)
    means = shares @ sign.T
    # H = J J' / m with J' v = m sum_il v_il (a_lr - <a_l, S_i>) S_ir x_i
    pulled = x.T @ (shares * (v @ sign - jnp.sum(v * means, axis=1, keepdims=True)))
    moved = shares * (x @ pulled)
    return weight.shape[1] * (moved @ sign.T - means * moved.sum(axis=1, keepdims=True))


@jax.jit
def _tangent(params: dict[str, Array], x: Array, other: Array) -> Array:
    weight, sign = params["weight"], params["sign"]
    m, (left, right) = weight.shape[1], (jax.nn.softmax(points @ weight, axis=1) for points in (x, other))
    means = [shares @ sign.T for shares in (left, right)]
    total = jnp.zeros((len(sign) * len(x), len(sign) * len(other)), x.dtype)
    units = max(1, _ENTRIES // (len(sign) * (len(x) + len(other))))
    for start in range(0, m, units):
        block = slice(start, start + units)
        rows = [
            ((sign[:, None, block] - mean.T[:, :, None]) * shares[None, :, block]).reshape(-1, sign[:, block].shape[1])
            for shares, mean in zip((left, right), means, strict=True)
        ]
        total = total + rows[0] @ rows[1].T
    return m * total.reshape(len(sign), len(x), len(sign), len(other)) * (x @ other.T)[None, :, None, :]
