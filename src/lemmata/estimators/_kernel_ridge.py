"""Kernel ridge regression, and kernel gradient flow stopped at a time, as scikit-learn estimators."""

import abc
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from lemmata.architectures import AbstractLayer, TangentKernel, relu_network
from lemmata.errors import SettingError
from lemmata.kernels import RBF, AbstractKernel, gram
from lemmata.solvers import gradient_flow, kernel_ridge, require_positive_semidefinite
from lemmata.spectra import leave_one_out, spectrum

# Candidates for the ridge, in units of the mean of the Gram matrix's diagonal.
_RIDGES = np.logspace(-8, 2, 21)


class AbstractKernelRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Regression with the kernel that `kernel_for` gives, in closed form; settings `ridge` and `time`."""

    ridge: Any
    time: Any

    @abc.abstractmethod
    def kernel_for(self, columns: int) -> AbstractKernel:
        """The kernel for inputs with this many columns."""

    def fit(self, X, y):
        """Solve for the training rows.

        Args:
            X: inputs (n, d).
            y: targets (n,) or (n, k).

        Raises:
            NotPositiveDefiniteError: the kernel is indefinite on these rows; names the smallest eigenvalue.
            SettingError: a ridge or time that is no number of at least 0, or a kernel that is none.
        """
        validated = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        self._points, y = (np.asarray(values, float) for values in validated)
        self._ridge, self._time = (not_negative(name, getattr(self, name)) for name in ("ridge", "time"))
        self.offset_ = np.mean(y, axis=0)
        with jax.enable_x64(True):
            self.kernel_, self._residual = numpy_leaves(self.kernel_for(self._points.shape[1])), y - self.offset_
            self._solve(gram(jax_leaves(self.kernel_), jnp.asarray(self._points)), jnp.asarray(self._residual))
        return self

    def _solve(self, matrix: jax.Array, targets: jax.Array) -> None:
        self.jitter_ = 0.0
        if self._time is not None:
            self._spectrum = numpy_leaves(spectrum(matrix))
            return
        if self._ridge is not None:
            require_positive_semidefinite(matrix)
            solution = kernel_ridge(matrix, targets, self._ridge)
            self.ridge_, self.jitter_ = self._ridge, float(solution.jitter)
            self._coefficients = np.asarray(solution.coefficients)
            return
        system, unit = spectrum(matrix), float(jnp.mean(jnp.diagonal(matrix))) or 1.0
        size = jnp.sqrt(jnp.mean(targets**2, axis=0))
        scaled = targets / jnp.where(size > 0, size, 1.0)
        errors = [float(leave_one_out(system, scaled, unit * ridge)) for ridge in _RIDGES]
        self.ridge_ = unit * float(_RIDGES[int(np.argmin(errors))])
        values, vectors = np.asarray(system.eigenvalues), np.asarray(system.eigenvectors)
        self._coefficients = (vectors / (values + self.ridge_)) @ (vectors.T @ self._residual)

    def predict(self, X):
        """Predictions (m,) or (m, k) at the inputs X (m, d)."""
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        with jax.enable_x64(True):
            cross = gram(jax_leaves(self.kernel_), jnp.asarray(X), jnp.asarray(self._points))
            if self._time is None:
                return np.asarray(cross @ jnp.asarray(self._coefficients)) + self.offset_
            path = gradient_flow(jax_leaves(self._spectrum), jnp.asarray(self._residual), [self._time], cross)
            return np.asarray(path.test)[0] + self.offset_


class KernelRegressor(AbstractKernelRegressor):
    """Regression with any lemmata kernel, in closed form.

    Predictions are K(x, X) (K + ridge I)^-1 (y - mean) + mean; or, where `time` is given, those of the gradient
    flow df/dt = -K (f - y) from the mean, stopped at that time (an infinitely wide network trained for that long).

    Args:
        kernel: a kernel; None is an RBF kernel whose squared lengthscale is half the number of columns.
        ridge: the ridge on the diagonal of the Gram matrix; used where `time` is None. None takes the one of least
            leave-one-out error out of 21, from 1e-8 to 100 times the mean of the diagonal; every column of the targets
            counts in units of its own root mean square.
        time: training time, in units where the flow is df/dt = -K (f - y); infinity is the interpolant.

    Attributes:
        kernel_: the kernel that is used.
        ridge_: the ridge that is used, where `time` is None.
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

    def kernel_for(self, columns: int) -> AbstractKernel:
        """The kernel that was given, or the default one."""
        if not (self.kernel is None or isinstance(self.kernel, AbstractKernel)):
            raise SettingError("kernel", found=repr(self.kernel), rule="a kernel of lemmata, or None")
        return RBF((columns / 2) ** 0.5) if self.kernel is None else self.kernel


class TangentKernelRegressor(AbstractKernelRegressor):
    """An infinitely wide network trained by gradient flow on squared loss: regression with its tangent kernel.

    With `time` the network is trained for that long, from outputs at the mean of the targets (the mean over initial
    draws); infinity is training to the end, which interpolates. Otherwise predictions are those of kernel ridge
    regression, training that is held back by ridge |w - w_0|².

    Args:
        network: a layer of `lemmata.architectures`; None is three hidden ReLU layers with biases of standard deviation
            0.1.
        ridge: the ridge on the diagonal of the Gram matrix; used where `time` is None. None takes the one of least
            leave-one-out error out of 21, from 1e-8 to 100 times the mean of the diagonal; every column of the targets
            counts in units of its own root mean square.
        time: training time, in units where the flow is df/dt = -K (f - y).

    Attributes:
        kernel_: the tangent kernel.
        ridge_: the ridge that is used, where `time` is None.
        jitter_: what had to be added to the diagonal beyond the ridge.
        offset_: the mean of the targets.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import TangentKernelRegressor
        >>> x = np.linspace(-1, 1, 20)[:, None]
        >>> targets = np.stack([np.sin(3 * x[:, 0]), x[:, 0] ** 2], axis=1)
        >>> bool(TangentKernelRegressor(time=np.inf).fit(x, targets).score(x, targets) > 0.999)
        True
    """

    def __init__(self, network=None, ridge=None, time=None):
        self.network = network
        self.ridge = ridge
        self.time = time

    def kernel_for(self, columns: int) -> AbstractKernel:
        """The tangent kernel of the network that was given, or of the default one."""
        return TangentKernel(chosen_network(self.network))


def chosen_network(network: Any) -> AbstractLayer:
    """The network that was given, or three hidden ReLU layers with biases of standard deviation 0.1 for None.

    Args:
        network: a layer or None.

    Raises:
        SettingError: for anything else.
    """
    if network is None:
        return relu_network(depth=3, bias_std=0.1)
    if not isinstance(network, AbstractLayer):
        raise SettingError("network", found=repr(network), rule="a layer of lemmata.architectures, or None")
    return network


def not_negative(name: str, value: Any) -> float | None:
    """The value as a float that is at least 0; None stays None.

    Args:
        name: what it is, for the error.
        value: the value of a setting.

    Raises:
        SettingError: where it is no number, or negative, or a ridge that is infinite.
    """
    try:
        number = None if isinstance(value, str | bool) else float(value) if value is not None else 0.0
    except (TypeError, ValueError):
        number = None
    if number is None or not number >= 0 or (name != "time" and math.isinf(number)):
        raise SettingError(name, found=repr(value), rule="a number, at least 0, or None")
    return None if value is None else number


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
