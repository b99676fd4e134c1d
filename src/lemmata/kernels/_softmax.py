"""The tangent kernel of a two-layer softmax network of infinite width."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractKernel
from ._dot_product import inner
from ._parameters import check_number, learnable


class SoftmaxTangent(AbstractKernel):
    """K(x, y) = <x, y> exp(sigma² <x, y>), the tangent kernel of each output of a wide two-layer softmax network.

    The network is F(x)_l = m <a_l, S(x)>, where S(x) is the softmax of (<w_1, x>, ..., <w_m, x>) and the w_r are
    trained. The kernel of outputs l, l' at width m is

        H_{l,l'}(x, y) = (1/m) <x, y> sum_r <v_{l,r}, S(x)> m S(x)_r <v_{l',r}, S(y)> m S(y)_r,

    with v_{l,r} = a_{l,r} 1 - a_l, where 1 is the vector of ones. At the symmetric initialisation, w_{2r-1} = w_{2r} ~
    N(0, sigma² I) and a_{2r} = -a_{2r-1} are random signs. As m grows, H_{l,l'} tends to K for l = l' and to 0
    otherwise, at the rate m^(-1/2). Source: gu2024softmax, Definitions 3.6 and 3.7; the limit is derived in the
    comments of `__call__`.

    K is strictly positive definite on distinct points other than 0 if sigma > 0, and K(0, y) = 0. With sigma = 0, K is
    the linear kernel <x, y>, because all weights w_r start at 0.

    >>> import jax.numpy as jnp
    >>> from lemmata.kernels import SoftmaxTangent
    >>> print(SoftmaxTangent(sigma=1.0)(jnp.array([1.0, 0.0]), jnp.array([1.0, 1.0])).round(4))
    2.7183

    Args:
        sigma: standard deviation of the initial weights w_r, not negative.

    Raises:
        SettingError: if sigma is known and negative or not finite.
    """

    sigma: Float[Array, ""] = eqx.field(converter=learnable, default=1.0)
    cheap_points = True

    def __check_init__(self):
        check_number("SoftmaxTangent.sigma", self.sigma, zero_allowed=True)

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The kernel <x, y> exp(sigma² <x, y>) of two points."""
        # Derivation of the limit:
        # 1. The softmax weights sum to 1, so <v_{l,r}, S(x)> = a_{l,r} - <a_l, S(x)>. The two units of a pair have
        #    equal w, so their softmax weights are equal. Their signs are opposite, so <a_l, S(x)> = 0 at every width.
        #    Hence <v_{l,r}, S(x)> = a_{l,r}.
        # 2. m S(x)_r = exp(<w_r, x>) / ((1/m) sum_q exp(<w_q, x>)). The mean in the denominator tends to E exp(<w, x>)
        #    = exp(sigma² |x|² / 2), so m S(x)_r tends to exp(<w_r, x> - sigma² |x|² / 2).
        # 3. So H is a mean over r of <x, y> a_{l,r} a_{l',r} exp(<w_r, x + y> - sigma² (|x|² + |y|²) / 2). The signs a
        #    are independent of w, and independent between outputs. For l != l', the mean is 0. For l = l', the product
        #    of the signs is 1, and E exp(<w, x + y>) = exp(sigma² |x + y|² / 2) leaves exp(sigma² <x, y>).
        # K is strictly positive definite: K = sum_k sigma^(2k) / k! <x, y>^(k+1). If c' K c = 0 then
        # sum_i c_i p(x_i) = 0 for every polynomial p with p(0) = 0. At distinct points other than 0, p can take any
        # prescribed values.
        product = inner(x, y)
        return product * jnp.exp(self.sigma**2 * product)
