"""Check a table for problems: identifiers, leakage, repeats, groups, times, codes and heavy tails."""

import dataclasses
import math
import re
from collections.abc import Collection

import numpy as np
import polars as pl
from scipy.special import gammaln

from lemmata.errors import shortened
from lemmata.workflows.records.studies import Finding

from ._columns import Inputs, Targets, count, listing
from ._copies import equal_rows, first_equal
from ._hints import numeric_hint, spread
from ._multiples import relation

CHANCE = 1e-9
"""A relation counts as a coincidence unless its probability in a shuffled column is below this."""
SENTENCE = 5
"""Texts with at least this median number of words are free text. Shorter texts that never repeat are labels."""
COUNTS = 5
"""A target with at least this many different whole numbers may be counts or grades, not names of classes."""
HEAVY_SHARE, HEAVY_KURTOSIS = 0.3, 10.0
"""The limits of heavy tails: the share of the variance in the largest 1 % of the rows, and the excess kurtosis.

Tails are heavy if the kurtosis reaches its limit, or if the share reaches its limit and the kurtosis half of its limit.
A normal target has a share of 8 % and an excess kurtosis of 0.
"""

IDENTIFIERS = re.compile("id|ids|identifier|uuid|guid|index|idx|key|rows?|rownames?|rownum|serial|unnamed")
GROUPS = re.compile(
    f"{IDENTIFIERS.pattern}|subject|patient|person|individual|household|customer|client|user|participant|respondent"
    "|firm|company|school|family|session|site|batch|device|group|cluster"
)
CODES = re.compile("id|codes?|zip|zipcode|postcode|postal|sic|naics|fips|icd|isbn")
KINDS = re.compile("category|cat|kind|type")
"""Words in the names of columns of codes. They count only if there are at least two rows per value on average."""
TIMES = re.compile("dates?|time|timestamp|datetime|year|yr|month|quarter|week|day|hour")


def identifiers(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Return the columns that only distinguish rows. The keys of the result are the reasons."""
    found: dict[str, list[str]] = {}
    for column in frame:
        if column.null_count() == 0 and column.n_unique() == column.len():
            reason = _text_identifier(column) if column.dtype == pl.String else _integer_identifier(column)
            if reason:
                found.setdefault(reason, []).append(column.name)
    return found


def _text_identifier(column: pl.Series) -> str | None:
    words = np.median([text.count(" ") + 1 for text in spread(column)])
    return "a label that never repeats" if words < SENTENCE and not numeric_hint(column) else None


def _integer_identifier(column: pl.Series) -> str | None:
    values = column.to_numpy()
    if _named(column.name, TIMES) or not _integers(values):
        return None
    steps = np.diff(values)
    if (steps == steps[0]).all():  # a shuffled 1, ..., n may be a rank
        return "a number that counts the rows"
    return "an integer that never repeats" if _named(column.name, IDENTIFIERS) else None


def examine_columns(
    frame: pl.DataFrame,
    dated: list[str],
    group: str | None,
    time: str | None,
    encoded: tuple[str, ...],
    texts: Collection[str] = (),
) -> list[Finding]:
    """Return findings about input columns of the whole table that may be groups, times or codes of categories.

    Args:
        frame: the input columns, which are numbers or texts, with the rows in the order of the table.
        dated: the columns that held dates or times.
        group: the column of --group, or None.
        time: the column of --time, or None.
        encoded: the columns that enter as numbers.
        texts: the columns of the user's data frame that are texts.
    """
    findings = []
    for name, evidence in _groups(frame, dated).items() if group is None else ():
        findings.append(
            Finding(
                "group",
                (name,),
                f"{name!r} may name groups of rows: {evidence}. If the model will predict rows of new groups, "
                f"splitting a group between training and testing makes the error look too small. Use --group {name!r} "
                "to keep the rows of each group together.",
            )
        )
    times = [column.name for column in frame if column.name in dated or _looks_like_time(column)]
    if times and time is None:
        holds = ("holds" if len(times) == 1 else "hold") if set(times) <= set(dated) else "may hold"
        says = "it says" if len(times) == 1 else "one of them says"
        first = min(times, key=lambda name: frame[name].null_count())
        findings.append(
            Finding(
                "time",
                tuple(times),
                f"{_quoted(times)} {holds} dates or times. If {says} when the rows were observed, and the model will"
                f" predict later rows, use --time {first!r} to train on the past and test on the future.",
            )
        )
    codes = [name for name in encoded if name not in dated and name not in times and _looks_like_code(frame[name])]
    if codes:
        one = len(codes) == 1
        remedy = "declare it as categories (in pandas with astype('category'))"
        remedy = remedy if {*texts} & {*codes} else "write it as text (such as 'code 3')"
        used = "looks like a code, but was used as a number" if one else "look like codes, but were used as numbers"
        findings.append(
            Finding(
                "code",
                tuple(codes),
                f"{_quoted(codes)} {used}. So the study treats the order and the distance of the values as "
                f"meaningful. To make each value a category, {remedy}.",
            )
        )
    return findings


def _groups(frame: pl.DataFrame, dated: list[str]) -> dict[str, str]:
    """Return columns that may name groups, with evidence: groups of one size, adjacent, or alike in other columns."""
    n, found = frame.height, {}
    for column in frame:
        if column.null_count() or column.name in dated or _named(column.name, TIMES):
            continue
        if column.dtype != pl.String and not _integers(column.to_numpy()):
            continue
        distinct, named = column.n_unique(), _named(column.name, GROUPS)
        if not (5 if named else 10) <= distinct <= n / 2:
            continue
        sizes = column.value_counts()["count"]
        equal, adjacent = sizes.n_unique() == 1, int((column != column.shift()).sum()) + 1 == distinct
        if not (named or equal or adjacent):
            continue
        within = frame.group_by(column.name).agg(pl.all().n_unique() == 1).drop(column.name)
        agree = [other.name for other in within if other.all() and frame[other.name].n_unique() > 1]
        if sum((named, equal, adjacent, bool(agree))) < 2:
            continue
        size = f"{sizes.min()} rows each" if equal else f"{sizes.min()} to {sizes.max()} rows each"
        evidence = [f"{distinct} values with {size}"]
        evidence += ["the rows of each value are adjacent"] if adjacent else []
        evidence += (
            [f"all rows with the same value agree in {listing([repr(name) for name in agree], 3)}"] if agree else []
        )
        found[column.name] = ", ".join(evidence)
    return found


def _looks_like_time(column: pl.Series) -> bool:
    # The time of an observation is known for every row. A year with missing cells is when something was made or born.
    if column.dtype == pl.String or column.null_count() or not _named(column.name, TIMES) or column.n_unique() < 5:
        return False
    values = column.to_numpy()
    years = _integers(values) and values.min() >= 1500 and values.max() <= 2200
    return bool((np.diff(values) >= 0).all() or years)


def _looks_like_code(column: pl.Series) -> bool:
    if column.dtype == pl.String:
        return False
    values = column.drop_nulls().to_numpy()
    if not _integers(values) or (distinct := len(np.unique(values))) <= 2:
        return False
    return _named(column.name, CODES) or (_named(column.name, KINDS) and 2 * distinct <= len(values))


def examine_rows(
    inputs: Inputs,
    targets: Targets,
    earliest: np.ndarray,
    label: str,
    group: np.ndarray | None = None,
    time: np.ndarray | None = None,
) -> list[Finding]:
    """Return findings about the used rows: constant columns, leakage of the target, equal rows, and heavy tails.

    Args:
        inputs: the raw inputs.
        targets: the targets of the same rows.
        earliest: for each row, the first row with equal inputs.
        label: the name of the target.
        group: a number for the group of each row, if --group is given; otherwise None.
        time: the time of each row, if --time is given; otherwise None.
    """
    findings = [
        Finding(
            "constant",
            inputs.constant,
            f"dropped {count(inputs.constant, 'constant or empty column')}: {listing(inputs.constant)}",
        )
    ]
    findings = findings if inputs.constant else []
    leaks: dict[str, list[str]] = {}
    # A copy of a row repeats every value with the same target. This is no evidence that a column predicts the target.
    once = _first_of_copies(earliest, targets)
    different = dataclasses.replace(targets, values=targets.values[once], y=targets.y[once])
    for j, name in enumerate(inputs.names):
        reason = _gives_away(inputs.values[once, j], inputs.categories[j] is not None, different)
        if reason:
            leaks.setdefault(reason, []).append(name)
    for reason, names in leaks.items():
        findings.append(
            Finding(
                "leakage",
                tuple(names),
                f"{_together(names, reason.format(target=repr(label)))}. Leave out columns whose values are not known "
                f"before the target: {' '.join(f'--drop-column {name!r}' for name in names[:10])}.",
            )
        )
    findings += [Finding(kind, (), text) for kind, text in equal_rows(inputs, targets, label, group, time)]
    return findings + _tails(targets, label) + _numbers(targets, label)


def _first_of_copies(earliest: np.ndarray, targets: Targets) -> np.ndarray:
    """Return, in order, the rows whose inputs and targets do not both equal those of an earlier row."""
    return np.flatnonzero(first_equal(earliest, targets.y) == np.arange(len(earliest)))


def _together(names: list[str], reason: str) -> str:
    """Return the beginning of a sentence that gives a reason for one or several columns."""
    if len(names) == 1:
        return f"{_quoted(names)} {reason}"
    return f"Each of {_quoted(names)} {reason}"


def _numbers(targets: Targets, label: str) -> list[Finding]:
    """Return a warning if a target of whole numbers was taken for classes."""
    labels = targets.classes or ()
    if len(labels) < COUNTS or not all(re.fullmatch(r"-?\d+", text) for text in labels):
        return []
    return [
        Finding(
            "numbers",
            (label,),
            f"{label!r} holds {len(labels)} different whole numbers, which the study treats as classes without an "
            "order."
            " If these numbers are counts, grades or sizes, use --task regression to predict them as numbers.",
        )
    ]


def _gives_away(column: np.ndarray, category: bool, targets: Targets) -> str | None:
    """Return a text on how this column alone determines the target; None if it does not determine the target."""
    here = ~np.isnan(column)
    for j in range(1 if targets.classes else min(targets.y.shape[1], 10)):
        target = targets.values.argmax(axis=1) if targets.classes else targets.values[:, j]
        reason = None
        if here.sum() >= 20 and np.ptp(target[here]) > 0:
            reason = _function_of(column[here], target[here], category, bool(targets.classes))
            reason = reason or _tells_commonest(column[here], target[here], targets.classes)
        if (
            reason is None
            and targets.classes
            and 0 < here.sum() < len(here)
            and _determines(target, here, np.argsort(target, kind="stable"))
        ):
            reason = "is missing exactly in the rows in which {target} has certain values"
        if reason:
            return reason
    return None


def _function_of(column: np.ndarray, target: np.ndarray, category: bool, classes: bool) -> str | None:
    if not category and np.array_equal(column, target):
        return "equals {target}"
    order = np.argsort(column, kind="stable")
    if _determines(column, target, order):
        return "determines {target}: all rows with the same value have the same target"
    if category:
        return None
    if classes:
        return (
            "separates the classes of {target} perfectly by thresholds" if _separates(column, target, order) else None
        )
    return relation(column, target)


def _tells_commonest(column: np.ndarray, target: np.ndarray, classes: tuple[str, ...] | None) -> str | None:
    """Return a text if a two-valued column shows, in every row, whether the target has its most frequent value.

    For example, if the target is the amount that a person donated, a column may mark the donors. A column of more than
    two values is not tested, because such a column may separate one class from all others although it is a legitimate
    input. An example is the length of a petal.
    """
    values, sizes = np.unique(target, return_counts=True)
    if len(values) < 3 or len(np.unique(column)) != 2:
        return None
    common = values[sizes.argmax()]
    if not _determines(column, (target == common).astype(float), np.argsort(column, kind="stable")):
        return None
    value = f"{common:g}" if not classes else repr(classes[int(common)]).replace("{", "{{").replace("}", "}}")
    return f"shows in every row whether {{target}} is {value}"


def _determines(column: np.ndarray, target: np.ndarray, order: np.ndarray) -> bool:
    """Whether rows with equal values of the column have equal targets, in too many rows for chance.

    `order` sorts the column.
    """
    repeats = column[order][1:] == column[order][:-1]
    if repeats.all() or not repeats.any() or (repeats & (target[order][1:] != target[order][:-1])).any():
        return False
    _, sizes = np.unique(target, return_counts=True)
    return bool(repeats.sum() * math.log(((sizes / len(target)) ** 2).sum()) < math.log(CHANCE))


def _separates(column: np.ndarray, target: np.ndarray, order: np.ndarray) -> bool:
    """Whether each class is an interval of the column, but not by chance.

    Let k classes have n_c of the n rows each. If the classes are shuffled over the sorted rows, every class is an
    interval with probability k! Π n_c! / n!.
    """
    changes = target[order][1:] != target[order][:-1]
    _, sizes = np.unique(target, return_counts=True)
    if changes.sum() != len(sizes) - 1 or (np.diff(column[order])[changes] == 0).any():
        return False
    return bool(gammaln(len(sizes) + 1) + gammaln(sizes + 1).sum() - gammaln(len(target) + 1) < math.log(CHANCE))


def _tails(targets: Targets, label: str) -> list[Finding]:
    """Return a warning if a few rows hold much of the target's variance, so that every error depends on these rows."""
    if targets.classes:
        return []
    squares = (targets.y**2).sum(axis=1)
    largest = -(-len(squares) // 100)
    share = float(np.sort(squares)[-largest:].sum() / squares.sum())
    kurtosis = float((targets.y**4).mean(axis=0).max()) - 3
    if kurtosis < HEAVY_KURTOSIS and (share < HEAVY_SHARE or kurtosis < HEAVY_KURTOSIS / 2):
        return []
    held = np.cumsum(np.sort(squares)[::-1]) / squares.sum()
    few = int(np.argmax(held >= round(share, 2) - 0.005)) + 1  # the fewest rows with the same rounded share
    remedy, least = "", targets.values.min()
    if few == 1:
        alone = targets.values[int(np.argmax(squares))]
        remedy = f" Its target is {listing([f'{value:g}' for value in alone])}. Check whether this value is a mistake."
    elif least >= 0:
        remedy = f" Consider predicting the logarithm of {'the target' if least > 0 else '1 + the target'} instead."
    return [
        Finding(
            "tail",
            (label,),
            f"{label!r} has heavy tails: {count(few, 'row holds', 'rows hold')} {100 * share:.0f} % of its "
            f"variance (excess kurtosis {kurtosis:.0f}). So every measured error depends on whether "
            f"{'this row is' if few == 1 else 'these rows are'} held out.{remedy}",
        )
    ]


def _quoted(names: list[str]) -> str:
    return listing([repr(shortened(name)) for name in names])


def _integers(values: np.ndarray) -> bool:
    return values.size > 0 and bool((values == np.round(values)).all())


def _named(name: str, words: re.Pattern[str]) -> bool:
    """Whether a word of the name matches `words`. Names such as PassengerId are split at signs, digits and capitals."""
    parted = re.findall("[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", shortened(name)).lower())
    return any(words.fullmatch(word) for word in parted)
