"""Low-degree learning with a classifier of binary columns. The classifier chooses the degree with the smallest
estimated error. An exact formula gives this estimate.
"""

import dataclasses
import html
import io
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from lemmata.answers import Condition, whole
from lemmata.core import plain_labels, refuse_text, refusing_in_one_line
from lemmata.core.columns import column_names, signs_of, thresholds_of
from lemmata.errors import DataError, SettingError
from lemmata.pictures import bars, styled
from lemmata.printable import clean

_CLAIMS = ("boolean.low_degree.low_degree_error", "boolean.low_degree.low_degree_classifies")
_CHUNK = 2**22  # largest number of entries of products of columns in memory at a time
_SHOWN = 8
_BEYOND = 3.0  # standard deviations by which the gain must exceed chance
_PAIRS = 200  # number of columns for which all pairs are tested for independence


@dataclasses.dataclass(frozen=True, eq=False)
class LowDegreeFit:
    """A fit g by products of few columns, and its expected squared error from the formula of `LowDegreeClassifier`.

    Args:
        degree: the largest degree of the products that are used.
        errors: for each degree 0, 1, ... that was considered, an unbiased estimate of the expected squared error at a
            new row, E (g(x) - y)² for labels y of -1 and 1. For more than two classes, the estimate is the mean over
            classes. The prediction g = 0 has the error 1. For two classes, the share of misclassified rows is at most
            this error.
        products: the number of products up to each degree.
        rows: the number of rows of the fit.
        sets: the sets of columns with the largest coefficients.
        coefficients: the coefficients of these sets, for two classes.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    degree: int
    errors: Float[np.ndarray, " degrees"]
    products: Int[np.ndarray, " degrees"]
    rows: int
    sets: tuple[tuple[str, ...], ...]
    coefficients: Float[np.ndarray, " k"]
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        errors = enumerate(self.errors.tolist())
        lines = [
            f"degree {self.degree}: {self.products[self.degree]} products on {self.rows} rows",
            "expected squared error by degree: " + ", ".join(f"{k}: {value:.3g}" for k, value in errors),
        ]
        if len(self.sets):
            listed = zip(self.sets, self.coefficients.tolist(), strict=True)
            parts = [f"{' * '.join(names) or 'mean'}: {value:.3g}" for names, value in listed]
            lines.append("largest coefficients: " + ", ".join(parts))
        if self.degree == 0 and len(self.errors) > 1:
            lines.append("vacuous: no product is expected to help, so every row gets the more frequent class")
        elif self.degree == 0:
            lines.append("vacuous: every row gets the more frequent class")
        elif self.errors[self.degree] >= 1:
            lines.append("vacuous: answering 0 for every row also has error 1")
        return "\n".join([*lines, *(f"- {condition}" for condition in self.conditions if condition.holds is False)])

    def plot(self) -> Any:
        """Return an Altair chart of the expected error of each degree, with the chosen degree marked."""
        return styled(bars(self.errors, "degree (red: the chosen one)", "expected squared error", self.degree))

    def _repr_html_(self) -> str:
        drawn = io.StringIO()
        self.plot().save(drawn, format="svg")
        text = html.escape(clean(str(self), lines=True))
        return f'<div><pre style="white-space: pre-wrap">{text}</pre>{drawn.getvalue()}</div>'


class LowDegreeClassifier(ClassifierMixin, BaseEstimator):
    """Classify binary columns by their products of low degree (Linial, Mansour and Nisan 1993).

    Labels y and columns x_i are -1 and 1. Let chi_S be the product of the columns in S. The coefficient of chi_S is
    estimated by the mean of y chi_S(x) over the m training rows. The predicted class is the sign of g, the sum of the
    products of at most `degree` columns, each times its coefficient. For uniform columns, with f^(S) = E y chi_S(x),

        E (g(x) - y)² = 1 - sum of (f^(S)² - (1 - f^(S)²)/m) over |S| <= degree,

    exactly. The reason is that every product removes f^(S)² from the error, and its estimation error adds (1 -
    f^(S)²)/m. With `degree="auto"`, an unbiased estimate of this error is computed for each degree. The chosen degree
    has the smallest estimate. In this estimate, (m c² - 1)/(m - 1) replaces f^(S)², where c is the estimated
    coefficient.

    A column with two values becomes 1 at the larger value and -1 at the smaller. A column with more values becomes 1
    above its median and -1 otherwise. If there are more than two classes, each class is learned against all other
    classes.

    Args:
        degree: "auto", or the largest number of columns in a product.
        terms: the largest number of products to estimate.
        columns: "median", or "binary", which raises an error for columns with more than two values.

    Attributes:
        classes_: the class labels.
        degree_: the chosen degree.
        fit_: a `LowDegreeFit`: the expected error of each degree, the largest coefficients, and the conditions.
        coefficients_: an array of shape (products, 1), or (products, classes) for more than two classes.
        thresholds_: for each column, the number above which the column becomes 1.
        used_: the positions of the columns that occur in the products. Columns that are constant, or that repeat
            another column or its opposite on the training rows, are left out.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> x = rng.integers(0, 2, size=(400, 10))
        >>> y = x[:, 1] ^ x[:, 7]
        >>> model = LowDegreeClassifier().fit(x, y)
        >>> model.degree_, model.score(x, y)
        (2, 1.0)
    """

    def __init__(self, degree="auto", terms=100_000, columns="median"):
        self.degree = degree
        self.terms = terms
        self.columns = columns

    def fit(self, X, y):
        """Estimate the coefficients, and choose the degree.

        Args:
            X: rows of d columns, of shape (n, d).
            y: labels of at least two classes, of shape (n,).

        Raises:
            SettingError: for an invalid setting, or a degree with more products than `terms`.
            DataError: if there is only one row or one class. With `columns="binary"`, also for a column that is not
                binary.
        """
        frame = X
        with refusing_in_one_line():
            refuse_text(X)
            X, y = validate_data(self, X, plain_labels(y), dtype=np.float64)
            check_classification_targets(y)
        X = np.asarray(X, float)
        self.classes_, index = np.unique(y, return_inverse=True)
        n, d = X.shape
        if len(self.classes_) < 2:
            raise DataError(
                "labels",
                found=f"one class, {self.classes_[0]}",
                rule="at least two classes",
                remedy="add rows of another class",
            )
        if n < 2:
            raise DataError(
                "rows", found=f"{n} row (1 sample)", rule="at least 2 rows, to estimate the error", remedy="add rows"
            )
        names = column_names(frame, d)
        self.thresholds_ = thresholds_of(X, self.columns, names)
        signs = signs_of(X, self.thresholds_)
        self.used_ = _different(signs)
        signs, names = signs[:, self.used_], tuple(names[place] for place in self.used_)
        most = self._most(len(names))
        many = len(self.classes_) > 2
        targets = 2.0 * (index[:, None] == (np.arange(len(self.classes_)) if many else 1)) - 1
        found = [_estimates(signs, targets, degree) for degree in range(most + 1)]
        gains = np.array([((n * c**2 - 1) * (n + 1) / (n * (n - 1)) - 1 / n).sum(axis=0).mean() for c in found])
        errors = 1 - np.cumsum(gains)
        self.degree_ = int(errors.argmin()) if self.degree == "auto" else most
        self.coefficients_ = np.concatenate(found[: self.degree_ + 1])
        sets, largest = ((), np.zeros(0)) if many else _largest(found[: self.degree_ + 1], names)
        products = np.cumsum([len(part) for part in found])
        conditions = (
            Condition("rows are independent draws of one distribution"),
            _uniform(signs),
            Condition("share of columns with two values", float(np.mean([len(np.unique(c)) <= 2 for c in X.T])), None,
                      "a column with more than two values is divided at its median"),
            Condition("columns left out, because they are constant or repeat another column", float(d - len(names))),
            Condition("higher degrees were considered (the largest degree)", float(most),
                      self.degree != "auto" or self.degree_ < most or most == len(names),
                      "a higher degree has more products than `terms`, but may have a smaller error"),
        )  # fmt: skip
        conditions += _content(float(errors[0] - errors[self.degree_]), int(products[self.degree_]) - 1, n)
        if self.degree_ and not many:
            conditions += (_against_guessing(float(errors[self.degree_]), float(min(index.mean(), 1 - index.mean()))),)
        self.fit_ = LowDegreeFit(self.degree_, errors, products, n, sets, largest, conditions)
        return self

    def decision_function(self, X):
        """Return the sums g. For two classes, the sums have the shape (m,), and are positive for the second class.
        Otherwise, the sums have the shape (m, classes).

        Args:
            X: rows of d columns, of shape (m, d).
        """
        check_is_fitted(self)
        with refusing_in_one_line():
            refuse_text(X)
            X = np.asarray(validate_data(self, X, reset=False, dtype=np.float64), float)
        signs = signs_of(X, self.thresholds_)[:, self.used_]
        outputs, done = np.zeros((len(signs), self.coefficients_.shape[1])), 0
        for degree in range(self.degree_ + 1):
            for products in _products(signs, degree):
                outputs += products.astype(float) @ self.coefficients_[done : done + products.shape[1]]
                done += products.shape[1]
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X):
        """Return the label with the largest sum for each row, in an array of shape (m,).

        Args:
            X: rows of d columns, of shape (m, d).
        """
        outputs = self.decision_function(X)
        return self.classes_[(outputs > 0).astype(int) if outputs.ndim == 1 else outputs.argmax(axis=1)]

    def __sklearn_tags__(self):
        """Set the scikit-learn tag `poor_score`, because columns divided at medians may fit other data poorly."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _most(self, d: int) -> int:
        """Return the largest degree whose products are estimated, for d columns."""
        terms = whole("terms", self.terms, 1)
        counts = np.cumsum([float(math.comb(d, degree)) for degree in range(d + 1)])
        if isinstance(self.degree, str):
            if self.degree != "auto":
                raise SettingError(
                    "degree",
                    found=repr(self.degree),
                    rule='"auto" or a whole number of at least 0',
                    remedy='set degree="auto"',
                )
            return int((counts <= terms).sum()) - 1
        degree = min(whole("degree", self.degree), d)
        if counts[degree] > terms:
            raise SettingError(
                "degree", found=f"{degree}, which has {counts[degree]:.3g} products of {d} columns",
                rule=f"at most terms = {terms} products", remedy="lower the degree, or raise terms",
            )  # fmt: skip
        return degree


def _different(signs: np.ndarray) -> np.ndarray:
    """Return the places of the columns that vary, one for each group of equal or opposite columns."""
    turned = signs * signs[0]
    first = np.sort(np.unique(turned, axis=1, return_index=True)[1])
    return first[(turned[:, first] < 0).any(axis=0)]


def _products(signs: np.ndarray, degree: int) -> Iterator[np.ndarray]:
    """Yield the products of the signs over all sets of `degree` columns, in order, in chunks of sets."""
    rows, d = signs.shape
    sets = itertools.combinations(range(d), degree)
    while chosen := list(itertools.islice(sets, max(_CHUNK // max(rows, 1), 1))):
        found = np.ones((rows, len(chosen)), np.int8)
        for columns in np.array(chosen, int).reshape(len(chosen), degree).T:
            found *= signs[:, columns]
        yield found


def _estimates(signs: np.ndarray, targets: np.ndarray, degree: int) -> np.ndarray:
    parts = [products.T.astype(float) @ targets for products in _products(signs, degree)]
    return np.concatenate(parts) / len(signs) if parts else np.zeros((0, targets.shape[1]))


def _largest(found: list[np.ndarray], names: tuple[str, ...]) -> tuple[tuple[tuple[str, ...], ...], np.ndarray]:
    """Return the sets of the largest coefficients, and these coefficients."""
    values = np.concatenate(found)[:, 0]
    order = np.argsort(-np.abs(values), kind="stable")[:_SHOWN]
    starts = np.cumsum([0, *(len(part) for part in found)])
    sets = []
    for place in order:
        degree = int(np.searchsorted(starts, place, side="right")) - 1
        every = itertools.combinations(names, degree)
        sets.append(next(itertools.islice(every, int(place - starts[degree]), None)))
    return tuple(sets), values[order]


def _uniform(signs: np.ndarray) -> Condition:
    """Return the condition that means of columns, and of products of two columns, are as small as for random signs."""
    rows, d = signs.shape
    some = signs[:, :_PAIRS].astype(float)
    pairs = np.abs(np.triu(some.T @ some / rows, 1)).max(initial=0.0)
    largest = float(max(np.abs(signs.mean(axis=0)).max(initial=0.0), pairs))
    tests = max(d, 1) + min(d, _PAIRS) * (min(d, _PAIRS) - 1) / 2
    limit = float(stats.norm.isf(0.0005 / tests) / math.sqrt(rows))
    return Condition(
        f"columns are balanced and independent (largest mean of a column or of a product of two columns; chance gives "
        f"{limit:.2g})",
        largest, largest <= limit,
        "otherwise the expected errors are wrong, and each coefficient contains parts of others",
    )  # fmt: skip


def _content(gain: float, products: int, rows: int) -> tuple[Condition, ...]:
    """Return the condition that the products lower the expected error more than for labels of random signs.

    For random labels and uniform columns, the gain (the decrease of the error) has mean 0. The gain is a sum of 2 y_i
    y_j chi_S(x_i) chi_S(x_j)/rows² over pairs of rows and over the products. Each product adds the variance 2/rows²,
    because different products are uncorrelated.
    """
    if not products:
        return ()
    size = gain * rows / math.sqrt(2 * products)
    return (
        Condition("the products explain more than chance does (gain in standard deviations)", size, size > _BEYOND,
                  "otherwise the degree fits noise"),
    )  # fmt: skip


def _against_guessing(error: float, guess: float) -> Condition:
    ratio = error / guess
    return Condition(
        "the bound on the error is below the error of always answering the more frequent class (their ratio)",
        ratio, ratio < 1,
        "otherwise the bound on the share of wrong answers is not below the error of guessing",
    )  # fmt: skip
