"""Random prompts for forward passes of the in-context transformer, with their penalty, temperature and depth."""

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.prompts import FAMILY, Prompt, sampled_prompt
from lemmata.engine.problems.theorem_sizes import penalty_of_theory
from lemmata.functions import barron_parameter, representing_coefficients
from lemmata.networks import temperature_asked

_drawn = eqx.filter_jit(sampled_prompt)


def sizes_of(prompt: Prompt) -> tuple[int, int, int]:
    """Return n, N and L, the numbers of features (without the constant feature), of examples, and of layers.

    Args:
        prompt: examples and a transformer.
    """
    return len(prompt.model.features.thresholds), len(prompt.y), prompt.model.layers


def discrepancy(prompt: Prompt) -> Array:
    """Return the largest |phi(x)^T rho* - f(x)| over the inputs of the prompt.

    Here f is the function, phi are the features, and rho* are the coefficients that represent f. The source's
    discretisation error eps_dis bounds this number.

    Args:
        prompt: examples, queries, a function and the features of its class.
    """
    points = jnp.concatenate([prompt.x, prompt.queries])
    star = representing_coefficients(prompt.functions, prompt.model.features, prompt.function)
    return jnp.abs(prompt.model.features(points) @ star - prompt.function(points)).max()


def penalty_asked(prompt: Prompt) -> Array:
    """Return the penalty sqrt(log N / N) (C_F + sigma) + eps_dis² / C_F, where `discrepancy` gives eps_dis.

    C_F is the Barron parameter of the class of functions, and sigma the standard deviation of the noise.

    Args:
        prompt: examples and a transformer.
    """
    cost, count = barron_parameter(prompt.functions), len(prompt.y)
    return jnp.sqrt(jnp.log(count) / count) * (cost + prompt.sigma) + discrepancy(prompt) ** 2 / cost


def reachable(dtype: Any, number: int, layers: int) -> int:
    """Return the largest number N of examples at which rounding does not remove all targets, or 0 if there is none.

    The temperature is that of Lemma 7, tau = N n² (L + n)(N + n) C_F. If |z| <= eps/2, the logistic function of z is
    rounded to 1/2. Targets y of size up to C_F enter this function as z = eta y / tau, with eta = 1/(2(n+1)). So some
    targets remain if N (N + n) n² (L + n)(n + 1) is below 1/eps.

    Args:
        dtype: the type of the computation; eps is the distance from 1 to its next larger number.
        number: the number n of features, without the constant feature.
        layers: the number L of layers.

    Example:
        >>> from lemmata.subjects.in_context.finite_precision import reachable
        >>> [reachable(kind, 8, 41) for kind in ("bfloat16", "float32", "float64")]
        [0, 13, 399453]
    """
    room = 1 / (float(jnp.finfo(dtype).eps) * number**2 * (layers + number) * (number + 1))
    count = math.floor((math.sqrt(number**2 + 4 * room) - number) / 2)
    while count * (count + number) >= room:
        count -= 1
    return max(count, 0)


def features_are_fractions(prompt: Prompt) -> Hypothesis:
    """Return the hypothesis that all features are between 0 and 1.

    Args:
        prompt: examples and a transformer.
    """
    return Hypothesis("features lie in [0, 1]", jnp.abs(prompt.prompt).max(), "<=", 1.0)


class DensePasses(Population[Prompt]):
    """Prompts with bump functions in two dimensions, and a transformer whose weight matrices are given explicitly.

    Attributes:
        layers: the default number of layers L.
        accelerated: whether the transformer uses momentum.
        as_printed: whether the weights leave out the factor N in Attn2, the attention that writes the prediction, as
            the source does.
    """

    layers: int = 5
    accelerated: bool = False
    as_printed: bool = False

    def settings(self) -> Space:
        return Space(
            n=Integer(6, 1, 64, "features"),
            examples=Integer(12, 2, 128, "examples"),
            layers=Integer(self.layers, 5, 101, "layers, odd", corners=(self.layers, self.layers + 4)),
            tau=Real(100.0, 1.0, 1e6, "temperature"),
        ).where("L is odd", lambda setting: setting["layers"] % 2 == 1)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """Draw a function of the class, inputs uniform in the ball, and noise."""
        return _drawn(
            key,
            n=setting["n"],
            examples=setting["examples"],
            layers=setting["layers"],
            temperature=setting["tau"],
            accelerated=self.accelerated,
            as_printed=self.as_printed,
        )

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        return [features_are_fractions(problem)]


class ForwardPasses(Population[Prompt]):
    """Prompts with a random function of a random class, noise of deviation 1/10, and a transformer for this class.

    Attributes:
        layers: the default number of layers L.
        penalty: the penalty lambda.
        of_inputs: if positive, lambda is this factor times `penalty_asked` instead.
        of_theory: if positive, lambda is this factor times `penalty_of_theory` instead.
        temperature: the temperature tau; 0 means the temperature that the construction requires.
        unreached: if true, use only sizes at which float32 rounds all targets away at the temperature of the
            construction.
        families: the classes of functions in the extra settings on which a claim is also tested; if empty, all classes.
    """

    layers: int = 41
    penalty: float = 0.01
    of_inputs: float = 0.0
    of_theory: float = 0.0
    temperature: float = 8.0
    unreached: bool = False
    families: tuple[str, ...] = ()

    def settings(self) -> Space:
        space = Space(
            n=Integer(8, 1, 64, "features"),
            examples=Integer(64, 2, 128, "examples"),
            layers=Integer(self.layers, 3, 201, "layers, odd"),
            family=dataclasses.replace(FAMILY, corners=self.families),
        ).where("L is odd", lambda setting: setting["layers"] % 2 == 1)
        if not self.unreached:
            return space
        reach = lambda setting: reachable(jnp.float32, setting["n"], setting["layers"])
        return space.where(
            "N is above the largest N that `reachable` gives for float32",
            lambda setting: setting["examples"] > reach(setting),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """Draw the prompt, then set lambda and tau from the sizes of this prompt."""
        prompt = sampled_prompt(
            key,
            family=setting["family"],
            n=setting["n"],
            examples=setting["examples"],
            layers=setting["layers"],
            penalty=self.penalty,
            temperature=self.temperature or 1.0,
        )
        cost, (n, count, layers) = barron_parameter(prompt.functions), sizes_of(prompt)
        penalty, temperature = prompt.model.penalty, prompt.model.temperature
        if self.of_inputs:
            penalty = self.of_inputs * penalty_asked(prompt)
        if self.of_theory:
            order = penalty_of_theory(cost, prompt.sigma, 0.0, examples=count, layers=layers, number=n)
            penalty = self.of_theory * order
        if not self.temperature:
            temperature = temperature_asked(n, layers, count, cost)
        return eqx.tree_at(lambda p: (p.model.penalty, p.model.temperature), prompt, (penalty, temperature))

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        found = [features_are_fractions(problem)]
        if self.of_inputs:
            ratio = problem.model.penalty / (self.of_inputs * penalty_asked(problem))
            found.append(
                Hypothesis("the penalty lambda is large enough", ratio, ">=", 1 - 1e-12, f"over {self.of_inputs:g}")
            )
        if self.unreached:
            n, count, layers = sizes_of(problem)
            found.append(
                Hypothesis(
                    "the number N of examples is too large for float32",
                    count,
                    ">",
                    reachable(jnp.float32, n, layers),
                    "otherwise some information about the targets is left",
                )
            )
        return found


class MomentumPasses(Population[Prompt]):
    """The accelerated transformer of 17 layers at the temperature 10^9.

    At this temperature, truncation errors are below rounding errors. Claims are also tested at extra settings. Extra
    settings do not have a smaller penalty or more features, because the objective would then be flatter. With a flatter
    objective, convergence rates at a few depths would differ from the rates along the whole path.

    Attributes:
        penalty, n: the default penalty lambda and the default number of features.
    """

    penalty: float = 0.01
    n: int = 16

    def settings(self) -> Space:
        return Space(
            n=Integer(self.n, 2, 64, "features", corners=(self.n // 2, self.n)),
            examples=Integer(64, 2, 128, "examples"),
            penalty=Real(self.penalty, 1e-5, 1.0, "lambda", corners=(self.penalty, 2 * self.penalty)),
            family=FAMILY,
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """Draw a function of the class, noise, and 32 queries."""
        return sampled_prompt(
            key,
            family=setting["family"],
            n=setting["n"],
            examples=setting["examples"],
            queries=32,
            layers=17,
            penalty=setting["penalty"],
            temperature=1e9,
            accelerated=True,
        )

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """Return the hypothesis that the step is short enough, by the bound lambda_max(Phi^T Phi)/N <= max |phi_i|²."""
        curvature = 2 * problem.model.step * jnp.max(jnp.sum(problem.prompt**2, axis=1))
        return [Hypothesis("the step is at most 1/(2 lambda_max)", curvature, "<=", 1 + 1e-12, "2 eta |phi|²")]
