"""A scikit-learn classifier: an infinitely wide network trained on squared loss."""

import warnings
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from lemmata.errors import CalibrationWarning

from ._kernel_ridge import TangentKernelRegressor
from ._rows import points_of, training_rows

# the number of rows whose leave-one-out outputs calibrate probabilities, if there are more than 2,000 rows
_JUDGES = 1000


class TangentKernelClassifier(ClassifierMixin, BaseEstimator):
    """Least-squares classification with the tangent kernel of an infinitely wide network.

    `TangentKernelRegressor` is fitted to the indicators of the k classes (1 for the class of the row, 0 elsewhere). The
    class with the largest output is predicted.

    Outputs of a least-squares fit are not probabilities. `predict_proba` is the softmax of `sharpness_` times the
    outputs. The sharpness minimises the log loss of the leave-one-out outputs of the training rows. Each of these
    outputs comes from a fit without the row, except that the offset (the mean target) includes the row. In the log
    loss, each class counts as if it had one more row (Platt's smoothing). The leave-one-out outputs have a closed form
    for a ridge (`time` is None), so `predict_proba` is available only then. For more than 2,000 training rows, the
    leave-one-out outputs of 1,000 to 2,000 rows are used.

    Args:
        network: a layer of `lemmata.architectures`; None means three hidden ReLU layers with biases of standard
            deviation 0.1.
        ridge: see `TangentKernelRegressor`.
        time: see `TangentKernelRegressor`.
        centres: see `KernelRegressor`. The attributes `centres_` and `price_` belong to `regressor_`.

    Attributes:
        classes_: the labels.
        regressor_: the `TangentKernelRegressor` that is fitted to the indicators.
        sharpness_: the factor of the outputs before the softmax, if `time` is None. The factor is 0 if the
            leave-one-out outputs are no better than chance.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import TangentKernelClassifier
        >>> x = np.random.default_rng(0).normal(size=(60, 2))
        >>> bool(TangentKernelClassifier().fit(x, x[:, 0] * x[:, 1] > 0).score(x, x[:, 0] * x[:, 1] > 0) > 0.9)
        True
    """

    centres: Any = "auto"  # for classifiers that were stored by a version without centres

    def __init__(self, network=None, ridge=None, time=None, centres="auto"):
        self.network = network
        self.ridge = ridge
        self.time = time
        self.centres = centres

    def fit(self, X, y, sample_weight=None):
        """Fit the indicators of the classes.

        Args:
            X: inputs (n, d), or what `network` reads, see `TangentKernelRegressor`.
            y: labels (n,), at least two different ones.
            sample_weight: weights (n,) of at least 0, see `TangentKernelRegressor.fit`; None means 1 for every row.

        Raises:
            DataError: for labels of a single class among the rows of positive weight, missing labels, texts beside
                other labels, and for the same reasons as
                `TangentKernelRegressor`.
            SettingError: for the same reasons as `TangentKernelRegressor`.

        Warns:
            ApproximationWarning: for a fit on centres with centres = "auto".
            CalibrationWarning: if every class has only one row, because probabilities cannot be calibrated then.
        """
        rows = training_rows(self, X, y, sample_weight).merged()
        self.classes_, index = rows.labelled()
        indicators = np.eye(len(self.classes_))[index]
        self.regressor_ = TangentKernelRegressor(self.network, self.ridge, self.time, self.centres)
        judges = _JUDGES if self.time is None else 0
        judged, residuals = self.regressor_._fit(rows.points, indicators, rows.weights, judges)
        if self.time is None:
            outputs = judged.targets - residuals / np.sqrt(judged.weights)[:, None]
            self.sharpness_ = _sharpness(outputs, np.argmax(judged.targets, axis=1), judged.weights)
            if len(rows.points) == len(self.classes_):
                warnings.warn(
                    "each class has only one row, so a fit without this row does not know the class. The "
                    "leave-one-out outputs therefore cannot calibrate predict_proba (its sharpness is "
                    f"{self.sharpness_:.3g}), but predict is not affected. To calibrate predict_proba, give more "
                    "rows of each class.",
                    CalibrationWarning,
                    stacklevel=2,
                )
        return self

    def decision_function(self, X):
        """The outputs (m, k) for k > 2 classes.

        For two classes, the result is the difference (m,) of the two outputs. A positive difference means the second
        class.
        """
        outputs = self._outputs(X)
        return outputs[:, 1] - outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X):
        """Labels (m,) of the largest outputs."""
        best = np.argmax(self._outputs(X), axis=1)
        return self.classes_[best]

    @available_if(lambda self: self.time is None)
    def predict_proba(self, X):
        """Probabilities (m, k), the softmax of `sharpness_` times the outputs."""
        outputs = self._outputs(X)
        return softmax(self.sharpness_ * outputs, axis=1)

    def _outputs(self, X) -> np.ndarray:
        check_is_fitted(self)
        return self.regressor_.predict(points_of(self, X))


def _sharpness(outputs: np.ndarray, index: np.ndarray, weights: np.ndarray) -> float:
    """The s >= 0 that minimises the log loss of softmax(s outputs).

    The loss is convex in s, so the minimiser is where its derivative changes sign.
    """
    classes = outputs.shape[1]
    counts = np.bincount(index, weights, minlength=classes)[index, None]
    wanted = (np.eye(classes)[index] * counts + 1) / (counts + classes)
    slope = lambda s: float(weights @ np.sum((softmax(s * outputs, axis=1) - wanted) * outputs, axis=1))
    if slope(0.0) >= 0:
        return 0.0
    # The slope tends to sum over rows of (largest output - <wanted, outputs>), which is positive because every entry of
    # `wanted` is positive.
    end = 1.0
    while slope(end) < 0:
        end *= 2
    root: Any = brentq(slope, 0.0, end)
    return float(root)
