"""Learn readable rules for Boolean tables by deletion.

If the labels follow such a rule, the learned rule can be wrong for only one of its two answers.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from lemmata.answers import Condition, whole
from lemmata.core import plain_labels, refuse_text, refusing_in_one_line
from lemmata.core.columns import column_names, thresholds_of
from lemmata.errors import DataError, SettingError
from lemmata.printable import preformatted

from ._clauses import clause_count, satisfied, shortest_first, surviving

_CLAIMS = ("hardness.deletion.deletion_is_one_sided", "hardness.deletion.deletion_error")
_SHOWN = 12
_FORMS = ("auto", "cnf", "dnf")


@dataclasses.dataclass(frozen=True)
class Rule:
    """A formula that was learned by deletion, and the estimate of its error from the examples.

    Args:
        form: "cnf", an AND of clauses, or "dnf", an OR of terms.
        k: the largest number of literals in a clause or term.
        parts: the clauses or terms, each a tuple of literals in words. Up to 14 columns, these are the few clauses that
            a greedy choice finds for this formula. With more columns, `parts` contains all clauses that no shorter
            clause implies.
        label: the prediction if the formula is true.
        other: the prediction if the formula is false.
        rows: the number of training rows.
        unfitted: the number of training rows that the formula predicts wrongly. If this number is not 0, no k-CNF (or
            k-DNF) fits the table.
        guess: the training error of always answering the more frequent label.
        alone: the number of rows that delete a clause or term that no other row deletes.
        leave_one_out: the share of rows that are predicted wrongly by the rule learned from all other rows. This share
            is (unfitted + alone)/rows.
        bound: if the labels are some k-CNF (or k-DNF) of the columns, an upper bound of the expected error. The bound
            is the number of all clauses divided by (the number of rows plus one). The bound is vacuous if it is at
            least `guess`.
        conditions: the conditions for the results.
        claims: the names of the claims that state these results.
    """

    form: str
    k: int
    parts: tuple[tuple[str, ...], ...]
    label: Any
    other: Any
    rows: int
    unfitted: int
    guess: float
    alone: int
    leave_one_out: float
    bound: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    @property
    def formula(self) -> str:
        """The whole formula in words."""
        return self._joined(self.parts)

    def __str__(self) -> str:
        if self.label == self.other:
            return f"{self.label} for every row\nvacuous: all {self.rows} rows have this label"
        shown = self._joined(self.parts[:_SHOWN])
        more = len(self.parts) - _SHOWN
        word = "clauses" if self.form == "cnf" else "terms"
        side = self.other if self.form == "cnf" else self.label
        vacuous = "vacuous, " if self.bound >= self.guess else ""
        verb = "is" if self.unfitted == 1 else "are"
        constant = self.label if self.form == "cnf" else self.other
        first = f"{self.label} if {shown}" if self.parts else f"{constant} for every row"
        lines = [
            first + (f" and {more} more {word}" if more > 0 else ""),
            f"a {self.k}-{self.form.upper()} from {self.rows} rows: {self.unfitted} {verb} wrong, "
            f"error {self.leave_one_out:.3g} by leaving one out (bound for any target of this kind: "
            f"{vacuous}{self.bound:.3g})",
            f"if the labels follow some {self.k}-{self.form.upper()}, only the answer {side} can be wrong",
        ]
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def _repr_html_(self) -> str:
        return preformatted(self)

    def _joined(self, parts: tuple[tuple[str, ...], ...]) -> str:
        inner, outer = (" or ", " and ") if self.form == "cnf" else (" and ", " or ")
        if not parts:
            return "always" if self.form == "cnf" else "never"
        texts = [inner.join(part) for part in parts]
        bracketed = len(parts) > 1
        return outer.join(f"({text})" if bracketed and len(part) > 1 else text
                          for text, part in zip(texts, parts, strict=True))  # fmt: skip


class RuleLearner(ClassifierMixin, BaseEstimator):
    """A k-CNF or k-DNF formula of binary columns, learned by deletion (Valiant 1984).

    For a k-CNF, the learner begins with all clauses (ORs) of at most k literals. The learner deletes the clauses that a
    positive row violates, and takes the AND of the remaining clauses. If the labels are some k-CNF f of the columns, no
    clause of f is ever deleted. So the learned formula implies f, and errs only on positive rows. For a k-DNF, the
    learner deletes the terms (ANDs) that are true on a negative row, and takes the OR of the remaining terms. If the
    labels are some k-DNF, this OR errs only on negative rows.

    Suppose that a row is left out. The prediction for this row is wrong in exactly two cases. Either the formula
    learned from all rows is wrong on the row, or the row alone deletes some clause. Counting the rows with wrong
    predictions gives the leave-one-out error without fitting again. For one form and fixed thresholds, the
    leave-one-out error is an unbiased estimate of the error of the rule that is learned from one row fewer. (The choice
    of the better of two forms makes the estimate a little too small.)

    A column with two values is true at the larger one. A column with more values is true above its median, and the
    printed formula shows this threshold.

    Args:
        k: the largest number of literals in a clause or term.
        form: "cnf", "dnf", or "auto" for the form with the smaller leave-one-out error.
        columns: "median", or "binary", which raises an error for columns with more than two values.

    Attributes:
        classes_: the labels, at most two. The second label is predicted if the formula is true.
        rule_: the formula with its errors, a `Rule`.
        thresholds_: one threshold for each column. The column is true above this threshold.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.integers(0, 2, size=(300, 6))
        >>> y = (x[:, 0] & x[:, 1]) | (1 - x[:, 4])
        >>> print(RuleLearner(k=2).fit(x, y).rule_)
        1 if not x4 or (x0 and x1)
        a 2-DNF from 300 rows: 0 are wrong, error 0 by leaving one out (bound for any target of this kind: 0.239)
        if the labels follow some 2-DNF, only the answer 1 can be wrong
    """

    def __init__(self, k=3, form="auto", columns="median"):
        self.k = k
        self.form = form
        self.columns = columns

    def fit(self, X, y):
        """Learn the formula.

        Args:
            X: the columns, an array of shape (n, d).
            y: one label for each row, at most two different labels.

        Raises:
            SettingError: for an invalid setting, or a k with too many clauses.
            DataError: for more than two classes, or a column that is not binary if `columns="binary"`.
        """
        frame = X
        with refusing_in_one_line():
            refuse_text(X)
            X, y = validate_data(self, X, plain_labels(y), dtype=np.float64)
        X = np.asarray(X, float)
        k = whole("k", self.k, 1)
        if not isinstance(self.form, str) or self.form not in _FORMS:
            found = " ".join(repr(self.form).split())[:60]
            raise SettingError("form", found=found, rule='"auto", "cnf" or "dnf"', remedy="pass one of these three")
        self.classes_, index = _two_classes(y)
        self._names = column_names(frame, X.shape[1])
        self.thresholds_, self._words = _thresholds(X, self.columns, self._names)
        rows, positive = self.thresholds_ < X, index == len(self.classes_) - 1
        forms = _FORMS[1:] if self.form == "auto" else (self.form,)
        learned = [self._delete(form, k, rows, positive) for form in forms]
        # Of two formulas with equal errors, the shorter one is used.
        order = [(rule.leave_one_out, sum(map(len, rule.parts))) for rule, _ in learned]
        self.rule_, self._clauses = learned[order.index(min(order))]
        return self

    def predict(self, X):
        """Predict one label for each row: the second class if the formula is true.

        Args:
            X: the columns, an array of shape (m, d).
        """
        check_is_fitted(self)
        with refusing_in_one_line():
            refuse_text(X)
            X = np.asarray(validate_data(self, X, reset=False, dtype=np.float64), float)
        # Terms are kept as the clauses that are their negations.
        holds = satisfied(self.thresholds_ < X, self._clauses)
        true = holds if self.rule_.form == "cnf" else ~holds
        return self.classes_[np.where(true, len(self.classes_) - 1, 0)]

    def _delete(self, form: str, k: int, rows: np.ndarray, positive: np.ndarray):
        """Return the rule and its clauses; for a DNF these are the clauses of its negation."""
        m, n = rows.shape
        deleting = positive if form == "cnf" else ~positive
        clauses, alone = surviving(rows[deleting], k)
        unfitted = int(satisfied(rows[~deleting], clauses).sum())
        short = shortest_first(n, clauses)
        flip = form == "dnf"
        parts = tuple(tuple(self._words[(literal >= n) ^ flip][literal % n] for literal in sorted(
            clause, key=lambda literal: literal % n)) for clause in short)  # fmt: skip
        every = clause_count(n, min(k, n))
        label, other = self.classes_[-1], self.classes_[0]
        conditions = (
            Condition("rows are independent draws of one distribution"),
            Condition(f"some {k}-{form.upper()} gives every label", float(unfitted), unfitted == 0,
                      "otherwise the rule may err on both sides: labels are noisy, or k is too small"),
        )  # fmt: skip
        total, guess = int(alone.sum()), min(positive.mean(), 1 - positive.mean())
        least = int(min(positive.sum(), (~positive).sum()))
        conditions += (
            Condition("the leave-one-out error is below the error of the more frequent label (ratio of the two errors)",
                      (unfitted + total) / max(least, 1), unfitted + total < least,
                      "otherwise the formula predicts no better than a constant"),
        )  # fmt: skip
        rule = Rule(form, k, parts, label, other, m, unfitted, float(guess), total, (unfitted + total) / m,
                    every / (m + 1), conditions)  # fmt: skip
        return rule, clauses

    def __sklearn_tags__(self):
        """Set the scikit-learn tags for at most two classes, and for scores that may be poor.

        Rules over medians score poorly on data that is not Boolean.
        """
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags


def _two_classes(y: Any) -> tuple[np.ndarray, np.ndarray]:
    with refusing_in_one_line():
        check_classification_targets(y)
    kind = type_of_target(y)
    classes, index = np.unique(y, return_inverse=True)
    if len(classes) > 2:
        raise DataError(
            f"Only binary classification is supported. The type of the target is {kind}",
            found=f"{len(classes)} classes",
            rule="two classes",
            remedy="learn one rule for each class: pass y == label as y",
        )
    return classes, index


def _readable(threshold: float, values: np.ndarray) -> str:
    """Round the threshold to the fewest digits (4 or more) that still divide these values at the same place."""
    texts = (f"{threshold:.{digits}g}" for digits in range(4, 18))
    return next(text for text in texts if ((values > float(text)) == (values > threshold)).all())


def _thresholds(x: np.ndarray, columns: Any, names: Sequence[str]) -> tuple[np.ndarray, tuple[list[str], list[str]]]:
    """Return the thresholds above which columns are true, and the words for "above" and for "not above"."""
    found, true, false = thresholds_of(x, columns, names), [], []
    for place, (name, column) in enumerate(zip(names, x.T, strict=True)):
        values = np.unique(column)
        text = _readable(found[place], values)
        found[place] = float(text)  # predictions use the printed threshold
        two = set(values.tolist()) <= {0.0, 1.0} or set(values.tolist()) <= {-1.0, 1.0}
        true.append(name if two else f"{name} > {text}")
        false.append(f"not {name}" if two else f"{name} <= {text}")
    # A constant column of ones counts as true.
    ones = np.array([len(np.unique(column)) == 1 and column[0] == 1 for column in x.T])
    found[ones] = 0.5
    return found, (true, false)
