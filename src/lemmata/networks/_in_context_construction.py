"""Construct the in-context transformer of a class of functions, check its settings, and find its temperature."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.core import whole
from lemmata.errors import SettingError
from lemmata.functions import AbstractFunctionClass, sample_features

from ._in_context import InContextTransformer
from ._in_context_checks import check_number, refuse_silence


def construct_transformer(
    functions: AbstractFunctionClass,
    number: int,
    layers: int,
    *,
    examples: int,
    key: Key[Array, ""],
    penalty: float | Array = 0.01,
    temperature: float | Array | None = None,
    sharpness: float | Array = 16.0,
    step: float | Array | None = None,
    accelerated: bool = False,
    as_printed: bool = False,
    dtype: Any = float,
) -> InContextTransformer:
    """Construct the in-context transformer of Lemma 4 (li2025incontext) for a class of functions.

    Its weights depend on the class of functions and on the settings below, but not on data.

    Args:
        functions: the class of functions to which the target of a prompt belongs.
        number: the number n of features.
        layers: the number of layers, L = 2T + 1.
        examples: the number N of examples.
        key: the random key of the features.
        penalty: the Lasso penalty lambda.
        temperature: the temperature tau. None means 10^4 in float64, and (6 eps)^(-1/3) in types with fewer digits.
            These values are near those with the smallest error if logistic functions lose digits by cancellation.
        sharpness: the slope of the features' ramps (`UniversalFeatures`), 1/sqrt(epsilon) in the source.
        step: the step size eta. None means 1/(2(n + 1)), the largest step for which the source's proof holds. The
            source writes 1/(2n).
        accelerated: whether to use momentum.
        as_printed: whether to leave out the factor N in the second attention layer of each block (Attn2), as the source
            does.
        dtype: the type of the weights.

    Raises:
        SettingError: for fewer than 1 feature, an even number of layers, or fewer than 2 examples; for a temperature,
            sharpness or step that is not positive and finite in this type; for a negative or infinite penalty; for a
            class of infinite Barron parameter; for a temperature so high that all targets up to the Barron parameter
            are rounded to 0.
    """
    sizes = {"number of features": number, "layers": layers, "examples": examples}
    number, layers, examples = (whole(name, value) for name, value in sizes.items())
    if number < 1:
        raise SettingError("number of features", found=number, rule="at least 1")
    cast = lambda value: jnp.asarray(value, dtype)
    for name, value in {"temperature": temperature, "sharpness": sharpness, "step": step}.items():
        check_number(name, value, cast, positive=True)
    check_number("penalty", penalty, cast, positive=False)
    cost = float(functions.offset() + functions.moment())
    if not np.isfinite(cost):
        raise SettingError("the class of functions", found=f"C_F = {cost}", rule="a finite Barron parameter",
                           remedy="choose a spectrum with a finite first moment")  # fmt: skip
    eta, eps = 1 / (2 * (number + 1)) if step is None else float(step), float(jnp.finfo(cast(0.0).dtype).eps)
    tau = min(1e4, (6 * eps) ** (-1 / 3)) if temperature is None else float(temperature)
    refuse_silence(tau, 2 * eta * cost / eps)
    features = jax.tree.map(cast, sample_features(key, functions, number, sharpness))
    return InContextTransformer(
        features, cast(penalty), cast(eta), cast(tau), layers, examples, accelerated, as_printed
    )


def temperature_asked(number: int, layers: int, examples: int, cost: float | Array) -> Array:
    """Return N n² (L + n)(N + n) C_F, the temperature that Lemma 7 (li2025incontext) asks for if its constant is 1.

    Args:
        number: the number n of features.
        layers: the number L of layers.
        examples: the number N of examples.
        cost: the Barron parameter C_F of the class.

    Example:
        >>> from lemmata.networks import temperature_asked
        >>> float(temperature_asked(8, 41, 64, 3.5))
        50577408.0
    """
    return jnp.asarray(1.0 * examples * number**2 * (layers + number) * (examples + number) * cost)
