"""Find the number of features of a dictionary that can be active at once and still be recovered from their sum."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lemmata.answers import Condition, inside, share_interval, whole
from lemmata.errors import SettingError
from lemmata.printable import preformatted

from ._capacity import (
    decoding_failure,
    linear_failures,
    most_decoded,
    most_linear,
    rankin_floor,
    usual_coherence,
    welch_floor,
)
from ._decoding import misread, orderings, undecoded
from ._directions import Directions, InnerProducts, inner_products, read_directions, span

_CLAIMS = (
    "features.packing.floors",
    "features.packing.exponentially_many",
    "features.stored_features.linear_readout",
    "features.stored_features.sparse_decoding",
)
_ONE_LENGTH, _MARGIN = 1.01, 0.1
_STEPS, _FACTOR, _DOWN = 16, 1.1, 1.25  # the search starts with a factor of 1.1, and stops at a relative step of 1/16
_ROUNDING = 1e-6  # rounding of inner products in single precision
_LOOK = 10  # after this many sets, the search checks whether it can exclude a number of features


@dataclasses.dataclass(frozen=True, eq=False)
class Readout:
    """The success of one readout (a method that finds the active features from their sum) on random sets of features.

    Args:
        name: the name of the readout.
        failure: the share of random sets of these directions for which the readout fails.
        interval: Clopper and Pearson's interval for the probability of such a failure.
        predicted: the predicted share of failures for random directions.
        most: about the largest number of active features at which the share of failures is at most the allowed share.
        most_interval: a range for this largest number, from the confidence intervals at the numbers that were tried.
        most_predicted: the predicted value of `most` for random directions.
        certain: the largest number of active features for which the inner products of the directions prove that the
            readout succeeds on every set.
        tried: the numbers of active features that were tried.
        shares: the share of failures at each of these numbers.
    """

    name: str
    failure: float
    interval: tuple[float, float]
    predicted: float
    most: int
    most_interval: tuple[int, int]
    most_predicted: int
    certain: int
    tried: Int[np.ndarray, " t"]
    shares: Float[np.ndarray, " t"]


@dataclasses.dataclass(frozen=True, eq=False)
class Readability:
    """The inner products of directions of features, and the number of features that can be active at once.

    Args:
        read: a description of the directions that were read from the decoder.
        directions: the number of directions.
        dimensions: the dimension of the space.
        span: the dimension of the span of the directions. The lower bounds and the predictions use this dimension.
        active: the number of active features that the caller passed.
        coherence: the largest absolute inner product of two directions.
        pair: the indices of the two directions with this inner product.
        welch: a lower bound on the coherence, valid for every set of as many directions in a space of dimension `span`.
        usual: the approximate median of the coherence of as many random directions in a space of dimension `span`.
        closest: the largest inner product of two directions (not its absolute value), and the indices of these
            directions.
        rankin: a lower bound on this largest inner product, valid for every set of as many directions in a space of
            dimension `span`.
        spread: the mean square of the inner products, times `span`. The spread is about 1 for random directions.
        repeated: for each direction that equals an earlier direction, the index of the first such direction and the
            index of the repetition.
        linear: the readout that takes a feature as active if its inner product with the sum is above 1/2.
        sparse: the readout that computes the non-negative codes with the smallest sum.
        allowed: the share of failures up to which a number of active features counts as readable.
        level: the confidence level of the intervals.
        conditions: the conditions under which the results hold.
        claims: names of the claims that state the results.
    """

    read: str
    directions: int
    dimensions: int
    span: int
    active: int
    coherence: float
    pair: tuple[int, int]
    welch: float
    usual: float
    closest: tuple[float, int, int]
    rankin: float
    spread: float
    repeated: tuple[tuple[int, int], ...]
    linear: Readout
    sparse: Readout
    allowed: float
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        value, one, other = self.closest
        floor = (
            f"at least {self.welch:.3f} for any directions" if self.welch > 0 else "so few directions can be orthogonal"
        )
        lines = [
            self.read,
            f"coherence {self.coherence:.3f} (directions {self.pair[0]} and {self.pair[1]}); {floor}, "
            f"about {self.usual:.3f} for random directions",
            f"largest inner product {value:.3f} ({one} and {other}); at least {self.rankin:.3g} for any directions",
            f"{self.active} active: failures  {100 * self.level:g} % interval  if random",
        ]
        for own in (self.linear, self.sparse):
            limits = f"{own.interval[0]:.3f} to {own.interval[1]:.3f}"
            lines.append(f"{own.name:<17}{own.failure:>8.3f}  {limits:>14}  {own.predicted:>9.3f}")
        lines.append(f"most active features with up to {100 * self.allowed:g} % failures")
        lines += [
            f"{own.name:<17}{own.most:>8} ({own.most_interval[0]} to {own.most_interval[1]}); "
            f"{own.most_predicted} if random, {own.certain} for every set"
            for own in (self.linear, self.sparse)
        ]
        if self.repeated:
            shown = ", ".join(f"{later} repeats {first}" for first, later in self.repeated[:5])
            lines.append(shown + (f" and {len(self.repeated) - 5} more" if len(self.repeated) > 5 else ""))
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def plot(self) -> Any:
        """Return an Altair chart of the share of failures against the number of active features.

        Points are measured shares, and lines are predictions for random directions.
        """
        import altair as alt

        reach = 2 * max(own.tried.max(initial=1) for own in (self.linear, self.sparse))
        active = np.unique(np.geomspace(1, min(reach, self.directions), 60).round().astype(int))
        lines = {
            self.linear.name: linear_failures(active, self.directions, self.span),
            self.sparse.name: [decoding_failure(int(k), self.directions, self.span) for k in active],
        }
        table = lambda name, x, y: [
            {"way": name, "active": int(k), "failures": float(share)} for k, share in zip(x, y, strict=True)
        ]
        curves = [row for name, own in lines.items() for row in table(name, active, own)]
        points = [row for own in (self.linear, self.sparse) for row in table(own.name, own.tried, own.shares)]
        axes = {
            "x": alt.X("active:Q", scale=alt.Scale(type="log"), title="active features"),
            "y": alt.Y("failures:Q", title="sets that are not read"),
            "color": alt.Color("way:N", title=None),
        }
        drawn = alt.Chart(alt.Data(values=curves)).mark_line().encode(**axes)
        return (drawn + alt.Chart(alt.Data(values=points)).mark_point(filled=True).encode(**axes)).properties(width=420)


def readable(
    decoder: Any,
    active: int | float,
    *,
    directions: str | Any = "auto",
    name: str | Any = "W_dec",
    failure: float | int = 0.1,
    draws: int | float = 200,
    decodings: int | float = 40,
    level: float | int = 0.95,
    seed: int = 0,
) -> Readability:
    """Estimate the number of features with given directions that can be active at once and recovered from their sum.

    The state is the sum of the directions of a random set of active features. A linear readout takes a feature as
    active if the inner product of the state and the feature's direction is above 1/2. Sparse decoding computes, of all
    non-negative codes that reproduce the state, those with the smallest sum. Both methods are tried on random sets of
    these directions. The failures of both methods are also predicted for equally many random directions in the same
    dimension. A set counts as decoded if a search finds a proof (a dual vector) that sparse decoding recovers any
    positive codes on the set.

    Directions are scaled to length 1. Inner products are computed in single precision and in blocks, so the matrix of
    all pairs is never stored. The largest and the smallest product are computed again in double precision.

    Args:
        decoder: directions as the rows of an array or tensor. The decoder may also be a .safetensors file, a folder
            with one such file, or a mapping or an object with the array W_dec, as in SAELens.
        active: the number of features that are active at once.
        directions: "rows" or "columns". With "auto", three rules are tried in turn. First, directions have as many
            entries as b_dec. Second, directions have length 1. Third, directions are rows if there are at least as many
            rows as columns. If no rule applies, pass "rows" or "columns".
        name: the name of the array in a file, a mapping or an object.
        failure: the share of failures up to which a number of active features counts as readable.
        draws: the number of random sets for the linear readout.
        decodings: the number of random sets for sparse decoding.
        level: the confidence level of the intervals.
        seed: the random seed of the sets.

    Raises:
        SettingError: if a setting is invalid, or if the layout cannot be determined.
        ShapeError, PrecisionError, DataError: if the array is not a matrix of finite numbers, or if a direction is
            zero. The error lists the directions that are zero or not finite.
        UnknownNameError: if the file, mapping or object does not have an array of this name.

    Example:
        >>> import numpy as np
        >>> rows = np.random.default_rng(0).normal(size=(400, 100))
        >>> found = readable(rows, 8)
        >>> found.read, found.linear.most, found.sparse.most
        ('400 directions in 100 dimensions: rows of decoder', 1, 32)
    """
    level, allowed = inside("level", level, 0.0, 1.0), inside("failure", failure, 0.0, 1.0)
    active, seed = whole("active", active, 1), whole("seed", seed)
    draws, decodings = whole("draws", draws, 10), whole("decodings", decodings, 10)
    found = read_directions(decoder, directions, name)
    unit, (n, d) = found.unit, found.unit.shape
    if active > n:
        raise SettingError("active", found=active, rule=f"at most {n}, the number of directions")
    products, rank = inner_products(unit), span(unit)
    dimension = max(rank or d, 2)
    largest, smallest = products.largest, products.smallest
    coherence = max(largest[0], -smallest[0])
    most = max(active, min(n, dimension))
    sets, fewer = (orderings(n, most, count, seed) for count in (draws, decodings))
    free = rank == n  # directions are linearly independent, so any codes are recovered
    by_linear = lambda k, some: misread(unit, sets[some, :k])
    by_sparse = lambda k, some: np.zeros(len(fewer[some]), bool) if free else undecoded(unit, fewer[some, :k])
    limits = allowed, level
    ways = (
        _readout("linear readout", by_linear, active, min(n, dimension), limits,
                 float(linear_failures(np.array([active]), n, dimension)[0]), most_linear(n, dimension, allowed),
                 _certain_linear(largest[0], smallest[0], n)),
        _readout("sparse decoding", by_sparse, active, min(n, dimension), limits,
                 decoding_failure(active, n, dimension), most_decoded(n, dimension, allowed),
                 n if free else _certain_decoded(coherence, n)),
    )  # fmt: skip
    return Readability(
        found.read, n, d, dimension, active, coherence, (largest if largest[0] >= -smallest[0] else smallest)[1:],
        welch_floor(n, dimension), usual_coherence(n, dimension), largest, rankin_floor(n, dimension),
        products.square * dimension, products.repeated, *ways, allowed, level,
        _conditions(found, products, rank, ways, active),
    )  # fmt: skip


def _readout(
    name: str, fails: Callable[[int, slice], np.ndarray], active: int, limit: int, limits: tuple[float, float],
    predicted: float, most_predicted: int, certain: int,
) -> Readout:  # fmt: skip
    allowed, level = limits
    wrong = fails(active, slice(None))
    looks = range(_LOOK, len(wrong), _LOOK)
    careful = 1 - (1 - level) / (len(looks) + 1)
    limits_at = lambda own, level: share_interval(float(own.sum()), float(len(own) - own.sum()), level)
    tried: dict[int, tuple[float, tuple[float, float]]] = {}

    def share(k: int) -> float:
        """Return the share of random sets of k active features for which the readout fails.

        Stop early if the sets tried so far already show that the probability of failure is above the allowed share.
        """
        if k in tried:
            return tried[k][0]
        own, done = np.zeros(0, bool), 0
        for end in [*looks, len(wrong)]:
            own = np.concatenate([own, fails(k, slice(done, end))])
            tried[k], done = (float(own.mean()), limits_at(own, careful)), end
            if tried[k][1][0] > allowed:
                return tried[k][0]
        tried[k] = float(own.mean()), limits_at(own, level)
        return tried[k][0]

    tried[active] = float(wrong.mean()), limits_at(wrong, level)
    least = min(certain, limit)
    most = _largest(lambda k: share(k) <= allowed, least, min(max(most_predicted, least + 1), limit), limit)
    sure = reach = most
    while sure > least and (share(sure), tried[sure][1][1])[1] > allowed:
        sure = max(math.floor(sure / _DOWN), least)
    excluded = [k for k, own in tried.items() if own[1][0] > allowed and k > most]
    while not excluded and reach < limit:
        reach = min(math.ceil(reach * _DOWN) + (reach == 0), limit)
        excluded = [reach] if share(reach) > allowed and tried[reach][1][0] > allowed else []
    order, end = sorted(tried), min(excluded, default=max(limit, most) + 1) - 1
    return Readout(
        name, *tried[active], predicted, most, (sure, end), most_predicted, certain,
        np.array(order), np.array([tried[k][0] for k in order]),
    )  # fmt: skip


def _largest(holds: Callable[[int], bool], least: int, start: int, limit: int) -> int:
    """Return about the largest k up to the limit for which a condition holds.

    If the condition holds for some k, it must hold for all smaller k, and it must hold for `least`. The search begins
    near `start`.
    """
    low, high, k, factor = least, limit + 1, start, _FACTOR
    while high - low > max(1, low // _STEPS):
        low, high = (k, high) if holds(k) else (low, k)
        if low == least or high > limit:  # there is no bracket yet, so the step grows
            k = math.floor(high / factor) if high <= limit else math.ceil(low * factor)
            k, factor = min(max(k, low + 1), high - 1), factor**2
        else:
            k = (low + high) // 2
    return low


def _certain_linear(largest: float, smallest: float, n: int) -> int:
    """Return the largest number k of active features for which the linear readout never fails.

    The result is the largest k such that k times the largest inner product and -(k - 1) times the smallest inner
    product are both below 1/2.
    """
    silent = math.ceil(0.5 / (largest + _ROUNDING)) - 1 if largest > 0 else n
    missed = math.ceil(0.5 / (_ROUNDING - smallest)) if smallest < 0 else n
    return max(min(silent, missed, n), 0)


def _certain_decoded(coherence: float, n: int) -> int:
    """Return the largest k below (1 + 1/coherence)/2, for which l1 decoding never fails (Donoho and Elad 2003)."""
    return n if coherence <= 0 else min(math.ceil((1 + 1 / (coherence + _ROUNDING)) / 2) - 1, n)


def _conditions(
    found: Directions, products: InnerProducts, rank: int | None, ways: tuple[Readout, ...], active: int
) -> tuple[Condition, ...]:
    d, count = found.unit.shape[1], len(products.repeated)
    alike = [
        Condition(f"random directions predict the failures of {own.name} (difference)", own.failure - own.predicted,
                  own.interval[0] <= (1 + _MARGIN) * own.predicted and own.predicted <= (1 + _MARGIN) * own.interval[1],
                  "otherwise these directions are closer to each other, or farther apart, than random directions")
        for own in ways
    ]  # fmt: skip
    return (
        Condition("no direction is repeated", float(count), count == 0,
                  "no readout can distinguish repeated directions"),
        Condition("directions span all dimensions", None if rank is None else float(rank),
                  None if rank is None else rank >= min(found.unit.shape),
                  "the predictions use the dimension of their span instead"),
        Condition("directions have equal lengths (longest over shortest)", found.ratio, found.ratio <= _ONE_LENGTH,
                  "lemmata scaled them to length 1"),
        *alike,
        Condition("at least 128 dimensions, for the prediction of the linear readout", float(d), d >= 128,
                  "with fewer, the prediction is less exact"),
        Condition("at least 10 active features, for the prediction of sparse decoding", float(active), active >= 10,
                  "with fewer, the prediction is less exact"),
        Condition("active features are a random set", None, None,
                  "features that occur together may be closer to each other"),
        Condition("active features have equal codes, and their sum contains no noise", None, None,
                  "the linear readout assumes equal codes, and both assume no noise"),
    )  # fmt: skip
