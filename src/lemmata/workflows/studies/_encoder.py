"""Make the transformer from raw inputs to the encoded matrix of the models.

The transformer is fitted to the rows of one split.
"""

from typing import Any

import numpy as np
from jaxtyping import Float64
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, TargetEncoder
from sklearn.utils.validation import check_is_fitted

from ._calendar import Calendar, CalendarParts

FARTHEST = 10.0
"""A held-out entry is clipped to this many standard deviations, or to twice the farthest training entry if it is more.

Without clipping, a column that hardly varies among the training rows, such as a pixel, could get entries so large that
this column outweighs all other columns.
"""

FOLDS = 5
"""The number of parts into which training rows are divided. Each part gets its target means from the other parts."""

Categories = tuple[tuple[str, ...] | None, ...]
Calendars = tuple[Calendar | None, ...]


class Standardise(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Scale each column to mean 0 and variance 1 over the training rows, by z = (x - mean) / std.

    A column that is constant on these rows becomes 0.

    scikit-learn's StandardScaler divides a constant column by 1, so a held-out row with another value keeps its raw
    units. StandardScaler also squares the entries, which overflows at 1e200 and underflows at 1e-200. To avoid this,
    the present class first divides the entries by the largest entry of the column.

    >>> scaler = Standardise().fit(np.array([[1e200, 7.0], [3e200, 7.0]]))
    >>> scaler.transform(np.array([[1e200, 7.0], [2e200, 9.0]]))
    array([[-1.,  0.],
           [ 0.,  0.]])
    """

    def fit(self, X, y=None):
        """Learn the largest entry, mean and standard deviation of each column of X, which has shape (n, d)."""
        x = np.asarray(X, dtype=np.float64)
        self.largest_ = np.maximum(np.abs(x).max(axis=0), np.finfo(float).tiny)
        scaled = x / self.largest_
        self.varies_ = np.ptp(scaled, axis=0) > 4 * np.finfo(float).eps
        self.mean_ = scaled.mean(axis=0)
        self.std_ = np.where(self.varies_, scaled.std(axis=0), 1.0)
        self.farthest_ = np.maximum(FARTHEST, 2 * np.abs((scaled - self.mean_) / self.std_).max(axis=0))
        self.n_features_in_ = x.shape[1]
        return self

    def transform(self, X):
        """Return the standardised columns, clipped to ten standard deviations or twice the largest training entry."""
        check_is_fitted(self)
        with np.errstate(over="ignore"):
            z = (np.asarray(X, dtype=np.float64) / self.largest_ - self.mean_) / self.std_
        return np.where(self.varies_, np.clip(z, -self.farthest_, self.farthest_), 0.0)


def encoder(inputs: Float64[np.ndarray, "N p"], categories: Categories, calendars: Calendars = ()) -> ColumnTransformer:
    """Return an unfitted transformer of raw inputs that returns equally many encoded columns in every split.

    In columns of numbers, missing cells become the median of the training rows, and then the numbers are standardised.
    If a column has missing cells anywhere in the table, it also gets an indicator column of missing cells. Categories
    become standardised one-hot columns over the vocabulary of the whole table, and missing cells are another category.
    Dates become standardised numbers and standardised columns for the parts of `calendars`. The transformer uses only
    scikit-learn. skrub's TableVectorizer is not used. TableVectorizer chooses the encoding from the rows to which it is
    fitted, so the number of encoded columns would change from split to split. skrub would also be one more dependency.

    >>> inputs = np.array([[0.0, 1.5], [1.0, np.nan], [np.nan, 2.5], [0.0, 3.5]])
    >>> encode = encoder(inputs, (("blue", "red"), None))
    >>> [encode.fit(inputs[:n]).transform(inputs).shape for n in (1, 2, 4)]
    [(4, 5), (4, 5), (4, 5)]
    """
    whole, gaps, texts = _kinds(inputs, categories)
    vocabularies: Any = [_codes(inputs[:, j], categories[j]) for j in texts]
    median = SimpleImputer(strategy="median", keep_empty_features=True)
    one_hot = OneHotEncoder(categories=vocabularies, handle_unknown="ignore", sparse_output=False)
    steps = [
        ("numbers", Standardise(), whole),
        ("gaps", make_pipeline(median, Standardise()), gaps),
        ("missing", make_pipeline(MissingIndicator(features="all"), Standardise()), gaps),
        ("categories", make_pipeline(one_hot, Standardise()), texts),
    ]
    for j, dates in enumerate(calendars):
        if dates is not None and dates.parts:
            steps.append((f"calendar {j}", make_pipeline(CalendarParts(dates), Standardise()), [j]))
    return ColumnTransformer([step for step in steps if step[2]], sparse_threshold=0)


def encoded_names(
    inputs: Float64[np.ndarray, "N p"], categories: Categories, names: tuple[str, ...], calendars: Calendars = ()
) -> tuple[str, ...]:
    """Return the names of encoded columns in the order of `encoder`: numbers, indicators, categories, date parts."""
    whole, gaps, texts = _kinds(inputs, categories)
    encoded = [names[j] for j in whole + gaps] + [f"{names[j]} is missing" for j in gaps]
    for j in texts:
        encoded += [f"{names[j]} = {category}" for category in categories[j] or ()]
        encoded += [f"{names[j]} is missing"] if np.isnan(inputs[:, j]).any() else []
    for name, dates in zip(names, calendars, strict=bool(calendars)):
        encoded += dates.names(name) if dates is not None else ()
    return tuple(encoded)


def target_means(
    codes: Float64[np.ndarray, "n q"],
    others: Float64[np.ndarray, "m q"],
    targets: Float64[np.ndarray, "n k"],
    groups: np.ndarray | None = None,
) -> Float64[np.ndarray, "rows means"]:
    """Return, for each text column and output, the standardised mean target of the rows with the same text.

    scikit-learn's TargetEncoder shrinks the means of texts with few rows towards the overall mean, by empirical Bayes.
    A training row gets its means from the other four fifths of the training rows, so that its means do not contain its
    own target. Other rows get their means from all training rows.

    Args:
        codes: the codes of the texts of the training rows; NaN if missing.
        others: the codes of the texts of the other rows.
        targets: the targets of the training rows. For two classes, one of the two columns is enough.
        groups: the group of each training row, or None. If there are at least five groups, each group lies in one
            fifth.

    >>> codes, y = np.repeat([[0.0], [1.0]], 50, axis=0), np.repeat([[2.0], [4.0]], 50, axis=0)
    >>> target_means(codes, codes[49:51], y)[-2:].round().ravel().tolist()
    [-1.0, 1.0]
    """
    n, columns = len(codes), []
    parts = KFold(FOLDS, shuffle=True, random_state=0)
    if groups is not None and len(np.unique(groups)) >= FOLDS:
        parts = GroupKFold(FOLDS)
    for y in targets.T:
        own = np.empty_like(codes)
        for rest, part in parts.split(codes, groups=groups):
            own[part] = TargetEncoder(target_type="continuous").fit(codes[rest], y[rest]).transform(codes[part])
        whole = TargetEncoder(target_type="continuous").fit(codes, y)
        columns.append(np.concatenate([own, whole.transform(others) if len(others) else others]))
    found = np.concatenate(columns, axis=1)
    return Standardise().fit(found[:n]).transform(found)


def _kinds(inputs: np.ndarray, categories: Categories) -> tuple[list[int], list[int], list[int]]:
    """Return the columns of numbers without missing cells, of numbers with missing cells, and of categories."""
    missing = np.flatnonzero(np.isnan(inputs).any(axis=0)).tolist()
    numbers = [j for j, names in enumerate(categories) if names is None]
    return (
        sorted({*numbers} - {*missing}),
        sorted({*numbers} & {*missing}),
        [j for j, names in enumerate(categories) if names is not None],
    )


def _codes(column: np.ndarray, names: tuple[str, ...] | None) -> np.ndarray:
    codes = np.arange(len(names or ()), dtype=np.float64)
    return np.append(codes, np.nan) if np.isnan(column).any() else codes
