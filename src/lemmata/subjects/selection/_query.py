"""The choice of the rows of a pool to label next, for a fitted model of scikit-learn."""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from lemmata.architectures import TangentKernel, relu_network
from lemmata.core import check_numbers, require_float64
from lemmata.errors import ShapeError
from lemmata.kernels import AbstractKernel, gram

from ._rules import NOISE, Candidates, Rule, select


def query(
    model: Any,
    pool: Float[np.ndarray, "n d"],
    count: Any,
    *,
    labelled: Float[np.ndarray, "m columns"] | None = None,
    rule: Rule | str = "coding rate",
    kernel: AbstractKernel | None = None,
    noise: float = NOISE,
    entropy_weight: float = 0.0,
    seed: int = 0,
) -> Int[np.ndarray, " count"]:
    """Return the indices of the rows of a pool to label next, in the order of the choice. See `select` for the rules.

    Rows are standardised by the mean and standard deviation of pool and labelled rows together. By default, the kernel
    is the tangent kernel of a ReLU network with one hidden layer. "coding rate" does not use the model unless
    `entropy_weight` is above 0.

    Args:
        model: a fitted model. If the rule needs probabilities, the model must have `predict_proba`. None if the rule
            does not need a model.
        pool: the rows without labels.
        count: the number of rows to choose.
        labelled: the rows that have labels, which the choice should not repeat.
        rule: one of `RULES`.
        kernel: the kernel of standardised rows.
        noise: the noise variance of a label, as a share of the mean diagonal entry of the kernel matrix.
        entropy_weight: the weight of the entropy of the class probabilities on the diagonal of the kernel matrix.
        seed: the random seed of rules that draw rows.

    Raises:
        ShapeError: for a pool that is not a table, or labelled rows with another number of columns.
        SettingError: for an unknown rule, a count above the size of the pool, or a model that lacks the probabilities
            that the rule needs.
        DataError: for entries that are not finite.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.selection import query
        >>> pool = np.array([[0.0], [0.1], [5.0], [-5.0]])
        >>> sorted(query(None, pool, 2, labelled=np.array([[0.05]])).tolist())
        [2, 3]
    """
    require_float64("choosing rows")
    pool = np.asarray(pool, float)
    known = np.zeros((0, *pool.shape[1:])) if labelled is None else np.asarray(labelled, float)
    if pool.ndim != 2 or known.ndim != 2 or known.shape[1:] != pool.shape[1:]:
        rule_ = "tables with the same columns"
        raise ShapeError("pool and labelled rows", found=f"pool {pool.shape}, labelled rows {known.shape}", rule=rule_)
    rows = np.concatenate([pool, known])
    check_numbers("pool and labelled rows", rows)
    # Divide each column by a power of 2 near its largest entry. This does not round, and squares then do not overflow.
    rows = np.ldexp(rows, -np.frexp(np.abs(rows).max(axis=0))[1])
    spread = rows.std(axis=0)
    rows = jnp.asarray((rows - rows.mean(axis=0)) / np.where(spread > 0, spread, 1.0) / math.sqrt(rows.shape[1]))
    seen = gram(TangentKernel(relu_network(1, bias_std=1.0)) if kernel is None else kernel, rows)
    needed = rule in ("entropy", "gradients") or entropy_weight > 0
    told = _probabilities(model, np.concatenate([pool, known])) if needed else None
    candidates = Candidates(np.asarray(seen), np.arange(len(rows)) >= len(pool), told)
    return select(candidates, count, rule, seed=seed, noise=noise, entropy_weight=entropy_weight)


def _probabilities(model: Any, rows: np.ndarray) -> np.ndarray | None:
    """Return the model's class probabilities of rows, or None if the model has no `predict_proba`."""
    return np.asarray(model.predict_proba(rows), float) if hasattr(model, "predict_proba") else None
