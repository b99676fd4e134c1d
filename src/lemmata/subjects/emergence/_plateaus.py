"""Compute the losses at which in-context learning on a Markov chain has plateaus."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.sparse.csgraph import connected_components

from lemmata.answers import Condition, positive
from lemmata.core import numbers_of
from lemmata.errors import DataError, ShapeError
from lemmata.printable import preformatted

_CLAIMS = ("emergence.sequences.plateau_heights", "emergence.sequences.bigram_regret")


@dataclasses.dataclass(frozen=True, eq=False)
class Plateaus:
    """Losses of three predictors on a Markov chain, in nats per symbol.

    Args:
        uniform: log S, the loss of guessing among the S symbols.
        unigram: the entropy of the stationary distribution, the loss of a predictor that uses only the frequencies of
            the symbols.
        bigram: the mean entropy of the rows of the transition matrix, the least loss of any predictor.
        stationary: the stationary distribution.
        conditions: the conditions under which plateaus at these losses are expected, and whether they hold.
        claims: names of the claims that state these losses.
    """

    uniform: float
    unigram: float
    bigram: float
    stationary: Float[np.ndarray, " S"]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def regret(self, length: float | int) -> float:
        """Return S(S-1)/2 log(T)/T, the mean additional loss per symbol, compared with `bigram`. This loss arises
        because a predictor learns the rows of the transition matrix from a context of T symbols.
        """
        size, T = len(self.stationary), positive("length", length)
        return size * (size - 1) / 2 * max(float(np.log(T)), 0.0) / T

    def __str__(self) -> str:
        lines = [
            f"loss in nats per symbol: uniform {self.uniform:.4f}, unigram {self.unigram:.4f}, "
            f"bigram {self.bigram:.4f}",
            f"the step from unigram to bigram is {max(self.unigram - self.bigram, 0.0):.4f}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Plot the three losses as bars in an Altair chart."""
        import altair as alt

        names = ("uniform", "unigram", "bigram")
        rows = [{"predictor": name, "loss": getattr(self, name)} for name in names]
        x = alt.X("loss:Q", title="nats per symbol")
        bars = alt.Chart(alt.Data(values=rows)).mark_bar()
        return bars.encode(x, alt.Y("predictor:N", sort=list(names), title=None)).properties(width=300)


def plateaus(transition_matrix: Any) -> Plateaus:
    """Return the losses at which the loss of in-context learning on a Markov chain may stay for a while.

    Args:
        transition_matrix: S rows of probabilities, row i for the symbol after symbol i.

    Raises:
        ShapeError: if the matrix is not square, or has only one symbol.
        DataError: for negative entries, rows that do not add up to 1 within 1e-6, or several stationary distributions.

    Example:
        >>> print(plateaus([[0.9, 0.1], [0.3, 0.7]]))
        loss in nats per symbol: uniform 0.6931, unigram 0.5623, bigram 0.3965
        the step from unigram to bigram is 0.1658
    """
    rows = numbers_of("transition_matrix", transition_matrix)
    if rows.ndim != 2 or rows.shape[0] != rows.shape[1] or len(rows) < 2:
        raise ShapeError("transition_matrix", found=f"shape {rows.shape}", rule="shape (S, S) with S of at least 2")
    if (rows < 0).any():
        row = int(np.argmax((rows < 0).any(axis=1)))
        raise DataError(
            f"transition_matrix in row {row}, counted from 0", found="a negative entry", rule="probabilities"
        )
    sums = rows.sum(axis=1)
    if not sums.all():
        remedy = "leave this symbol out, or give it a successor such as the start symbol"
        what = f"transition_matrix in row {int(np.argmin(sums))}, counted from 0"
        raise DataError(what, found="only zeros", rule="a sum of 1", remedy=remedy)
    wrong = np.abs(sums - 1) > 1e-6
    if wrong.any():
        row = int(np.argmax(wrong))
        remedy = "divide each row by its sum" + (
            "; the columns add up to 1: transpose the matrix" if np.allclose(rows.sum(axis=0), 1, atol=1e-6) else ""
        )
        what = f"transition_matrix in row {row}, counted from 0"
        raise DataError(what, found=f"the sum {sums[row]:.6g}", rule="a sum of 1", remedy=remedy)
    rows = rows / sums[:, None]
    count, labels = connected_components(rows > 0, directed=True, connection="strong")
    closed = [k for k in range(count) if not rows[labels == k][:, labels != k].any()]
    if len(closed) > 1:
        rule, remedy = (
            "one closed set, so that the losses do not depend on the start",
            "pass the rows and columns of one closed set of symbols at a time",
        )
        raise DataError("transition_matrix", found=f"{len(closed)} closed sets of symbols", rule=rule, remedy=remedy)
    law = np.zeros(len(rows))
    own = np.flatnonzero(labels == closed[0])
    law[own] = _stationary(rows[np.ix_(own, own)])
    entropies = -np.sum(rows * np.log(np.where(rows > 0, rows, 1.0)), axis=1)
    unigram = -float(np.sum(law * np.log(np.where(law > 0, law, 1.0)))) + 0.0
    bigram = float(law @ entropies) + 0.0
    passing = len(rows) - len(own)
    conditions = (
        Condition(
            "the chain can return to every symbol", float(passing), not passing,
            "the losses leave out the symbols to which it cannot return"
        ),
        Condition("the context is long, and the predictors know the chain"),
        Condition("the last symbol carries information about the next symbol (nats)", unigram - bigram,
                  unigram - bigram > 1e-12,
                  "otherwise there is no plateau after that of the unigram"),
    )  # fmt: skip
    return Plateaus(float(np.log(len(rows))), unigram, bigram, law, conditions)


def _stationary(rows: Float[np.ndarray, "S S"]) -> Float[np.ndarray, " S"]:
    """Return the stationary distribution of an irreducible chain. Elimination without subtractions keeps the digits of
    small probabilities.
    """
    left = rows.copy()
    for last in range(len(left) - 1, 0, -1):
        left[:last, last] /= left[last, :last].sum()
        left[:last, :last] += np.outer(left[:last, last], left[last, :last])
    law = np.ones(len(left))
    for place in range(1, len(left)):
        law[place] = law[:place] @ left[:place, place]
        law[: place + 1] /= max(law[: place + 1].max(), 1.0)
    return law / law.sum()
