"""Kernel ridge regression, and kernel gradient flow stopped at a time, as a scikit-learn estimator."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from lemmata.kernels import RBF, gram
from lemmata.solvers import gradient_flow, kernel_ridge
from lemmata.spectra import spectrum


class KernelRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Regression with any lemmata kernel, in closed form.

    Predictions are K(x, X) (K + ridge I)^-1 (y - mean) + mean; or, where `time` is given, those of the gradient
    flow df/dt = -K (f - y) from the mean, stopped at that time (an infinitely wide network trained for that long).

    Args:
        kernel: a kernel; None is an RBF kernel whose squared lengthscale is half the number of columns.
        ridge: the ridge on the diagonal of the Gram matrix; used where `time` is None.
        time: training time, in units where the flow is df/dt = -K (f - y).

    Attributes:
        kernel_: the kernel that is used.
        jitter_: what had to be added to the diagonal beyond the ridge.
        offset_: the mean of the targets.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import KernelRegressor
        >>> x = np.linspace(0, 1, 20)[:, None]
        >>> bool(KernelRegressor(ridge=1e-6).fit(x, np.sin(3 * x[:, 0])).score(x, np.sin(3 * x[:, 0])) > 0.999)
        True
    """

    def __init__(self, kernel=None, ridge=1e-3, time=None):  # scikit-learn validates in fit, not here
        self.kernel = kernel
        self.ridge = ridge
        self.time = time

    def fit(self, X, y):
        """Solve for the training rows.

        Args:
            X: inputs (n, d).
            y: targets (n,) or (n, k).

        Raises:
            NotPositiveDefiniteError: the kernel is indefinite on these rows; names the smallest eigenvalue.
            SettingError: a negative ridge or time.
        """
        validated = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        self._points, y = (np.asarray(values, float) for values in validated)
        self.offset_ = np.mean(y, axis=0)
        with jax.enable_x64(True):
            kernel = RBF((self._points.shape[1] / 2) ** 0.5) if self.kernel is None else self.kernel
            self.kernel_, self._residual = numpy_leaves(kernel), y - self.offset_
            matrix = gram(jax_leaves(self.kernel_), jnp.asarray(self._points))
            if self.time is None:
                solution = kernel_ridge(matrix, jnp.asarray(self._residual), self.ridge)
                self._coefficients, self.jitter_ = np.asarray(solution.coefficients), float(solution.jitter)
            else:
                self._spectrum, self.jitter_ = numpy_leaves(spectrum(matrix)), 0.0
        return self

    def predict(self, X):
        """Predictions (m,) or (m, k) at the inputs X (m, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        with jax.enable_x64(True):
            cross = gram(jax_leaves(self.kernel_), jnp.asarray(X), jnp.asarray(self._points))
            if self.time is None:
                return np.asarray(cross @ jnp.asarray(self._coefficients)) + self.offset_
            path = gradient_flow(jax_leaves(self._spectrum), jnp.asarray(self._residual), [self.time], cross)
            return np.asarray(path.test)[0] + self.offset_


def numpy_leaves(tree: Any) -> Any:
    """The tree with NumPy arrays of numbers in place of JAX's.

    A JAX array of float64 becomes float32 where it is copied to a process, or loaded in one, in which JAX's x64 is off;
    a NumPy array does not. What is fitted is kept like this.

    Args:
        tree: a kernel, a spectrum, parameters.
    """
    return jax.tree.map(lambda leaf: np.asarray(leaf) if _is_numeric(leaf, jax.Array) else leaf, tree)


def jax_leaves(tree: Any) -> Any:
    """The inverse of `numpy_leaves`, to be called where x64 is on.

    Args:
        tree: what `numpy_leaves` gave.
    """
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if _is_numeric(leaf, np.ndarray) else leaf, tree)


def _is_numeric(leaf: Any, kind: type) -> bool:
    return isinstance(leaf, kind) and jnp.issubdtype(leaf.dtype, jnp.number)
