"""Powers of the width that scale a layer's weights, their initial distribution and their learning rate."""

import dataclasses
from typing import Any, Literal, NamedTuple

from lemmata.core import check_real
from lemmata.errors import SettingError


@dataclasses.dataclass(frozen=True)
class WidthExponents:
    r"""The abc-parameterisation of one layer (Yang and Hu, 2021) by powers of a width d.

    The layer is h = d^-a w x with w_ij ~ N(0, s² d^(-2b)), and the learning rate of its weights is d^-c times the
    learning rate of the network. A bias is b_i ~ N(0, t²), and its learning rate is d^-(bias_c) times the learning rate
    of the network. Here, s and t are the layer's `weight_std` and `bias_std`.

    * `of="fan_in"`: d is the number of inputs. Use this choice for hidden layers and readouts.
    * `of="fan_out"`: d is the number of outputs. Use this choice for a first layer, whose number of inputs does not
      grow with the width. The inputs keep their usual factor, h = fan_in^(-1/2) d^-a w x.

    Under gradient descent and gradient flow, the triples (a, b, c) and (a + u, b - u, c - 2u) describe the same network
    for every u. So a layer stores its parameters in the form with c = 0. The stored weights are then w times d^(c/2),
    and one learning rate is correct for all layers. So gradient descent does not need a table of learning rates. In the
    tangent kernel of these parameters, each layer is weighted by its learning rate.

    Args:
        a: exponent of the factor d^-a of the weights.
        b: exponent of the standard deviation s d^-b of the weights at initialisation.
        c: exponent of the factor d^-c of the weights' learning rate.
        bias_c: exponent of the factor d^-(bias_c) of the bias' learning rate.
        of: whether d is the number of inputs or of outputs.

    Raises:
        SettingError: for exponents that are not finite, or an unknown `of`.

    Example:
        >>> from lemmata.architectures import Dense, WidthExponents
        >>> readout = Dense(1, parameterization=WidthExponents(a=1.0, b=0.0, c=-1.0))  # a mean over units, rate d
        >>> import jax
        >>> params, _ = readout.init(jax.random.key(0), 4)
        >>> round(float(readout.apply(params, jax.numpy.ones(4))[0] / params["weight"].sum()), 12)
        0.5
    """

    a: float
    b: float
    c: float = 0.0
    bias_c: float = 0.0
    of: Literal["fan_in", "fan_out"] = "fan_in"

    def __post_init__(self):
        exponents = (self.a, self.b, self.c, self.bias_c)
        for exponent in exponents:
            check_real("exponents of the width", exponent, "finite numbers", lambda number: number == number)
        if self.of not in ("fan_in", "fan_out"):
            raise SettingError(
                "the argument 'of' of WidthExponents",
                found=self.of,
                rule="'fan_in' or 'fan_out': this width is the base of the powers",
            )


# the parameterisation of one layer
Parameterization = Literal["ntk", "standard"] | WidthExponents


class LayerExponents(NamedTuple):
    """The exponents of a whole network: of its first layer, of the hidden layers after it, and of its readout."""

    first: WidthExponents
    hidden: WidthExponents
    readout: WidthExponents


# Hidden features move as much as possible without diverging. See Table 1 of Yang and Hu (2021), in the form with c = 0.
# A bias is a weight of the constant input 1 and learns as the first layer does.
MAXIMAL_UPDATE = LayerExponents(
    first=WidthExponents(-0.5, 0.5, bias_c=-1.0, of="fan_out"),
    hidden=WidthExponents(0.0, 0.5, bias_c=-1.0),
    readout=WidthExponents(0.5, 0.5),
)
# A unit is a mean over the units of the layer before, each of which learns at a rate of order 1. With one hidden layer,
# this is the maximal update. Further hidden layers start at preactivations of order d^(-1/2), because their weights
# average out.
MEAN_FIELD = LayerExponents(
    first=WidthExponents(0.0, 0.0, c=-1.0, bias_c=-1.0, of="fan_out"),
    hidden=WidthExponents(1.0, 0.0, c=-2.0, bias_c=-1.0),
    readout=WidthExponents(1.0, 0.0, c=-1.0),
)
NetworkParameterization = Literal["ntk", "standard", "mean-field", "maximal-update"] | LayerExponents


def by_role(parameterization: NetworkParameterization) -> tuple[Parameterization, Parameterization, Parameterization]:
    """Return the parameterisations of a network's first layer, of its hidden layers and of its readout.

    Raises:
        SettingError: for an unknown name.
    """
    if isinstance(parameterization, LayerExponents):
        return parameterization
    if parameterization == "ntk" or parameterization == "standard":
        return parameterization, parameterization, parameterization
    named = {"maximal-update": MAXIMAL_UPDATE, "mean-field": MEAN_FIELD}
    if parameterization not in named:
        names = ", ".join(["ntk", "standard", *named])
        raise SettingError("parameterization", found=parameterization, rule=f"one of {names}, or LayerExponents")
    return named[parameterization]


class Scales(NamedTuple):
    """The factors and standard deviations that a parameterisation gives for a dense layer of given widths.

    The layer is h = multiplier w x + bias_multiplier b. The entries of w have standard deviation `deviation`, and the
    entries of b have standard deviation `bias_deviation`. All parameters have one learning rate.

    Attributes:
        multiplier, deviation: the factor and the standard deviation of the weights.
        bias_multiplier, bias_deviation: the same for the bias.
        variance: the variance of an output without its bias, divided by the mean square of an input.
        gradient: the squared gradient of an output with respect to the weights, divided by the mean square of an input.
    """

    multiplier: Any
    deviation: Any
    bias_multiplier: Any
    bias_deviation: Any
    variance: Any
    gradient: Any


def scales(parameterization: Parameterization, fan_in: int, fan_out: int, weight_std: Any, bias_std: Any) -> Scales:
    """Return the scales of an affine layer with `fan_in` inputs to each of `fan_out` outputs."""
    if parameterization == "ntk":
        return Scales(weight_std / fan_in**0.5, 1.0, bias_std, 1.0, weight_std**2, weight_std**2)
    if parameterization == "standard":
        return Scales(1.0, weight_std / fan_in**0.5, 1.0, bias_std, weight_std**2, fan_in)
    power: WidthExponents = parameterization
    first = power.of == "fan_out"
    width = fan_out if first else fan_in
    # the form with c = 0
    a, b, half = power.a + power.c / 2, power.b - power.c / 2, power.bias_c / 2
    # the inputs of a first layer have the factor fan_in^(-1/2), which cancels against their number
    inputs, number = (fan_in**-0.5, 0.0) if first else (1.0, 1.0)
    return Scales(
        multiplier=inputs * width**-a,
        deviation=weight_std * width**-b,
        bias_multiplier=width**-half,
        bias_deviation=bias_std * width**half,
        variance=weight_std**2 * width ** (number - 2 * (a + b)),
        gradient=width ** (number - 2 * a),
    )
