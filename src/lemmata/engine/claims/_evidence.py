"""Compute e-values, which measure evidence and stay valid however a run is continued.

An e-value of a statement is a random number whose mean is at most 1 if the statement is true. A product of e-values of
independent sessions is again an e-value, whenever and for whatever reason the next session begins. By Ville's
inequality, the probability that the product for a true statement ever reaches 1 / level is at most `level`. So min(1, 1
/ e) is a p-value at every moment, and Holm's procedure can use it like any other p-value.
"""

import math
from collections.abc import Iterable

import numpy as np
from scipy import special

from ._bounds import AbstractBound, Witness
from ._equalities import Equal
from ._relations import Relation, Sample

_PRIOR = 0.5
"""Both parameters of a Beta distribution (Jeffreys' prior): the prior of the rates above the allowed rate."""


def allowed_misses(relation: Relation) -> float | None:
    """The rate of misses (trials that contradict the statement) that a relation allows; None if it has no misses.

    >>> from lemmata.engine.claims import AtMost, Rate
    >>> allowed_misses(AtMost(delta=0.05)), allowed_misses(AtMost()), allowed_misses(Rate())
    (0.05, 0.0, None)
    """
    if isinstance(relation, AbstractBound):
        return relation.delta
    if isinstance(relation, Witness):
        return 1.0 - relation.probability
    return 0.0 if isinstance(relation, Equal) else None


def misses(relation: Relation, sample: Sample) -> int:
    """The number of misses: trials that each contradict the relation by themselves."""
    rows = zip(sample.predicted, sample.measured, sample.condition, strict=True)
    alone = (Sample(*(np.asarray(part)[None] for part in row)) for row in rows)  # pyright: ignore[reportArgumentType]
    return sum(relation.compare(own) is False for own in alone)


def count_e_value(count: int, trials: int, allowed: float) -> float:
    """The e-value of the statement "the rate of misses is at most `allowed`", after `count` misses in `trials` trials.

    The e-value is a ratio of likelihoods of the counts. The numerator is the average of the likelihood over rates q
    above the allowed rate, under Jeffreys' prior J restricted to these rates. The denominator is the likelihood at the
    allowed rate a. With k misses in n trials,

        e = int_a^1 q^k (1 - q)^(n - k) dJ(q) / (a^k (1 - a)^(n - k)).

    Each q > a gives a factor q/a for a miss and (1 - q)/(1 - a) for a hit. If a miss has a probability p <= a,
    whatever came before, the mean of this factor is (p/a) q + (1 - p)/(1 - a) (1 - q) <= 1. So e is an e-value after
    every trial, for any rule by which trials are continued.

    Args:
        count: the number of misses.
        trials: the number of all trials.
        allowed: the rate that the statement allows, below 1.

    >>> float(f"{count_e_value(20, 200, 0.05):.4g}"), count_e_value(1, 200, 0.0), count_e_value(0, 0, 0.05)
    (4.081, inf, 1.0)
    """
    if not allowed:
        if count:
            return math.inf
        return math.exp(special.betaln(_PRIOR, trials + _PRIOR) - special.betaln(_PRIOR, _PRIOR))
    ends = (count + _PRIOR, trials - count + _PRIOR)
    above, prior = special.betaincc(*ends, allowed), special.betaincc(_PRIOR, _PRIOR, allowed)
    if not above:
        return 0.0
    average = math.log(above) + special.betaln(*ends) - math.log(prior) - special.betaln(_PRIOR, _PRIOR)
    return _exp(average - count * math.log(allowed) - (trials - count) * math.log1p(-allowed))


def p_e_value(p_value: float) -> float:
    """The e-value of a p-value: int_0^1 k p^(k - 1) dk = (1 - p + p log p) / (p log(p)^2).

    Each k gives an e-value, since k p^(k - 1) falls with p and has the mean 1 over [0, 1]. The average over k is
    therefore also an e-value.

    >>> p_e_value(1.0), round(p_e_value(1e-3), 1)
    (0.5, 20.8)
    """
    if p_value <= 0:
        return math.inf
    logarithm = math.log(p_value)
    if logarithm > -1e-3:  # the quotient loses its digits there, but its series does not
        return 0.5 - logarithm / 6
    return (1 - p_value + p_value * logarithm) / (p_value * logarithm**2)


def joined(e_values: Iterable[float]) -> float:
    """The joint e-value of independent sessions: the product of their e-values, or 0 if one e-value is 0."""
    found = list(e_values)
    if 0.0 in found:
        return 0.0
    return _exp(math.fsum(math.log(value) for value in found)) if math.inf not in found else math.inf


def shared(case: float, corners: list[float]) -> float:
    """The e-value of a claim, from the e-values of its default setting (`case`) and of its extra settings (`corners`).

    The e-value is a weighted mean: the default setting has the weight 1/2, and all extra settings together have 1/2.
    Without extra settings, it is `case`.
    """
    return case if not corners else case / 2 + math.fsum(corners) / (2 * len(corners))


def p_of(e_value: float) -> float:
    """The p-value that holds at every moment: min(1, 1 / e)."""
    return 1.0 if e_value <= 1 else 1 / e_value


def _exp(logarithm: float) -> float:
    return math.exp(logarithm) if logarithm < 709 else math.inf
