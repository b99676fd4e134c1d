"""A test of whether a learner fits random labels, which gives a lower bound on its Rademacher complexity."""

import dataclasses
import math
import time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lemmata.answers import Condition, inside, whole
from lemmata.printable import preformatted

from ._fits import as_fit, check_enough
from ._labelled import as_labelled

_CLAIMS = ("generalisation.memorisation.random_label_identity",)


@dataclasses.dataclass(frozen=True)
class RandomLabels:
    """The results of a learner on the true classes and on random classes.

    Args:
        true_accuracy: the accuracy on the training rows after a fit to the true classes.
        random_accuracy: the accuracy on the training rows after a fit to independent, equally likely classes, as a
            mean over repeats.
        attainable: a lower bound, at the confidence level, on the expected accuracy on random classes of the best rule
            that the learner can return.
        chance: the accuracy 1/classes of guessing a class uniformly at random.
        true_seconds, random_seconds: the time of one fit in seconds, as a mean over repeats.
        complexity: the value 2 random_accuracy - 1 for two classes, or None for more classes. This value estimates the
            part of the Rademacher complexity that the learner's fits attain.
        complexity_lower: a lower bound on the Rademacher complexity, at the confidence level; None for more than two
            classes.
        memorises: whether `attainable` is at least halfway from chance to 1. For two classes, the complexity is then at
            least 1/2. Uniform bounds add twice the complexity to the training error, so they are then at least 1.
        repeats: the number of random labellings.
        level: the confidence level.
        conditions: the conditions for the results.
        claims: the names of the claims (statements that lemmata tests) that state the results.
    """

    true_accuracy: float
    random_accuracy: float
    attainable: float
    chance: float
    true_seconds: float
    random_seconds: float
    complexity: float | None
    complexity_lower: float | None
    memorises: bool
    repeats: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        found = f"training accuracy {self.true_accuracy:.3f} on true labels, {self.random_accuracy:.3f} on random ones "
        found += f"(chance {self.chance:.3f}; at least {self.attainable:.3f} attainable)"
        if self.complexity is not None:
            found += f"; Rademacher complexity at least {self.complexity_lower:.3f}"
        if self.memorises:
            found += (
                "\n- vacuous: the model fits random labels, so bounds that hold for all rules it can choose are useless"
            )
        return "\n".join([found, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)


def random_label_test(
    fit: Any, x: ArrayLike, y: ArrayLike, *, repeats: int = 10, level: float = 0.95, seed: int = 0
) -> RandomLabels:
    """Fit a learner to the true classes of the training rows, and to random classes, and compare the accuracies.

    For rules with values -1 and 1 the empirical Rademacher complexity on the rows is

        1 - 2 E min error = 2 E max accuracy - 1

    over uniform random labels. The largest accuracy is the accuracy of the best rule that the learner can return.
    Therefore the learner's own accuracy is a lower bound. If one of the n labels changes, the largest accuracy changes
    by at most 1/n. Let the learner be fitted R times. At the confidence level `level`, the expected largest accuracy is
    at least the learner's mean accuracy minus sqrt(ln(1/(1 - level)) / (2 n R)), for any learner.

    Args:
        fit: an estimator, cloned for every fit, or a function fit(x, y) that returns a function of rows or an object
            with `predict`. The learner gets the class names that occur in y.
        x: the training rows.
        y: the class of each row.
        repeats: the number of random labellings.
        level: the confidence level of the attainable accuracy.
        seed: the random seed of the labellings.

    Raises:
        SettingError: for an invalid learner, no repeats, or a level outside (0, 1).
        ShapeError, DataError: for rows and classes that do not fit each other.

    Example:
        >>> import numpy as np
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> x = np.random.default_rng(0).normal(size=(100, 2))
        >>> found = random_label_test(DecisionTreeClassifier(max_depth=1), x, x[:, 0] > 0)
        >>> found.true_accuracy, round(found.random_accuracy, 3), round(found.complexity_lower, 3)
        (1.0, 0.597, 0.117)
        >>> random_label_test(DecisionTreeClassifier(), x, x[:, 0] > 0).memorises
        True
    """
    rows, labels, classes = as_labelled(x, y)
    learner, repeats, level = as_fit(fit), whole("repeats", repeats, 1), inside("level", level, 0.0, 1.0)
    generator = np.random.default_rng(whole("seed", seed))
    check_enough(len(rows))

    def accuracy(given: np.ndarray) -> tuple[float, float]:
        start = time.perf_counter()
        predict = learner(rows, classes[given])
        seconds = time.perf_counter() - start
        return float(np.mean(predict(rows) == classes[given])), seconds

    true_accuracy, true_seconds = accuracy(labels)
    runs = [accuracy(_labelling(generator, len(rows), len(classes))) for _ in range(repeats)]
    mean, seconds = (float(np.mean(values)) for values in zip(*runs, strict=True))
    attainable = max(mean - math.sqrt(math.log(1 / (1 - level)) / (2 * len(rows) * repeats)), 0.0)
    chance = 1 / len(classes)
    conditions = (
        Condition(
            "random accuracy",
            mean,
            None,
            "only a learner that always finds the best rule attains the largest accuracy that its rules allow",
        ),
        Condition("two classes", float(len(classes)), len(classes) == 2, "the identity holds for two classes"),
    )
    two = len(classes) == 2
    return RandomLabels(
        true_accuracy=true_accuracy,
        random_accuracy=mean,
        attainable=attainable,
        chance=chance,
        true_seconds=true_seconds,
        random_seconds=seconds,
        complexity=2 * mean - 1 if two else None,
        complexity_lower=max(2 * attainable - 1, 0.0) if two else None,
        memorises=attainable >= (1 + chance) / 2,
        repeats=repeats,
        level=level,
        conditions=conditions,
    )


def _labelling(generator: np.random.Generator, n: int, classes: int) -> np.ndarray:
    """Draw independent, equally likely classes. Draw again if only one class occurs, because learners reject this."""
    while True:
        given = generator.integers(classes, size=n)
        if len(np.unique(given)) > 1:
            return given
