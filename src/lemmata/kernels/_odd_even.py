"""A kernel on points of whole numbers, with a second term that is zero unless both points have equal parities."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lemmata.errors import SettingError

from ._base import AbstractKernel
from ._parameters import check_number, counting, for_columns, learnable
from ._stationary import RBF


class OddEvenKernel(AbstractKernel):
    """K(x, y) = exp(-|x - y|²/(2 l²)) + weight δ(x, y) exp(-|x - y|²/(2 l_oe²)), for points of whole numbers.

    δ(x, y) is 1 if x and y have the same parity in every coordinate, and 0 otherwise. For nuclei with Z protons and N
    neutrons, x = (Z, N). The first term describes one smooth function of all points. The second term adds a separate
    smooth function in each of the classes even-even, even-odd, odd-even and odd-odd. With the coordinates' signs s =
    (-1)^x,

        δ(x, y) = product over coordinates i of (1 + s_i(x) s_i(y))/2,

    so K is positive semidefinite. Kernel ridge regression with this kernel and the ridge λ is the sum of two
    regressions, one for each term, with the ridges λ and λ/weight (`lemmata show
    regression.odd_even.effective_kernel`).

    A coordinate that is not a whole number has the parity of the nearest whole number. Derivatives keep the parities
    fixed.

    >>> import jax.numpy as jnp
    >>> from lemmata.kernels import OddEvenKernel, gram
    >>> calcium = jnp.array([[20.0, 22.0], [20.0, 23.0], [20.0, 24.0]])
    >>> print(gram(OddEvenKernel(1.0, 2.0, weight=0.5), calcium).round(4))
    [[1.5    0.6065 0.4386]
     [0.6065 1.5    0.6065]
     [0.4386 0.6065 1.5   ]]

    Args:
        lengthscale: l, a positive number in the units of the points, or an array with one number for each column.
        odd_even_lengthscale: l_oe, a positive number in the units of the points, or an array with one number for each
            column.
        weight: the weight of the second term, at least 0; with 0 the kernel is Gaussian.
        parities: the indices of the coordinates whose parities δ compares, for example (0,) for the protons of (Z, N).
            None means all coordinates.

    Raises:
        SettingError: if a length scale is known and not positive, or if the weight is known and negative. This error is
            also raised if an index in `parities` is not a whole number of at least 0, or appears twice. This error is
            also raised if the points lack a coordinate in `parities`, or if their number of coordinates differs from
            the number of length scales.

    Reference: tang2024charge.
    """

    lengthscale: Float[Array, "*columns"] = eqx.field(converter=learnable, default=1.0)
    odd_even_lengthscale: Float[Array, "*others"] = eqx.field(converter=learnable, default=1.0)
    weight: Float[Array, ""] = eqx.field(converter=learnable, default=1.0)
    parities: tuple[int, ...] | None = eqx.field(static=True, default=None)
    cheap_points = True

    def __check_init__(self):
        for name in ("lengthscale", "odd_even_lengthscale"):
            check_number(f"OddEvenKernel.{name}", getattr(self, name), each_column=True)
        check_number("OddEvenKernel.weight", self.weight, zero_allowed=True)
        if self.parities is None:
            return
        checked = tuple(counting("OddEvenKernel.parities", least=0)(place) for place in self.parities)
        if not checked or len(set(checked)) != len(checked):
            raise SettingError(
                "OddEvenKernel.parities",
                found=checked,
                rule="at least one coordinate, and each only once",
                remedy="pass None to use all coordinates",
            )

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The smooth term, plus the second term if the parities are equal."""
        same = jnp.all(self._odd(x) == self._odd(y))
        smooth, second = (scaled(x, y) for scaled in self._terms(x))
        return smooth + self.weight * jnp.where(same, second, 0.0)

    def cross(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        """The cross matrix of the first term, plus the weighted second term for pairs of equal parities."""
        same = jnp.all(self._odd(x)[:, None, :] == self._odd(y)[None, :, :], axis=-1)
        smooth, second = (scaled.cross(x, y) for scaled in self._terms(x))
        return smooth + self.weight * jnp.where(same, second, 0.0)

    def diagonal(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The vector K(x_i, x_i), which is exactly 1 + weight."""
        return jnp.full(x.shape[0], 1 + self.weight, x.dtype)

    def _terms(self, x: Float[Array, "*points d"]) -> tuple[RBF, RBF]:
        """The Gaussian kernels of the first and of the second term, without the weight and δ."""
        smooth = for_columns("OddEvenKernel.lengthscale", self.lengthscale, x)
        return RBF(smooth), RBF(for_columns("OddEvenKernel.odd_even_lengthscale", self.odd_even_lengthscale, x))

    def _odd(self, x: Float[Array, "*points d"]) -> Bool[Array, "*points c"]:
        """Whether each coordinate in `parities` is odd."""
        if self.parities is not None and max(self.parities) >= x.shape[-1]:
            raise SettingError(
                "OddEvenKernel.parities",
                found=f"coordinate {max(self.parities)} for points with {x.shape[-1]} coordinates",
                rule=f"coordinates from 0 to {x.shape[-1] - 1}, because they are counted from 0",
            )
        counted = x if self.parities is None else x[..., jnp.array(self.parities)]
        return jnp.mod(jnp.round(counted), 2) == 1
