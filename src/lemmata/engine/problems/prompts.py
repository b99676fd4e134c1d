"""Prompts and their generators. A prompt has noisy examples of a function, and a transformer that learns from them.

The function belongs to a class, for which the transformer is constructed (`InContextTransformer`). Its features are
ramps, and it takes proximal gradient steps on the Lasso with the penalty lambda.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.sampled import draws, points_in_ball
from lemmata.engine.problems.theorem_sizes import parameter_choices, penalty_of_theory
from lemmata.functions import (
    AbstractFunction,
    AbstractFunctionClass,
    Cosines,
    CosineSum,
    GaussianBumps,
    LogisticNetworks,
    barron_parameter,
    features_of,
    log_pair_cover,
)
from lemmata.networks import InContextTransformer

FAMILY = Choice("bumps", ("bumps", "cosines", "networks"), "class of functions")


class Prompt(eqx.Module):
    """Noisy examples of one function of a class, and the transformer of the class.

    Args:
        functions: the class of functions.
        function: the function f of the class.
        model: the in-context transformer of the class.
        x: inputs of the examples, in the unit ball.
        noise: the noise z of the examples.
        queries: other inputs, at which the transformer predicts f.
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
        """The targets f(x) + z."""
        return self.function(self.x) + self.noise

    @property
    def prompt(self) -> Float[Array, "N p"]:
        """The matrix of the features of the examples, one row for each example."""
        return self.model.features(self.x)


def function_class(family: str, normal: Float[Array, "m d"]) -> AbstractFunctionClass:
    """A class of a family: bumps of width 1/2, random cosines, or random logistic units.

    The frequencies of the cosines have random directions and lengths near 2. The weights of the logistic units have
    random directions and lengths near 4.

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
    """Draw a random function of a random class, uniform inputs in the unit ball, and normal noise, in one call.

    Args:
        key: the random key.
        family: one of the options of `FAMILY`.
        d: the dimension of the inputs.
        n: the number of features.
        examples: the number N of examples.
        queries: the number of other inputs.
        sigma: standard deviation of the noise.
        layers: the odd number L of layers.
        penalty: the penalty lambda of the Lasso.
        temperature: the temperature tau of the attention layers.
        sharpness: the slope tau of the features' ramps.
        step: the step size eta; None means 1/(2(n + 1)).
        accelerated: whether the steps use momentum.
        as_printed: whether to leave out the factor N in the attention layer Attn2 (see `InContextTransformer`).
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


def bounded(features: Float[Array, "N p"]) -> Hypothesis:
    """The hypothesis |phi_i| <= 1 for all features phi_i."""
    return Hypothesis("features are at most 1", jnp.abs(features).max(), "<=", 1.0, "the curvature is at most 2 (n+1)")


def finite_cost(functions: AbstractFunctionClass) -> Hypothesis:
    """The hypothesis that the Barron parameter C_F of the class is finite."""
    return Hypothesis("C_F is finite", barron_parameter(functions), "<", jnp.inf, "Theorem 1")


def in_unit_ball(x: Float[Array, "N d"]) -> Hypothesis:
    """The hypothesis |x_i| <= 1 for all inputs x_i."""
    length = jnp.linalg.norm(x, axis=1).max()
    return Hypothesis("inputs lie in the unit ball", length, "<=", 1.0, "the features cover the unit ball")


def prompt_sizes(prompt: Prompt) -> dict[str, int]:
    """The numbers of examples, layers and features of a prompt, as arguments of `penalty_of_theory`.

    Args:
        prompt: the prompt, with examples and a transformer.
    """
    number = len(prompt.model.features.thresholds)
    return {"examples": len(prompt.y), "layers": prompt.model.layers, "number": number}


class Prompts(Population[Prompt]):
    """Prompts for the transformer with 2 T + 1 layers, which takes T proximal gradient steps.

    Attributes:
        free: the names among n, N, T, family and sigma that are settings. The other quantities have the values of the
            fields.
        n, N, T, family, sigma: the numbers of features, of examples and of steps, the class of functions, and the
            standard deviation of the noise.
        queries: the number of other inputs of each prompt.
        penalty: the penalty lambda of the Lasso.
        of_theory: a factor. If it is positive, lambda is `penalty_of_theory` with this factor as its constant, and
            `penalty` is not used.
        accelerated: whether the steps use momentum.
    """

    free: tuple[str, ...] = ("n", "N", "family")
    n: int = 16
    N: int = 32
    T: int = 20
    family: str = "bumps"
    sigma: float = 0.1
    queries: int = 1
    penalty: float = 0.01
    of_theory: float = 0.0
    accelerated: bool = False

    def settings(self) -> Space:
        known = {
            "n": Integer(self.n, 2, 64, "features"),
            "N": Integer(self.N, 4, 256, "examples"),
            "T": Integer(self.T, 1, 400, "steps"),
            "family": Choice(self.family, FAMILY.options, FAMILY.meaning),
            "sigma": Real(self.sigma, 0.0, 10.0, "standard deviation of the noise"),
        }
        return Space(**{name: known[name] for name in self.free})

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """Draw a random function of a random class, uniform inputs in the ball, and normal noise."""
        all_of = {name: setting.get(name, getattr(self, name)) for name in ("n", "N", "T", "family", "sigma")}
        drawn = sampled_prompt(
            key,
            family=all_of["family"],
            n=all_of["n"],
            examples=all_of["N"],
            queries=self.queries,
            sigma=all_of["sigma"],
            layers=2 * all_of["T"] + 1,
            penalty=self.penalty,
            accelerated=self.accelerated,
        )
        if not self.of_theory:
            return drawn
        cost, sizes = barron_parameter(drawn.functions), prompt_sizes(drawn)
        penalty = penalty_of_theory(cost, drawn.sigma, 0.0, **sizes, constant=self.of_theory)
        return dataclasses.replace(drawn, model=dataclasses.replace(drawn.model, penalty=penalty))

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """The hypotheses that the features are bounded, inputs lie in the unit ball, and C_F is finite."""
        return [bounded(problem.prompt), in_unit_ball(problem.x), finite_cost(problem.functions)]


class ChosenSizes(Population[Prompt]):
    """One slow cosine in one dimension, with the sizes that `parameter_choices` gives for a target error.

    The Barron parameter C_F of such a class is small, so these sizes stay moderate. The target error is below the size
    of the class's functions.
    """

    def settings(self) -> Space:
        """The settings: the target error, the frequency and the noise.

        The sizes grow like error^-3. Therefore, extra settings have target errors of at least 0.15.
        """
        error = Real(0.2, 0.1, 10.0, "target error", corners=(0.15, 0.4))
        frequency = Real(0.25, 0.01, 2.0, "|omega|")
        return Space(error=error, frequency=frequency, sigma=Real(0.1, 0.0, 1.0, "standard deviation of the noise"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """Draw a cosine of amplitude 1 and any phase, with 16 queries."""
        cost, noise = 1 + setting["frequency"], setting["sigma"]
        inverse = cost * (cost + noise) / setting["error"]
        cover = log_pair_cover(1, 1 / inverse)
        number, examples, layers = parameter_choices(setting["error"], cost, noise, cover)
        functions = Cosines(jnp.full((1, 1), setting["frequency"]), jnp.ones(1))
        phase, omega, points, normal = draws(key, (1,), (number, 2), (examples + 16, 2), (examples,))
        angle = 2 * jnp.pi * jax.scipy.stats.norm.cdf(phase)
        function = CosineSum(functions.atoms, functions.sizes, jnp.ones(1), angle)
        penalty = penalty_of_theory(cost, noise, 0.0, examples=examples, layers=layers, number=number)
        model = InContextTransformer(
            features_of(functions, omega, 16.0),
            penalty,
            jnp.asarray(1 / (2 * (number + 1)), float),
            jnp.asarray(1e4),
            layers,
            examples,
        )
        x = points_in_ball(points)
        return Prompt(functions, function, model, x[:examples], noise * normal, x[examples:], jnp.asarray(noise, float))

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """The hypotheses that the features are bounded, inputs lie in the unit ball, and C_F is finite."""
        return [bounded(problem.prompt), in_unit_ball(problem.x), finite_cost(problem.functions)]
