"""Which rows to label next: coding rates and their rivals, all of them on one Gram matrix."""

from typing import Literal, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.core import check_gram, check_numbers, known
from lemmata.errors import DataError, SettingError, ShapeError

from ._greedy import greedy_log_determinant
from ._posterior import posterior_gram

Rule = Literal["coding rate", "random", "entropy", "k-centre", "gradients"]
RULES: tuple[str, ...] = get_args(Rule)
"""The rules by which rows can be chosen."""
NOISE = 0.1
"""Variance of a label, as a share of the mean of the kernel's diagonal."""


class Candidates(eqx.Module):
    """Rows of which some have labels, what a kernel sees of them, and what a model thinks of them.

    Args:
        gram: K of all rows.
        labelled: which have labels.
        probabilities: of classes at all rows, by the model at hand; None where there are none.

    Raises:
        ShapeError: where the three do not have equally many rows.
        DataError: for probabilities that are negative or do not sum to 1.
    """

    gram: Float[Array, "n columns"]
    labelled: Bool[Array, " n"]
    probabilities: Float[Array, "n C"] | None = None

    def __check_init__(self):
        check_gram("the Gram matrix", self.gram)
        n, p = len(self.gram), self.probabilities
        if jnp.shape(self.labelled) != (n,):
            raise ShapeError("labelled", found=f"shape {jnp.shape(self.labelled)}", rule=f"({n},), a truth value a row")
        if p is None:
            return
        if jnp.ndim(p) != 2 or len(p) != n:
            raise ShapeError("probabilities", found=f"shape {jnp.shape(p)}", rule=f"({n}, C), a row for each of K")
        check_numbers("probabilities", p)
        if known(p) is not None and not bool(jnp.all(p >= 0) & jnp.all(jnp.abs(p.sum(axis=1) - 1) < 1e-6)):
            raise DataError(
                "probabilities", found=f"sums down to {float(p.sum(axis=1).min()):.4g}", rule="1 in each row"
            )


def entropy(probabilities: Float[Array, "*n C"]) -> Float[Array, "*n"]:
    """-sum p log p of each row, in nats."""
    return jax.scipy.special.entr(probabilities).sum(axis=-1)


def select(
    candidates: Candidates,
    count: int,
    rule: Rule = "coding rate",
    *,
    key: Key[Array, ""] | None = None,
    noise: float = NOISE,
    entropy_weight: float = 0.0,
) -> Int[np.ndarray, " count"]:
    """Rows without labels to be labelled next, in the order in which the rule chooses them.

    "coding rate": greedily the largest log det of the posterior kernel given the labelled rows plus noise and
    `entropy_weight` times each row's entropy on its diagonal (Luo et al., 2023). The entropy is not added to the
    objective: on the diagonal it acts as more noise at rows that the model is unsure of.
    "random": each row alike. "entropy": the rows of largest entropy. "k-centre": each time the row farthest, in the
    kernel's distance, from all labelled and chosen ones. "gradients": rows drawn as k-means++ draws its centres, by
    the squared distance of their gradients (p - e) x features from those chosen before, e the class that the model
    calls (Ash et al., 2020): the kernel of the gradients is K times the Gram matrix of p - e.

    Args:
        candidates: rows, kernel and probabilities.
        count: rows to choose.
        rule: one of `RULES`.
        key: of the choice, for "random" and "gradients".
        noise: variance of a label, as a share of the mean of the diagonal of K.
        entropy_weight: of the entropy on the diagonal, as such a share.

    Raises:
        SettingError: for an unknown rule, more rows than have no label, no key where one is needed, or no
            probabilities where they are.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.selection import Candidates, select
        >>> x = jnp.array([0.0, 0.1, 1.0, 3.0])
        >>> found = Candidates(jnp.exp(-((x[:, None] - x) ** 2)), jnp.array([True, False, False, False]))
        >>> select(found, 2).tolist(), select(found, 2, "k-centre").tolist()
        ([3, 2], [3, 2])
    """
    free = ~jnp.asarray(candidates.labelled)
    left = int(free.sum())
    if rule not in RULES:
        raise SettingError("rule", found=repr(rule), rule=f"one of {', '.join(RULES)}")
    if not 1 <= count <= left:
        raise SettingError("count", found=count, rule=f"between 1 and the {left} rows without labels")
    if rule in ("random", "gradients") and key is None:
        raise SettingError("key", found=None, rule=f"a key for the rule '{rule}'", remedy="key=jax.random.key(0)")
    if candidates.probabilities is None and (rule in ("entropy", "gradients") or entropy_weight):
        remedy = "a model with predict_proba, or another rule"
        raise SettingError("probabilities", found=None, rule="entropies and gradients need them", remedy=remedy)
    if rule == "coding rate":
        return np.asarray(_by_coding_rate(candidates, free, count, noise, entropy_weight))
    if rule == "random":
        return np.asarray(jax.random.permutation(key, jnp.flatnonzero(free))[:count])
    if rule == "entropy":
        return np.asarray(jnp.argsort(jnp.where(free, -entropy(candidates.probabilities), jnp.inf))[:count])
    if rule == "k-centre":
        return _farthest(np.asarray(candidates.gram), np.asarray(candidates.labelled), count)
    return _by_gradients(candidates, np.asarray(free), count, key)


def _by_coding_rate(candidates: Candidates, free: Array, count: int, noise: float, weight: float) -> Array:
    gram = candidates.gram
    level = jnp.mean(jnp.diagonal(gram))
    rest = posterior_gram(gram, jnp.flatnonzero(~free), noise * level)
    on_diagonal = noise * level
    if weight:
        on_diagonal = on_diagonal + weight * level * entropy(candidates.probabilities)
    return greedy_log_determinant(rest, count, on_diagonal, allowed=free)[0]


def _squared_distances(gram: np.ndarray, row: int) -> np.ndarray:
    return np.maximum(np.diagonal(gram) - 2 * gram[row] + gram[row, row], 0.0)


def _farthest(gram: np.ndarray, taken: np.ndarray, count: int) -> np.ndarray:
    """Each time the row whose nearest taken one is farthest; the first is the one of the largest variance."""
    taken, found = taken.copy(), []
    nearest = np.min([_squared_distances(gram, row) for row in np.flatnonzero(taken)], axis=0, initial=np.inf)
    nearest = np.diagonal(gram).copy() if not taken.any() else nearest
    for _ in range(count):
        row = int(np.where(taken, -np.inf, nearest).argmax())
        own = _squared_distances(gram, row)
        nearest = own if not taken.any() else np.minimum(nearest, own)
        taken[row] = True
        found.append(row)
    return np.asarray(found)


def _by_gradients(candidates: Candidates, free: np.ndarray, count: int, key: Array) -> np.ndarray:
    p = np.asarray(candidates.probabilities)
    off = p - np.eye(p.shape[1])[p.argmax(axis=1)]
    gram = np.asarray(candidates.gram) * (off @ off.T)
    free, found = free.copy(), []
    weights = np.maximum(np.diagonal(gram), 0.0)  # the first by its length
    for uniform in np.asarray(jax.random.uniform(key, (count,), float)):
        shares = np.where(free, weights, 0.0)
        shares = shares if shares.any() else free.astype(float)  # a model that is sure everywhere tells nothing
        row = int(np.searchsorted(np.cumsum(shares), uniform * shares.sum(), side="right"))
        row = min(row, int(np.flatnonzero(shares).max()))
        own = _squared_distances(gram, row)
        weights = np.minimum(weights, own) if found else own
        free[row] = False
        found.append(row)
    return np.asarray(found)
