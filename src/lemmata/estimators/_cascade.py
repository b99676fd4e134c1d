"""Scikit-learn estimators: cascades, which are compositions of vectors of polyharmonic splines ("packages")."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from lemmata.core import check_whole
from lemmata.errors import SettingError
from lemmata.subjects.splines import SplineCovariance, initial_cascade

from ._bases import AbstractRegressor
from ._kernel_ridge import above_0
from ._leaves import jax_leaves, numpy_leaves
from ._rows import points_of, root_mean_square, training_rows


class AbstractCascadeEstimator(BaseEstimator):
    """The shared part of the cascade estimators, which scales inputs, makes batches and computes outputs."""

    widths: Any
    damping: Any
    batch: Any
    epochs: Any
    slope: Any
    level: Any
    random_state: Any

    def _train(self, points: Float[np.ndarray, "n d"], targets: Float[np.ndarray, "k n"]) -> None:
        """Train by steps in function space on batches of one size, in a new order of the rows for each epoch."""
        widths, batch, epochs = self._checked()
        low, high = points.min(axis=0), points.max(axis=0)
        self.scale_ = np.where(high > low, high - low, 1.0)
        self.shift_ = (points / self.scale_).mean(axis=0)
        n = len(points)
        batches = math.ceil(n / batch)
        size = math.ceil(n / batches)
        random = check_random_state(self.random_state)
        with jax.enable_x64(True):
            z, y = jnp.asarray(self._scaled(points)), jnp.asarray(targets)
            covariance = SplineCovariance(float(self.slope), float(self.level))
            key = jax.random.key(int(random.randint(2**31 - 1)))
            cascade = initial_cascade(key, (points.shape[1], *widths), covariance, len(targets))
            for _ in range(epochs):
                # The last batch is filled up from the first, so that one compiled function serves all batches.
                order = np.resize(random.permutation(n), batches * size)
                for rows in order.reshape(batches, size):
                    cascade = cascade.step(z[rows], y[:, rows], float(self.damping))
            self.cascade_ = numpy_leaves(cascade)

    def _checked(self) -> tuple[tuple[int, ...], int, int]:
        if isinstance(self.widths, str | int) or not all(
            isinstance(w, int | np.integer) and w > 0 for w in self.widths
        ):
            raise SettingError("widths", found=repr(self.widths), rule="whole numbers that are at least 1")
        check_whole("batch", self.batch, 1, "rows")
        check_whole("epochs", self.epochs, 0, "passes")
        for name in ("damping", "slope", "level"):
            above_0(name, getattr(self, name))
        return tuple(int(width) for width in self.widths), int(self.batch), int(self.epochs)

    def _scaled(self, points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        return points / self.scale_ - self.shift_

    def _outputs(self, X: Any) -> Float[np.ndarray, "m k"]:
        check_is_fitted(self)
        scaled = self._scaled(points_of(self, X))
        with jax.enable_x64(True):
            return np.asarray(jax_leaves(self.cascade_)(jnp.asarray(scaled))).T


class CascadeRegressor(AbstractRegressor, AbstractCascadeEstimator):
    """Regression with a cascade, a composition of packages of polyharmonic splines, trained in the space of functions.

    Inputs are divided by their range and centred, targets by their standard deviation. A package is a vector of splines
    with common nodes, the vertices of a hyperoctahedron. The packages map the inputs to `widths[0]` numbers, then to
    `widths[1]` numbers, and so on, and finally to one number. Each column of the targets has its own cascade. Each step
    takes a batch of rows and solves a linear system of the size of the batch. The step then moves the splines' values
    at their nodes by damped Gauss-Newton (`lemmata.subjects.splines.Cascade.step`). If the targets depend only on a few
    directions of the inputs, a cascade can find these directions. If the targets depend on all directions, plain kernel
    regression with the same covariance predicts better.

    Args:
        widths: the widths of the packages after the first one. () means a single package. A package between two equal
            widths starts near the identity. The last package starts at 0.
        damping: alpha, added to the tangent kernel's diagonal; a larger value makes training slower and steadier.
        batch: the largest number of rows in a step.
        epochs: the number of passes over the rows.
        slope: b of the covariance r² (ln r - b) + c.
        level: c of this covariance.
        random_state: a seed, a RandomState or None, for initial values and the order of rows.

    Attributes:
        cascade_: the cascade, with one output for each column.
        scale_, shift_: inputs are X / scale_ - shift_.
        offset_: the mean of the targets.
        target_scale_: the divisor of centred targets.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import CascadeRegressor
        >>> x = np.linspace(-1, 1, 40)[:, None]
        >>> bool(CascadeRegressor((4,), random_state=0).fit(x, np.sin(3 * x[:, 0])).score(x, np.sin(3 * x[:, 0])) > 0.9)
        True
    """

    def __init__(
        self, widths=(20, 10), damping=1.0, batch=300, epochs=10, slope=5.0, level=400.0, random_state=None
    ):  # scikit-learn validates in fit, not here
        self.widths = widths
        self.damping = damping
        self.batch = batch
        self.epochs = epochs
        self.slope = slope
        self.level = level
        self.random_state = random_state

    def fit(self, X, y):
        """Train on rows.

        Args:
            X: inputs (n, d).
            y: targets (n,) or (n, k).

        Raises:
            SettingError: if a setting is out of its range; the message names it.
            NotPositiveDefiniteError: if slope or level is too small for a package.
            DataError: for inputs that contain strings.
        """
        rows = training_rows(self, X, y, None, multi_output=True, y_numeric=True)
        self._flat = rows.targets.ndim == 1
        targets = rows.targets.reshape(len(rows.targets), -1)
        self.offset_ = rows.mean
        centred = targets - self.offset_
        size = root_mean_square(centred, rows.weights)
        self.target_scale_ = np.where(size > 0, size, 1.0)
        self._train(rows.points, (centred / self.target_scale_).T)
        return self

    def predict(self, X):
        """Predictions (m,) or (m, k) at the inputs X (m, d)."""
        outputs = self._outputs(X) * self.target_scale_ + self.offset_
        return outputs[:, 0] if self._flat else outputs


class CascadeClassifier(ClassifierMixin, AbstractCascadeEstimator):
    """Classification with cascades of packages of polyharmonic splines, trained in the space of functions.

    For each class, one cascade is fitted to 1 for the rows of this class and -1 for all other rows. For two classes,
    only one cascade is fitted. The class with the largest output is predicted. Inputs are divided by their range and
    centred. See `CascadeRegressor`.

    Args:
        widths: the widths of the packages after the first one. () means a single package. A package between two equal
            widths starts near the identity. The last package starts at 0.
        damping: alpha, added to the tangent kernel's diagonal; a larger value makes training slower and steadier.
        batch: the largest number of rows in a step.
        epochs: the number of passes over the rows.
        slope: b of the covariance r² (ln r - b) + c.
        level: c of this covariance.
        random_state: a seed, a RandomState or None, for initial values and the order of rows.

    Attributes:
        classes_: the labels.
        cascade_: the cascades, with one output for each class, or one output for two classes.
        scale_, shift_: inputs are X / scale_ - shift_.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import CascadeClassifier
        >>> x = np.random.default_rng(0).normal(size=(80, 2))
        >>> y = (x**2).sum(axis=1) > 1.4
        >>> bool(CascadeClassifier((4,), random_state=0).fit(x, y).score(x, y) > 0.9)
        True
    """

    def __init__(self, widths=(20, 10), damping=5.0, batch=300, epochs=10, slope=5.0, level=400.0, random_state=None):
        self.widths = widths
        self.damping = damping
        self.batch = batch
        self.epochs = epochs
        self.slope = slope
        self.level = level
        self.random_state = random_state

    def fit(self, X, y):
        """Train on rows.

        Args:
            X: inputs (n, d).
            y: labels (n,), at least two different ones.

        Raises:
            DataError: for labels of a single class, or inputs that contain strings.
            SettingError: if a setting is out of its range; the message names it.
            NotPositiveDefiniteError: if slope or level is too small for a package.
        """
        rows = training_rows(self, X, y, None)
        self.classes_, index = rows.labelled()
        classes = np.arange(len(self.classes_)) if len(self.classes_) > 2 else np.array([1])
        self._train(rows.points, np.where(index == classes[:, None], 1.0, -1.0))
        return self

    def decision_function(self, X):
        """The outputs (m, k) for k > 2 classes. For two classes, the one output (m,), positive for the second class."""
        outputs = self._outputs(X)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X):
        """Labels (m,) of the largest outputs."""
        found = self.decision_function(X)
        return self.classes_[(found > 0).astype(int) if found.ndim == 1 else np.argmax(found, axis=1)]
