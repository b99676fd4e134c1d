"""Scikit-learn estimators for kernel ridge regression, and for kernel gradient flow that is stopped at a time."""

import abc
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from lemmata.architectures import AbstractLayer, TangentKernel, relu_network
from lemmata.errors import SettingError
from lemmata.kernels import RBF, AbstractKernel, gram, numpy_gram, writable_gram
from lemmata.solvers import (
    SystemInPlace,
    fitted,
    gradient_flow,
    kernel_ridge,
    least_left_out,
    leave_one_out_residuals,
    require_positive_semidefinite,
)
from lemmata.spectra import leave_one_out, spectrum

from ._bases import KernelParametersMixin
from ._centres import centres_for, crosses, diagonal_mean, on_centres, warn_of_centres, warn_of_least_squares
from ._exactness import beyond_the_ridge, beyond_the_time, within_rounding
from ._graphs import of_one_shape
from ._leaves import jax_leaves, numpy_leaves
from ._rows import (
    Rows,
    float64_leaves,
    points_of,
    root_mean_square,
    training_rows,
    warn_of_missed_rows,
    without_contradictions,
)

# Candidates for the ridge, in units of the mean of the Gram matrix's diagonal.
_RIDGES = np.logspace(-8, 2, 21)
# Up to this number of rows, the eigensystem of the Gram matrix may be computed. Beyond it, Cholesky factors replace the
# matrix in memory.
SMALL = 2000
# The number of rows whose leave-one-out errors choose a ridge, for fits of more than SMALL rows.
_JUDGES = 1000


class AbstractKernelRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Regression in closed form with the kernel of `kernel_for` and the settings `ridge`, `time` and `centres`."""

    ridge: Any
    time: Any
    # These values of the class are for estimators that were stored by a version without centres.
    centres: Any = "auto"
    centres_: int | None = None
    price_: tuple[float, float] = (0.0, 0.0)

    @abc.abstractmethod
    def kernel_for(self, columns: int) -> AbstractKernel:
        """The kernel for inputs with the given number of columns."""

    def fit(self, X, y, sample_weight=None):
        """Solve for the training rows.

        A row of weight w counts like w rows: the row adds w (f - y)² to the squared loss, so the ridge of this row is
        ridge / w. The offset is the weighted mean of the targets. Rows of weight 0 are left out. If the ridge is chosen
        by leave-one-out errors, a row is left out with its whole weight, and its error has this weight.

        Args:
            X: inputs (n, d).
            y: targets (n,) or (n, k).
            sample_weight: weights (n,) of at least 0; None means 1 for every row.

        Raises:
            NotPositiveDefiniteError: if the kernel is indefinite on these rows; the message states the smallest
                eigenvalue. Beyond 2,000 rows, the kernel is checked on 1,000 of the rows, or on the centres, and by the
                factorisation.
            SettingError: for a ridge or time that is not a number of at least 0, a number of centres that is not a
                whole number above 0, or a kernel of another type.
            MemoryPlanError: if the matrices do not fit into memory; the message states their bytes.
            DataError: for inputs that contain strings, or weights that are negative, not finite, or all 0.

        Warns:
            ApproximationWarning: for a fit on centres with centres = "auto".
            ContradictionWarning: for equal inputs with different targets, if ridge = 0 or time = inf.
            InterpolationWarning: if the fit misses a row by more than a thousandth of the targets' root mean square
                although ridge = 0, time = inf, or a ridge or time so extreme that the exact fit interpolates, too. The
                fit misses rows if the Gram matrix is singular up to rounding, or if there are fewer centres than rows.
        """
        self._fit(X, y, sample_weight)
        return self

    def _fit(self, X, y, sample_weight, judges: int = 0) -> tuple[Rows, np.ndarray]:
        """Solve, and return rows with their leave-one-out residuals (m, k), multiplied by the roots of the weights.

        For few rows, all rows are returned. For many rows, `judges` rows are returned; 0 requests no rows.
        """
        rows = training_rows(self, X, y, sample_weight, multi_output=True, y_numeric=True).merged()
        self._ridge, self._time = (not_negative(name, getattr(self, name)) for name in ("ridge", "time"))
        interpolates = self._time == math.inf or (self._time is None and self._ridge == 0)
        count = centres_for(self.centres, len(rows.points))
        rows = without_contradictions(rows, self._setting()) if interpolates else rows
        self._points, self._roots, self.offset_ = rows.points, np.sqrt(rows.weights), rows.mean
        self._residual = rows.scaled(rows.targets - self.offset_)
        self.jitter_, self.centres_, self.price_ = 0.0, None, (0.0, 0.0)
        with jax.enable_x64(True):
            self.kernel_ = float64_leaves(self.kernel_for(self._points.shape[1]))
            if count is not None and count < len(self._points):
                chosen, left_out = self._solve_on_centres(count)
                return rows.some(chosen), left_out
            if self._time is None and len(self._points) > SMALL:
                chosen, left_out = self._solve_in_place(judges)
                return rows.some(chosen), left_out
            matrix = self._gram() * (
                1.0 if np.all(self._roots == 1.0) else jnp.asarray(np.outer(self._roots, self._roots))
            )
            self._solve(matrix, jnp.asarray(self._residual))
            if (missed := self._missed(matrix)) is not None:
                warn_of_missed_rows(missed, self._residual, self._setting())
            return rows, self._left_out(matrix) if judges else np.zeros((0, 1))

    def _gram(self) -> jax.Array:
        kernel = jax_leaves(self.kernel_)
        found = numpy_gram(kernel, self._points)
        return gram(kernel, jnp.asarray(self._points)) if found is None else jnp.asarray(found)

    def _left_out(self, matrix: jax.Array) -> np.ndarray:
        residual = jnp.asarray(self._residual.reshape(len(self._residual), -1))
        return np.asarray(leave_one_out_residuals(matrix, residual, self.ridge_))

    def _solve_on_centres(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Fit on centres, which take the place of the rows."""
        kernel, rows, shape = jax_leaves(self.kernel_), len(self._points), self._residual.shape[1:]
        ridges = np.array([0.0 if self._ridge is None else self._ridge])
        if self._time is None and self._ridge is None:
            ridges = diagonal_mean(kernel, self._points, self._roots**2) * _RIDGES
        flat = self._residual.reshape(rows, -1)
        found = on_centres(kernel, self._points, flat, self._roots, count, ridges, self._time)
        self.centres_, self.price_, self.jitter_ = len(found.centres), found.price, found.modes.jitter
        if self._time is None:
            self.ridge_ = found.ridge
        self._points, self._roots, self._residual = found.centres, np.ones(len(found.centres)), np.zeros((0, *shape))
        self._coefficients = found.coefficients.reshape(-1, *shape)
        if self.centres == "auto":
            warn_of_centres(rows, found)
        added = found.ridge if self._time is None else 1 / self._time if self._time else math.inf
        if within_rounding(added, found.modes.modes.eigenvalues):
            warn_of_least_squares(found, self._setting())
        return found.modes.aside, found.modes.modes.left_out(found.modes.targets, found.weights)

    def _solve_in_place(self, judges: int) -> tuple[np.ndarray, np.ndarray]:
        """Fit many rows with a ridge, without approximation. The factor of the Gram matrix overwrites this matrix."""
        system = weighted_system(jax_leaves(self.kernel_), self._points, self._roots)
        system.judge()
        flat, n = self._residual.reshape(len(self._residual), -1), len(self._points)
        chosen = np.unique(np.linspace(0, n - 1, _JUDGES if self._ridge is None else judges).astype(int))
        if self._ridge is None:
            size = root_mean_square(flat, np.ones(n))
            ridges = (system.trace / float(np.sum(self._roots**2)) or 1.0) * _RIDGES
            found = least_left_out(system, flat, ridges, chosen, np.where(size > 0, size, 1.0))
        else:
            found = fitted(system, flat, self._ridge, chosen)
        self.ridge_, self.jitter_ = found.ridge, found.jitter
        self._coefficients = found.coefficients.reshape(self._residual.shape)
        alpha = found.coefficients
        if (missed := beyond_the_ridge(system.product(alpha), alpha, flat, self._ridge, self.jitter_)) is not None:
            warn_of_missed_rows(missed, flat, self._setting())
        return chosen, found.left_out

    def _missed(self, matrix: jax.Array) -> np.ndarray | None:
        """The residuals that only rounding explains, if the fit should pass through the rows; otherwise None."""
        if self._time is not None:
            return beyond_the_time(self._spectrum, self._residual, self._time)
        alpha = self._coefficients
        return beyond_the_ridge(np.asarray(matrix) @ alpha, alpha, self._residual, self._ridge, self.jitter_)

    def _setting(self) -> str:
        return f"ridge = {self._ridge:g}" if self._time is None else f"time = {self._time:g}"

    def _solve(self, matrix: jax.Array, targets: jax.Array) -> None:
        if self._time is not None:
            self._spectrum = numpy_leaves(spectrum(matrix))
            return
        if self._ridge is not None:
            require_positive_semidefinite(matrix)
            solution = kernel_ridge(matrix, targets, self._ridge)
            self.ridge_, self.jitter_ = self._ridge, float(solution.jitter)
            self._coefficients = np.asarray(solution.coefficients)
            return
        system, unit = spectrum(matrix), float(jnp.trace(matrix) / np.sum(self._roots**2)) or 1.0
        size = root_mean_square(self._residual, np.ones(len(self._residual)))
        scaled = targets / jnp.asarray(np.where(size > 0, size, 1.0))
        errors = [float(leave_one_out(system, scaled, unit * ridge)) for ridge in _RIDGES]
        self.ridge_ = unit * float(_RIDGES[int(np.argmin(errors))])
        values, vectors = np.asarray(system.eigenvalues), np.asarray(system.eigenvectors)
        self._coefficients = (vectors / (values + self.ridge_)) @ (vectors.T @ self._residual)

    def predict(self, X):
        """Predictions (m,) or (m, k) at the inputs X (m, d)."""
        check_is_fitted(self)
        X, points = of_one_shape(getattr(self, "network", None), points_of(self, X), self._points)
        with jax.enable_x64(True):
            blocks = crosses(jax_leaves(self.kernel_), X, points)
            return np.concatenate([self._outputs(cross * self._roots) for _, cross in blocks]) + self.offset_

    def _outputs(self, cross: jax.Array) -> np.ndarray:
        """Predictions without the offset, from the weighted cross matrix."""
        if self._time is None or self.centres_ is not None:
            return np.asarray(cross @ jnp.asarray(self._coefficients))
        path = gradient_flow(jax_leaves(self._spectrum), jnp.asarray(self._residual), [self._time], cross)
        return np.asarray(path.test)[0]


def weighted_system(kernel: AbstractKernel, points: np.ndarray, roots: np.ndarray) -> SystemInPlace:
    """The Gram matrix, times the roots of the weights on both sides, as an array that can be factorised in place.

    Args:
        kernel: the kernel, a pytree of JAX arrays.
        points: the inputs of the rows.
        roots: the roots of the weights.
    """
    matrix = writable_gram(kernel, jnp.asarray(points))
    if not np.all(roots == 1.0):
        matrix *= roots
        matrix *= roots[:, None]
    return SystemInPlace(matrix)


class KernelRegressor(KernelParametersMixin, AbstractKernelRegressor):
    """Regression with any lemmata kernel, in closed form.

    Predictions are K(x, X) (K + ridge I)^-1 (y - mean) + mean for training rows X, with K = K(X, X). If `time` is
    given, predictions are those of the gradient flow df/dt = -K (f - y), which starts at the mean and stops at that
    time. For a tangent kernel, these are the predictions of an infinitely wide network that is trained for that time.

    Args:
        kernel: a kernel; None means an RBF kernel whose squared lengthscale is half the number of columns.
        ridge: the ridge on the diagonal of the Gram matrix; used if `time` is None. None chooses the ridge of least
            leave-one-out error out of 21, from 1e-8 to 100 times the mean of the diagonal. Each column of the targets
            is measured in units of its own root mean square.
        time: the training time, in units in which the flow is df/dt = -K (f - y); infinity gives the interpolant.
        centres: "auto", a number, or None. None solves for all rows, which takes n² numbers of memory and n³ / 3
            operations. A number p below the number of rows n uses p random rows as centres. The solution minimises the
            same loss in the span of K(., z) for centres z. The fit takes about n p² operations and does not need an n x
            n matrix. "auto" is exact up to 10,000 rows. For more rows, "auto" uses up to 3,000 centres, with an
            `ApproximationWarning`.

    Attributes:
        kernel_: the kernel that is used.
        ridge_: the ridge that is used, if `time` is None.
        jitter_: the number that was added to the diagonal besides the ridge. On centres, the jitter is added to the
            diagonal of the centres' Gram matrix.
        offset_: the mean of the targets.
        centres_: the number of centres; None if the fit is exact.
        price_: the smallest and the largest estimate of the share of the squared error that the exact fit would save.
            Both are 0 if the fit is exact. The estimates come from leave-one-out errors on 2,000 rows with a quarter, a
            half and all of the centres.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import KernelRegressor
        >>> x = np.linspace(0, 1, 20)[:, None]
        >>> bool(KernelRegressor(ridge=1e-6).fit(x, np.sin(3 * x[:, 0])).score(x, np.sin(3 * x[:, 0])) > 0.999)
        True
    """

    def __init__(self, kernel=None, ridge=1e-3, time=None, centres="auto"):  # scikit-learn validates in fit, not here
        self.kernel = kernel
        self.ridge = ridge
        self.time = time
        self.centres = centres

    def kernel_for(self, columns: int) -> AbstractKernel:
        """The given kernel, or the default kernel."""
        if not (self.kernel is None or isinstance(self.kernel, AbstractKernel)):
            raise SettingError(
                "kernel", found=repr(self.kernel), rule="a kernel of lemmata (an AbstractKernel), or None"
            )
        return RBF((columns / 2) ** 0.5) if self.kernel is None else self.kernel


class TangentKernelRegressor(AbstractKernelRegressor):
    """An infinitely wide network trained by gradient flow on squared loss: regression with its tangent kernel.

    With `time`, the network is trained for that time. The outputs, averaged over initial draws, start at the mean of
    the targets. Infinity means training to the end, which interpolates. Without `time`, predictions are those of kernel
    ridge regression, which is training with the penalty ridge |w - w_0|² for weights w that start at w_0.

    With a network of your own, the inputs X of all methods may have any form that the network reads. For example, the
    inputs may be fields (n, *sites, channels). For `OnGraphs` (for example `graph_network(depth)`), they may be a list
    of graphs of any sizes, in the forms that `graph_points` accepts.

    Args:
        network: a layer of `lemmata.architectures`; None means three hidden ReLU layers with biases of standard
            deviation 0.1.
        ridge: the ridge on the diagonal of the Gram matrix; used if `time` is None. None chooses the ridge of least
            leave-one-out error out of 21, from 1e-8 to 100 times the mean of the diagonal. Each column of the targets
            is measured in units of its own root mean square.
        time: the training time, in units in which the flow is df/dt = -K (f - y).
        centres: "auto", a number, or None; see `KernelRegressor`.

    Attributes:
        kernel_: the network's tangent kernel.
        ridge_: the ridge that is used, if `time` is None.
        jitter_: see `KernelRegressor`.
        offset_: the mean of the targets.
        centres_: the number of centres; None if the fit is exact.
        price_: see `KernelRegressor`.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import TangentKernelRegressor
        >>> x = np.linspace(-1, 1, 20)[:, None]
        >>> targets = np.stack([np.sin(3 * x[:, 0]), x[:, 0] ** 2], axis=1)
        >>> bool(TangentKernelRegressor(time=np.inf).fit(x, targets).score(x, targets) > 0.999)
        True
    """

    def __init__(self, network=None, ridge=None, time=None, centres="auto"):
        self.network = network
        self.ridge = ridge
        self.time = time
        self.centres = centres

    def kernel_for(self, columns: int) -> AbstractKernel:
        """The tangent kernel of the given network, or of the default network."""
        return TangentKernel(chosen_network(self.network))


def chosen_network(network: Any) -> AbstractLayer:
    """The given network; for None, three hidden ReLU layers with biases of standard deviation 0.1.

    Args:
        network: a layer or None.

    Raises:
        SettingError: for any other value.
    """
    if network is None:
        return relu_network(depth=3, bias_std=0.1)
    if not isinstance(network, AbstractLayer):
        raise SettingError("network", found=repr(network), rule="a layer of lemmata.architectures, or None")
    return network


def not_negative(name: str, value: Any, rule: str = "a number, at least 0, or None") -> float | None:
    """The value as a float that is at least 0; None is returned unchanged.

    Args:
        name: the name of the setting, for the error.
        value: the value of a setting.
        rule: the rule that the value must satisfy, for the error.

    Raises:
        SettingError: if the value is not a number of at least 0, or if a ridge is infinite.
    """
    try:
        number = None if isinstance(value, str | bool) else float(value) if value is not None else 0.0
    except (TypeError, ValueError):
        number = None
    if number is None or not number >= 0 or (name != "time" and math.isinf(number)):
        raise SettingError(name, found=repr(value), rule=rule)
    return None if value is None else number


def at_least_0(name: str, value: Any, rule: str = "a finite number, at least 0") -> float:
    """The value as a float that is at least 0. None is refused.

    Args:
        name: the name of the setting, for the error.
        value: the value of a setting.
        rule: the rule that the value must satisfy, for the error.

    Raises:
        SettingError: if the value is not a finite number of at least 0.
    """
    number = not_negative(name, value, rule)
    if number is None:
        raise SettingError(name, found=repr(value), rule=rule)
    return number


def above_0(name: str, value: Any) -> float:
    """The value as a float above 0.

    Args:
        name: the name of the setting, for the error.
        value: the value of a setting.

    Raises:
        SettingError: if the value is not a finite number above 0.
    """
    rule = "a finite number above 0"
    number = at_least_0(name, value, rule)
    if not number:
        raise SettingError(name, found=repr(value), rule=rule)
    return number
