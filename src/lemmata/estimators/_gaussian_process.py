"""An infinitely wide Bayesian network as a scikit-learn estimator."""

import math

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from lemmata.architectures import NNGPKernel
from lemmata.errors import SettingError
from lemmata.kernels import gram
from lemmata.solvers import kernel_ridge, log_evidence, posterior

from ._graphs import of_one_shape
from ._kernel_ridge import chosen_network
from ._leaves import jax_leaves, numpy_leaves
from ._rows import (
    float64_leaves,
    points_of,
    root_mean_square,
    training_rows,
    warn_of_missed_rows,
    without_contradictions,
)


class NNGPRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Bayesian regression with an infinitely wide network: a Gaussian process with the network's NNGP kernel.

    Each column of the targets is centred and divided by its root mean square, so that the prior, whose scale is that of
    the network's initial outputs, fits them; standard deviations come back in the units of the targets.

    Args:
        network: a layer of `lemmata.architectures`; None is three hidden ReLU layers with biases of standard deviation
            0.1.
        noise: variance of the noise, for targets of mean square 1.

    Attributes:
        network_: the network that is used.
        log_evidence_: the log marginal likelihood of the scaled targets, summed over their columns; -inf for rows that
            contradict each other without noise.
        jitter_: what had to be added to the diagonal beyond the noise.
        offset_: the mean of the targets, a number or (k,).
        target_scale_: what centred targets are divided by, a number or (k,); 1 for a column constant to rounding.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import NNGPRegressor
        >>> x = np.linspace(-1, 1, 20)[:, None]
        >>> model = NNGPRegressor(noise=1e-3).fit(x, np.sin(3 * x[:, 0]))
        >>> mean, deviation = model.predict(np.array([[0.0], [9.0]]), return_std=True)
        >>> bool(deviation[0] < 0.1 < deviation[1])
        True
    """

    def __init__(self, network=None, noise=1e-2):
        self.network = network
        self.noise = noise

    def fit(self, X, y, sample_weight=None):
        """Condition on the training rows.

        The noise of a row of weight w has the variance noise / w; offset and scale of the targets are weighted. Rows of
        weight 0 are left out.

        Args:
            X: inputs (n, d), or what `network` reads, see `TangentKernelRegressor`.
            y: targets (n,) or (n, k).
            sample_weight: (n,) numbers of at least 0; None is 1 for every row.

        Raises:
            SettingError: for a network that is not a layer, or a noise that is not a number of at least 0.
            NotPositiveDefiniteError: if the kernel is indefinite on these rows; the message states the smallest
                eigenvalue.
            DataError: for inputs that contain strings, or weights that are negative, not finite, or all 0.

        Warns:
            ContradictionWarning: for equal inputs with different targets, if noise = 0.
            InterpolationWarning: if noise = 0 and the fit misses a row by more than a thousandth of the targets' root
                mean square, because the Gram matrix is singular up to rounding.
        """
        rows = training_rows(self, X, y, sample_weight, multi_output=True, y_numeric=True)
        chosen = float64_leaves(chosen_network(self.network))
        if isinstance(self.noise, str) or not 0 <= float(self.noise) < math.inf:
            raise SettingError("noise", found=repr(self.noise), rule="a finite number that is not negative")
        exact, given = float(self.noise) == 0, rows
        rows = without_contradictions(rows, "noise = 0") if exact else rows
        y, self._points, self._roots, self.offset_ = rows.targets, rows.points, np.sqrt(rows.weights), rows.mean
        scale = root_mean_square(y - self.offset_, rows.weights)
        rounding = len(y) * np.finfo(float).eps * np.abs(y).max(axis=0)  # what a mean may be off by
        self.target_scale_ = np.where(scale > rounding, scale, 1.0)[()]
        self._targets = rows.scaled((y - self.offset_) / self.target_scale_)
        with jax.enable_x64(True):
            matrix, targets = (
                gram(NNGPKernel(jax_leaves(chosen)), jnp.asarray(self._points)),
                jnp.asarray(self._targets),
            )
            matrix = matrix * np.outer(self._roots, self._roots)
            solution = kernel_ridge(matrix, targets, float(self.noise))
            self.jitter_ = float(solution.jitter)
            if exact:
                missed = np.asarray(matrix @ solution.coefficients) - self._targets
                warn_of_missed_rows(missed, self._targets, "noise = 0")
            # The density of y is that of the scaled targets times their scale, the root of the weight, in every column.
            volume = float(np.sum(np.log(self._roots))) * (y.size // len(y))
            self.log_evidence_ = float(log_evidence(matrix, targets, float(self.noise) + self.jitter_)) + volume
            if rows is not given:  # without noise, rows that contradict each other have no density
                self.log_evidence_ = -math.inf
            self.network_, self._solution = chosen, numpy_leaves(solution)
        return self

    def predict(self, X, return_std=False):
        """The posterior mean (m,) or (m, k) at the inputs X (m, d), and with `return_std` its standard deviation.

        The deviation has the shape of the mean. It is that of the function, without the noise; columns differ by their
        scale alone.
        """
        check_is_fitted(self)
        X, fitted = of_one_shape(self.network, points_of(self, X), self._points)
        with jax.enable_x64(True):
            kernel, points = NNGPKernel(jax_leaves(self.network_)), jnp.asarray(X)
            cross, solution = gram(kernel, points, jnp.asarray(fitted)) * self._roots, jax_leaves(self._solution)
            found = posterior(solution, cross, kernel.diagonal(points))
            mean = self.offset_ + self.target_scale_ * np.asarray(found.mean)
            deviation = np.multiply.outer(np.sqrt(np.asarray(found.covariance)), self.target_scale_)
            return (mean, deviation) if return_std else mean
