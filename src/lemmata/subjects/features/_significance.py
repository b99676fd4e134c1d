"""The p-value of the AUC of a feature that was chosen as the best of many features.

The AUC for a concept is the probability that the feature is larger at a positive example of the concept than at a
negative one.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import integrate, optimize
from scipy.special import ndtr, ndtri

from lemmata.answers import Condition, inside, probability, whole
from lemmata.printable import preformatted

_CLAIMS = ("features.evidence.best_of_many",)
_EXACT = 4000  # largest number of pairs for which the exact distribution is computed
_TERMS = 100_000  # largest number of examples of the rarer kind for which the saddlepoint approximation is used
_INK, _BLUE, _RED = "#7b828c", "#3b6fb6", "#c2562d"


@dataclasses.dataclass(frozen=True, eq=False)
class FeatureSignificance:
    """The p-value of the best of many features.

    Args:
        auc: the probability that the feature is larger at a positive example than at a negative example.
        features: the number of compared features.
        positives, negatives: the numbers of examples with and without the concept.
        alone: the p-value of one feature that was chosen beforehand. That p-value is the probability that an unrelated
            feature has at least this AUC.
        p_value: the p-value if this feature is the best of independent features: 1 - (1 - alone)^features.
        bound: `features` times `alone`, an upper bound on the p-value for features that depend on each other in any
            way.
        expected: the mean of the largest AUC among equally many independent features that are unrelated to the concept.
        needed: the least AUC for which `bound` is at most `level`; None if no AUC is large enough.
        level: the significance level.
        conditions: the conditions under which the results hold.
        claims: names of the claims that state the results.
    """

    auc: float
    features: int
    positives: int
    negatives: int
    alone: float
    p_value: float
    bound: float
    expected: float
    needed: float | None
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def significant(self) -> bool:
        """Whether the bound on the p-value is at most the significance level."""
        return self.bound <= self.level

    def __str__(self) -> str:
        which = f"the best of {self.features} features" if self.features > 1 else "one feature"
        least = "no AUC is enough" if self.needed is None else f"an AUC of {self.needed:.3f} is needed"
        lines = [
            f"AUC {self.auc:.3f} of {which}, {self.positives} positives and {self.negatives} negatives",
            (
                f"p-value {self.p_value:.3g} (at most {self.bound:.3g} if features depend on each other); "
                f"{self.alone:.3g} for a feature that was chosen beforehand"
            ),
            f"unrelated features reach {self.expected:.3f} on average; for significance at {self.level:g}, {least}",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the p-value against the AUC of the best of all features. This feature is marked."""
        import altair as alt

        tail, pairs = _tail(self.positives, self.negatives), self.positives * self.negatives
        places = np.unique(np.round(np.linspace(0.5, 1.0, 101) * pairs) / pairs)
        rows = [{"auc": a, "p": _best(tail(_count(a, pairs)), self.features)} for a in places.tolist()]
        x = alt.X("auc:Q", axis=alt.Axis(title="AUC of the best feature", grid=False), scale=alt.Scale(zero=False))
        y = alt.Y("p:Q", axis=alt.Axis(title="p-value", grid=False))
        tips = [alt.Tooltip("auc:Q", format=".3f"), alt.Tooltip("p:Q", format=".3g")]
        line = alt.Chart(alt.Data(values=rows)).mark_line(color=_BLUE).encode(x=x, y=y, tooltip=tips)
        own = alt.Data(values=[{"auc": self.auc, "p": self.p_value}])
        mark = alt.Chart(own).mark_point(color=_RED, filled=True, size=70).encode(x="auc:Q", y="p:Q", tooltip=tips)
        return alt.layer(line, mark).properties(width=300, height=200)


def feature_significance(
    auc: Any, features: Any, positives: Any, negatives: Any, *, level: float | int = 0.05
) -> FeatureSignificance:
    """Compute the p-value of a feature's AUC for a concept, if the feature is the best of many.

    A search over many features finds a large AUC by chance. The p-value compares the AUC with the largest AUC among
    features that are unrelated to the concept. Count every feature that was compared, including features that you
    dropped later.

    Args:
        auc: the probability that the feature is larger at a positive example than at a negative example. Ties count
            1/2.
        features: the number of features that were compared.
        positives: the number of examples of the concept.
        negatives: the number of other examples.
        level: the significance level.

    Raises:
        SettingError: if the AUC is outside [0, 1], a count is not a whole number of at least 1, or the level is
            outside (0, 1).

    Example:
        >>> found = feature_significance(0.75, 1000, 40, 60)
        >>> round(found.expected, 2), found.significant
        (0.69, True)
    """
    auc, level = probability("auc", auc), inside("level", level, 0.0, 1.0)
    m, n1, n0 = whole("features", features, 1), whole("positives", positives, 1), whole("negatives", negatives, 1)
    tail, pairs = _tail(n1, n0), n1 * n0
    alone = tail(_count(auc, pairs))
    conditions = (
        Condition("activations have no ties", None, None, "with ties the AUC of an unrelated feature varies less"),
        Condition("examples are independent", None, None, "tokens of one text are not independent"),
        Condition("the AUC is above 1/2", auc, auc > 0.5,
                  "if the feature is smaller at positives, change its sign and use the AUC 1 - auc"),
    )  # fmt: skip
    return FeatureSignificance(
        auc, m, n1, n0, alone, _best(alone, m), min(1.0, m * alone), _expected(tail, m, n1, n0),
        _needed(tail, m, pairs, level), level, conditions,
    )  # fmt: skip


def _count(auc: float, pairs: int) -> int:
    """Return the largest number of correctly ordered pairs of examples that agrees with the AUC.

    The AUC may be rounded to single precision.
    """
    return min(math.floor(auc * pairs + min(1e-6 + 1e-7 * auc * pairs, 0.25)), pairs)


def _best(alone: float, features: int) -> float:
    return -math.expm1(features * math.log1p(-alone)) if alone < 1 else 1.0


def _tail(n1: int, n0: int) -> Callable[[int], float]:
    """Return the function P(U >= u) of u, for Mann and Whitney's statistic U without ties.

    U is the number of pairs of a positive and a negative example in which the feature is larger at the positive one.
    The function is exact up to 4000 pairs, and approximate for more pairs.
    """
    if n1 * n0 <= _EXACT:
        upper = np.cumsum(_distribution(n1, n0)[::-1])[::-1]
        return lambda u: 1.0 if u <= 0 else float(min(upper[u], 1.0))
    if min(n1, n0) > _TERMS:
        deviation = math.sqrt(float(n1) * n0 * (float(n1) + n0 + 1) / 12)
        return lambda u: float(ndtr(-(u - 0.5 - n1 * n0 / 2) / deviation))
    return lambda u: _saddlepoint(u, min(n1, n0), max(n1, n0))


def _distribution(n1: int, n0: int) -> np.ndarray:
    """Return the probabilities of U = 0, 1, ..., n1 n0, the number of correctly ordered pairs.

    The recursion conditions on whether the largest value belongs to a positive or a negative example.
    """
    few, many = sorted((n1, n0))
    rows = [np.ones(1) for _ in range(many + 1)]  # the distribution without examples of the rarer kind
    for i in range(1, few + 1):
        new = [np.ones(1)]
        for j in range(1, many + 1):
            own = np.zeros(i * j + 1)
            own[j:] += rows[j] * (i / (i + j))
            own[: len(new[-1])] += new[-1] * (j / (i + j))
            new.append(own)
        rows = new
    return rows[-1]


def _saddlepoint(u: int, few: int, many: int) -> float:
    """Return P(U >= u) for Mann and Whitney's statistic U by a saddlepoint approximation.

    The approximation is the formula of Lugannani and Rice for variables whose values are whole numbers.
    """
    if u <= 0:
        return 1.0
    at = u - 0.5 - few * many / 2
    small = np.arange(1.0, few + 1)
    large = small + many
    variance = few * many * (few + many + 1) / 12
    w = at / math.sqrt(variance)
    if abs(w) < 0.01:
        return float(ndtr(-w))

    def slope(t: float) -> float:
        return float(np.sum(large / np.tanh(large * t / 2) - small / np.tanh(small * t / 2))) / 2 - abs(at)

    high = abs(at) / variance
    while slope(high) < 0:
        high *= 2
    low = high / 4 if slope(high / 4) < 0 else 1e-9 * high
    t = float(optimize.root_scalar(slope, bracket=(low, high), xtol=1e-14, rtol=1e-12).root)

    def logs(size: np.ndarray) -> float:  # log of sinh(size t/2)/size
        return float(np.sum(size * t / 2 + np.log(-np.expm1(-size * t)) - np.log(2 * size)))

    def curvature(size: np.ndarray) -> float:
        return float(np.sum((size / 2 / np.sinh(np.minimum(size * t / 2, 300.0))) ** 2))

    w = math.sqrt(max(2 * (t * abs(at) - (logs(large) - logs(small))), 1e-300))
    v = 2 * math.sinh(t / 2) * math.sqrt(curvature(small) - curvature(large))
    upper = float(ndtr(-w)) + math.exp(-w * w / 2) / math.sqrt(2 * math.pi) * (1 / v - 1 / w)
    return min(max(upper, 0.0), 1.0) if at > 0 else 1 - min(max(upper, 0.0), 1.0)


def _expected(tail: Callable[[int], float], m: int, n1: int, n0: int) -> float:
    """Return the mean of the largest AUC of m unrelated features, by a sum or a normal approximation.

    The sum is used if the tail probabilities are exact.
    """
    if n1 * n0 <= _EXACT:
        return float(np.mean([_best(tail(u), m) for u in range(1, n1 * n0 + 1)]))
    deviation = math.sqrt((float(n1) + n0 + 1) / (12 * float(n1) * n0))
    top = float(-ndtri(1e-3 / m))
    above = lambda z: _best(float(ndtr(-z)), m)
    below = lambda z: math.exp(m * math.log(float(ndtr(z)))) if ndtr(z) > 0 else 0.0
    mean = integrate.quad(above, 0, top + 4, limit=400)[0] - integrate.quad(below, -12, 0, limit=400)[0]
    return min(0.5 + deviation * mean, 1.0)


def _needed(tail: Callable[[int], float], m: int, pairs: int, level: float) -> float | None:
    """Return the least AUC for which m times the tail probability is at most the level, or None if there is none."""
    low, high = 0, pairs
    if m * tail(pairs) > level:
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if m * tail(middle) <= level else (middle, high)
    return high / pairs
