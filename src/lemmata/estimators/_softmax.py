"""A scikit-learn estimator: the two-layer softmax network of finite or infinite width."""

import math
import operator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from lemmata.core import refuse_text, refusing_in_one_line
from lemmata.errors import DataError, SettingError, SolverError
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork
from lemmata.solvers import gradient_flow
from lemmata.spectra import Spectrum, leave_one_out, spectrum

from ._ball import ball_scale, longest_row
from ._bases import AbstractRegressor
from ._leaves import jax_leaves, numpy_leaves

# Steps are 1 / (2 lambda_max). Descent on a quadratic is stable up to 2 / lambda_max, but the kernel changes in
# training.
_STEP = 0.5
_MOST_STEPS = 10**6
# The times from which the default is chosen, in units of 1 / lambda_max: at most 20,000 steps of a network.
_TIMES = np.geomspace(0.1, 1e4, 51)
# these times are finite only if the largest eigenvalue of the kernel is above this number
_SMALLEST = float(_TIMES[-1] / np.finfo(float).max)


class SoftmaxRegressor(AbstractRegressor):
    """Regression with a two-layer softmax network trained for a time, or with the network's kernel at infinite width.

    With `width=None`, predictions are exactly those of gradient flow df/dt = -K (f - y) with K(x, x') = <x, x'>
    exp(sigma² <x, x'>). With a width, predictions are those of a network with that many hidden units. The network is
    drawn at the symmetric initialisation and trained by gradient descent on all rows. For width m, the tangent kernel
    of the network is m H, where the matrix H tends to K as m grows. So the learning rate is divided by m, and the same
    `time` means the same training at every width. Unless `time` is long, training stops before the network fits every
    row.

    The theory of these networks is about inputs in the unit ball and targets of length at most 1. So inputs are divided
    by the largest norm of a training row. Targets are centred and then divided by their largest norm.

    Args:
        width: the even number of hidden units; None means the limit of infinite width.
        sigma: the standard deviation of the weights at initialisation. For sigma = 0, the kernel is linear.
        time: the training time, in units in which the flow is df/dt = -K (f - y). Infinity is allowed if `width` is
            None. If `time` is None, the time is 1 / ridge, for the ridge of smallest leave-one-out error in kernel
            ridge regression. Ridge r and time 1/r have similar effects on the targets' component in an eigenvector of K
            with eigenvalue a. The ridge multiplies this component by a/(a + r), and the time by 1 - exp(-a/r). The
            default time is between 0.1 and 10,000, divided by the largest eigenvalue of K. The default time is the same
            for every width.
        normalise: True divides inputs by the largest norm of a training row. False refuses rows of norm above 1. None
            divides if a norm is above 1, with a warning.
        random_state: seed, `numpy.random.RandomState` or None, for the network's initialisation.

    Attributes:
        time_: the training time.
        scale_: the divisor of inputs.
        offset_: the mean of the targets.
        target_scale_: the divisor of centred targets.
        steps_: the number of gradient descent steps; 0 for infinite width or time 0.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import SoftmaxRegressor
        >>> x = np.linspace(-1, 1, 30)[:, None]
        >>> y = np.sin(2 * x[:, 0])
        >>> limit = SoftmaxRegressor().fit(x, y)
        >>> bool(limit.score(x, y) > 0.99)
        True
        >>> network = SoftmaxRegressor(width=512, random_state=0).fit(x, y)
        >>> bool(np.abs(network.predict(x) - limit.predict(x)).max() < 0.2)
        True
    """

    def __init__(self, width=None, sigma=1.0, time=None, normalise=None, random_state=None):
        self.width = width
        self.sigma = sigma
        self.time = time
        self.normalise = normalise
        self.random_state = random_state

    def fit(self, X, y):
        """Train for the training time.

        Args:
            X: inputs (n, d).
            y: targets (n,) or (n, k).

        Raises:
            DataError: for a row of norm above 1 with `normalise=False`, or a row whose inputs or centred targets have a
                norm that overflows. If `time` is None, also for inputs so short that the kernel underflows. The message
                names the row.
            SettingError: for a width that is not an even integer; for a sigma that is negative or so large that the
                kernel overflows; for a negative time, or a time for which a network needs more than a million steps;
                for a value of another type.
            SolverError: if the training of the network diverged.
        """
        with refusing_in_one_line():
            refuse_text(X)
            validated = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        X, y = (np.asarray(values, float) for values in validated)
        self._check_settings()
        row, longest, self.scale_ = ball_scale(X, self.normalise)
        # A mean overflows if its sum does, but division by a power of 2 is exact.
        exponent = np.frexp(np.abs(y).max())[1]
        self.offset_ = np.ldexp(np.mean(np.ldexp(y, -exponent), axis=0), exponent)
        self._shape = y.shape[1:]
        with np.errstate(over="ignore"):
            centred = (y - self.offset_).reshape(len(y), -1)
        self.target_scale_ = longest_row(centred, "centred targets")[1] or 1.0
        self._points, self._targets = X / self.scale_, centred / self.target_scale_
        with jax.enable_x64(True):
            self._sigma = float(self.sigma)
            limit, points = SoftmaxTangent(sigma=self._sigma), jnp.asarray(self._points)
            if not bool(jnp.isfinite(limit.diagonal(points)).all()):
                raise SettingError(
                    "sigma",
                    found=self.sigma,
                    rule="a number for which exp(sigma²) is finite",
                    remedy="use a smaller sigma",
                )
            matrix = gram(limit, points)
            kernel, targets = spectrum(matrix), jnp.asarray(self._targets)
            if self.time is None and longest > 0 and not float(kernel.eigenvalues[0]) > _SMALLEST:
                raise DataError(
                    "training inputs",
                    found=f"norms of at most {longest:.3g}, the norm of training row {row} (counted from 0)",
                    rule="norms whose squares do not underflow to 0",
                    remedy="set normalise=True, or scale the inputs",
                )
            self.time_ = default_time(kernel, targets) if self.time is None else float(self.time)
            self._spectrum, self.steps_ = numpy_leaves(kernel), 0
            if self.width is not None:
                self._train()
        return self

    def predict(self, X):
        """Predictions (p,) or (p, k) at the inputs X (p, d), after training for `time_`.

        Args:
            X: inputs (p, d).

        Raises:
            DataError: for a row whose outputs are not finite, because its norm is far above the norms of the training
                rows; the message names the row.
        """
        check_is_fitted(self)
        return self.predict_at(self.time_, X)

    def predict_at(self, time, X):
        """Predictions of the same training at other times.

        For infinite width, the predictions are exact. For a finite width and a time before `time_`, the network trains
        again from its first weights in the steps of `fit`. For a later time, the network continues from its last
        weights, and the step size is 1/2 divided by the largest eigenvalue of H at initialisation. Between two steps,
        weights are interpolated, so a result does not depend on the other requested times.

        Args:
            time: one time, or several.
            X: inputs (p, d).

        Returns:
            (p,) or (p, k) for one time. For several times, there is a leading axis.

        Raises:
            SettingError: for a time that is not a number of at least 0, or for which a network needs more than a
                million steps.
            DataError: for a row whose outputs are not finite; the message names the row.
        """
        check_is_fitted(self)
        with refusing_in_one_line():
            refuse_text(X)
            X = np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
        times = _numbers(time)
        if times is None or times.ndim > 1 or not (times >= 0).all():
            raise SettingError("time", found=repr(time), rule="one number or a list of numbers, none of them negative")
        with np.errstate(over="ignore", invalid="ignore"):
            outputs = self._outputs(np.atleast_1d(times), X / self.scale_).reshape(-1, len(X), *self._shape)
            outputs = self.offset_ + self.target_scale_ * outputs
        finite = np.isfinite(outputs).reshape(-1, len(X), self._targets.shape[1]).all(axis=(0, 2))
        if not finite.all():
            row = int(np.argmin(finite))
            raise DataError(
                f"row {row} (counted from 0)",
                rule="finite outputs",
                found=f"outputs that are not finite, for inputs with absolute values up to {np.abs(X[row]).max():.6g}",
                remedy="predict at inputs nearer to the training inputs",
            )
        return outputs if times.ndim else outputs[0]

    def _outputs(self, times: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Outputs of shape (s, p, k) at all s times, in units of the scaled targets."""
        with jax.enable_x64(True):
            if self.width is not None:
                each = [self._network.predict(jax_leaves(self._params(time)), jnp.asarray(x)) for time in times]
                return np.asarray(each).reshape(-1, len(x), self._targets.shape[1])
            cross = SoftmaxTangent(sigma=self._sigma).cross(jnp.asarray(x), jnp.asarray(self._points))
            known = np.isfinite(np.asarray(cross)).all(axis=1, keepdims=True)
            cross = jnp.where(known, cross, 0.0)
            path = gradient_flow(jax_leaves(self._spectrum), jnp.asarray(self._targets), times, cross)
            return np.where(known, np.asarray(path.test), np.nan)

    def _check_settings(self) -> None:
        sigma, time = _numbers(self.sigma), _numbers(self.time)
        if sigma is None or sigma.ndim or not 0 <= sigma < math.inf:
            raise SettingError("sigma", found=repr(self.sigma), rule="a finite number that is not negative")
        if self.time is not None and (time is None or time.ndim or not time >= 0):
            raise SettingError("time", found=repr(self.time), rule="a number that is not negative, or None")
        if self.width is not None:
            _units(self.width)

    def _train(self) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        x, outputs = jnp.asarray(self._points), self._targets.shape[1]
        self._network = SoftmaxNetwork(_units(self.width), outputs=outputs, sigma=self._sigma)
        params, _ = self._network.init(jax.random.key(seed), x.shape[1], dtype=float)
        largest = float(largest_eigenvalue(self._network, params, x, outputs))
        # The longest allowed step, in the time of the kernel. If the kernel is 0, no weight changes.
        self._longest = _STEP / largest if largest > 0 else math.inf
        self._check_steps(self.time_ / self._longest, self.time_)
        self.steps_ = max(1, math.ceil(self.time_ / self._longest)) if self.time_ > 0 else 0
        self._first = numpy_leaves(params)
        self._last = self._descend(self._first, self.steps_, self.time_ / max(1, self.steps_))

    def _check_steps(self, steps: float, time: float) -> None:
        if math.isinf(time) or steps > _MOST_STEPS:
            steps = math.inf if math.isinf(time) else steps
            raise SettingError(
                "time",
                found=f"{time:g}, which needs {steps:.3g} steps of gradient descent",
                rule=f"a time that needs at most {_MOST_STEPS} steps",
                remedy="use a shorter time, or width=None, for which any time is exact",
            )

    def _descend(self, params: dict[str, np.ndarray], steps: int, step: float) -> dict[str, np.ndarray]:
        start, x, y = jax_leaves((params, self._points, self._targets))
        rate = jnp.asarray(step / self._network.width)
        weight = np.asarray(_descent(self._network, start, x, y, rate, jnp.asarray(steps)))
        if not np.isfinite(weight).all():
            raise SolverError(
                "gradient descent of the softmax network",
                found="weights that are not finite",
                rule="finite weights at every step",
                remedy="use a larger width",
            )
        return {**params, "weight": weight}

    def _params(self, time: float) -> dict[str, np.ndarray]:
        """The parameters at a time, after whole steps from the start or the end of `fit` and then a part of a step."""
        if time < self.time_:
            start, elapsed, step = self._first, time, self.time_ / self.steps_
        else:
            start, elapsed, step = self._last, time - self.time_, self._longest
            self._check_steps(self.steps_ + elapsed / step, time)
        whole = math.floor(elapsed / step * (1 + 4 * np.finfo(float).eps))
        params = self._descend(start, whole, step) if whole else start
        rest = elapsed - whole * step if whole else elapsed
        return self._descend(params, 1, rest) if rest > 1e-12 * step else params


def default_time(kernel: Spectrum, y: Float[Array, "n k"]) -> float:
    """The default training time: 1 / r for the candidate ridge r of least leave-one-out error; 0 if the kernel is 0.

    Args:
        kernel: the eigensystem of the Gram matrix.
        y: centred targets.
    """
    largest = float(kernel.eigenvalues[0])
    if not largest > 0:
        return 0.0
    times = _TIMES / largest
    return float(times[int(np.argmin([float(leave_one_out(kernel, y, 1 / time)) for time in times]))])


@eqx.filter_jit
def largest_eigenvalue(
    network: SoftmaxNetwork, params: dict[str, Array], x: Float[Array, "n d"], outputs: int
) -> Float[Array, ""]:
    """The largest eigenvalue of H by 50 power iterations, without forming H.

    The result is a little too small, but accurate enough for a step size.

    Args:
        network: the network.
        params: the parameters at which H, the tangent kernel's matrix divided by the width, is computed.
        x: points.
        outputs: the number k of outputs.
    """
    start = jax.random.normal(jax.random.key(0), (len(x), outputs), x.dtype)
    scaled = start / jnp.linalg.norm(start)

    def iterate(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        v, _ = state
        moved = network.tangent_product(params, x, v)
        size = jnp.linalg.norm(moved)
        return moved / jnp.where(size > 0, size, 1.0), size

    return jax.lax.fori_loop(0, 50, iterate, (scaled, jnp.zeros((), x.dtype)))[1]


def _numbers(value: Any) -> np.ndarray | None:
    """The numbers in a setting; None if it contains anything that is not a real number."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):
        return None
    return array.astype(float) if array.dtype.kind in "iuf" else None


def _units(width: Any) -> int:
    try:
        return operator.index(width)
    except TypeError as error:
        raise SettingError("width", found=repr(width), rule="an even integer, or None") from error


@eqx.filter_jit
def _descent(network: SoftmaxNetwork, params: dict[str, Array], x: Array, y: Array, rate: Array, steps: Array) -> Array:
    step = lambda _, weight: weight - rate * network.gradient({**params, "weight": weight}, x, y)
    return jax.lax.fori_loop(0, steps, step, params["weight"])
