"""Bounds: how large the error of a trained model on new rows can be, from held-out rows or from training rows.

The theory bounds the error of one model at a stated probability. It assumes that rows are independent draws from one
distribution. It gives no result for a model if its shortest description has more nats than there are rows.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from scipy import special, stats

from lemmata.engine.claims import AtMost, Control, Hypothesis, Kind, Source
from lemmata.subjects.bounds import OccamBound, kl_upper, occam_bound
from lemmata.subjects.trained_models import AbstractModel, Trained
from lemmata.subjects.trained_models._rectified_networks import RectifiedNetworks

from ._fresh_rows import fresh_rows
from ._gauge import AbstractGauge
from ._outputs import held_outputs, held_rows
from .probabilities import halves

ABOUT = {"tool": "concentration", "architecture": "any", "object": "generalisation"}

DELTA = 0.05
"""The probability with which each bound of this section may fail."""
FORWARD = 0.4
"""The cost of computing the outputs on all rows, in units of the cost of their gradients."""
_KEPT, _BITS = (1.0, 0.5, 0.25, 0.1, 0.05), (1, 2, 3, 4, 6, 8)
_SIZES = 2.0 ** (np.arange(-128, 128) / 8)
_MOST_ROWS = 2.0**60
_HALVINGS = 40


def most_frequent(problem: Trained) -> Array:
    """The error of always saying the most frequent class of the training rows."""
    return jnp.asarray(1 - problem.y.mean(0).max())


def of_classes(problem: Trained) -> list[Hypothesis]:
    """Return the condition that the model predicts classes, because the error of real values has no upper limit."""
    return [Hypothesis("the model predicts classes", float(problem.task.is_classification), ">=", 1.0)]


def rows_factor(bound_at: Callable[[float], float], rows: float | int, trivial: float) -> float:
    """Return by which factor the number of rows must grow for a bound on the error to fall below the trivial value.

    Args:
        bound_at: the bound as a function of the number of rows, all else unchanged. It falls as the number grows.
        rows: the number of rows for which the bound was computed.
        trivial: the trivial value, which is the error of always saying the most frequent class.

    Returns:
        The smallest factor, by bisection. It is 1 if the bound is already below the trivial value, and infinite if even
        2^60 times as many rows are too few.
    """
    if bound_at(rows) < trivial:
        return 1.0
    if not bound_at(_MOST_ROWS * rows) < trivial:
        return math.inf
    low, high = 0.0, math.log(_MOST_ROWS)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if bound_at(math.exp(middle) * rows) < trivial else (middle, high)
    return math.exp(high)


def error_limit(wrong: float | int, rows: float | int) -> float:
    """The Clopper-Pearson limit: the error rate at which at most `wrong` wrong rows have probability DELTA."""
    return float(stats.beta.ppf(1 - DELTA, wrong + 1, rows - wrong)) if wrong < rows else 1.0


def held_out_limit(problem: Trained) -> float:
    """The Clopper-Pearson limit of the error from all held-out rows without duplicates; other bounds must beat it.

    The limit is NaN without such rows.
    """
    if problem.held is None or not fresh_rows(problem).any():
        return math.nan
    wrong = problem.task.errors(held_outputs(problem)[fresh_rows(problem)], held_rows(problem)[1][fresh_rows(problem)])
    return error_limit(float(wrong.sum()), len(wrong))


def _half(problem: Trained, which: int) -> tuple[int, int]:
    """Count the wrong rows and all rows in one half of the held-out rows that do not duplicate a training row."""
    own = halves(problem)[which]
    own = own[fresh_rows(problem)[own]]
    wrong = problem.task.errors(held_outputs(problem)[own], held_rows(problem)[1][own])
    return int(wrong.sum()), len(own)


class HeldOutBound(AbstractGauge):
    """Suppose that a model is wrong on k of m rows that it has not seen. Let p be the error rate at which k or fewer of
    m rows are wrong with probability 1/20; this is the Clopper-Pearson limit. With probability at least 19/20 over the
    rows, the error of the model on new rows is at most p. In the test, the m rows are half of the held-out rows. The
    test compares p with the error on the other half. Because this error is itself measured on few rows, its lower
    Clopper-Pearson limit at the same level takes its place. In at most one of ten models, this lower limit is above p.
    """

    title = "An upper limit on a model's error on new rows, from held-out rows"
    source = Source("clopper1934", note="the exact limits; here tested on other rows")
    stated = Kind.OWN
    population = RectifiedNetworks(held=2000, steps=20, differentiable=False)
    relation = AtMost(delta=0.1)
    control = Control("half of this bound", lambda bound, problem: bound / 2)
    controls = "the error of a trained model on new rows from the same distribution"
    unexplained = "why the model has this error; rows from another distribution"
    traced = False

    def passes(self, problem: Trained) -> float:
        return FORWARD

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return of_classes(problem)

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(error_limit(*_half(problem, 0)))

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Return the lower limit of the error on the other half of the held-out rows."""
        wrong, rows = _half(problem, 1)
        return jnp.asarray(stats.beta.ppf(DELTA, wrong, rows - wrong + 1) if wrong else 0.0)

    def trivial(self, problem: Trained) -> Array:
        """The error of always saying the most frequent class."""
        return most_frequent(problem)

    def rows_factor(self, problem: Trained) -> float:
        """The factor by which the number of held-out rows must grow. It is NaN without held-out rows."""
        wrong, rows = _half(problem, 0)
        if not rows:
            return math.nan
        at = lambda count: error_limit(wrong * count / rows, count)
        return rows_factor(at, rows, float(most_frequent(problem)))


@dataclasses.dataclass(frozen=True, eq=False)
class Described:
    """A pruned and rounded model with a short code word, and the bound on its error from the word's bits."""

    model: AbstractModel
    occam: OccamBound


def pruned_and_rounded(model: AbstractModel, kept: float, bits: int) -> tuple[AbstractModel, float]:
    """Keep a given share of the weights, the largest ones; round them to 2^bits equidistant values in each array.

    Returns:
        The model, and the bits of its description. The description says how many weights are left, which they are, the
        largest value of each array (one of 256), and the value of each weight.
    """
    theta = model.theta.astype(float)
    count = max(round(kept * len(theta)), 1)
    left = np.zeros(len(theta), bool)
    left[np.argsort(-np.abs(theta), kind="stable")[:count]] = True
    found, places = np.zeros(len(theta)), np.cumsum([0, *(layer.size for layer in model.layers)])
    for start, end in itertools.pairwise(places):
        own = np.flatnonzero(left[start:end]) + start
        if len(own):
            size = _SIZES[min(int(np.searchsorted(_SIZES, np.abs(theta[own]).max())), len(_SIZES) - 1)]
            step = 2 * size / 2**bits
            found[own] = (np.clip(np.floor((theta[own] + size) / step), 0, 2**bits - 1) + 0.5) * step - size
    p, k = len(theta), count
    which = float(special.gammaln(p + 1) - special.gammaln(k + 1) - special.gammaln(p - k + 1)) / math.log(2)
    return model.at(found), math.log2(p) + which + 8 * len(model.layers) + bits * k


@functools.lru_cache(maxsize=1)  # used by the prediction, the measurement and the factor
def described(problem: Trained) -> list[Described]:
    """The model, pruned and rounded for each of 30 codes, smallest bound first.

    The first bits of a word name the code.
    """
    labels, flat = problem.y.argmax(1), problem.x.reshape(len(problem.x), -1)
    found = []
    for kept, bits in itertools.product(_KEPT, _BITS):
        model, length = pruned_and_rounded(problem.model, kept, bits)
        calls = model.outputs(problem.x).argmax(1)
        length += math.log2(len(_KEPT) * len(_BITS))
        found.append(Described(model, occam_bound(lambda rows, calls=calls: calls, flat, labels, length, delta=DELTA)))
    return sorted(found, key=lambda own: own.occam.bound)


def least_word(found: list[Described], rows: float | int) -> float:
    """Return the smallest bound over the code words for this number of rows, with the current error of each word."""
    errors, bits = (np.array([getattr(own.occam, name) for own in found]) for name in ("error", "bits"))
    return float(kl_upper(errors, (bits * math.log(2) + math.log(1 / DELTA)) / rows).min())


class ShortDescription(AbstractGauge):
    """Keep a share of the weights of a model, the largest ones, and round them to one of 2^b values in each array. Let
    B be the number of bits of a description of this smaller model. The description names one of 30 codes, which fixes
    the share and b. It also lists which weights are kept, the largest value of each array and the value of each weight.
    Let r be the error of the smaller model on n training rows, and let R be its error on new rows. Let kl(r || R) be
    the Kullback-Leibler divergence of two coins with these error rates, and let delta = 1/20. For all 30 codes at once,

        kl(r || R) <= ( B ln 2 + ln(1/delta) ) / n

    with probability at least 19/20. So each code gives an upper bound on the error R of its smaller model. Take the
    code with the smallest bound. In at least nine of ten models, this bound is above the error of its smaller model on
    held-out rows.
    """

    title = "A bound on the error of a pruned and rounded model, from the bits of its description"
    source = Source(
        "zhou2019compression", note=("the bound from the length of a description; here with the simplest code")
    )
    stated = Kind.OWN
    population = RectifiedNetworks(rows=600, hidden=0, widths=(0, 4))
    relation = AtMost(delta=0.1)
    control = Control("half of this bound", lambda bound, problem: bound / 2)
    controls = "the error on new rows of a model that fits into few bits"
    unexplained = "the error of the uncompressed model; why a model should fit into few bits"
    traced = False

    def passes(self, problem: Trained) -> float:
        return FORWARD * (len(_KEPT) * len(_BITS) + 1)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        seen = float((problem.y.mean(0) > 0).sum())
        return [*of_classes(problem), Hypothesis("classes in the training rows", seen, ">=", 2.0)]

    def predict(self, problem: Trained) -> Array:
        return jnp.asarray(described(problem)[0].occam.bound)

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """The error of the pruned and rounded model on held-out rows that are not duplicates."""
        x, y = (part[fresh_rows(problem)] for part in held_rows(problem))
        return jnp.asarray(problem.task.errors(described(problem)[0].model.outputs(x), y).mean())

    def trivial(self, problem: Trained) -> Array:
        """The error of always saying the most frequent class."""
        return most_frequent(problem)

    def rows_factor(self, problem: Trained) -> float:
        """The factor by which the number of training rows must grow; each number of rows has its own best code."""
        at = lambda rows: least_word(described(problem), rows)
        return rows_factor(at, len(problem.x), float(most_frequent(problem)))

    def alternative(self, problem: Trained) -> float:
        """The upper limit of the error from held-out rows alone."""
        return held_out_limit(problem)
