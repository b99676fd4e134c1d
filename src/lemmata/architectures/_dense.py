"""The fully connected layer, in the NTK and in the standard parameterisation."""

from typing import Any, Literal

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from lemmata.errors import SettingError

from ._layer import AbstractLayer
from ._state import State


class Dense(AbstractLayer):
    r"""An affine map to `width` outputs with independent Gaussian parameters.

    With w = `weight_std`, b = `bias_std` and d inputs:

    * `"ntk"`: h = w W x / sqrt(d) + b B, all entries of W and B standard normal. Then nngp' = w² nngp + b² and
      ntk' = nngp' + w² ntk (Jacot, Gabriel and Hongler, 2018), which needs no width.
    * `"standard"`: h = W x + B, W_ij ~ N(0, w²/d), B_i ~ N(0, b²). The function has the same distribution, but its
      gradient is larger: ntk' = d nngp + 1 + w² ntk, to leading order at the width d of the inputs.

    The moments are those of one coordinate; nngp of the raw inputs is <x, y> / d. A bias exists if and only if
    `bias_std` > 0; in the standard parameterisation it then adds 1 to the tangent kernel, in the NTK
    parameterisation b².

    Args:
        width: number of outputs.
        weight_std: w.
        bias_std: b.
        parameterization: `"ntk"` or `"standard"`.

    Raises:
        SettingError: for a width below 1, a negative standard deviation, or an unknown parameterisation.
    """

    width: int
    weight_std: float | Float[Array, ""] = 1.0
    bias_std: float | Float[Array, ""] = 0.0
    parameterization: Literal["ntk", "standard"] = eqx.field(default="ntk", static=True)

    def __check_init__(self):
        if self.parameterization not in ("ntk", "standard"):
            raise SettingError("parameterization", found=self.parameterization, rule="'ntk' or 'standard'")
        if self.width < 1:
            raise SettingError("width of a dense layer", found=self.width, rule="at least 1")
        for name, value in (("weight_std", self.weight_std), ("bias_std", self.bias_std)):
            try:
                wrong = not value >= 0
            except jax.errors.TracerBoolConversionError:  # a traced number has no value yet
                continue
            if wrong:
                raise SettingError(name, found=value, rule="a standard deviation is a number that is not negative")

    def init(self, key: Key[Array, ""], fan_in: int, *, dtype: Any = float) -> tuple[dict[str, Array], int]:
        """Draws {"weight": (width, fan_in)} and, where `bias_std` > 0, {"bias": (width,)}."""
        weight_key, bias_key = jax.random.split(key)
        weight_scale, bias_scale = 1.0, 1.0
        if self.parameterization == "standard":
            weight_scale, bias_scale = self.weight_std / fan_in**0.5, self.bias_std
        params = {"weight": weight_scale * jax.random.normal(weight_key, (self.width, fan_in), dtype)}
        if self.bias_std > 0:
            params["bias"] = bias_scale * jax.random.normal(bias_key, (self.width,), dtype)
        return params, self.width

    def apply(self, params: dict[str, Array], x: Float[Array, " fan_in"]) -> Float[Array, " fan_out"]:
        """The affine map at one point."""
        standard = self.parameterization == "standard"
        output = params["weight"] @ x if standard else (self.weight_std / x.size**0.5) * (params["weight"] @ x)
        if self.bias_std > 0:
            output = output + (params["bias"] if standard else self.bias_std * params["bias"])
        return output

    def gradient_kernel(
        self, x: Float[Array, "n fan_in"], y: Float[Array, "m fan_in"]
    ) -> Float[Array, "n m"]:
        """<dh_i(x)/dparams, dh_i(y)/dparams> of this layer alone, the same for each output i, exact at any width."""
        if self.parameterization == "standard":
            return x @ y.T + (1.0 if self.bias_std > 0 else 0.0)
        return (self.weight_std**2 / x.shape[1]) * (x @ y.T) + self.bias_std**2

    def push(self, state: State) -> State:
        """Scales and shifts the moments by w² and b², and adds this layer's own gradient to the tangent kernel."""
        w2, b2 = self.weight_std**2, self.bias_std**2
        nngp = w2 * state.nngp + b2
        if self.parameterization == "standard":
            own = state.fan_in * state.nngp + (1.0 if self.bias_std > 0 else 0.0)
        else:
            own = nngp
        xx, yy = w2 * state.xx + b2, w2 * state.yy + b2
        return State(nngp, own + w2 * state.ntk, xx, yy, self.width, state.law.drawn())
