"""The share of each parameter array in the trace of a model's tangent kernel J J'.

Let J be the Jacobian of all outputs f_ic, where f_ic is output c at row i. The trace of J J' is the sum over arrays W
of sum_i sum_c |df_ic/dW|².
"""

import numpy as np
from jaxtyping import Float

from ._contract import AbstractModel, batches
from ._factors import factors

_BLOCK = 2**26  # bytes of the Jacobian for one row, or for a block of rows
_NUMBERS = 2**27  # numbers in all Jacobians together
_FOR_SIGNS = 2**27  # largest number of parameters times rows, for gradients of single rows
_FEWEST = 4


def rows_for_shares(model: AbstractModel, outputs: int, most: int) -> int:
    """Return the number of rows on which the shares are computed. The number is smaller for a large model.

    Args:
        model: a model with derivatives.
        outputs: the number of outputs of a row.
        most: the number of rows that are available.
    """
    size = len(model.theta)
    if 8 * size * outputs > _BLOCK:
        return min(most, max(_FOR_SIGNS // size, _FEWEST))
    return min(most, max(_NUMBERS // (size * outputs), _FEWEST))


def layer_shares(model: AbstractModel, x: np.ndarray, seed: int = 0) -> Float[np.ndarray, " layers"]:
    """Return the share of each parameter array in the trace of the tangent kernel on some rows. The shares add up to 1.

    If the model is a dense network, its factors are used, and otherwise its Jacobian. If the Jacobian of one row takes
    more than 64 MiB, the sum over outputs is estimated. The estimate |J_i' u|² comes from one vector u of random signs
    for each row i. The mean of this estimate is the sum over outputs.

    Args:
        model: a model with derivatives.
        x: the rows.
        seed: the seed of the signs.

    >>> import jax.numpy as jnp
    >>> from lemmata.subjects.trained_models import read_model
    >>> model = read_model((lambda own, x: x @ own["w"] + own["b"], {"w": jnp.ones((2, 3)), "b": jnp.zeros(3)}))
    >>> layer_shares(model, np.array([[1.0, 2.0], [0.0, 2.0]]))  # |x|² is 5 and 4; a constant counts 1 a row
    array([0.18181818, 0.81818182])
    """
    double = model.in_double()
    outputs = double.outputs(x[:1]).shape[1]
    if 8 * len(double.theta) * outputs > _BLOCK:
        total = _by_signs(double, x, outputs, seed)
    else:
        found = factors(double, x)
        if found is None:
            total = _by_rows(double, x, outputs)
        else:
            total = np.array([(own.taken**2).sum(1) @ (own.pushed**2).sum((1, 2)) for own in found])
    return total / max(float(total.sum()), 1e-300)


def _starts(model: AbstractModel) -> list[int]:
    return np.cumsum([0, *(layer.size for layer in model.layers)])[:-1].tolist()


def _by_rows(model: AbstractModel, x: np.ndarray, outputs: int) -> Float[np.ndarray, " layers"]:
    few, starts = max(_BLOCK // (8 * len(model.theta) * outputs), 1), _starts(model)
    parts = ((model.jacobian(rows) ** 2).sum((0, 1)) for rows in batches(x, few))
    return np.sum([np.add.reduceat(part, starts) for part in parts], axis=0)


def _by_signs(model: AbstractModel, x: np.ndarray, outputs: int, seed: int) -> Float[np.ndarray, " layers"]:
    starts = _starts(model)
    rng, total = np.random.default_rng([seed, 33]), np.zeros(len(starts))
    for row in batches(x, 1):
        pulled = model.vjp(rng.choice([-1.0, 1.0], (1, outputs)), row)
        total += np.add.reduceat(pulled**2, starts)
    return total
