"""Problems about proximal gradient: one step, and a run with errors, on features and targets of a prompt."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Hypothesis
from lemmata.functions import representing_coefficients
from lemmata.solvers import proximal_gradient, soft_threshold

from ._prompts import Prompt, sampled_prompt


class Step(eqx.Module):
    """One step of proximal gradient from any point.

    Args:
        features: Phi.
        y: targets.
        penalty: lambda.
        start: rho_t.
        reference: rho*.
    """

    features: Float[Array, "N p"]
    y: Float[Array, " N"]
    penalty: Float[Array, ""]
    start: Float[Array, " p"]
    reference: Float[Array, " p"]

    @property
    def number(self) -> int:
        """N = p - 1."""
        return self.features.shape[1] - 1

    def exact(self, step: float) -> Float[Array, " p"]:
        """ST_{step lambda}(rho_t + (2 step/N) Phi^T (y - Phi rho_t))."""
        residual = self.y - self.features @ self.start
        return soft_threshold(self.start + 2 * step / len(self.y) * (residual @ self.features), step * self.penalty)


class Run(eqx.Module):
    """Proximal gradient from 0 with step 1/(2(n+1)), and with errors added after each step; r of them.

    Args:
        features: Phi.
        y: targets.
        penalty: lambda.
        reference: rho*.
        errors: e_1, ..., e_T of each run.
        path: rho_0, ..., rho_T of each run.
    """

    features: Float[Array, "N p"]
    y: Float[Array, " N"]
    penalty: Float[Array, ""]
    reference: Float[Array, " p"]
    errors: Float[Array, "r T p"]
    path: Float[Array, "r T1 p"]

    @property
    def number(self) -> int:
        """N = p - 1."""
        return self.features.shape[1] - 1

    @property
    def iterations(self) -> int:
        """T."""
        return self.errors.shape[1]

    @property
    def exact(self) -> Float[Array, "r T p"]:
        """rho*_1, ..., rho*_T: each iterate before its error is added."""
        return self.path[:, 1:] - self.errors


def bounded(features: Float[Array, "N p"]) -> Hypothesis:
    """|phi_i| <= 1."""
    return Hypothesis("features are at most 1", jnp.abs(features).max(), "<=", 1.0, "the curvature is at most 2 (n+1)")


def saturated(prompt: Prompt) -> Prompt:
    """The same prompt with all thresholds in [-2, -1 - 1/(2 tau)], where every feature is 1 on the whole ball.

    Args:
        prompt: any prompt.
    """
    features = prompt.model.features
    width = 1 - 1 / (2 * features.sharpness)
    moved = dataclasses.replace(features, thresholds=-2 + width * (features.thresholds + 2) / 3)
    return dataclasses.replace(prompt, model=dataclasses.replace(prompt.model, features=moved))


def sampled_step(
    key: Key[Array, ""], *, family: str, n: int, examples: int, saturate: bool = True, ratio: float = 0.95
) -> Step:
    """A step that starts near the representing coefficients rho* of a function of the class.

    The start is rho* shifted by a constant, so that where all features are 1 the mean residual at rho* is `ratio`
    times that at the start. The penalty is a hundredth of the mean residual.

    Args:
        key: randomness.
        family: class of functions.
        n: features.
        examples: N.
        saturate: all features 1.
        ratio: beta.
    """
    prompt = sampled_prompt(key, family=family, n=n, examples=examples)
    prompt = saturated(prompt) if saturate else prompt
    reference = representing_coefficients(prompt.functions, prompt.model.features, prompt.function)
    mean = jnp.mean(prompt.y - prompt.prompt @ reference)
    start = reference - (1 / ratio - 1) * mean / (n + 1)
    return Step(prompt.prompt, prompt.y, jnp.abs(mean) / 100, start, reference)


def run_of(
    features: Float[Array, "N p"],
    y: Float[Array, " N"],
    penalty: Float[Array, ""] | float,
    reference: Float[Array, " p"],
    errors: Float[Array, "r T p"],
) -> Run:
    """The runs with these errors.

    Args:
        features: Phi.
        y: targets.
        penalty: lambda.
        reference: rho*.
        errors: e_1, ..., e_T of each run.
    """
    step, iterations = 1 / (2 * features.shape[1]), errors.shape[1]
    path = jax.vmap(lambda e: proximal_gradient(features, y, penalty, step, iterations, e))(errors)
    return Run(features, y, jnp.asarray(penalty, float), reference, errors, path)


def prompt_with_errors(
    key: Key[Array, ""], *, family: str, n: int, examples: int, iterations: int
) -> tuple[Prompt, Float[Array, "r T p"]]:
    """A prompt, and errors of length 1 in l_1: random ones, and all in the coefficient of the constant, upwards.

    Args:
        key: randomness.
        family: class of functions.
        n: features.
        examples: N.
        iterations: T.
    """
    queries = (iterations * (n + 1) + 1) // 2
    prompt = sampled_prompt(key, family=family, n=n, examples=examples, queries=queries, layers=2 * iterations + 1)
    random = prompt.queries.ravel()[: iterations * (n + 1)].reshape(iterations, n + 1)
    random = random / jnp.abs(random).sum(axis=1, keepdims=True)
    return prompt, jnp.stack([random, jnp.zeros_like(random).at[:, -1].set(1.0)])
