"""A scikit-learn estimator: an infinitely wide Bayesian network."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_is_fitted

from lemmata.architectures import NNGPKernel
from lemmata.core import check_real
from lemmata.errors import SettingError

from ._bases import AbstractRegressor
from ._centres import centres_for, crosses, diagonal_mean, on_centres, warn_of_centres, warn_of_least_squares
from ._exactness import beyond_the_ridge, within_rounding
from ._graphs import of_one_shape
from ._kernel_ridge import chosen_network, weighted_system
from ._leaves import jax_leaves
from ._rows import (
    float64_leaves,
    points_of,
    root_mean_square,
    training_rows,
    warn_of_missed_rows,
    without_contradictions,
)

_LOG_2_PI = math.log(2 * math.pi)


class NNGPRegressor(AbstractRegressor):
    """Bayesian regression with an infinitely wide network: a Gaussian process with the network's NNGP kernel.

    The prior is the distribution of the network's initial outputs. Each column of the targets is centred and divided by
    its root mean square, so that its scale matches the prior. Standard deviations are returned in the units of the
    targets.

    With `centres`, some random rows z take the place of all rows, and the posterior is the variational posterior
    (Titsias, 2009). This posterior assumes that the values of the process at z contain all information of the rows. Let
    psi(x) = G^T K(z, x), where the matrix G is such that the sum over rows of psi(x_i) psi(x_i)^T is diagonal, with
    entries a_j. The variance is K(x, x) - sum_j psi_j(x)² a_j / (a_j + noise). This variance is neither an upper nor a
    lower bound of the exact posterior variance. Far from the centres, this variance equals the variance of the prior.

    Args:
        network: a layer of `lemmata.architectures`; None means three hidden ReLU layers with biases of standard
            deviation 0.1.
        noise: the variance of the noise, for targets of mean square 1.
        centres: "auto", a number, or None; see `KernelRegressor`.

    Attributes:
        network_: the network that is used.
        log_evidence_: the log marginal likelihood of the scaled targets, summed over their columns; -inf if noise = 0
            and equal inputs have different targets. None on centres.
        log_evidence_bound_: a lower bound of the log marginal likelihood (on centres, that of Titsias); equal to
            `log_evidence_` if the fit is exact.
        centres_: the number of centres; None if the fit is exact.
        price_: see `KernelRegressor`.
        jitter_: the number that was added to the Gram matrix's diagonal for numerical stability, besides the noise. On
            centres, the jitter is added to the diagonal of the centres' Gram matrix.
        offset_: the mean of the targets, a number or (k,).
        target_scale_: the number by which centred targets are divided, a number or (k,). A column that is constant up
            to rounding is divided by 1.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import NNGPRegressor
        >>> x = np.linspace(-1, 1, 20)[:, None]
        >>> model = NNGPRegressor(noise=1e-3).fit(x, np.sin(3 * x[:, 0]))
        >>> mean, deviation = model.predict(np.array([[0.0], [9.0]]), return_std=True)
        >>> bool(deviation[0] < 0.1 < deviation[1])
        True
    """

    # These values of the class are for estimators that were stored by a version without centres.
    centres: Any = "auto"
    centres_: int | None = None
    price_: tuple[float, float] = (0.0, 0.0)

    def __init__(self, network=None, noise=1e-2, centres="auto"):
        self.network = network
        self.noise = noise
        self.centres = centres

    def fit(self, X, y, sample_weight=None):
        """Condition on the training rows.

        The noise of a row of weight w has the variance noise / w; offset and scale of the targets are weighted. Rows of
        weight 0 are left out.

        Args:
            X: inputs (n, d), or what `network` reads, see `TangentKernelRegressor`.
            y: targets (n,) or (n, k).
            sample_weight: weights (n,) of at least 0; None means 1 for every row.

        Raises:
            SettingError: for a network that is not a layer, or a noise that is not a finite number of at least 0.
            NotPositiveDefiniteError: if the kernel is indefinite on these rows; the message states the smallest
                eigenvalue.
            DataError: for inputs that contain strings, dates or masked entries, for targets that are not finite
                numbers, or weights that are negative, not finite, or all 0.

        Warns:
            ApproximationWarning: for a fit on centres with centres = "auto".
            ContradictionWarning: for equal inputs with different targets, if noise = 0.
            InterpolationWarning: if the fit misses a row by more than a thousandth of the targets' root mean square
                although noise = 0, or the noise is so small that the exact fit interpolates, too. The fit misses rows
                if the Gram matrix is singular up to rounding, or if there are fewer centres than rows.
        """
        rows = training_rows(self, X, y, sample_weight, multi_output=True, y_numeric=True)
        count = centres_for(self.centres, len(rows.points))
        chosen = float64_leaves(chosen_network(self.network))
        if np.ndim(self.noise):
            rule, remedy = "one number", "pass sample_weight for rows of different noise"
            raise SettingError("noise", found=repr(self.noise), rule=rule, remedy=remedy)
        if self.noise is None or isinstance(self.noise, str):
            raise SettingError("noise", found=repr(self.noise), rule="a number, finite and not negative")
        check_real("noise", self.noise, "finite and not negative", lambda noise: noise >= 0)
        exact, given = float(self.noise) == 0, rows
        rows = without_contradictions(rows, "noise = 0") if exact else rows
        y, self._points, self._roots, self.offset_ = rows.targets, rows.points, np.sqrt(rows.weights), rows.mean
        scale = root_mean_square(y - self.offset_, rows.weights)
        rounding = len(y) * np.finfo(float).eps * np.abs(y).max(axis=0)  # the largest rounding error of a mean
        self.target_scale_ = np.where(scale > rounding, scale, 1.0)[()]
        self._targets = rows.scaled((y - self.offset_) / self.target_scale_)
        self.network_, self.centres_, self.price_ = chosen, None, (0.0, 0.0)
        vars(self).pop("_solution", None)
        volume = float(np.sum(np.log(self._roots))) * (y.size // len(y))
        with jax.enable_x64(True):
            if count is not None and count < len(y):
                self._condition_on_centres(count, volume)
                return self
            system = weighted_system(NNGPKernel(jax_leaves(chosen)), self._points, self._roots)
            flat, noise = self._targets.reshape(len(y), -1), float(self.noise)
            self.jitter_ = system.factorise(noise)
            alpha = system.solved(flat)
            missed = beyond_the_ridge(system.product(alpha), alpha, flat, noise, self.jitter_)
            if missed is not None:
                warn_of_missed_rows(missed, flat, f"noise = {noise:g}")
            # The targets were multiplied by the roots of the weights. So the density of the targets before this
            # multiplication has these roots as a factor, for every column.
            density = -0.5 * (np.sum(flat * alpha) + flat.shape[1] * (system.log_determinant() + len(y) * _LOG_2_PI))
            self.log_evidence_ = self.log_evidence_bound_ = float(density) + volume
            if rows is not given:  # without noise, contradictory rows have no density
                self.log_evidence_ = self.log_evidence_bound_ = -math.inf
            self._coefficients, self._factor = alpha.reshape(self._targets.shape), system.factor()
        return self

    def _condition_on_centres(self, count: int, volume: float) -> None:
        """Compute the variational posterior on `count` random rows as centres, which take the place of all rows."""
        kernel, flat = NNGPKernel(jax_leaves(self.network_)), self._targets.reshape(len(self._targets), -1)
        rows, shape, noise = len(flat), self._targets.shape[1:], float(self.noise)
        found = on_centres(kernel, self._points, flat, self._roots, count, np.array([noise]), None)
        modes = found.modes.modes
        a, weights = modes.eigenvalues, self._roots**2
        trace = float(np.sum(weights)) * diagonal_mean(kernel, self._points, weights)
        self.log_evidence_, self.log_evidence_bound_ = None, -math.inf
        if noise > 0:
            square = (np.sum(flat**2) - np.sum(modes.moments**2 * found.weights[:, None])) / noise
            logarithms = np.sum(np.log(a + noise)) + (rows - len(a)) * math.log(noise) + rows * _LOG_2_PI
            lost = max(trace - float(np.sum(a)), 0.0) / noise
            self.log_evidence_bound_ = float(-0.5 * (square + flat.shape[1] * (logarithms + lost))) + volume
        self.centres_, self.price_, self.jitter_ = len(found.centres), found.price, found.modes.jitter
        self._points, self._roots, self._targets = found.centres, np.ones(len(found.centres)), np.zeros((0, *shape))
        self._coefficients = found.coefficients.reshape(-1, *shape)
        self._explained = modes.basis * np.sqrt(a * found.weights)
        if self.centres == "auto":
            warn_of_centres(rows, found)
        if within_rounding(noise, a):
            warn_of_least_squares(found, f"noise = {noise:g}")

    def predict(self, X, return_std=False):
        """The posterior mean (m,) or (m, k) at the inputs X (m, d); with `return_std`, also the standard deviation.

        The standard deviation has the shape of the mean. This standard deviation is that of the function, without the
        noise. The columns of the standard deviation differ only by the scale of the targets. On centres, mean and
        deviation are those of the variational posterior (see the class).
        """
        check_is_fitted(self)
        X, fitted = of_one_shape(self.network, points_of(self, X), self._points)
        with jax.enable_x64(True):
            kernel = NNGPKernel(jax_leaves(self.network_))
            parts = [self._posterior(kernel, X[rows], np.asarray(cross) * self._roots, return_std)
                     for rows, cross in crosses(kernel, X, fitted)]  # fmt: skip
        mean, variance = (np.concatenate(part) for part in zip(*parts, strict=True))
        mean = self.offset_ + self.target_scale_ * mean
        return (mean, np.multiply.outer(np.sqrt(variance), self.target_scale_)) if return_std else mean

    def _posterior(
        self, kernel: NNGPKernel, x: np.ndarray, cross: np.ndarray, variances: bool
    ) -> tuple[np.ndarray, np.ndarray]:
        """Means and variances in units of the scaled targets; variances are 0 if they are not requested."""
        stored = vars(self).get("_solution")  # in estimators that were stored by a version without centres
        mean = cross @ (self._coefficients if stored is None else stored.coefficients)
        if not variances:
            return mean, np.zeros(len(x))
        if self.centres_ is None:
            factor = self._factor if stored is None else stored.factor
            half = scipy.linalg.solve_triangular(factor, cross.T, lower=True, check_finite=False).T
        else:
            half = cross @ self._explained
        prior = np.asarray(kernel.diagonal(jnp.asarray(x)))
        return mean, np.maximum(prior - np.sum(half**2, axis=1), 0.0)  # rounding may give numbers below 0
