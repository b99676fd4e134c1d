"""Forward passes of the in-context transformer with its weight matrices, and the intended contents of the tokens.

The transformer takes T steps of proximal gradient on the Lasso with coefficients rho. Logistic functions sigma at the
temperature tau replace products. Equations are those of li2025incontext.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.engine.problems.prompts import Prompt
from lemmata.networks import TransformerLayer, transformer, transformer_layers
from lemmata.subjects.in_context._forward_passes import sizes_of


def dense_tokens(prompt: Prompt, layers: int | None = None) -> Float[Array, "L D T"]:
    """Return the tokens H(0), ..., H(L) after each layer, for the first query, computed with the weight matrices.

    Args:
        prompt: examples, queries and a transformer with concrete weights.
        layers: the number of layers that are applied; None means all.
    """
    tokens = prompt.model.tokens(prompt.x, prompt.y, prompt.queries[0])
    return jnp.stack(transformer(transformer_layers(prompt.model)[:layers], tokens))


@eqx.filter_jit
def intended_tokens(prompt: Prompt) -> Float[Array, "L D T"]:
    """Return the intended tokens H(0), ..., H(L), which contain features, coefficients rho and predictions.

    The coefficients after each proximal step are the same in all columns.

    Args:
        prompt: examples, queries and a transformer.
    """
    model, rows, count = prompt.model, prompt.model.rows, len(prompt.x) + 1
    every = lambda values: jnp.broadcast_to(jnp.atleast_1d(values)[:, None], (jnp.atleast_1d(values).size, count))
    states = [model.tokens(prompt.x, prompt.y, prompt.queries[0])]
    points = jnp.concatenate([prompt.x, prompt.queries[:1]])
    first = states[0].at[rows["phi"]].set(model.features(points).T).at[rows["penalty"]].set(model.penalty)
    states.append(first)
    path, predictions = model.path(prompt.x, prompt.y, prompt.queries[:1])
    last, beta = jnp.zeros(path.shape[1]), model.momenta()
    for t in range(model.iterations):
        rho = path[t, :, 0]
        middle = states[-1].at[rows["rho"]].set(every(rho)).at[rows["prediction"]].set(0.0)
        states.append(middle)
        end = middle.at[rows["prediction"]].set(predictions[t, 0])
        if model.accelerated:
            end = end.at[rows["rho"]].set(every(rho + beta[t] * (rho - last))).at[rows["last"]].set(every(rho))
        states.append(end)
        last = rho
    return jnp.stack(states)


def inexact_update(
    prompt: Prompt, points: Float[Array, "t p"], predictions: Float[Array, " t"], errors_only: bool = False
) -> Float[Array, "t p"]:
    """Return the coefficients after the transformer's gradient step (equation 118), for each row of rho.

    The step is rho + (2/N) sum_i {g(eta y_i) - g(eta phi_i^T rho) + g(eta y^_i)} phi_i over N + 1 tokens, of which the
    query is the last. Here g(x) = 2 tau tanh(x / (2 tau)), and eta is the step size. The query has y_i = 0, and y^_i is
    0 except for the query.

    Args:
        prompt: examples, the query and a transformer.
        points: the values of rho, one in each row.
        predictions: for each value of rho, the prediction that the query's token contains.
        errors_only: if true, use the error g(x) - x of each product in place of g(x), and leave out the first term rho.
    """
    model, examples = prompt.model, len(prompt.y)
    tau, eta = model.temperature, model.step

    def product(x: Array) -> Array:
        found = 2 * tau * jnp.tanh(x / (2 * tau))
        return found - x if errors_only else found

    phi = model.features(jnp.concatenate([prompt.x, prompt.queries[:1]]))
    targets = jnp.append(prompt.y, 0.0)
    own = jnp.zeros((len(predictions), examples + 1)).at[:, -1].set(predictions)
    terms = product(eta * targets) - product(eta * points @ phi.T) + product(eta * own)
    return (0.0 if errors_only else points) + 2 / examples * terms @ phi


def exact_update(prompt: Prompt, points: Float[Array, "t p"]) -> Float[Array, "t p"]:
    """Return the coefficients rho after the gradient step of equation (108) of li2025incontext, without its error term.

    Args:
        prompt: examples and a transformer.
        points: the coefficients rho before the step, one vector in each row.
    """
    residual = prompt.y - points @ prompt.prompt.T
    return points + 2 * prompt.model.step / len(prompt.y) * residual @ prompt.prompt


def path_of(prompt: Prompt) -> tuple[Float[Array, "t p"], Float[Array, " t"]]:
    """Return the coefficients rho_0 = 0, ..., rho_T, and the prediction for the first query at each rho.

    The first prediction is 0.

    Args:
        prompt: examples, the query and a transformer.
    """
    path, predictions = prompt.model.path(prompt.x, prompt.y, prompt.queries[:1])
    rho = jnp.concatenate([jnp.zeros((1, path.shape[1])), path[:, :, 0]])
    return rho, jnp.concatenate([jnp.zeros(1), predictions[:, 0]])


def attention_alone(layer: TransformerLayer) -> TransformerLayer:
    """Return the layer without its feed-forward map.

    Args:
        layer: a layer of attention and a feed-forward map.
    """
    return TransformerLayer(layer.heads, jnp.zeros_like(layer.inner), jnp.zeros_like(layer.outer))


def dense_rounding(prompt: Prompt, steps: int, accelerated: bool = False) -> Array:
    """Return T p (N + 8) tau, or 3^T p (N + 8) tau with momentum, a bound on rounding errors in units of 32 eps.

    Here p = n + 1 is the number of features, N the number of examples and tau the temperature. The bound is for a
    forward pass with dense matrices. A head adds up N + 1 terms of size 8 tau sigma(.) phi / N. Their total is at most
    4 tau (1 + 1/N), and the rounding error is (N + 4) eps/2 of this total. Four heads and their sum make an error of
    8 (N + 8) tau (1 + 1/N) eps in each entry of rho. A proximal step does not enlarge distances between vectors of p
    entries; momentum enlarges distances by a factor of at most 3.

    Args:
        prompt: examples and a transformer.
        steps: the number of steps T.
        accelerated: whether the steps use momentum.
    """
    n, count, _ = sizes_of(prompt)
    factor = 3.0**steps if accelerated else steps
    return factor * (n + 1) * (count + 8) * prompt.model.temperature
