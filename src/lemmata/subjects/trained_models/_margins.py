"""Margins of training rows, norms of weights, and a test whether weights are combinations of gradients of margins."""

import dataclasses

import numpy as np
import scipy.optimize
from jaxtyping import Float

from ._contract import AbstractModel
from ._once import once
from ._trained import Trained

_MOST = 200


def margins(f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> Float[np.ndarray, " n"]:
    """Return the output of each row's class minus the largest other output.

    Args:
        f: the outputs of the model, one row for each row of data.
        y: one-hot classes.
    """
    return (f * y).sum(1) - np.where(y > 0, -np.inf, f).max(1)


def product_of_norms(model: AbstractModel) -> float:
    """Return the product of the largest singular values of all weight arrays, unfolded to two axes.

    The array of a convolution is unfolded along its first axis and along its last axis, and the larger norm counts.

    Args:
        model: the model; arrays of one axis (biases and scales) are left out.
    """
    found = 1.0
    for array in model.split(model.theta.astype(float)).values():
        if array.ndim > 1:
            unfolded = [array.reshape(len(array), -1), array.reshape(-1, array.shape[-1])]
            found *= max(float(np.linalg.norm(own, 2)) for own in unfolded)
    return found


@dataclasses.dataclass(frozen=True)
class Directed:
    """The angle between the weights theta and the cone of combinations of gradients of margins.

    The coefficients of the combinations are at least 0.

    Args:
        cosine: the cosine of the angle between theta and the nearest combination.
        shuffled: the same cosine for permuted weights, with the margins of the permuted weights. Entries are permuted
            within each array.
        used: the number of coefficients above 0.
        smallest: the smallest difference f_y - f_j of the output of the class y and another output.
    """

    cosine: float
    shuffled: float
    used: int
    smallest: float


def directed(model: AbstractModel, x: np.ndarray, y: Float[np.ndarray, "n C"], seed: int) -> Directed:
    """Return the cosine of theta with its projection on the cone of gradients of the margins f_y - f_j, j not y.

    Only the 200 smallest margins are used, because larger margins have coefficient 0 in the solution of largest margin.
    More margins would only enlarge the cone, so the cosine with all margins is at least the returned cosine.

    Args:
        model: a model with derivatives.
        x: the training rows.
        y: one-hot classes.
        seed: the seed of the permutation of the shuffled weights.
    """
    double, rng = model.in_double(), np.random.default_rng([seed, 14])
    parts = (rng.permutation(array.ravel()) for array in double.split(double.theta).values())
    shuffled = double.at(np.concatenate(list(parts)))
    cosine, used, smallest = _projected(double, x, y)
    return Directed(cosine, _projected(shuffled, x, y)[0], used, smallest)


def _projected(model: AbstractModel, x: np.ndarray, y: Float[np.ndarray, "n C"]) -> tuple[float, int, float]:
    f = model.outputs(x)
    gaps = np.where(y > 0, np.inf, (f * y).sum(1)[:, None] - f)
    order = np.argsort(gaps, axis=None, kind="stable")[: min(_MOST, gaps.size - len(x))]
    rows, others = np.unravel_index(order, gaps.shape)
    eye, gradients = np.eye(y.shape[1]), np.empty((len(model.theta), len(order)))
    for place, (row, other) in enumerate(zip(rows, others, strict=True)):
        gradients[:, place] = model.vjp((y[row] - eye[other])[None], x[row : row + 1])
    orthogonal, upper = np.linalg.qr(gradients)
    weights, _ = scipy.optimize.nnls(upper, orthogonal.T @ model.theta, maxiter=50 * len(order))
    along = gradients @ weights
    size = float(np.linalg.norm(along) * np.linalg.norm(model.theta))
    return (float(along @ model.theta) / size if size else 0.0), int((weights > 0).sum()), float(gaps.min())


@once
def margin_direction(trained: Trained) -> Directed:
    """Return the cosine between the weights of a model and the cone of gradients of its margins (see `Directed`)."""
    return directed(trained.model, trained.x, trained.y, trained.seed)
