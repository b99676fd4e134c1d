"""Compare parameter arrays with random arrays: norms, largest singular values, and shares of the tangent kernel.

A matrix is compared with Gaussian matrices of the same shape and Frobenius norm. For small matrices, 39 Gaussian
matrices are drawn. If the matrix were a further Gaussian draw, its value would lie between the smallest and the largest
of the 39 values with probability 38/40. For large matrices, the largest singular value s follows Johnstone's limit. For
a matrix W with a >= b rows and columns, s² = (mu + sigma T) |W|²/(a b), where mu = ((a - 1)^1/2 + b^1/2)², sigma =
mu^1/2 (1/(a - 1)^1/2 + 1/b^1/2)^1/3, and T follows the Tracy-Widom distribution for real matrices.
"""

import dataclasses
import math
import time
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.sparse.linalg import svds

from lemmata.intervals import Interval
from lemmata.subjects.trained_models import AbstractModel, Trained, layer_shares, rows_for_shares
from lemmata.workflows.records.model_tables import LayerShown, LayerTable

DRAWS, ROWS, MOST = 39, 32, 500
TRACY_WIDOM = (-1.2686, -3.5159, 1.4538)
"""The median and the 2.5 % and 97.5 % quantiles of the Tracy-Widom distribution of order 1."""
_DRAWN = 2**14  # the most entries of a matrix for which random matrices are drawn
_WHOLE = 2e9  # the most operations for computing all singular values of one array
_SECONDS, _FOR_NULLS = 5.0, 10.0


class _Shares(NamedTuple):
    """Each array's share of the tangent kernel in the model, in random models and at the start, on this many rows."""

    own: Float[np.ndarray, " layers"]
    drawn: Float[np.ndarray, "draws layers"]
    start: Float[np.ndarray, " layers"] | None
    rows: int


def layer_table(trained: Trained, deadline: float | None = None) -> LayerTable | None:
    """Return the table of parameter arrays, compared with random arrays; None for a model without derivatives.

    Args:
        trained: a model with its rows.
        deadline: the `time.monotonic()` after which no further singular values are computed.
    """
    if not trained.model.differentiable:
        return None
    notes: list[str] = []
    shares, begun = _shares(trained, deadline, notes), _begun(trained)
    arrays = _arrays(trained.model)
    first = [] if begun is None else _arrays(begun)
    matrices = [k for k, own in enumerate(arrays) if _is_matrix(own)]
    if len(matrices) > MOST:
        notes.append(f"Only the first {MOST} of {len(matrices):,} matrices are shown.")
    found, end = [], _end(deadline)
    for k in matrices[:MOST]:
        late = time.monotonic() > end
        own = _of_matrix(trained.model.layers[k].name, arrays[k], None if late else trained.seed + k)
        if begun is not None:
            start = unfolded(first[k])
            largest = None if late else singular_values(start)[0]
            own = dataclasses.replace(own, start_norm=float(np.linalg.norm(start)), start_spectral=largest)
        found.append(_with_share(own, shares, [k]))
    if any(own.spectral is None for own in found):
        notes.append("Because of the time limit, the singular values of the last matrices were not computed.")
    vectors = [k for k in range(len(arrays)) if k not in set(matrices)]
    if vectors:
        found.append(_with_share(_of_vectors(trained.model, arrays, vectors), shares, vectors))
    rows, draws = (0, 0) if shares is None else (shares.rows, len(shares.drawn))
    return LayerTable(rows, draws, notes, found)


def _end(deadline: float | None, seconds: float = _SECONDS) -> float:
    end = time.monotonic() + seconds
    return end if deadline is None else min(end, deadline)


def _arrays(model: AbstractModel) -> list[np.ndarray]:
    return list(model.split(model.theta.astype(float)).values())


def _is_matrix(array: np.ndarray) -> bool:
    """Whether at least two axes have more than one entry."""
    return array.size > max(array.shape, default=1)


def _begun(trained: Trained) -> AbstractModel | None:
    """Return the model at the parameters with which training began; None if these are unknown."""
    if trained.start is None or len(trained.start.theta) != len(trained.model.theta):
        return None
    return trained.model.in_double().at(trained.start.theta.astype(float))


def _of_matrix(name: str, array: np.ndarray, seed: int | None) -> LayerShown:
    """Return the table row of a matrix without its share of the kernel.

    If `seed` is None, singular values are left out.
    """
    own = unfolded(array)
    told = name, list(array.shape), list(own.shape), float(np.linalg.norm(own))
    if seed is None or not own.any():
        return LayerShown(*told)
    largest, values = singular_values(own)
    null = largest_by_chance(own.shape[0], own.shape[1], told[3], seed)
    beyond = None if values is None else int((values > null.upper).sum())
    return LayerShown(*told, largest, null, beyond)


def _of_vectors(model: AbstractModel, arrays: list[np.ndarray], places: list[int]) -> LayerShown:
    one = len(places) == 1
    name = model.layers[places[0]].name if one else f"{len(places)} vectors"
    norm = float(np.sqrt(sum(float((arrays[k] ** 2).sum()) for k in places)))
    return LayerShown(name, list(arrays[places[0]].shape) if one else [], [], norm)


def _with_share(own: LayerShown, shares: _Shares | None, places: list[int]) -> LayerShown:
    if shares is None:
        return own
    drawn = shares.drawn[:, places].sum(1)
    null = Interval(*map(float, (np.median(drawn), drawn.min(), drawn.max()))) if len(drawn) else None
    start = None if shares.start is None else float(shares.start[places].sum())
    return dataclasses.replace(own, share=float(shares.own[places].sum()), share_null=null, start_share=start)


def _shares(trained: Trained, deadline: float | None, notes: list[str]) -> _Shares | None:
    """Return shares on up to 32 training rows, also for 39 random models if these take at most ten seconds."""
    model, outputs = trained.model, trained.y.shape[1]
    rows = rows_for_shares(model, outputs, min(len(trained.x), ROWS))
    rng = np.random.default_rng([trained.seed, 34])
    x = trained.x[np.sort(rng.permutation(len(trained.x))[:rows])]
    own, taken = layer_shares(model, x, trained.seed), math.inf
    for _ in range(3):  # the call above has compiled
        begun = time.monotonic()
        layer_shares(model, x, trained.seed)
        taken = min(taken, time.monotonic() - begun)
        if taken > 1:
            break
    start = _begun(trained)
    at_start = None if start is None else layer_shares(start, x, trained.seed)
    drawn = np.zeros((0, len(own)))
    if DRAWS * taken > _end(deadline, _FOR_NULLS) - time.monotonic():
        notes.append(
            "The shares of the tangent kernel are shown without a range of random models, because computing this "
            "range would take too long."
        )
    else:
        drawn = np.stack([layer_shares(_random(model, rng), x, trained.seed) for _ in range(DRAWS)])
    return _Shares(own, drawn, at_start, rows)


def _random(model: AbstractModel, rng: np.random.Generator) -> AbstractModel:
    """Return the model with a Gaussian array of the same shape and Frobenius norm in place of each matrix."""
    parts = []
    for array in _arrays(model):
        normal = rng.normal(size=array.shape)
        parts.append(normal * (np.linalg.norm(array) / np.linalg.norm(normal)) if _is_matrix(array) else array)
    return model.in_double().at(np.concatenate([part.ravel() for part in parts]))


def unfolded(array: np.ndarray) -> Float[np.ndarray, "a b"]:
    """Return an array as a matrix.

    An array with more than two axes is unfolded along its first or its last axis. The result that is closer to square
    is returned.

    >>> unfolded(np.zeros((64, 32, 3, 3))).shape, unfolded(np.zeros((3, 3, 32, 64))).shape
    ((64, 288), (288, 64))
    """
    first, last = array.reshape(len(array), -1), array.reshape(-1, array.shape[-1])
    return first if min(first.shape) >= min(last.shape) else last


def singular_values(matrix: Float[np.ndarray, "a b"]) -> tuple[float, Float[np.ndarray, " k"] | None]:
    """Return the largest singular value, and all singular values if these take at most about a second.

    Args:
        matrix: a matrix that is not 0.
    """
    small, large = sorted(matrix.shape)
    if large * small**2 <= _WHOLE:
        narrow = matrix if matrix.shape[1] == small else matrix.T
        values = np.sqrt(np.maximum(np.linalg.eigvalsh(narrow.T @ narrow), 0.0))
        return float(values[-1]), values
    start = np.random.default_rng(35).normal(size=small)
    found = svds(matrix, k=1, v0=start, return_singular_vectors=False, solver="arpack")
    return float(np.asarray(found)[0]), None


def largest_by_chance(rows: int, columns: int, norm: float, seed: int) -> Interval:
    """Return the median and the 95 % range of the largest singular value of a Gaussian matrix with this Frobenius norm.

    Args:
        rows: the number of rows of the matrix.
        columns: the number of columns of the matrix.
        norm: the Frobenius norm of the matrix.
        seed: the seed of the drawn matrices.
    """
    b, a = sorted((rows, columns))
    if a * b <= _DRAWN:
        rng = np.random.default_rng([seed, 36])
        drawn = [rng.normal(size=(a, b)) for _ in range(DRAWS)]
        found = [norm * singular_values(own)[0] / np.linalg.norm(own) for own in drawn]
        return Interval(*map(float, (np.median(found), min(found), max(found))))
    root, other = (a - 1) ** 0.5, b**0.5
    mu, sigma = (root + other) ** 2, (root + other) * (1 / root + 1 / other) ** (1 / 3)
    return Interval(*(norm * ((mu + sigma * t) / (a * b)) ** 0.5 for t in TRACY_WIDOM))
