"""Find classes so rare that accuracy hardly depends on them, and name a metric that depends on them more."""

from lemmata.workflows.records.studies import Finding

from ._data import Dataset
from ._metrics import Metric
from ._row_losses import wrong
from ._units import rarer

EQUAL = 0.3
"""A class is rare if its share of the rows is below this part of an equal share: 15 % for two classes, 10 % for three.

A model that never predicts a class of share p loses p of the accuracy, and 1/k of the balanced accuracy of k classes.
If a class is rare in this sense, p is less than a third of 1/k, so accuracy hardly shows errors on this class.
"""
RARE = 8
"""A class with fewer rows than this is too small for both training and testing."""


def imbalance(dataset: Dataset, unit: Metric) -> list[Finding]:
    """Return a finding if a class is rare.

    If the metric is the error rate or accuracy, the finding also states the accuracy of always predicting the most
    frequent class, and names a metric that shows the rare class. If the class has too few rows for a test, the finding
    advises to collect more of its rows or to merge classes.

    Args:
        dataset: the table.
        unit: the metric of the study.
    """
    if dataset.classes is None:
        return []
    counts, rows, k = dataset.targets.sum(axis=0), len(dataset.targets), len(dataset.classes)
    rare, most = rarer(dataset), int(counts.argmax())
    if counts[rare] >= EQUAL * rows / k:
        return []
    few = [j for j in range(k) if counts[j] < EQUAL * rows / k]
    name, frequent = repr(dataset.classes[rare]), repr(dataset.classes[most])
    share = f"{100 * counts[rare] / rows:.2g} % of the rows ({int(counts[rare]):,} of {rows:,})"
    whole = f"The class {name} of {dataset.target!r} has {share}"
    whole += (
        f", and {len(few) - 1} more {'class is' if len(few) == 2 else 'classes are'} rare." if len(few) > 1 else "."
    )
    parts = [whole]
    if unit.rows is wrong:
        parts.append(
            f"Always predicting the most frequent class, {frequent}, is right in {100 * counts[most] / rows:.1f} % of "
            "the rows, so accuracy shows little about the rare class."
        )
        parts.append(_remedy(k, name, bool(counts[rare] < RARE)))
    elif counts[rare] < RARE:
        parts.append(_remedy(k, name, True))
    return [Finding("imbalance", (dataset.target,), " ".join(parts))]


def _remedy(k: int, name: str, few: bool) -> str:
    if few:
        return f"There are too few rows of {name} to test a model. Collect more such rows, or merge classes."
    balanced = "--metric balanced_accuracy gives every class the same weight"
    if k > 2:
        return f"{balanced}, and --metric f1 combines precision and recall of each class."
    return (
        f"{balanced}, and --metric average_precision measures how well rows of {name} are ranked before rows of the "
        "other class."
    )
