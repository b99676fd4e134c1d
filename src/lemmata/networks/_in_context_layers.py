"""The layers of the in-context transformer as explicit matrices.

Equation numbers are those of Li et al. (key li2025incontext). The rows of the residual stream (x, y, w, phi, rho, last,
penalty, prediction) and the layers Attn0, FF0, Attn1, FF1, Attn2 and FF2 are described at the beginning of
`_in_context.py`. Heads have matrices Q, K and V (`Head`), sigma is the logistic function, tau is the temperature, N the
number of examples, and beta is the momentum of a step.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ._in_context import InContextTransformer
from ._transformer import Head, TransformerLayer


def transformer_layers(model: InContextTransformer) -> list[TransformerLayer]:
    """The L layers as explicit D x D matrices (li2025incontext, A.4.3). Blocks of equal momentum share their matrices.

    The source lists three of the four heads of Attn1. The fourth head has V = -V_1, where V_1 is the matrix V of the
    first head, and Q = K = 0. This head subtracts the contribution of sigma(0) = 1/2.

    Args:
        model: the transformer.

    Example:
        >>> import jax
        >>> from lemmata.functions import GaussianBumps
        >>> from lemmata.networks import construct_transformer, transformer_layers
        >>> model = construct_transformer(GaussianBumps(2), 5, 7, examples=20, key=jax.random.key(0))
        >>> len(transformer_layers(model)), transformer_layers(model)[0].inner.shape
        (7, (19, 19))
    """
    first = TransformerLayer((), *_feature_map(model))
    gradient = TransformerLayer(_gradient_heads(model), *_threshold(model))
    blocks: list[TransformerLayer] = []
    shared: dict[float, TransformerLayer] = {}
    for beta in model.momenta().tolist():
        if beta not in shared:
            shared[beta] = TransformerLayer(_prediction_heads(model, beta), *_extrapolation(model, beta))
        blocks += [gradient, shared[beta]]
    return [first, *blocks]


def _stored(model: InContextTransformer, matrix: np.ndarray) -> Array:
    return jnp.asarray(matrix, model.step.dtype)


def _zeros(model: InContextTransformer) -> np.ndarray:
    return np.zeros((model.width, model.width), model.step.dtype)


def _feature_map(model: InContextTransformer) -> tuple[Array, Array]:
    """The matrices of FF0, which writes features (from pairs of ReLUs), a one and lambda (equations 107 and 116)."""
    rows, inner, outer = model.rows, _zeros(model), _zeros(model)
    features, one = model.features, model.rows["one"].start
    p = len(features.thresholds) + 1
    for offset, shift, sign in ((0, 0.5, 1.0), (p, -0.5, -1.0)):
        units = slice(offset, offset + p - 1)
        inner[units, rows["x"]] = features.sharpness * features.directions
        inner[units, one] = -features.sharpness * features.thresholds + shift
        inner[offset + p - 1, one] = sign
        outer[rows["phi"], offset : offset + p] = sign * np.eye(p)
    inner[2 * p, one] = float(model.penalty)
    outer[rows["penalty"], 2 * p] = 1.0
    return _stored(model, inner), _stored(model, outer)


def _gradient_heads(model: InContextTransformer) -> tuple[Head, ...]:
    """The four heads of Attn1, which add a gradient step to rho (equation 118).

    The heads add the targets y, subtract the predictions at the examples, add the prediction at the query, and subtract
    the contribution of sigma(0), each times the features.
    """
    rows, p = model.rows, len(model.features.thresholds) + 1
    scaled, one = float(model.step / model.temperature), rows["one"].start
    value = _zeros(model)
    value[rows["rho"], rows["phi"]] = 8 * float(model.temperature) * np.eye(p)
    queries, keys = [_zeros(model) for _ in range(4)], [_zeros(model) for _ in range(4)]
    queries[0][0, rows["y"]], keys[0][0, one] = scaled, 1.0
    queries[1][:p, rows["phi"]], keys[1][:p, rows["rho"]] = scaled * np.eye(p), np.eye(p)
    queries[2][0, one], queries[2][0, rows["w"]], keys[2][0, rows["prediction"]] = scaled, -scaled, 1.0
    signs = (1.0, -1.0, 1.0, -1.0)
    parts = zip(queries, keys, signs, strict=True)
    return tuple(Head(*(_stored(model, part) for part in (query, key, sign * value))) for query, key, sign in parts)


def _threshold(model: InContextTransformer) -> tuple[Array, Array]:
    """The matrices of FF1, which applies the soft threshold to rho and clears the prediction (equations 121, 122)."""
    rows, p = model.rows, len(model.features.thresholds) + 1
    inner, outer, step = _zeros(model), _zeros(model), float(model.step)
    inner[:p, rows["rho"]] = inner[p : 2 * p, rows["rho"]] = np.eye(p)
    inner[:p, rows["penalty"]], inner[p : 2 * p, rows["penalty"]] = step, -step
    inner[2 * p, rows["penalty"]] = step
    inner[2 * p + 1, rows["prediction"]], inner[2 * p + 2, rows["prediction"]] = 1.0, -1.0
    outer[rows["rho"], :p], outer[rows["rho"], p : 2 * p], outer[rows["rho"], 2 * p] = -np.eye(p), np.eye(p), 1.0
    outer[rows["prediction"], 2 * p + 1], outer[rows["prediction"], 2 * p + 2] = -1.0, 1.0
    return _stored(model, inner), _stored(model, outer)


def _prediction_heads(model: InContextTransformer, beta: float) -> tuple[Head, ...]:
    """The heads of Attn2, which predict with the coefficients rho + beta (rho - last) (equation 124).

    The factor of V is 4 tau N instead of the source's 4 tau, unless `as_printed` is true.
    """
    rows, p = model.rows, len(model.features.thresholds) + 1
    query, key, value, temperature = _zeros(model), _zeros(model), _zeros(model), float(model.temperature)
    factor = 4 * temperature * (1 if model.as_printed else model.examples)
    value[rows["prediction"], rows["one"]], value[rows["prediction"], rows["w"]] = factor, -factor
    query[:p, rows["phi"]] = np.eye(p) / temperature
    key[:p, rows["rho"]] = (1 + beta) * np.eye(p)
    if model.accelerated:
        key[:p, rows["last"]] = -beta * np.eye(p)
    heads = ((query, key, value), (_zeros(model), _zeros(model), -value))
    return tuple(Head(*(_stored(model, part) for part in head)) for head in heads)


def _extrapolation(model: InContextTransformer, beta: float) -> tuple[Array, Array]:
    """The matrices of FF2, which sets rho <- rho + beta (rho - last) and last <- rho with momentum.

    Without momentum, FF2 is the identity.
    """
    inner, outer = _zeros(model), _zeros(model)
    if model.accelerated:
        rows, p = model.rows, len(model.features.thresholds) + 1
        for units, sign in ((slice(0, p), 1.0), (slice(p, 2 * p), -1.0)):
            inner[units, rows["rho"]], inner[units, rows["last"]] = sign * np.eye(p), -sign * np.eye(p)
            outer[rows["rho"], units], outer[rows["last"], units] = beta * sign * np.eye(p), sign * np.eye(p)
    return _stored(model, inner), _stored(model, outer)
