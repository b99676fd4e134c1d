"""The two-layer softmax network."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.errors import SettingError


class SoftmaxNetwork(eqx.Module):
    r"""F_l(x) = m <a_l, softmax(W^T x)> with m = `width` hidden units, W trained and the signs a_l fixed.

    Symmetric initialisation: w_{2r-1} ~ N(0, sigma² I) and a_{2r-1} uniform on {-1, 1}^k, w_2r = w_{2r-1} and
    a_2r = -a_{2r-1}, so that F is 0 at every x (Gu et al., 2024, equation 1 and Definition 3.7).

    The tangent kernel over W is m H with H the matrix of their Definition 3.6; as m goes to infinity, H tends to
    <x, x'> exp(sigma² <x, x'>) times the identity over outputs. Time in gradient descent is therefore m times faster
    than for H.

    Args:
        width: m, the number of hidden units; even.
        outputs: k, the number of outputs.
        sigma: standard deviation of the entries of W at initialisation.

    Raises:
        SettingError: for an odd width or one below 2, no outputs, or a negative sigma.
    """

    width: int
    outputs: int = 1
    sigma: float = 1.0

    def __check_init__(self):
        if self.width < 2 or self.width % 2:
            raise SettingError(
                "width of a softmax network", found=self.width, rule="even and at least 2: units come in pairs",
                remedy=f"width={max(2, self.width + 1)}",
            )
        if self.outputs < 1:
            raise SettingError("outputs of a softmax network", found=self.outputs, rule="at least 1")
        if not self.sigma >= 0:
            raise SettingError("sigma of a softmax network", found=self.sigma, rule="not negative")

    def init(self, key: Key[Array, ""], fan_in: int, *, dtype: Any = float) -> tuple[dict[str, Array], int]:
        """Draws {"weight": W (fan_in, m), "sign": a (k, m)}; the signs are never trained."""
        weight_key, sign_key = jax.random.split(key)
        weight = self.sigma * jax.random.normal(weight_key, (fan_in, self.width // 2), dtype)
        sign = jax.random.rademacher(sign_key, (self.outputs, self.width // 2)).astype(weight.dtype)
        paired = jnp.stack([sign, -sign], axis=2).reshape(self.outputs, self.width)
        return {"weight": jnp.repeat(weight, 2, axis=1), "sign": paired}, self.outputs

    def apply(self, params: dict[str, Array], x: Float[Array, " d"]) -> Float[Array, " k"]:
        """F(x). The signs pass no gradient, so descent on all of `params` trains W alone."""
        sign = jax.lax.stop_gradient(params["sign"])
        # The two members of all pairs go through the same operations side by side, so that at the symmetric
        # initialisation every pair cancels to the last bit; one product with W may round its columns differently.
        odd, even = params["weight"][:, 0::2], params["weight"][:, 1::2]
        logits = jnp.stack([x @ odd, x @ even])
        mass = jnp.exp(logits - jax.scipy.special.logsumexp(logits))
        return self.width * (sign[:, 0::2] * mass[0] + sign[:, 1::2] * mass[1]).sum(axis=1)
