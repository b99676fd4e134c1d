"""Errors of the steps that a forward pass takes, and the temperature at which they are small."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Hypothesis, Integer, Space
from lemmata.functions import barron_parameter, representing_coefficients
from lemmata.problems._prompts import FAMILY, Prompt, sampled_prompt
from lemmata.solvers import soft_threshold

from ._passes import bounded_features, exact_update, path_of


def step_errors(prompt: Prompt) -> Float[Array, "t p"]:
    """e_t = rho_t - ST(rho_{t-1} + exact gradient step), for t = 1, ..., T.

    Args:
        prompt: examples, the query and a transformer.
    """
    rho, _ = path_of(prompt)
    return rho[1:] - soft_threshold(exact_update(prompt, rho[:-1]), prompt.model.step * prompt.model.penalty)


def discrepancy(prompt: Prompt) -> Array:
    """max |phi(x)^T rho* - f(x)| over the inputs of the prompt: no more than eps_dis.

    Args:
        prompt: examples, queries, a function and the features of its class.
    """
    points = jnp.concatenate([prompt.x, prompt.queries])
    star = representing_coefficients(prompt.functions, prompt.model.features, prompt.function)
    return jnp.abs(prompt.model.features(points) @ star - prompt.function(points)).max()


def penalty_asked(prompt: Prompt) -> Array:
    """sqrt(log N / N) (C_F + sigma) + eps_dis² / C_F, with the discrepancy at the inputs for eps_dis.

    Args:
        prompt: examples and a transformer.
    """
    cost, count = barron_parameter(prompt.functions), len(prompt.y)
    return jnp.sqrt(jnp.log(count) / count) * (cost + prompt.sigma) + discrepancy(prompt) ** 2 / cost


def error_allowed(prompt: Prompt) -> Array:
    """C_F / ((L + n) n N), inequality (58b) with a constant of 1.

    Args:
        prompt: examples and a transformer.
    """
    n, layers = len(prompt.model.features.thresholds), prompt.model.layers
    return barron_parameter(prompt.functions) / ((layers + n) * n * len(prompt.y))


def norm_allowed(prompt: Prompt) -> Array:
    """n sqrt(N) C_F, the second inequality of Lemma 7 with a constant of 1.

    Args:
        prompt: examples and a transformer.
    """
    return len(prompt.model.features.thresholds) * jnp.sqrt(1.0 * len(prompt.y)) * barron_parameter(prompt.functions)


def gap_allowed(prompt: Prompt) -> Array:
    """sqrt(log N / N) C_F², inequality (59b) with a constant of 1.

    Args:
        prompt: examples and a transformer.
    """
    count = len(prompt.y)
    return jnp.sqrt(jnp.log(count) / count) * barron_parameter(prompt.functions) ** 2


def found_at(prompt: Prompt, temperature: Array) -> Float[Array, " 3"]:
    """max |e_t|_1, max |rho_t|_1 and (phi^T rho_T - y^)² of the pass at another temperature.

    Args:
        prompt: examples, the query and a transformer.
        temperature: tau.
    """
    moved = eqx.tree_at(lambda p: p.model.temperature, prompt, temperature)
    rho, predictions = path_of(moved)
    value = moved.model.features(moved.queries[:1])[0] @ rho[-1]
    sizes = (jnp.abs(step_errors(moved)).sum(axis=1).max(), jnp.abs(rho).sum(axis=1).max())
    return jnp.stack([*sizes, (value - predictions[-1]) ** 2])


def sufficient_temperature(prompt: Prompt, ladder: Float[Array, " k"]) -> Array:
    """The least temperature of a ladder from which on all three of Lemma 7 and (59b) hold.

    Args:
        prompt: examples, the query and a transformer.
        ladder: increasing temperatures; where the last is too low the answer is infinite.
    """
    allowed = jnp.stack([error_allowed(prompt), norm_allowed(prompt), gap_allowed(prompt)])
    held = jax.vmap(lambda tau: jnp.all(found_at(prompt, tau) <= allowed))(ladder)
    from_here = jnp.cumprod(held[::-1])[::-1]
    return jnp.where(from_here.any(), ladder[jnp.argmax(from_here)], jnp.inf)


class AbstractErrorClaim(Claim[Prompt]):
    """Statements about the errors of the steps, for a random function of a random class."""

    relation = AtMost()
    controls = "the errors of the steps that the transformer takes"
    unexplained = "whether errors of different steps cancel"
    problem = Prompt
    trials = 122
    batch = 122

    def settings(self) -> Space:
        """Sizes and the class."""
        return Space(
            n=Integer(8, 1, 64, "features"),
            examples=Integer(64, 2, 128, "examples"),
            layers=Integer(41, 3, 201, "layers, odd"),
            family=FAMILY,
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """A function of the class with noise of standard deviation 1/10, and the temperature 8."""
        return sampled_prompt(
            key, family=setting["family"], n=setting["n"], examples=setting["examples"], layers=setting["layers"],
            temperature=8.0,
        )  # fmt: skip

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """Bounded features."""
        return [bounded_features(problem)]


class AbstractTemperatureClaim(AbstractErrorClaim):
    """Statements at a temperature of the theory's own, with lambda 1/32 of what it asks for (at 1, rho stays 0)."""

    def sample(self, setting: dict, key: Key[Array, ""]) -> Prompt:
        """The same prompt, with another lambda."""
        prompt = super().sample(setting, key)
        return eqx.tree_at(lambda p: p.model.penalty, prompt, penalty_asked(prompt) / 32)

    def hypotheses(self, problem: Prompt) -> list[Hypothesis]:
        """lambda, with 1/32 in the place of a constant that the source calls large."""
        ratio = 32 * problem.model.penalty / penalty_asked(problem)
        return [bounded_features(problem), Hypothesis("lambda is large enough", ratio, ">=", 1 - 1e-12, "over 1/32")]
