"""Turn losses on splits into a learning curve with standard errors that hold for new rows, groups and times."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float
from scipy import stats

from ._data import Dataset
from ._metrics import Metric
from ._row_losses import wrong

NORMAL_90 = 1.645
FEW = 5.0
"""Below this number of errors, a share is measured by exact binomial bounds instead of its standard error."""
SURE = 0.05
"""A classifier significantly beats guessing if the exact sign test has at most this p-value."""
WILD, WILDER = 10.0, 20.0
"""Two limits for the ratio of the model's loss to the loss of guessing. A split with a ratio above both is left out.

The first limit is a number. The second limit is a multiple of the median ratio over the splits.
"""
MOST_WILD, SQUARES = 0.2, 0
"""If more than this share of the splits would be left out, no split is: so many failures are not an accident.

Fits are judged by the squared error. `SQUARES` is its position among the metrics of numbers."""


@dataclasses.dataclass(frozen=True)
class Split:
    """The losses of a model on one split.

    Args:
        trained, held: the numbers of training rows and of held-out rows.
        means: for each metric, the mean loss on the held-out rows.
        variances: for each metric, the variance of the losses of held-out rows.
        guessed: for each metric, the mean loss of guessing, which predicts the same for every row. The guess is learned
            from the whole table or, if rows are ordered in time, from all earlier rows.
        slope: for each metric, the slope of the least-squares fit of a row's loss to the loss of guessing on this row.
        gain: for each metric, the mean and the variance over rows of the model's loss minus the loss of guessing.
        learns: whether the model learned anything (`Fit.learns`).
        largest: for each metric, the largest loss of a held-out row.
        certain: whether the model predicts classes without probabilities.
        seconds: the seconds that the fit and the predictions took.
        fitted: for each metric, the mean loss on the training rows, if it was requested.
        members, counts: if rows have groups, the groups of the held-out rows, and the number of rows of each group.
        sums: for each metric, the sum of the losses in each of these groups.
    """

    trained: int
    held: int
    means: Float[np.ndarray, " metrics"]
    variances: Float[np.ndarray, " metrics"]
    guessed: Float[np.ndarray, " metrics"]
    slope: Float[np.ndarray, " metrics"]
    gain: Float[np.ndarray, "2 metrics"]
    learns: bool
    largest: Float[np.ndarray, " metrics"]
    members: np.ndarray | None = None
    counts: np.ndarray | None = None
    sums: Float[np.ndarray, "metrics groups"] | None = None
    certain: bool = False
    seconds: float = math.nan
    fitted: Float[np.ndarray, " metrics"] | None = None


@dataclasses.dataclass(frozen=True)
class Losses:
    """The loss of one model at growing numbers of training rows.

    Args:
        sizes: the numbers of training rows at which the model was measured.
        mean: the mean loss on held-out rows. For a tiny share of errors, it is (errors + 1/2) / (rows + 1).
        se: the standard error of the mean as a statement about new rows. The standard error is computed from the spread
            over splits and from the number of different rows in the measurement. With few groups or stretches of time,
            Student's t makes it larger.
        splits: the number of splits of each size. The number is 0 if a kernel was measured on all rows, with an exact
            formula for leaving out each fold; in regression, a fold is one row.
        shared: the relative standard error that all sizes have in common, because all sizes are measured on rows of one
            table.
        seen: the measured mean loss at each size. At a size with few errors, `mean` differs from it (see `mean`). None
            means that both are equal at all sizes.
        least, greatest: exact 90 % bounds of the loss at the last size if errors are few; 0 and infinity otherwise.
        tail: for targets of numbers, the largest loss of a row, group or stretch at the last size, divided by the sum
            of the losses.
        gain: the upper end (95 %) of the model's loss minus the loss of guessing, at the largest size, on the same
            rows. If rows are ordered in time, the two losses are compared on the same stretches. With groups, `gain` is
            nan.
        paired: for each size, the losses of its splits. All models have the same splits. If rows are ordered in time,
            all sizes also have the same stretches.
        rows: the number of different rows that were held out at the last size. If rows have groups, the number of
            different groups. nan if unknown.
    """

    sizes: Float[np.ndarray, " s"]
    mean: Float[np.ndarray, " s"]
    se: Float[np.ndarray, " s"]
    splits: tuple[int, ...]
    shared: float = 0.0
    seen: Float[np.ndarray, " s"] | None = None
    least: float = 0.0
    greatest: float = math.inf
    tail: float = 0.0
    gain: float = math.nan
    paired: tuple[Float[np.ndarray, " _"], ...] = ()
    rows: float = math.nan

    @property
    def measured(self) -> Float[np.ndarray, " s"]:
        """The measured mean loss at each size."""
        return self.mean if self.seen is None else self.seen


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """The splits of one size in which a fit broke down.

    Args:
        worst: the largest ratio, over these splits, of the model's mean squared error to that of guessing. The guess is
            the same number for every row (`Split.guessed`).
        splits: the number of these splits.
        of: the number of all splits of this size.
        rows: the number of training rows in these splits.
    """

    worst: float
    splits: int
    of: int
    rows: int

    def __str__(self) -> str:
        return (
            f"had up to {self.worst:,.0f} times the squared error of guessing in {self.splits} of {self.of} splits "
            f"with {self.rows:,} rows"
        )


def say_left_out(found: dict[str, LeftOut]) -> list[str]:
    """Return a sentence about the splits that were left out of the learning curves of these models.

    The keys of `found` are the titles of the models.
    """
    if not found:
        return []
    if len(found) == 1:
        return [
            f"{title} {own}. The study leaves these splits out of this model's curve, and does not call the model "
            "significantly better than guessing."
            for title, own in found.items()
        ]
    worst = max(found, key=lambda title: found[title].worst)
    rows = sorted({own.rows for own in found.values()})
    sizes = f"{rows[0]:,}" if len(rows) == 1 else f"{rows[0]:,} to {rows[-1]:,}"
    return [
        f"The fits of {len(found)} models broke down in a few splits with {sizes} rows: {'; '.join(found)}. The study "
        "leaves these splits out of the models' curves, and calls none of these models significantly better than "
        f"guessing. In the worst case, {worst} {found[worst]}."
    ]


def curve_of(
    fitted: list[list[Split]], metric: int, total: int, dataset: Dataset, unit: Metric, baseline: float | None = None
) -> tuple[Losses, LeftOut | None]:
    """Return the learning curve of a metric, and the splits of one size that were left out (None without such splits).

    A split in which the metric has no value is left out. For example, a split with only one class has no AUC. For
    numbers, a split is also left out if the ratio of the model's squared error to that of guessing is above ten and
    above twenty times the median ratio over the splits. In such a split, the fit broke down. A heavy tail of the target
    cannot explain so large a ratio, because a heavy tail raises the loss of guessing as well.

    Models are measured on different numbers of splits, and so on different held-out rows. If the splits of a model lack
    the rows with the largest targets, its mean loss is too small in comparison with other models. But on these rows the
    loss of guessing is also too small, and its mean over the whole table is known. So a regression of the model's loss
    on the loss of guessing corrects the mean loss.

    Args:
        fitted: for each size, the results of its splits.
        metric: the position of the metric among the metrics of the table.
        total: N, the number of rows.
        dataset: the table, which shows how rows depend on each other.
        unit: the metric.
        baseline: the mean loss of guessing over all rows; None for an AUC and other scores that are not a mean over
            rows.
    """
    sizes, means, errors, numbers, seen, paired, said = [], [], [], [], [], [], None
    shared, bounds, tail, gain, rows = 0.0, (0.0, math.inf), 0.0, math.nan, math.nan
    independent = dataset.order is None and dataset.groups is None
    for splits in fitted:
        splits = [own for own in splits if math.isfinite(own.means[metric])]
        kept = _tame(splits, SQUARES) if unit.task == "regression" else splits
        if not kept:
            continue
        if len(kept) < len(splits):
            worst = _ratios(splits, SQUARES).max()
            said = LeftOut(worst, len(splits) - len(kept), len(splits), splits[0].trained)
        mean, error, rows, tail = _of_size(kept, metric, total, dataset, baseline if independent else None)
        value, error, bounds = bounded(mean, error, rows, dataset, unit)
        sizes.append(float(np.mean([own.trained for own in kept])))
        means.append(value)
        seen.append(mean)
        errors.append(error)
        numbers.append(len(kept))
        paired.append(np.array([own.means[metric] for own in splits]))
        gain = _gain(kept, metric, total, unit) if independent else math.nan
        if dataset.order is not None:
            gain = _gain_in_time(kept, metric)
        common = _common(kept, metric, total, error, dataset)
        shared = common / value if value > 0 else 0.0
    return Losses(
        np.array(sizes), np.array(means), np.array(errors), tuple(numbers), shared, np.array(seen), *bounds,
        tail if unit.tailed else 0.0, gain, tuple(paired),
        rows,
    ), said  # fmt: skip


def _ratios(splits: list[Split], metric: int) -> Float[np.ndarray, " splits"]:
    """Divide each split's loss by the loss of guessing on its rows, or by the median of these if it is larger."""
    guessed = np.array([own.guessed[metric] for own in splits])
    return np.array([own.means[metric] for own in splits]) / np.maximum(guessed, max(np.median(guessed), 1e-300))


def _tame(splits: list[Split], metric: int) -> list[Split]:
    ratios = _ratios(splits, metric)
    if len(splits) < 3:
        return splits
    wild = (ratios > WILD) & (ratios > WILDER * np.median(ratios))
    if wild.mean() > MOST_WILD:
        return splits
    return [own for own, out in zip(splits, wild, strict=True) if not out]


def _adjusted(splits: list[Split], metric: int, baseline: float | None) -> Float[np.ndarray, " splits"]:
    """Return estimates of the mean losses on the rows of the whole table.

    The estimates are regression estimates, with the loss of guessing as control variate.
    """
    means = np.array([own.means[metric] for own in splits])
    if baseline is None:
        return means
    slope = float(np.mean([own.slope[metric] for own in splits]))
    apart = np.array([own.guessed[metric] for own in splits]) - baseline
    return np.maximum(means - slope * apart, means / 10)


def _of_size(
    splits: list[Split], metric: int, total: int, dataset: Dataset, baseline: float | None
) -> tuple[float, float, float, float]:
    """Return the mean, its standard error, the number of independent rows, and the largest row's share of the sum.

    The variance between splits is the variance from training sets plus the variance v/m from m held-out rows, where v
    is the variance over rows. The variance of the mean over R splits also has two parts. The first part is divided by
    R. The second part is v divided by the number of independent rows, which is min(R m, N) for a table of N rows.
    """
    number, held = len(splits), float(np.mean([own.held for own in splits]))
    means = _adjusted(splits, metric, baseline)
    if dataset.order is not None:
        share = float(means.max() / max(means.sum(), 1e-300))
        return float(means.mean()), _of_stretches(means), float(min(number * held, total)), share
    if dataset.groups is not None and splits[0].sums is not None:
        return _of_groups(splits, metric)
    rows = float(np.mean([own.variances[metric] for own in splits]))
    between = float(means.var(ddof=1)) if number > 1 else 0.0
    trained = max(between - rows / held, 0.0)
    different = float(min(number * held, total))
    mean, largest = float(means.mean()), max(float(own.largest[metric]) for own in splits)
    share = min(largest / (different * mean), 1.0) if mean > 0 else 0.0
    return mean, math.sqrt(trained / number + rows / different), different, share


def _of_stretches(means: Float[np.ndarray, " splits"]) -> float:
    """Return the standard error of the mean over stretches of time, by Student's t.

    The standard error is that of a forecast: of the difference between the observed mean and the mean of equally many
    future stretches. Both means vary, so the variance is twice that of the observed mean. Neighbouring stretches are
    similar, so a standard error from single stretches would be too small. Therefore the stretches are averaged in pairs
    (batch means).
    """
    means = _in_pairs(means)
    spread = float(means.std(ddof=1)) if len(means) > 1 else float(means[0])
    return spread * math.sqrt(2 / len(means)) * _student(len(means))


def _in_pairs(means: Float[np.ndarray, " splits"]) -> Float[np.ndarray, " pairs"]:
    """Return the means of pairs of neighbouring stretches, if there are at least six stretches."""
    parts = np.array_split(means, len(means) // 2) if len(means) >= 6 else means[:, None]
    return np.array([part.mean() for part in parts])


def _gain_in_time(splits: list[Split], metric: int) -> float:
    """Return the upper end (95 %) of the model's loss minus the loss of guessing, as a mean over stretches of time.

    All rows of a stretch are forecast by one fit to the rows before the stretch. So each stretch counts once, whatever
    its number of rows.
    """
    apart = _in_pairs(np.array([own.means[metric] - own.guessed[metric] for own in splits]))
    if len(apart) < 2:
        return math.inf
    return float(apart.mean()) + NORMAL_90 * _student(len(apart)) * float(apart.std(ddof=1)) / math.sqrt(len(apart))


def _of_groups(splits: list[Split], metric: int) -> tuple[float, float, float, float]:
    """Return the results of `_of_size`, but with the standard error from the spread between groups, by Student's t."""
    held = [own for own in splits if own.members is not None and own.counts is not None and own.sums is not None]
    parts = [(own.members, own.counts, own.sums[metric]) for own in held if own.sums is not None]
    members, rows, losses = (np.concatenate([part[k] for part in parts]) for k in range(3))  # pyright: ignore
    names, place = np.unique(members, return_inverse=True)
    sums, counts = np.bincount(place, losses), np.bincount(place, rows)
    mean = float(sums.sum() / counts.sum())
    apart = sums - mean * counts
    groups = len(names)
    effective = float(counts.sum() ** 2 / (counts**2).sum())
    error = math.sqrt(float((apart**2).sum()) * groups / max(groups - 1, 1)) / counts.sum()
    return mean, error * _student(effective), float(groups), float(sums.max() / max(sums.sum(), 1e-300))


def _gain(splits: list[Split], metric: int, total: int, unit: Metric) -> float:
    """Return the upper end of the model's loss minus the loss of guessing, from the held-out rows of some splits."""
    means = np.array([own.gain[0, metric] for own in splits])
    squares = np.array([own.gain[1, metric] for own in splits]) + means**2
    different = min(len(splits) * float(np.mean([own.held for own in splits])), total)
    variance = float(np.mean([own.gain[1, metric] for own in splits]))
    return upper_gain(float(means.mean()), variance, float(squares.mean()), different, unit)


def upper_gain(mean: float, variance: float, square: float, rows: float | int, unit: Metric) -> float:
    """Return the upper end (95 %) of the model's loss minus the loss of guessing on the same rows.

    For the error rate of classes, the upper end is one standard error above the mean. An upper end below 0 is set to 0
    unless McNemar's test is significant. McNemar's test is the sign test on the rows where only the model or only the
    guess is wrong. The reason: suppose that a model differs from guessing in only two rows. Then the standard error of
    the difference is tiny, although two rows do not show that the model is better.

    Args:
        mean: the mean over rows of the difference of the two losses.
        variance: the variance of these differences.
        square: the mean of their squares.
        rows: the number of rows.
        unit: the metric.
    """
    error = math.sqrt(variance / rows)
    if unit.rows is not wrong:
        return mean + NORMAL_90 * error
    apart = rows * square
    worse = (apart + rows * mean) / 2
    return mean + error if _sign_test(worse, apart) <= SURE else max(mean + error, 0.0)


def _sign_test(worse: float, apart: float) -> float:
    """Return the probability that at most `worse` of `apart` rows are worse, if each is equally likely to be better.

    Both numbers may lie between whole numbers.
    """
    worse, apart = max(worse, 0.0), max(apart, 0.0)
    return float(stats.beta.cdf(0.5, max(apart - worse, 1e-9), worse + 1))


def _student(number: float | int) -> float:
    """Return the width of Student's 90 % interval for the mean of `number` values, divided by the normal width."""
    return float(stats.t.ppf(0.95, max(number - 1, 1))) / NORMAL_90


def _common(splits: list[Split], metric: int, total: int, error: float, dataset: Dataset) -> float:
    """Return the part of the standard error that all sizes share, because they are tested on rows of one table."""
    if dataset.order is not None or dataset.groups is not None:
        return error
    held = float(np.mean([own.held for own in splits]))
    rows = float(np.mean([own.variances[metric] for own in splits]))
    return min(math.sqrt(rows / min(len(splits) * held, total)), error)


def bounded(
    mean: float, error: float, rows: float, dataset: Dataset, unit: Metric
) -> tuple[float, float, tuple[float, float]]:
    """Return value, standard error and 90 % bounds of a mean loss. If errors are few, use Clopper-Pearson bounds.

    If none of m rows is wrong, the share of wrong rows is below 3/m with 95 % confidence, but it need not be 0. For an
    AUC, and other scores in which classes count equally, m is the number of rows of the rarest class.

    Args:
        mean: the measured mean loss.
        error: the standard error of the mean.
        rows: the number of independent rows on which the loss was measured.
        dataset: the table.
        unit: the metric.
    """
    free = (0.0, math.inf)
    if unit.counted == "rarest":
        rows = min(rows, float(dataset.targets.sum(axis=0).min()))
    if not unit.counted or rows < 1:
        return mean, error, free
    wrongs = mean * rows
    if wrongs >= FEW:
        return mean, error, free
    value = (wrongs + 0.5) / (rows + 1)
    least = float(stats.beta.ppf(0.05, wrongs, rows - wrongs + 1)) if wrongs >= 0.5 else 0.0
    greatest = float(stats.beta.ppf(0.95, wrongs + 1, max(rows - wrongs, 1e-9)))
    return value, max(error, math.sqrt(value * (1 - value) / rows)), (least, greatest)
