"""The growth of the four-point vertex with depth, and an estimate of the best ratio of depth to width."""

import math

from lemmata.architectures import AbstractLayer
from lemmata.core import check_real, check_whole
from lemmata.errors import SettingError

from ._criticality import Universality, critical_initialisation
from ._moments import gaussian_moments, slopes_of


def vertex_growth(activation: AbstractLayer, skip: float = 0.0) -> float:
    """Return nu, where V/K² ~ nu * depth for the vertex V and the kernel K of a critically initialised network.

    * scale invariant with slopes a and b: nu = 6 (a⁴ + b⁴)/(a² + b²)² - 1, which is 2 for the identity and 5 for ReLU;
    * K* = 0: nu = 2/3, for any activation;
    * half-stable: nu = C_W² (E[s⁴] - E[s²]²)/K*² at the fixed point, where s is the activation.

    Consider residual connections z' = skip z + W s(z), where C_W E[s²] = (1 - skip²) K keeps the kernel fixed. After
    about 1/(1 - skip) layers, nu for scale invariant activations is

        (1 - skip²) (nu + (4 - nu) skip² + (16/pi) ((a² - b²)/(a² + b²))² skip (1 + skip)).

    The last term comes from E[z_i z_j²]/n with i != j. A skip passes this moment on if the activation is neither odd
    nor even. The formula is derived in lemmata. For ReLU, for example, the vertex grows faster with a skip of 1/4 than
    without a skip.

    Args:
        activation: a layer of `lemmata.architectures` that acts on every coordinate by itself.
        skip: the factor of the residual connection, at least 0 and below 1. Use 0 for no residual connection.

    Raises:
        SettingError: if the activation has no critical point, if the skip is outside [0, 1), or if the skip is above 0
            and the activation is not scale invariant.

    >>> from lemmata.architectures import LeakyRelu, Relu
    >>> vertex_growth(Relu()), vertex_growth(LeakyRelu(1.0)), round(vertex_growth(Relu(), skip=0.5), 3)
    (5.0, 2.0, 6.427)
    """
    check_real("skip", skip, "at least 0 and below 1", lambda found: (found >= 0) & (found < 1))
    slopes = slopes_of(activation)
    if slopes is not None:
        squares = [slope * slope for slope in slopes]
        plain = 6.0 * sum(square**2 for square in squares) / sum(squares) ** 2 - 1.0
        tilt = (squares[1] - squares[0]) / sum(squares)
        handed_on = 16.0 / math.pi * tilt**2 * skip * (1.0 + skip)
        return (1.0 - skip**2) * (plain + (4.0 - plain) * skip**2 + handed_on)
    if skip:
        rule = "an activation that consists of two lines, such as Relu()"
        raise SettingError("skip", found=f"{skip} with {type(activation).__name__}", rule=rule, remedy="set skip=0")
    point = critical_initialisation(activation)
    if point.universality is Universality.NONE:
        raise SettingError("activation", found=type(activation).__name__, rule="an activation with a critical point")
    if point.universality is Universality.ZERO:
        return 2.0 / 3.0
    kernel = 1.0 if point.universality is Universality.SCALE_INVARIANT else point.kernel
    found = gaussian_moments(activation, kernel)
    return float(point.weight_variance**2 * (found.fourth - found.second**2)) / kernel**2


def optimal_aspect_ratio(growth: float, outputs: int) -> float:
    """Return the ratio depth/width 4 / ((20 + 3 k) nu), at which a cubic in nu * depth/width has its maximum.

    The cubic is the information that two groups among k outputs share, expanded in the relative variance v of their
    common scale. The cubic is k1 k2/8 (v² - (20 + 3 k) v³/6), where k = k1 + k2 and v is replaced by nu (depth/width).
    As v is in fact e^(nu depth/width) - 1, the expansion in nu (depth/width) itself has 14 instead of 20. The true
    information, `shared_information`, has its maximum at neither ratio (`field_theory.aspect_ratios`).

    Args:
        growth: nu, for example from `vertex_growth`.
        outputs: k, the number of outputs, at least 2.

    Raises:
        SettingError: if the growth is not finite and positive, or there are fewer than 2 outputs.

    >>> round(optimal_aspect_ratio(5.0, 10), 3)
    0.016
    """
    check_whole("outputs", outputs, 2, "outputs")
    check_real("growth", growth, "finite, above 0", lambda found: found > 0)
    return 4.0 / ((20.0 + 3.0 * outputs) * growth)
