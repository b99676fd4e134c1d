"""The errors of the steps of a transformer's forward pass, and the temperature at which these errors are small.

The transformer reads N examples with targets y_i and features phi_i, and a query. Each step t moves the coefficients
rho by a step of proximal gradient on the Lasso, in which logistic functions at the temperature tau replace products.
The transformer has n features without the constant one, L layers and T steps. C_F is the Barron parameter of the class
of functions. Lemmas and inequalities are those of li2025incontext.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.engine.problems.prompts import Prompt
from lemmata.functions import barron_parameter
from lemmata.solvers import soft_threshold
from lemmata.subjects.in_context._forward_passes import sizes_of

from ._passes import exact_update, inexact_update, path_of


def query_gaps(prompt: Prompt) -> Array:
    """Return |y^ - phi^T rho| before each step, for the query's prediction y^ and features phi.

    The prediction y^ is 0 before the first step.

    Args:
        prompt: examples, the query and a transformer.
    """
    rho, predictions = path_of(prompt)
    return jnp.abs(predictions - rho @ prompt.model.features(prompt.queries[:1])[0])[:-1]


def powers_at_tokens(prompt: Prompt, power: int) -> Array:
    """Return sum |y_i|^power + sum |phi_i^T rho|^power + |y^|^power over all N + 1 tokens, before each step.

    y^ is the query's prediction, and phi_i are the features of token i.

    Args:
        prompt: examples, the query and a transformer.
        power: the exponent `power` in the sums.
    """
    rho, predictions = path_of(prompt)
    points = jnp.concatenate([prompt.x, prompt.queries[:1]])
    values = rho[:-1] @ prompt.model.features(points).T
    own = jnp.abs(predictions[:-1]) ** power
    return jnp.sum(jnp.abs(prompt.y) ** power) + jnp.sum(jnp.abs(values) ** power, axis=1) + own


def steps_of_the_pass(prompt: Prompt) -> tuple[Array, Array]:
    """Return the coefficients after the gradient step of the transformer, and after the exact gradient step.

    Both start from the coefficients rho before each step; the first rho is 0. The step of the transformer is equation
    (118), with logistic functions in place of products. The exact step is equation (108) without its error term.

    Args:
        prompt: examples, the query and a transformer.
    """
    rho, predictions = path_of(prompt)
    return inexact_update(prompt, rho[:-1], predictions[:-1]), exact_update(prompt, rho[:-1])


def cancellation(prompt: Prompt, bound: Array) -> Array:
    """Return the condition number of an error: the largest |rho| or |y|, divided by the bound on the error.

    The error is a difference of terms of the size of rho and y, which cancel up to third order.
    """
    rho, _ = path_of(prompt)
    return jnp.maximum(jnp.abs(rho).max(), jnp.abs(prompt.y).max()) / jnp.maximum(bound, 1e-12)


def step_errors(prompt: Prompt) -> Float[Array, "t p"]:
    """Return e_t = rho_t - ST(rho_{t-1} + exact gradient step) for t = 1, ..., T, where ST is the soft threshold.

    Args:
        prompt: examples, the query and a transformer.
    """
    rho, _ = path_of(prompt)
    return rho[1:] - soft_threshold(exact_update(prompt, rho[:-1]), prompt.model.step * prompt.model.penalty)


def error_allowed(prompt: Prompt) -> Array:
    """Return C_F / ((L + n) n N), the bound of inequality (58b) on |e_t|_1, with a constant of 1.

    Args:
        prompt: examples and a transformer.
    """
    n, count, layers = sizes_of(prompt)
    return barron_parameter(prompt.functions) / ((layers + n) * n * count)


def norm_allowed(prompt: Prompt) -> Array:
    """Return n sqrt(N) C_F, the bound on |rho_t|_1 in the second inequality of Lemma 7, with a constant of 1.

    Args:
        prompt: examples and a transformer.
    """
    n, count, _ = sizes_of(prompt)
    return n * jnp.sqrt(1.0 * count) * barron_parameter(prompt.functions)


def gap_allowed(prompt: Prompt) -> Array:
    """Return sqrt(log N / N) C_F², the bound of inequality (59b) on (phi^T rho_T - y^)², with a constant of 1.

    Args:
        prompt: examples and a transformer.
    """
    count = len(prompt.y)
    return jnp.sqrt(jnp.log(count) / count) * barron_parameter(prompt.functions) ** 2


def at_temperature(prompt: Prompt, temperature: Array) -> Prompt:
    """Return the prompt with the given temperature in its transformer.

    Args:
        prompt: examples, the query and a transformer.
        temperature: the temperature tau.
    """
    return eqx.tree_at(lambda p: p.model.temperature, prompt, temperature)


def value_at_the_end(prompt: Prompt) -> Array:
    """Return phi^T rho_T for the features phi of the query and the last coefficients rho_T.

    Args:
        prompt: examples, the query and a transformer.
    """
    return prompt.model.features(prompt.queries[:1])[0] @ path_of(prompt)[0][-1]


def found_at(prompt: Prompt, temperature: Array) -> Float[Array, " 3"]:
    """Return max |e_t|_1, max |rho_t|_1 and (phi^T rho_T - y^)² of the forward pass at the given temperature.

    e_t is the error of step t, rho_t are the coefficients, and phi and y^ are the query's features and prediction.

    Args:
        prompt: examples, the query and a transformer.
        temperature: the temperature tau.
    """
    moved = at_temperature(prompt, temperature)
    rho, predictions = path_of(moved)
    sizes = (jnp.abs(step_errors(moved)).sum(axis=1).max(), jnp.abs(rho).sum(axis=1).max())
    return jnp.stack([*sizes, (value_at_the_end(moved) - predictions[-1]) ** 2])


def sufficient_temperature(prompt: Prompt, ladder: Float[Array, " k"]) -> Array:
    """Return the least temperature of the ladder at which three bounds hold, and also hold at all larger ones.

    The bounds are those of `error_allowed`, `norm_allowed` and `gap_allowed`.

    Args:
        prompt: examples, the query and a transformer.
        ladder: increasing temperatures to try. If even the last temperature is too low, the result is infinite.
    """
    allowed = jnp.stack([error_allowed(prompt), norm_allowed(prompt), gap_allowed(prompt)])
    held = jax.vmap(lambda tau: jnp.all(found_at(prompt, tau) <= allowed))(ladder)
    from_here = jnp.cumprod(held[::-1])[::-1]
    return jnp.where(from_here.any(), ladder[jnp.argmax(from_here)], jnp.inf)
