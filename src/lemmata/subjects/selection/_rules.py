"""Rules that choose the rows to label next. All rules that use distances or variances use one Gram matrix."""

import dataclasses
from typing import Any, Literal, get_args

import jax.numpy as jnp
import numpy as np
import scipy.linalg
from jaxtyping import Bool, Float, Int
from scipy.special import entr

from lemmata.core import require_float64, whole
from lemmata.errors import DataError, SettingError, ShapeError

from ._greedy import greedy_log_determinant

Rule = Literal["coding rate", "random", "entropy", "k-centre", "gradients"]
RULES: tuple[str, ...] = get_args(Rule)
"""The rules by which rows can be chosen."""
NOISE = 0.1
"""The variance of a label, as a share of the mean diagonal entry of the kernel matrix."""
_SUMS = 1e-6


@dataclasses.dataclass(frozen=True)
class Candidates:
    """Rows, some of which have labels, with their Gram matrix and the model's class probabilities.

    Args:
        gram: the Gram matrix K of all rows.
        labelled: whether each row has a label.
        probabilities: the class probabilities of all rows by the current model, or None.

    Raises:
        ShapeError: if the three arrays have different numbers of rows.
        DataError: for entries that are not finite, or probabilities that are negative or do not sum to 1.
    """

    gram: Float[np.ndarray, "n columns"]
    labelled: Bool[np.ndarray, " rows"]
    probabilities: Float[np.ndarray, "points C"] | None = None

    def __post_init__(self):
        for name in ("gram", "labelled", "probabilities"):
            value = getattr(self, name)
            object.__setattr__(self, name, None if value is None else np.asarray(value))
        shape, p = self.gram.shape, self.probabilities
        if len(shape) != 2 or shape[0] != shape[1] or not shape[0]:
            raise ShapeError("Gram matrix", found=f"shape {shape}", rule="a square matrix with one row for each point")
        if not np.isfinite(self.gram).all():
            raise DataError("Gram matrix", found="NaN or infinity", rule="finite numbers")
        if self.labelled.shape != shape[:1] or self.labelled.dtype != bool:
            found = f"{self.labelled.dtype} of shape {self.labelled.shape}"
            raise ShapeError("labelled", found=found, rule=f"shape ({shape[0]},), one boolean for each row")
        if p is None:
            return
        if p.ndim != 2 or len(p) != shape[0]:
            raise ShapeError(
                "probabilities", found=f"shape {p.shape}", rule=f"shape ({shape[0]}, C), one row for each row of K"
            )
        if not ((p >= 0).all() and np.abs(p.sum(axis=1) - 1).max() < _SUMS):
            rule = "numbers that are not negative, with a sum of 1 in each row"
            raise DataError("probabilities", found=f"the row {p[np.abs(p.sum(1) - 1).argmax()]}", rule=rule)


def entropy(probabilities: Float[np.ndarray, "n C"]) -> Float[np.ndarray, " n"]:
    """Return the entropy -sum p log p of each row of probabilities p, in nats.

    >>> entropy(np.array([[1.0, 0.0], [0.5, 0.5]])).round(6).tolist()
    [0.0, 0.693147]
    """
    return entr(probabilities).sum(axis=1)


def select(
    candidates: Candidates,
    count: Any,
    rule: Rule | str = "coding rate",
    *,
    seed: int = 0,
    noise: float = NOISE,
    entropy_weight: float = 0.0,
) -> Int[np.ndarray, " count"]:
    """Return the unlabelled rows to label next, in the order in which the rule chooses them.

    "coding rate": greedily maximise the log det of the posterior kernel matrix given the labelled rows. Noise, and
    `entropy_weight` times the entropy of each row, are added to the diagonal of this matrix (Luo et al., 2023). The
    entropy is not a separate term of the objective. On the diagonal, entropy acts as additional noise at rows where the
    model is unsure.

    "random": draw rows with equal probabilities.

    "entropy": choose the rows with the largest entropy of the class probabilities.

    "k-centre": in each step, choose the row that is farthest from its nearest labelled or chosen row, in the kernel's
    distance.

    "gradients": compute the outer product of p - e and the features for each row (as in BADGE; Ash et al., 2020). Here
    p is the vector of class probabilities, and e is the indicator of the predicted class. This product is the gradient
    of the loss with respect to the last layer. Then draw rows as k-means++ draws centres. The probability of a row is
    proportional to the squared distance of its gradient from the nearest gradient of the chosen rows. The kernel of the
    gradients is K times the Gram matrix of p - e.

    Args:
        candidates: the Gram matrix, labels and class probabilities of the rows.
        count: the number of rows to choose.
        rule: one of `RULES`.
        seed: the random seed of "random" and "gradients".
        noise: the noise variance of a label, as a share of the mean of the diagonal of K.
        entropy_weight: the weight of the entropy on the diagonal, as a share of the mean of the diagonal of K.

    Raises:
        SettingError: for an unknown rule, a count above the number of rows without labels, a noise that is not
            positive, a negative weight, or missing probabilities.

    Example:
        >>> from lemmata.subjects.selection import Candidates, select
        >>> x = np.array([0.0, 0.1, 1.0, 3.0])
        >>> found = Candidates(np.exp(-((x[:, None] - x) ** 2)), np.array([True, False, False, False]))
        >>> select(found, 2).tolist(), select(found, 2, "k-centre").tolist()
        ([3, 2], [3, 2])
    """
    require_float64("choosing rows")
    free = ~candidates.labelled
    if rule not in RULES:
        raise SettingError("rule", found=repr(rule), rule=f"one of {', '.join(RULES)}")
    count = whole("count", count)
    if not 1 <= count <= free.sum():
        raise SettingError(
            "count",
            found=count,
            rule=f"a whole number from 1 to {free.sum()}, the number of rows without labels",
            remedy="ask for fewer rows, or add rows to the pool",
        )
    if not noise > 0 or not entropy_weight >= 0:
        found = f"noise {noise}, entropy_weight {entropy_weight}"
        raise SettingError("noise and weight", found=found, rule="a noise above 0, and a weight that is not negative")
    told = candidates.probabilities
    if told is None and (rule in ("entropy", "gradients") or entropy_weight):
        remedy = "use a model with predict_proba, or choose another rule"
        raise SettingError(
            "probabilities",
            found="no probabilities",
            rule="probabilities of the classes, which entropies and gradients need",
            remedy=remedy,
        )
    if rule == "coding rate":
        unsure = entropy(told) if entropy_weight and told is not None else 0.0
        return _by_coding_rate(candidates, count, noise + entropy_weight * unsure, noise)
    if rule == "entropy" and told is not None:
        return np.argsort(np.where(free, -entropy(told), np.inf), kind="stable")[:count]
    if rule == "gradients" and told is not None:
        return _by_gradients(candidates.gram, told, free, count, seed)
    if rule == "k-centre":
        return _farthest(candidates.gram, candidates.labelled, count)
    return np.random.default_rng(seed).permutation(np.flatnonzero(free))[:count]


def _by_coding_rate(candidates: Candidates, count: int, shares: np.ndarray | float, noise: float) -> np.ndarray:
    """Choose rows by coding rate. Add `shares`, times the mean diagonal of K, to the diagonal of the posterior."""
    gram, labelled = candidates.gram, np.flatnonzero(candidates.labelled)
    level = np.diagonal(gram).mean()
    on_diagonal = np.broadcast_to(level * shares, len(gram))
    if len(labelled):
        # the same result as `posterior_gram`, which would be compiled again for each number of labels
        own = gram[np.ix_(labelled, labelled)] + noise * level * np.eye(len(labelled))
        half = scipy.linalg.solve_triangular(np.linalg.cholesky(own), gram[labelled], lower=True)
        gram = gram - half.T @ half
    free = jnp.asarray(~candidates.labelled)
    return np.asarray(greedy_log_determinant(jnp.asarray(gram), count, jnp.asarray(on_diagonal), allowed=free)[0])


def _squared_distances(gram: np.ndarray, row: int) -> np.ndarray:
    return np.maximum(np.diagonal(gram) - 2 * gram[row] + gram[row, row], 0.0)


def _farthest(gram: np.ndarray, taken: np.ndarray, count: int) -> np.ndarray:
    """Choose, in each step, the row that is farthest from its nearest labelled or chosen row.

    If no row is labelled, choose first the row with the largest variance.
    """
    taken, found = taken.copy(), []
    known = [_squared_distances(gram, row) for row in map(int, np.flatnonzero(taken))]
    nearest = np.min(known, axis=0) if known else np.diagonal(gram).copy()
    for _ in range(count):
        row = int(np.where(taken, -np.inf, nearest).argmax())
        own = _squared_distances(gram, row)
        nearest = own if not taken.any() else np.minimum(nearest, own)
        taken[row] = True
        found.append(row)
    return np.asarray(found)


def _by_gradients(gram: np.ndarray, p: np.ndarray, free: np.ndarray, count: int, seed: int) -> np.ndarray:
    off = p - np.eye(p.shape[1])[p.argmax(axis=1)]
    gram = gram * (off @ off.T)
    draw, free, found = np.random.default_rng(seed), free.copy(), []
    weights = np.maximum(np.diagonal(gram), 0.0)  # the first row is drawn by the squared length of its gradient
    for _ in range(count):
        shares = np.where(free, weights, 0.0)
        # if the model is certain everywhere, all gradients are 0 and rows have equal probabilities
        shares = shares if shares.any() else free.astype(float)
        row = int(draw.choice(len(shares), p=shares / shares.sum()))
        own = _squared_distances(gram, row)
        weights = np.minimum(weights, own) if found else own
        free[row] = False
        found.append(row)
    return np.asarray(found)
