"""Prompts that claims on in-context learning are tried on: a class, one of its functions, examples, and a transformer."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Choice
from lemmata.functions import (
    AbstractFunction,
    AbstractFunctionClass,
    Cosines,
    GaussianBumps,
    LogisticNetworks,
    features_of,
)
from lemmata.networks import InContextTransformer

from ._sampled import draws, points_in_ball

FAMILY = Choice("bumps", ("bumps", "cosines", "networks"), "class of functions")


class Prompt(eqx.Module):
    """Noisy examples of one function of a class, and the transformer of the class.

    Args:
        functions: the class.
        function: f.
        model: the transformer.
        x: inputs of the examples, in the unit ball.
        noise: z.
        queries: other inputs.
        sigma: the standard deviation of z.
    """

    functions: AbstractFunctionClass
    function: AbstractFunction
    model: InContextTransformer
    x: Float[Array, "N d"]
    noise: Float[Array, " N"]
    queries: Float[Array, "m d"]
    sigma: Float[Array, ""]

    @property
    def y(self) -> Float[Array, " N"]:
        """f(x) + z."""
        return self.function(self.x) + self.noise

    @property
    def prompt(self) -> Float[Array, "N p"]:
        """Features of the examples."""
        return self.model.features(self.x)


def function_class(family: str, normal: Float[Array, "m d"]) -> AbstractFunctionClass:
    """A class of the family: bumps of width 1/2, or cosines or logistic units of random directions and lengths near 2.

    Args:
        family: one of the options of `FAMILY`.
        normal: standard normal numbers.
    """
    m, d = normal.shape
    atoms = 2 * normal / jnp.sqrt(1.0 * d)
    return {
        "bumps": lambda: GaussianBumps(d, 2.0),
        "cosines": lambda: Cosines(atoms, jnp.full(m, 1 / m)),
        "networks": lambda: LogisticNetworks(2 * atoms, jnp.full(m, 2 / m)),
    }[family]()


def sampled_prompt(
    key: Key[Array, ""],
    *,
    family: str = "bumps",
    d: int = 2,
    n: int = 16,
    examples: int = 32,
    queries: int = 1,
    sigma: float = 0.1,
    layers: int = 41,
    penalty: float = 0.01,
    temperature: float = 1e4,
    sharpness: float = 16.0,
    step: float | None = None,
    accelerated: bool = False,
    as_printed: bool = False,
) -> Prompt:
    """A random function of a random class, inputs uniform in the ball, normal noise; all from one draw.

    Args:
        key: randomness.
        family: one of the options of `FAMILY`.
        d: dimension.
        n: features.
        examples: N.
        queries: other inputs.
        sigma: standard deviation of the noise.
        layers: L, odd.
        penalty: lambda.
        temperature: tau of the attention layers.
        sharpness: tau of the features.
        step: eta; None is 1/(2(n + 1)).
        accelerated: with momentum.
        as_printed: without the factor N in Attn2.
    """
    shapes = function_class(family, jnp.ones((4, d)))
    atoms, omega, function, x, noise = draws(
        key, (4, d), (n, shapes.columns + 1), shapes.shape, (examples + queries, d + 1), (examples,)
    )
    functions, points = function_class(family, atoms), points_in_ball(x)
    model = InContextTransformer(
        features_of(functions, omega, sharpness), jnp.asarray(penalty, float),
        jnp.asarray(1 / (2 * (n + 1)) if step is None else step, float), jnp.asarray(temperature, float), layers,
        examples, accelerated, as_printed,
    )  # fmt: skip
    return Prompt(
        functions, functions.function(function), model, points[:examples], sigma * noise, points[examples:],
        jnp.asarray(sigma, float),
    )  # fmt: skip
