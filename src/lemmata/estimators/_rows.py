"""The rows of a fit: copied from the input, with weights, and with equal inputs merged where needed."""

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_X_y, validate_data

from lemmata.core import array_of, missing_in, numbers_of, plain_labels, refuse_text, refusing_in_one_line
from lemmata.errors import ContradictionWarning, DataError, InterpolationWarning

from ._graphs import are_fields, as_points
from ._leaves import numpy_leaves

MISSED = 1e-3  # the allowed error of an interpolating fit on a row, as a share of the root mean square of the targets


class Rows(NamedTuple):
    """Rows of positive weight, copied from the input.

    Attributes:
        points: inputs (n, d), or fields (n, *sites, channels).
        targets: the targets (n,) or (n, k).
        weights: the weights (n,), the number of times that each row counts; 1 by default.
    """

    points: Float[np.ndarray, "n *d"]
    targets: Float[np.ndarray, "n *k"]
    weights: Float[np.ndarray, " n"]

    @property
    def mean(self) -> Any:
        """The weighted mean of the targets, a number or (k,)."""
        return np.average(self.targets, axis=0, weights=self.weights)

    def labelled(self) -> tuple[np.ndarray, Int[np.ndarray, " n"]]:
        """The classes among the targets, in order, and the position of each row's class.

        Raises:
            DataError: if there is only one class.
            DataError: if the targets are not classes.
        """
        with refusing_in_one_line():
            check_classification_targets(self.targets)
        classes, index = np.unique(self.targets, return_inverse=True)
        if len(classes) < 2:
            found = f"one class, {classes[0]!r}"
            raise DataError("labels", found=found, rule="at least two classes", remedy="add rows of another class")
        return classes, index

    def merged(self) -> "Rows":
        """The rows, with equal inputs and targets merged into one row of summed weight, in order.

        Merging rows does not change least squares. In leave-one-out errors, a row that occurs twice is left out as one
        row of weight 2.
        """
        axis = 0 if self.targets.ndim > 1 else None  # NumPy below 2.3 takes no strings along an axis
        _, target = np.unique(self.targets, axis=axis, return_inverse=True)
        numbers = np.column_stack([self.points.reshape(len(self.points), -1), target.reshape(-1)])
        if _all_differ(numbers):
            return self
        _, first, group = np.unique(numbers, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        chosen, weights = first[order], np.bincount(group.reshape(-1), self.weights)[order]
        return Rows(self.points[chosen], self.targets[chosen], weights)

    def averaged(self) -> "Rows":
        """The rows in order, with rows of equal inputs merged into one row with their mean target and summed weight.

        As the ridge tends to 0, a fit at an input with several targets tends to their mean. An interpolating fit
        therefore uses these means.
        """
        flat = self.points.reshape(len(self.points), -1)
        _, first, group = np.unique(flat, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(first)
        weights = np.bincount(group.reshape(-1), self.weights)
        sums = np.zeros((len(weights), *self.targets.shape[1:]))
        np.add.at(sums, group.reshape(-1), self.targets * self.along(self.targets, self.weights))
        means = sums / weights.reshape(-1, *[1] * (sums.ndim - 1))
        return Rows(self.points[first[order]], means[order], weights[order])

    def some(self, numbers: Int[np.ndarray, " m"]) -> "Rows":
        """The rows at the given positions."""
        return Rows(self.points[numbers], self.targets[numbers], self.weights[numbers])

    def scaled(self, values: np.ndarray) -> np.ndarray:
        """Values (n, ...) times the square roots of the weights; least squares then counts each row with its weight."""
        return values * self.along(values, np.sqrt(self.weights))

    def along(self, values: np.ndarray, numbers: Float[np.ndarray, " n"]) -> np.ndarray:
        """One number for each row, reshaped to broadcast with values (n, ...)."""
        return numbers.reshape(-1, *[1] * (values.ndim - 1))


def training_rows(estimator: Any, X: Any, y: Any, sample_weight: Any, **rules: Any) -> Rows:
    """Return a copy of the rows of a fit, without the rows of weight 0.

    Args:
        estimator: the estimator that is fitted. The number of columns is stored in it.
        X: inputs (n, d). If the estimator has a `network`, X may also be fields, or a list of graphs if the network
            reads graphs.
        y: the targets of a regression or the labels of a classification.
        sample_weight: None, or weights (n,) of at least 0, not all 0.
        rules: options of scikit-learn's `validate_data` for the targets.

    Raises:
        DataError: for inputs that contain strings, dates or masked entries, for targets of a regression that are not
            finite numbers, for missing labels, and for invalid weights.
    """
    network = getattr(estimator, "network", None)
    X = _plain(as_points(network, X))
    with refusing_in_one_line():
        refuse_text(X)
        y = _targets(y, bool(rules.get("y_numeric")))
        if are_fields(network, X):
            X, y = check_X_y(X, y, dtype="float64", allow_nd=True, **rules)
        else:
            X, y = validate_data(estimator, X, y, dtype=np.float64, **rules)
    weights = _weights(sample_weight, len(X))
    if (weights > 0).all():
        return Rows(np.array(X, float), np.array(y), weights)
    kept = weights > 0
    return Rows(np.asarray(X, float)[kept], np.asarray(y)[kept], weights[kept])


def points_of(estimator: Any, X: Any) -> Float[np.ndarray, "m *d"]:
    """The inputs (m, d) of a prediction. Such inputs are refused for the same reasons as the inputs of the fit."""
    network = getattr(estimator, "network", None)
    X = _plain(as_points(network, X))
    with refusing_in_one_line():
        refuse_text(X)
        if are_fields(network, X):
            return np.asarray(check_array(X, dtype="float64", allow_nd=True))
        return np.asarray(validate_data(estimator, X, reset=False, dtype=np.float64))


def _plain(X: Any) -> Any:
    """Return the inputs unchanged. Refuse masked entries and dates, which scikit-learn would read as numbers."""
    if isinstance(X, np.ndarray):
        array_of("inputs X", X)
    _refuse_dates("inputs X", X)
    return X


def _refuse_dates(name: str, values: Any) -> None:
    """Raise DataError for dates and times, which scikit-learn and NumPy would read as numbers."""
    kinds = [getattr(values, "dtype", None), *(getattr(values, "dtypes", ()) if hasattr(values, "columns") else ())]
    dates = [kind for kind in kinds if getattr(kind, "kind", "") in ("m", "M")]
    if dates:
        remedy = "convert dates to numbers, for example to days since the first date"
        raise DataError(name, found=f"entries of type {dates[0]}", rule="real numbers", remedy=remedy)


def _targets(y: Any, numeric: bool) -> Any:
    """Return targets for scikit-learn's checks. Refuse what it would misread or refuse with an unclear error."""
    if y is None:  # scikit-learn's error says that the estimator needs targets
        return y
    array = array_of("targets y", y)
    if not array.size:  # scikit-learn's error says how many rows are needed
        return y
    if not numeric:
        missing = missing_in(array)
        if missing and array.dtype.kind != "f":
            rule, remedy = "a label for each row", "drop rows without a label, or give them a label of their own"
            raise DataError("labels y", found=f"{missing} missing labels", rule=rule, remedy=remedy)
        texts = {isinstance(label, str) for label in array.ravel().tolist()} if array.dtype.kind == "O" else set()
        if len(texts) > 1:
            found, rule = "texts and other labels", "labels of one type"
            raise DataError("labels y", found=found, rule=rule, remedy="convert all labels to texts, with str")
        return plain_labels(y)
    _refuse_dates("targets y", array)
    return numbers_of("targets y", array).astype(float) if array.dtype.kind in "OUS" else y


def _weights(given: Any, rows: int) -> Float[np.ndarray, " n"]:
    if given is None:
        return np.ones(rows)
    _refuse_dates("sample_weight", given)
    weights = np.array(numbers_of("sample_weight", given), float)
    weights = np.full(rows, float(weights)) if weights.ndim == 0 else weights
    if weights.shape != (rows,) or not np.isfinite(weights).all() or (weights < 0).any() or not (weights > 0).any():
        raise DataError(
            "sample_weight",
            found=f"shape {weights.shape}"
            if weights.shape != (rows,)
            else f"smallest {weights.min()}"
            if weights.any()
            else "only weights that are zero",
            rule=f"{rows} finite weights (one for each row) that are not negative, at least one of them above 0",
        )
    return weights


def without_contradictions(rows: Rows, setting: str) -> Rows:
    """The rows for a fit that interpolates. If equal inputs have different targets, warn and average the targets.

    Args:
        rows: the rows of the fit.
        setting: the setting that requests interpolation, for the message.
    """
    if _all_differ(rows.points.reshape(len(rows.points), -1)):
        return rows
    _, group, counts = np.unique(rows.points, axis=0, return_inverse=True, return_counts=True)
    if len(counts) == len(rows.points):
        return rows
    targets, group = rows.targets.reshape(len(rows.targets), -1), group.reshape(-1)
    first = np.zeros((len(counts), targets.shape[1]))
    first[group[::-1]] = targets[::-1]  # the first row of every group is written last
    differs = (targets != first[group]).any(axis=1)
    if not differs.any():
        return rows
    row = int(np.argmax(differs))
    warnings.warn(
        f"{int(differs.sum())} rows have the same inputs as another row, but other targets (the first is row {row}, "
        f"counted from 0). No function passes through two targets at the same inputs, so with {setting} the fit uses "
        "the mean of these targets. Set a ridge or noise above 0, or drop the repeated rows.",
        ContradictionWarning,
        stacklevel=4,
    )
    return rows.averaged()


def _all_differ(numbers: Float[np.ndarray, "n d"]) -> bool:
    """Whether hashes show that no two rows are equal. Sorting hashes is faster than sorting rows."""
    hashes = np.zeros(len(numbers), np.uint64)
    for column in numbers.T:
        bits = (column + 0.0).view(np.uint64)  # -0.0 + 0.0 is 0.0
        hashes = (hashes ^ bits ^ (bits >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return len(np.unique(hashes)) == len(numbers)


def warn_of_missed_rows(missed: Any, targets: np.ndarray, setting: str) -> None:
    """Warn if a fit that should interpolate misses rows, because its matrix is singular up to rounding.

    Args:
        missed: the fitted values minus the centred targets, (n,) or (n, k).
        targets: the centred targets, of the same shape.
        setting: the setting that requests interpolation, for the message.
    """
    size = np.asarray(root_mean_square(targets, np.ones(len(targets))))
    shares = np.abs(np.asarray(missed)) / np.where(size > 0, size, 1.0)
    shares = shares.reshape(len(shares), -1).max(axis=1)
    if shares.max() > MISSED:
        row = int(shares.argmax())
        warnings.warn(
            f"with {setting} the fit should pass through the training rows. But the fit misses the target of row "
            f"{row} (counted from 0 among the distinct rows) by {shares[row]:.2g} times the root mean square of the "
            "targets, because the Gram matrix is singular up to rounding. Set a ridge or noise above 0, or use a "
            "kernel with a shorter lengthscale or less smoothness.",
            InterpolationWarning,
            stacklevel=4,
        )


def root_mean_square(values: np.ndarray, weights: Float[np.ndarray, " n"]) -> Any:
    """The weighted root mean square over rows, a number or (k,), even if squares would over- or underflow.

    Args:
        values: the values (n,) or (n, k).
        weights: the weights (n,).
    """
    # Division by a power of 2 is exact.
    exponent = np.frexp(np.abs(values).max(axis=0))[1]
    squares = np.ldexp(values, -exponent) ** 2
    return np.ldexp(np.sqrt(np.average(squares, axis=0, weights=weights)), exponent)


def float64_leaves(tree: Any) -> Any:
    """Return the tree with NumPy arrays (`numpy_leaves`), in which single float32 numbers are converted to float64.

    A Python number that was given while JAX's x64 mode was off, for example 1.3, was rounded to the nearest float32
    number, 1.2999999523. Such a number is converted to its shortest decimal, which is the number that the user wrote,
    up to 7 digits. Numbers that were given as float32 keep their values.

    Args:
        tree: a kernel or a network.
    """

    def whole(leaf: Any) -> Any:
        if not (isinstance(leaf, jax.Array) and leaf.dtype == jnp.float32 and leaf.ndim == 0):
            return leaf
        return np.float64(str(np.float32(leaf))) if leaf.weak_type else np.float64(leaf)

    return numpy_leaves(jax.tree.map(whole, tree))
