"""The share of wrong labels, and the probability that each label is wrong, from a fit to leave-one-out outputs.

Let q_i = softmax(f_i / T), where f_i are the outputs at row i of a model that has not seen row i. Suppose that a share
e of the labels was replaced by another class at random. Then the label of row i is k with probability (1 - e) q_ik + e
(1 - q_ik)/(C - 1). The share e and the temperature T are fitted by maximum likelihood. By Bayes' rule, the label k of
row i is then wrong with probability e (1 - q_ik)/(C - 1) divided by the probability of this label.
"""

import dataclasses
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import optimize, stats
from scipy.special import softmax

from lemmata.errors import ShapeError

_SHARES = np.concatenate([[0.0], np.geomspace(1e-3, 0.9, 60)])
_TEMPERATURES = (-3.0, 4.0)
_FEWEST = 5  # the least number of shares in the interval; with fewer, the grid is made finer around the interval
_ENOUGH = 20_000
"""The share of wrong labels and the temperature are fitted to at most this number of rows."""


@dataclasses.dataclass(frozen=True)
class LabelDoubts:
    """The share of wrong labels, and the probability that each label is wrong.

    Args:
        share: the most likely share e of wrong labels.
        low, high: the least and the largest share that a likelihood-ratio test at 5 % does not reject.
        evidence: the log likelihood at `share` minus the log likelihood at share 0, each with its own fitted
            temperature.
        wrong: the probability that the label of each row is wrong.
        own: q_i at the label of each row, which ranks the rows even if the fitted share is 0.
        fitted: the number of rows, drawn at random, to which the share, its limits and the temperature were fitted.
    """

    share: float
    low: float
    high: float
    evidence: float
    wrong: Float[np.ndarray, " n"]
    own: Float[np.ndarray, " n"]
    fitted: int

    def area(self, planted: Bool[np.ndarray, " n"]) -> float:
        """Return the probability that a planted wrong label has a smaller q_i (`own`) than another label.

        Ties count half.

        Raises:
            ShapeError: if all rows are planted, or none, or there is not one entry for each row.
        """
        if planted.shape != self.wrong.shape or planted.all() or not planted.any():
            found, rule = (
                f"{int(planted.sum())} of {planted.size}",
                f"at least one row, but not all of the {self.wrong.size} rows",
            )
            raise ShapeError("planted", found=found, rule=rule)
        places = stats.rankdata(-self.own)[planted]
        count = int(planted.sum())
        return float((places.sum() - count * (count + 1) / 2) / (count * (planted.size - count)))


def label_doubts(f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"]) -> LabelDoubts:
    """Estimate how many and which labels are wrong, from outputs of models that have not seen the row.

    Args:
        f: the logits at each row, from a model that has not seen this row, as from `leave_one_out`.
        y: the labels, one-hot rows.

    Raises:
        ShapeError: if the numbers of labels and rows differ, or there are fewer than two classes.

    >>> f = np.repeat([[1.0, 0.0], [6.0, 0.0]], 20, axis=0)
    >>> y = np.eye(2)[[0] * 15 + [1] * 5 + [0] * 19 + [1]]  # a quarter wrong where the model doubts, and the last row
    >>> doubts = label_doubts(f, y)
    >>> 0.02 < doubts.share < 0.1, int(doubts.wrong.argmax())
    (True, 39)
    """
    if f.shape != y.shape or f.ndim != 2 or f.shape[1] < 2:
        raise ShapeError(
            "labels", found=f"shape {y.shape}", rule=f"one-hot rows, with the shape of the outputs, {f.shape}"
        )

    few = slice(None)
    if len(f) > _ENOUGH:
        few = np.random.default_rng(len(f)).choice(len(f), _ENOUGH, replace=False)
    part_f, part_y = f[few], y[few]

    def profile(share: float) -> tuple[float, float]:
        """Return the largest log likelihood at a share, over all temperatures T, and log T at this maximum."""
        loss = lambda slope: -float(np.log(_likelihoods(part_f, part_y, slope, share)[2]).sum())
        found: optimize.OptimizeResult = optimize.minimize_scalar(loss, bounds=_TEMPERATURES, method="bounded")  # pyright: ignore
        return -float(found.fun), float(found.x)

    shares, values, slopes = _profiled(_SHARES, profile)
    inside = _kept(values)
    if len(inside) < _FEWEST and values.argmax() > 0:  # the interval is narrower than the steps of the grid
        ends = shares[max(inside[0] - 1, 0)], shares[min(inside[-1] + 1, len(shares) - 1)]
        around = np.geomspace(max(ends[0], shares[1] / 10), ends[1], len(shares))
        finer = zip((shares, values, slopes), _profiled(around, profile), strict=True)
        shares, values, slopes = (np.append(coarse[0], fine) for coarse, fine in finer)
    best = int(values.argmax())
    inside = _kept(values)
    own, other, whole = _likelihoods(f, y, slopes[best], float(shares[best]))
    ends = float(shares[inside[0]]), float(shares[inside[-1]])
    return LabelDoubts(float(shares[best]), *ends, float(values[best] - values[0]), other / whole, own, len(part_f))


def _profiled(
    shares: Float[np.ndarray, " g"], profile: Callable[[float], tuple[float, float]]
) -> tuple[Float[np.ndarray, " g"], Float[np.ndarray, " g"], Float[np.ndarray, " g"]]:
    """Return the shares, the largest log likelihood at each share, and log T at this maximum."""
    found = np.array([profile(float(share)) for share in shares])
    return shares, found[:, 0], found[:, 1]


def _kept(values: Float[np.ndarray, " g"]) -> Int[np.ndarray, " k"]:
    """Return the indices of the shares that a likelihood-ratio test at 5 % does not reject."""
    return np.flatnonzero(values >= values.max() - stats.chi2.ppf(0.95, 1) / 2)


def _likelihoods(
    f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"], slope: float, share: float
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Return for each row: q_i at its label, and the probability of this label, as a wrong label and in total."""
    q = (softmax(f * np.exp(-slope), axis=1) * y).sum(1)
    other = share * (1 - q) / (f.shape[1] - 1)
    return q, other, np.maximum((1 - share) * q + other, 1e-300)
