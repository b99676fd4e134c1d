"""Fit rewards to comparisons by the Bradley-Terry model, or by Davidson's model if there are ties."""

import dataclasses
from collections.abc import Hashable, Iterable, Mapping, Set
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats
from scipy.special import expit, xlogy

from lemmata.answers import Condition, inside
from lemmata.core import array_of, missing_in
from lemmata.errors import DataError, UnknownNameError

from ._comparison_graph import bradley_terry, davidson, information, outcomes, separated_part, ties_are_bounded

_CLAIMS = (
    "preferences.comparisons.bradley_terry_existence",
    "preferences.comparisons.reward_risk",
    "preferences.ambiguity.fitted_rewards_order_by_borda",
)
_SHOWN, _EXPECTED = 6, 5.0


@dataclasses.dataclass(frozen=True, eq=False)
class Rewards:
    """Rewards fitted to comparisons. Only differences of rewards have a meaning, and the mean reward is 0.

    Args:
        items: the items that were compared.
        reward: the reward of each item, in logits. If items i and j do not tie, i beats j with probability 1/(1 +
            exp(r_j - r_i)).
        interval: the confidence interval of each reward minus the mean reward, shape (k, 2).
        covariance: the covariance of the rewards, which is the pseudo-inverse of their Fisher information.
        borda: the share of comparisons that each item wins, averaged over the items that it was compared with. A tie
            counts as half a win.
        deviance: twice the log likelihood of a model with a free probability for each pair, minus twice the log
            likelihood of the rewards.
        freedom: the number of compared pairs minus (k - 1) for k items. With ties, twice the number of compared pairs,
            minus k. If the model is true and there are many comparisons, the deviance approximately has a chi-squared
            distribution with these degrees of freedom.
        p_value: the probability of a deviance at least as large if the model is true. The p-value is small if
            preferences are intransitive, or deviate from rewards for other reasons. NaN if `freedom` is 0.
        worst: the pair that deviates most from the model, the share of its comparisons that the first item won, and the
            predicted probability of such a win.
        level: the confidence level of the intervals.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
        tie: the probability that two items of equal rewards tie, and the ends of its confidence interval; (0, NaN, NaN)
            without ties.
    """

    items: tuple[Hashable, ...]
    reward: Float[np.ndarray, " k"]
    interval: Float[np.ndarray, "k 2"]
    covariance: Float[np.ndarray, "k k"]
    borda: Float[np.ndarray, " k"]
    deviance: float
    freedom: int
    p_value: float
    worst: tuple[Hashable, Hashable, float, float]
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS
    tie: tuple[float, float, float] = (0.0, float("nan"), float("nan"))

    def outcomes(self, first: Hashable, second: Hashable) -> tuple[float, float, float]:
        """Return the probabilities that the first item wins, that the two items tie, and that the second item wins.

        Args:
            first: the name of an item.
            second: the name of another item.

        Raises:
            UnknownNameError: if an item was not compared.
        """
        pair = self.reward[[self._index(first), self._index(second)]]
        win, tie = outcomes(pair, _log_nu(self.tie[0]))
        return float(win[0, 1]), float(tie[0, 1]), float(win[1, 0])

    def probability(self, first: Hashable, second: Hashable) -> tuple[float, float, float]:
        """Return the probability that the first item beats the second if they do not tie, and the ends of its interval.

        Args:
            first: the name of an item.
            second: the name of another item.

        Raises:
            UnknownNameError: if an item was not compared.
        """
        i, j = self._index(first), self._index(second)
        gap = self.reward[i] - self.reward[j]
        variance = self.covariance[i, i] + self.covariance[j, j] - 2 * self.covariance[i, j]
        half = stats.norm.ppf((1 + self.level) / 2) * np.sqrt(max(variance, 0.0))
        return float(expit(gap)), float(expit(gap - half)), float(expit(gap + half))

    def _index(self, item: Hashable) -> int:
        if item not in self.items:
            raise UnknownNameError(f"item {item!r}", rule=f"one of {_listed(self.items)}")
        return self.items.index(item)


def fit_rewards(comparisons: Iterable[Any], *, ties: Iterable[Any] = (), level: float = 0.95) -> Rewards:
    """Fit Bradley-Terry rewards to pairs (winner, loser), with confidence intervals. With ties, fit Davidson's model.

    In Davidson's model (1970), a win, a loss and a tie between items with rewards r_i and r_j have probabilities in
    the ratio

        exp((r_i - r_j) / 2) : exp((r_j - r_i) / 2) : nu.

    The number nu > 0 determines the frequency of ties. The comparisons that are not ties follow the Bradley-Terry
    model, and items tie most often if their rewards are equal. Rewards and nu maximise the likelihood jointly. A tie
    moves the two fitted rewards towards each other.

    The fit exists and is unique exactly if chains of wins lead from every item to every other item. The function checks
    this condition first. In such a chain, a tie counts as a win in both directions. With ties, some cycle of items must
    also have more wins than ties, for example two items that have beaten each other.

    The intervals use the covariance of the fitted rewards. Let m_ij be the number of comparisons of items i and j, and
    let p_ij be the probability that i beats j. Let L be the Laplacian of the graph whose nodes are the items and whose
    edge between i and j has the weight m_ij p_ij p_ji. For many comparisons, the covariance of the rewards is the
    pseudo-inverse of L. The result also has the Borda scores, which have the same order as the rewards if all pairs are
    compared equally often. The p-value in the result tests whether any rewards explain the comparisons.

    Args:
        comparisons: pairs (winner, loser) of names or numbers, one for each comparison, or an array or a
            data frame of shape (m, 2).
        ties: pairs of items that were compared without a winner, in the same form, in any order.
        level: the confidence level of the intervals.

    Raises:
        DataError: if the input has another form, such as a dictionary of counts or sets of items, if an entry is masked
            or missing, if an item is compared with itself, or if chains of wins do not lead from every item to every
            other item. The last message names the unconnected part. With ties, this error is also raised if no cycle
            has more wins than ties.
        SettingError: if the level is outside (0, 1).

    Example:
        >>> from lemmata.subjects.preferences import fit_rewards
        >>> games = [("a", "b")] * 30 + [("b", "a")] * 10 + [("b", "c")] * 30 + [("c", "b")] * 10
        >>> found = fit_rewards(games + [("a", "c")] * 36 + [("c", "a")] * 4)
        >>> found.items, round(float(found.reward[0] - found.reward[2]), 3), found.borda.round(3).tolist()
        (('a', 'b', 'c'), 2.197, [0.825, 0.5, 0.175])
        >>> found.interval.round(2).tolist()
        [[0.7, 1.5], [-0.34, 0.34], [-1.5, -0.7]]
        >>> round(found.p_value, 3), [round(value, 3) for value in found.probability("a", "c")]
        (1.0, [0.9, 0.814, 0.949])
        >>> ties = [("a", "b")] * 20 + [("c", "b")] * 20
        >>> found = fit_rewards(games + [("a", "c")] * 36 + [("c", "a")] * 4, ties=ties)
        >>> [round(value, 3) for value in found.outcomes("a", "b")], round(found.tie[0], 3)
        ([0.569, 0.27, 0.161], 0.308)
    """
    level = inside("level", level, 0.0, 1.0)
    pairs, tied = _pairs(comparisons, "comparison"), _pairs(ties, "tie")
    if not pairs:
        rule, remedy = f"at least two {_RULES['comparison']}", f"call {_REMEDY}"
        raise DataError("comparisons", found="ties alone" if tied else "no comparison", rule=rule, remedy=remedy)
    items = _items(pairs + tied)
    wins, draws = _counted(pairs, items), _counted(tied, items)
    draws = draws + draws.T
    _check_connected(wins, draws, items)
    rewards, log_nu = davidson(wins, draws) if tied else (bradley_terry(wins), -np.inf)
    games = wins + wins.T + draws
    win, tie = outcomes(rewards, log_nu)
    covariance, tie_variance = _covariances(games, win, tie)
    quantile = stats.norm.ppf((1 + level) / 2)
    half = quantile * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    met = games > 0
    share = np.divide(wins + draws / 2, games, out=np.zeros(wins.shape), where=met)
    deviance, freedom, rarest = _against_saturated(wins, draws, win, tie)
    reach = quantile * np.sqrt(tie_variance)
    share_of_ties, low, high = expit(log_nu - np.log(2) + np.array([0.0, -reach, reach])).tolist()
    return Rewards(
        items=items,
        reward=rewards,
        interval=np.stack([rewards - half, rewards + half], axis=1),
        covariance=covariance,
        borda=share.sum(axis=1) / met.sum(axis=1),
        deviance=deviance,
        freedom=freedom,
        p_value=float(stats.chi2.sf(deviance, freedom)) if freedom > 0 else float("nan"),
        worst=_worst(items, wins, games, win, tie),
        level=level,
        conditions=_conditions(games, rarest, freedom),
        tie=(share_of_ties, low, high) if tied else (0.0, float("nan"), float("nan")),
    )


def _log_nu(tie: float) -> float:
    """Return log nu, given the probability nu / (nu + 2) that two items of equal rewards tie."""
    return float(np.log(2 * tie / (1 - tie))) if tie > 0 else -np.inf


def _counted(pairs: list[tuple[Hashable, Hashable]], items: tuple[Hashable, ...]) -> np.ndarray:
    """Return the number of occurrences of each pair. The row is the first item, and the column the second item."""
    index = {item: number for number, item in enumerate(items)}
    counts = np.zeros((len(items), len(items)), int)
    np.add.at(counts, ([index[first] for first, _ in pairs], [index[second] for _, second in pairs]), 1)
    return counts


def _covariances(games: np.ndarray, win: np.ndarray, tie: np.ndarray) -> tuple[Float[np.ndarray, "k k"], float]:
    """Return the covariance of the rewards and the variance of ln nu. The variance is NaN without ties."""
    items = len(games)
    own, mixed, last = information(games, win, tie)
    profile = own - np.outer(mixed, mixed) / last if last > 0 else own
    lift = np.trace(profile) / items**2
    covariance = np.linalg.inv(profile + lift) - 1 / (lift * items**2)
    return covariance, (1 + mixed @ covariance @ mixed / last) / last if last > 0 else float("nan")


_RULES = {"comparison": "pairs (winner, loser)", "tie": "pairs of items that tied"}
_REMEDY = 'fit_rewards([("a", "b"), ("b", "a")]), or an array of shape (m, 2)'


def _pairs(comparisons: Iterable[Any], what: str) -> list[tuple[Hashable, Hashable]]:
    rule, remedy = _RULES[what], f"call {_REMEDY}"
    if isinstance(comparisons, str) or not isinstance(comparisons, Iterable):
        raise DataError(f"{what}s", found=f"a {type(comparisons).__name__}", rule=rule, remedy=remedy)
    if isinstance(comparisons, Mapping):
        # Iteration would give each pair once, whatever its count.
        remedy = "repeat each pair n times: [pair for pair, n in counts.items() for _ in range(n)]"
        raise DataError(f"{what}s", found=f"a {type(comparisons).__name__}", rule=rule, remedy=remedy)
    if isinstance(comparisons, np.ndarray) or hasattr(comparisons, "columns"):
        comparisons = array_of(f"{what}s", comparisons).tolist()
    pairs = []
    for number, row in enumerate(comparisons):
        row = array_of(f"{what} {number}", row).tolist() if np.ma.isMaskedArray(row) else row
        unordered = isinstance(row, str | bytes | Set | Mapping)
        if unordered or not hasattr(row, "__len__") or len(row) != 2:
            raise DataError(f"{what} {number}", found=repr(row), rule=rule, remedy=remedy)
        winner, loser = row
        for item in (winner, loser):
            if not isinstance(item, Hashable) or _is_missing(item):
                raise DataError(f"{what} {number}", found=repr(row), rule="names or numbers, and none of them NaN")
        if winner == loser:
            rule = "two different items"
            raise DataError(f"{what} {number}", found=repr(row), rule=rule, remedy=f"leave this {what} out")
        pairs.append((winner, loser))
    return pairs


def _is_missing(item: Hashable) -> bool:
    """Return whether an item is NaN, NaT, or pandas' NA, or a masked entry. None may be the name of an item."""
    return item is np.ma.masked or (item is not None and missing_in(np.array([item, None], dtype=object)) == 2)


def _items(pairs: list[tuple[Hashable, Hashable]]) -> tuple[Hashable, ...]:
    """Return the items in sorted order if they can be sorted, and otherwise in the order of their first appearance."""
    items = dict.fromkeys(item for pair in pairs for item in pair)
    try:
        return tuple(sorted(items))  # pyright: ignore[reportArgumentType]
    except TypeError:
        return tuple(items)


def _listed(items: tuple[Hashable, ...] | list[Hashable]) -> str:
    shown = ", ".join(repr(item) for item in list(items)[:_SHOWN])
    return f"{{{shown}{', ...' if len(items) > _SHOWN else ''}}}"


def _check_connected(wins: np.ndarray, ties: np.ndarray, items: tuple[Hashable, ...]) -> None:
    found = separated_part(wins + ties)
    if found is not None:
        inside, count, compared = found
        part = _listed([item for item, within in zip(items, inside, strict=True) if within])
        rest = _listed([item for item, within in zip(items, inside, strict=True) if not within])
        beat = "beat or tied with" if ties.any() else "beat"
        said = (
            f"no item of {part} ever {beat} an item of {rest}"
            if compared
            else f"no comparison joins {part} with {rest}"
        )
        raise DataError(
            "comparisons",
            found=f"{count} groups of items: {said}",
            rule="a chain of wins from every item to every other item; otherwise some rewards are infinitely far apart "
            "or unknown",
            remedy="compare more items of different groups, or fit each group separately",
        )
    if ties.any() and not ties_are_bounded(wins, ties):
        raise DataError(
            "comparisons",
            found="no cycle of items has more wins than ties",
            rule="at least one such cycle, for example two items that have beaten each other; otherwise the fitted "
            "probability of ties tends to 1",
            remedy="make more comparisons, or leave out `ties`",
        )


def _against_saturated(
    wins: np.ndarray, ties: np.ndarray, win: np.ndarray, tie: np.ndarray
) -> tuple[float, int, float]:
    """Return the deviance between the fitted rewards and a model with a free probability for each pair. Also return the
    degrees of freedom and the least expected count of an outcome.
    """
    games = wins + wins.T + ties
    met, pairs = games > 0, int((games > 0).sum()) // 2
    expected, even = games * win, games * tie
    ratio = np.divide(wins, expected, out=np.ones(wins.shape), where=met)
    deviance = 2 * np.sum(xlogy(wins, ratio))
    freedom, rarest = pairs - len(games) + 1, expected[met].min()
    if ties.any():
        ratio = np.divide(ties, even, out=np.ones(ties.shape), where=met)
        deviance += np.sum(xlogy(ties, ratio))
        freedom, rarest = 2 * pairs - len(games), min(rarest, even[met].min())
    return max(float(deviance), 0.0), freedom, float(rarest)


def _worst(
    items: tuple[Hashable, ...], wins: np.ndarray, games: np.ndarray, chance: np.ndarray, tie: np.ndarray
) -> tuple[Hashable, Hashable, float, float]:
    spread = np.sqrt(np.maximum(games * chance * (chance.T + tie), 1e-300))
    score = np.where(games > 0, (wins - games * chance) / spread, -np.inf)
    i, j = np.unravel_index(int(np.argmax(score)), score.shape)
    return items[i], items[j], float(wins[i, j] / games[i, j]), float(chance[i, j])


def _conditions(games: np.ndarray, rarest: float, freedom: int) -> tuple[Condition, ...]:
    met = games[games > 0]
    least = float(met.min() / met.max())
    even = least == 1.0 and len(met) == len(games) * (len(games) - 1)
    return (
        Condition(
            "groups of items within which chains of wins lead from every item to every other",
            1.0,
            True,
            "with one group, the fit exists and is unique",
        ),
        Condition(
            "smallest expected number of wins of one item over another",
            rarest,
            rarest >= _EXPECTED,
            "the intervals and the test are accurate if it is large",
        ),
        Condition(
            "number of compared pairs minus the number that the rewards need",
            float(freedom),
            freedom > 0,
            "at 0 the model cannot be tested",
        ),
        Condition(
            "ratio of the smallest to the largest number of comparisons per pair",
            least,
            even,
            "if every pair is compared equally often, rewards and Borda scores have the same order",
        ),
        Condition("comparisons are independent", why="comparisons by the same person are not independent"),
    )
