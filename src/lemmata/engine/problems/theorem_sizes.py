"""The Lasso penalty and the sizes that the theory of in-context learning (li2025incontext) chooses."""

import math
from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

Number = Float[Array, ""] | float


def penalty_of_theory(
    cost: Number,
    noise: Number,
    discretisation: Number,
    *,
    examples: int,
    layers: int,
    number: int,
    constant: float = 1.0,
) -> Float[Array, ""]:
    """The penalty lambda of the Lasso (li2025incontext, equations 58a and 58c).

    Let h = sqrt(log N/N) and e = h C_F (C_F + sigma) + epsilon_dis² + n C_F²/L. The penalty is constant times
    (h/C_F)^(1/3) e^(2/3) + h (C_F + sigma) + epsilon_dis²/C_F.

    Args:
        cost: the Barron constant C_F.
        noise: the standard deviation sigma of the noise.
        discretisation: epsilon_dis, the largest error |f - phi rho*| of the approximation of the function f by n
            features phi.
        examples: the number N of examples.
        layers: the number L of layers.
        number: the number n of features.
        constant: the constant that the theorem leaves unspecified.
    """
    order, cost = math.sqrt(math.log(examples) / examples), jnp.asarray(cost)
    objective = order * cost * (cost + noise) + discretisation**2 + number * cost**2 / layers
    return constant * (jnp.cbrt(order / cost * objective**2) + order * (cost + noise) + discretisation**2 / cost)


class Choices(NamedTuple):
    """Sizes of a transformer and its prompts: n features, N examples and L layers; the width is D = d + 2 n + 7."""

    number: int
    examples: int
    layers: int


def parameter_choices(error: float, barron: float, noise: float, log_cover: float, constant: float = 1.0) -> Choices:
    """Sizes at which the theorem bounds the risk by a constant times `error`, up to logarithms (li2025incontext, 25).

    D - d = C_F² log|cover|/error, which is 2 n + 7; N = C_F² (C_F + sigma)²/error²; and L is the smallest odd number
    that is at least (D - d) C_F (C_F + sigma)/error. In each of the three formulas, the right side is multiplied by
    `constant`.

    Args:
        error: the target mean squared error.
        barron: the Barron constant C_F.
        noise: the standard deviation sigma of the noise.
        log_cover: log |N_epsilon|, the logarithm of the size of a cover (see `functions._covering`).
        constant: the constant that the theorem leaves unspecified.

    Raises:
        SettingError: for an error, C_F or cover that is not positive, or a negative noise.

    Example:
        >>> from lemmata.subjects.in_context.risk_bound import parameter_choices
        >>> parameter_choices(error=0.1, barron=1.0, noise=0.0, log_cover=5.0)
        Choices(number=22, examples=100, layers=501)
    """
    for name, value in {"error": error, "barron": barron, "log_cover": log_cover}.items():
        if not (math.isfinite(value) and value > 0):
            raise SettingError(name, found=value, rule="a positive and finite number")
    if not noise >= 0:
        raise SettingError("noise", found=noise, rule="a number that is not negative")
    width, product = constant * barron**2 * log_cover / error, barron * (barron + noise)
    layers = math.ceil(constant * width * product / error)
    number = max(1, math.ceil((width - 7) / 2))
    return Choices(number, max(2, math.ceil(constant * (product / error) ** 2)), layers + 1 - layers % 2)
