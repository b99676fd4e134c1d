"""The fully connected layer, in any parameterisation by width.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.core import check_real
from lemmata.errors import SettingError, ShapeError

from ._layer import AbstractLayer, Shape, channels, with_channels
from ._parameterization import Parameterization, Scales, WidthExponents, scales
from ._state import State
from ._versine import Term, versine_of_sum


class Dense(AbstractLayer):
    r"""An affine map to `width` outputs with independent Gaussian parameters.

    For a field, the map is the same at every position.

    With w = `weight_std`, b = `bias_std` and d inputs:

    * `"ntk"`: h = w W x / sqrt(d) + b B, all entries of W and B standard normal. Then nngp' = w² nngp + b² and
      ntk' = nngp' + w² ntk (Jacot, Gabriel and Hongler, 2018). Neither kernel depends on the width.
    * `"standard"`: h = W x + B, W_ij ~ N(0, w²/d), B_i ~ N(0, b²). The function has the same distribution as with
      `"ntk"`, but its gradient with respect to the parameters is larger: ntk' = d nngp + 1 + w² ntk, to leading order
      at the width d of the inputs.
    * `WidthExponents(a, b, c)`: other powers of the width, whose exponents a, b and c its docstring defines.
      `MAXIMAL_UPDATE` and `MEAN_FIELD` give such exponents for the first layer, for hidden layers and for the readout.
      Let c = 0. For hidden layers and readouts, to leading order in d, nngp' = w² d^(1-2a-2b) nngp + b² and ntk' =
      d^(1-2a) nngp + 1 + w² d^(1-2a-2b) ntk.

    The moments are those of one coordinate. For the inputs x and y of a network, nngp is <x, y> / d. The layer has a
    bias if and only if `bias_std` > 0. The gradient with respect to the bias adds 1 to the tangent kernel in the
    standard parameterisation, b² in the NTK parameterisation, and d^(-bias_c) for `WidthExponents`.

    Args:
        width: number of outputs.
        weight_std: w, which scales the standard deviation of the weights.
        bias_std: b, which scales the standard deviation of the biases; with 0 there are no biases.
        parameterization: `"ntk"`, `"standard"` or `WidthExponents`.

    Raises:
        SettingError: for a width below 1, a negative standard deviation, or an unknown parameterisation.
    """

    width: int
    weight_std: float | Float[Array, ""] = 1.0
    bias_std: float | Float[Array, ""] = 0.0
    parameterization: Parameterization = eqx.field(default="ntk", static=True)

    def __check_init__(self):
        if self.parameterization not in ("ntk", "standard") and not isinstance(self.parameterization, WidthExponents):
            raise SettingError(
                "parameterization",
                found=self.parameterization,
                rule="'ntk', 'standard' or WidthExponents",
                remedy=(
                    "for the mean-field and maximal-update parameterisations, use MAXIMAL_UPDATE.first, .hidden or "
                    ".readout for each layer, or set the parameterization of fully_connected(..., "
                    "parameterization=...)"
                ),
            )
        if not isinstance(self.width, int) or self.width < 1:
            raise SettingError("width of a dense layer", found=self.width, rule="a whole number, at least 1")
        for name, value in (("weight_std", self.weight_std), ("bias_std", self.bias_std)):
            check_real(name, value, "a standard deviation that is finite and not negative", lambda number: number >= 0)

    def scales(self, fan_in: int) -> Scales:
        """Return the factors and standard deviations of weights and biases, for `fan_in` inputs."""
        return scales(self.parameterization, fan_in, self.width, self.weight_std, self.bias_std)

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[dict[str, Array], Shape]:
        """Draw {"weight": (width, coordinates of an input)} and, if `bias_std` > 0, {"bias": (width,)}."""
        shape, fan_in = with_channels(fan_in, self.width), channels(fan_in)
        weight_key, bias_key = jax.random.split(key)
        own = self.scales(fan_in)
        params = {"weight": own.deviation * jax.random.normal(weight_key, (self.width, fan_in), dtype)}
        if self.bias_std > 0:
            params["bias"] = own.bias_deviation * jax.random.normal(bias_key, (self.width,), dtype)
        return params, shape

    def apply(self, params: dict[str, Array], x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_out"]:
        """Return the affine map at one point, or at every position of a field."""
        drawn = params["weight"].shape[-1]
        if x.shape[-1] != drawn:
            raise ShapeError(
                f"input of Dense({self.width})",
                found=f"shape {x.shape}, whose last axis has length {x.shape[-1]}",
                rule=f"a last axis of length {drawn}, because its weights were drawn with shape "
                f"{params['weight'].shape}",
                remedy="draw the weights anew for this input shape with init",
            )
        own = self.scales(x.shape[-1])
        output = own.multiplier * (x @ params["weight"].T)
        if self.bias_std > 0:
            output = output + own.bias_multiplier * params["bias"]
        return output

    def gradient_features(self, x: Float[Array, "*n fan_in"]) -> Float[Array, "*n features"]:
        """Return rows u with <u_i, u_j> = <dh_a(x_i)/dparams, dh_a(x_j)/dparams> for each output a.

        This equality is exact at any width.
        """
        own = self.scales(x.shape[-1])
        features = own.multiplier * x
        if self.bias_std > 0:
            bias = jnp.full((*x.shape[:-1], 1), own.bias_multiplier, x.dtype)
            features = jnp.concatenate([features, bias], axis=-1)
        return features

    def push(self, state: State) -> State:
        """Scale and shift the moments, and add this layer's own gradient to the tangent kernel."""
        own, b2 = self.scales(state.fan_in), self.bias_std**2
        nngp, xx, yy = (own.variance * moment + b2 for moment in (state.nngp, state.xx, state.yy))
        ntk = own.gradient * state.nngp + self._bias_gradient(state.fan_in) + own.variance * state.ntk
        law = state.law.drawn()
        known = state.versine
        if known is not None and not (isinstance(self.bias_std, int | float) and self.bias_std == 0):
            moved = (own.variance * moment for moment in (state.xx, state.yy))
            known = versine_of_sum(Term(own.variance * state.nngp, known, *moved), Term(b2, 0.0, b2, b2))
        changes = {"nngp": nngp, "ntk": ntk, "xx": xx, "yy": yy, "versine": known}
        return state.replace(**changes, fan_in=self.width, law=law, means=None)

    def _bias_gradient(self, fan_in: int) -> Any:
        """Return the squared gradient of an output with respect to its bias."""
        return jnp.where(self.bias_std > 0, self.scales(fan_in).bias_multiplier ** 2, 0.0)
