"""The two-layer softmax network, of finite or infinite width, as a scikit-learn estimator."""

import math
import operator
import warnings
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from lemmata.errors import DataError, SettingError, SolverError
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork
from lemmata.solvers import gradient_flow
from lemmata.spectra import Spectrum, leave_one_out, spectrum

# Steps of 1 / (2 lambda_max): descent on a quadratic is stable up to 2 / lambda_max, and the kernel moves in training.
_STEP = 0.5
_MOST_STEPS = 10**6
# Times that a default may take, in units of 1 / lambda_max: at most 20,000 steps of a network.
_TIMES = np.geomspace(0.1, 1e4, 51)


class SoftmaxRegressor(MultiOutputMixin, RegressorMixin, BaseEstimator):
    """Regression with a two-layer softmax network trained for a time, or with its kernel at infinite width.

    With `width=None` predictions are those of gradient flow df/dt = -K (f - y) with K(x, x') = <x, x'>
    exp(sigma² <x, x'>), exactly. With a width they are those of a network with that many hidden units, drawn at the
    symmetric initialisation and trained by gradient descent on all rows, m times as long (its tangent kernel is m times
    the kernel of one output), so that the same time means the same training. Training stops before it interpolates
    unless `time` is long.

    The theory of these networks speaks of inputs in the unit ball and targets of length at most 1: inputs are divided
    by the largest norm of a training row, targets are centred and divided by the largest norm that is left.

    Args:
        width: hidden units, even; None is the limit of infinite width.
        sigma: standard deviation of the weights at initialisation. With 0 the kernel is linear.
        time: training time in units where the flow is df/dt = -K (f - y); infinity is allowed where `width` is None.
            None takes 1 / ridge, for the ridge of smallest leave-one-out error in kernel ridge regression (ridge r and
            time 1/r shrink a mode of eigenvalue a by a/(a + r) and 1 - exp(-a/r)), between 0.1 and 10,000 divided by
            the largest eigenvalue of K; it is the same for every width.
        normalise: True divides inputs by the largest norm of a training row, False refuses rows of norm above 1, and
            None divides where a norm is above 1, with a warning.
        random_state: seed, generator or None, for the network's initialisation.

    Attributes:
        time_: the training time.
        scale_: what inputs are divided by.
        offset_: the mean of the targets.
        target_scale_: what centred targets are divided by.
        steps_: gradient descent steps taken; 0 for infinite width.

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
        """Train for the time.

        Args:
            X: inputs (n, d).
            y: targets (n,) or (n, k).

        Raises:
            DataError: with `normalise=False`, a row of norm above 1; names the row and its norm.
            SettingError: a width that is odd or no integer, a negative sigma, one so large that the kernel overflows, a
                negative time, or a time that a network needs more than a million steps for.
            SolverError: the network's training diverged.
        """
        X, y = map(np.asarray, validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64))
        self._check_settings()
        self.scale_ = self._scale(np.linalg.norm(X, axis=1))
        self.offset_ = np.mean(y, axis=0)
        self._shape = y.shape[1:]
        centred = (y - self.offset_).reshape(len(y), -1).astype(float)
        self.target_scale_ = float(np.linalg.norm(centred, axis=1).max()) or 1.0
        with jax.enable_x64(True):
            self._points, self._targets = jnp.asarray(X / self.scale_), jnp.asarray(centred / self.target_scale_)
            self._kernel = SoftmaxTangent(sigma=float(self.sigma))
            matrix = gram(self._kernel, self._points)
            if not bool(jnp.isfinite(matrix).all()):
                raise SettingError("sigma", found=self.sigma, rule="exp(sigma²) is finite", remedy="a smaller sigma")
            self._spectrum = spectrum(matrix)
            self.time_ = default_time(self._spectrum, self._targets) if self.time is None else float(self.time)
            self.steps_ = 0
            if self.width is not None:
                self._train()
        return self

    def predict(self, X):
        """Predictions (p,) or (p, k) at the inputs X (p, d), after `time_`."""
        check_is_fitted(self)
        return self.predict_at(self.time_, X)

    def predict_at(self, time: float | Sequence[float] | np.ndarray, X):
        """Predictions of the same training at other times.

        Exact for infinite width. A network trains on from its last weights, or again from its first; between two steps
        of gradient descent weights are interpolated, so that answers do not depend on what else is asked for.

        Args:
            time: one time, or several.
            X: inputs (p, d).

        Returns:
            (p,) or (p, k) for one time; a leading axis for several.

        Raises:
            SettingError: a negative time, or one that a network needs more than a million steps for.
        """
        check_is_fitted(self)
        X = np.asarray(validate_data(self, X, reset=False, dtype=np.float64))
        times = np.asarray(time, float)
        if times.ndim > 1 or not (times >= 0).all():
            raise SettingError("time", found=times.tolist(), rule="one number or a list of numbers, each at least 0")
        with jax.enable_x64(True):
            x = jnp.asarray(X / self.scale_)
            if self.width is None:
                cross = gram(self._kernel, x, self._points)
                outputs = np.asarray(gradient_flow(self._spectrum, self._targets, times, cross).test)
            else:
                each = [self._network.predict(self._params(moment), x) for moment in np.atleast_1d(times)]
                outputs = np.asarray(each).reshape(-1, len(X), self._targets.shape[1])
        outputs = self.offset_ + self.target_scale_ * outputs.reshape(-1, len(X), *self._shape)
        return outputs if times.ndim else outputs[0]

    def _check_settings(self) -> None:
        if not (math.isfinite(self.sigma) and self.sigma >= 0):
            raise SettingError("sigma", found=self.sigma, rule="a number, at least 0")
        if self.time is not None and not self.time >= 0:
            raise SettingError("time", found=self.time, rule="a number, at least 0, or None")
        if self.normalise not in (None, True, False):
            raise SettingError("normalise", found=self.normalise, rule="True, False or None")
        if self.width is not None:
            _units(self.width)

    def _scale(self, norms: Float[np.ndarray, " n"]) -> float:
        row = int(np.argmax(norms))
        longest = float(norms[row])
        if longest <= 1 + 1e-12:
            return longest if self.normalise and longest > 0 else 1.0
        if self.normalise is False:
            raise DataError(
                f"training row {row} (counted from 0)", found=f"norm {longest:.6g}", rule="norm at most 1",
                remedy="normalise=True, or scale the inputs",
            )
        if self.normalise is None:
            warnings.warn(
                f"inputs are divided by {longest:.6g}, the norm of training row {row}, because theory asks for the "
                "unit ball; set normalise=True to say so, or scale the inputs",
                UserWarning, stacklevel=3,
            )
        return longest

    def _train(self) -> None:
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        x, y = self._points, self._targets
        self._network = SoftmaxNetwork(_units(self.width), outputs=y.shape[1], sigma=float(self.sigma))
        self._first, _ = self._network.init(jax.random.key(seed), x.shape[1], dtype=float)
        largest = float(largest_eigenvalue(self._network, self._first, x, y.shape[1]))
        needed = self.time_ * largest / _STEP
        self._check_steps(needed, self.time_)
        self.steps_ = max(1, math.ceil(needed))
        # A step in the time of the kernel; where time is 0, that of longer trainings.
        self._step = self.time_ / self.steps_ or (_STEP / largest if largest > 0 else 1.0)
        self._last = self._descend(self._first, self.steps_ if self.time_ > 0 else 0, self._step)

    def _check_steps(self, steps: float, time: float) -> None:
        if steps > _MOST_STEPS:
            raise SettingError(
                "time", found=f"{time:g}, which is {steps:.3g} steps of gradient descent",
                rule=f"at most {_MOST_STEPS} steps", remedy="a shorter time, or width=None, which is exact at any time",
            )

    def _descend(self, params: dict[str, Array], steps: int, step: float) -> dict[str, Array]:
        m = self._network.width
        weight = _descent(self._network, params, self._points, self._targets, jnp.asarray(step / m), jnp.asarray(steps))
        if not bool(jnp.isfinite(weight).all()):
            raise SolverError(
                "gradient descent of the softmax network", found="weights that are not finite",
                rule="training converges", remedy="a larger width",
            )
        return {**params, "weight": weight}

    def _params(self, time: float) -> dict[str, Array]:
        """The parameters at a time: whole steps, then a part of one."""
        self._check_steps(time / self._step, time)
        whole = math.floor(time / self._step * (1 + 4 * np.finfo(float).eps))
        done = self.steps_ if self.time_ > 0 else 0
        params, taken = (self._last, done) if whole >= done else (self._first, 0)
        params = self._descend(params, whole - taken, self._step)
        rest = time - whole * self._step
        return self._descend(params, 1, rest) if rest > 1e-12 * self._step else params


def default_time(kernel: Spectrum, y: Float[Array, "n k"]) -> float:
    """1 / ridge for the ridge of smallest leave-one-out error among those of `_TIMES`; 0 where the kernel is 0.

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
    """The largest eigenvalue of H, by 50 power iterations without forming it (a little below, for a step size).

    Args:
        network: the network.
        params: where H is taken.
        x: points.
        outputs: k.
    """
    start = jax.random.normal(jax.random.key(0), (len(x), outputs), x.dtype)
    scaled = start / jnp.linalg.norm(start)

    def iterate(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        v, _ = state
        moved = network.tangent_product(params, x, v)
        size = jnp.linalg.norm(moved)
        return moved / jnp.where(size > 0, size, 1.0), size

    return jax.lax.fori_loop(0, 50, iterate, (scaled, jnp.zeros((), x.dtype)))[1]


def _units(width: Any) -> int:
    try:
        return operator.index(width)
    except TypeError as error:
        raise SettingError("width", found=repr(width), rule="an even integer, or None") from error


@eqx.filter_jit
def _descent(network: SoftmaxNetwork, params: dict[str, Array], x: Array, y: Array, rate: Array, steps: Array) -> Array:
    step = lambda _, weight: weight - rate * network.gradient({**params, "weight": weight}, x, y)
    return jax.lax.fori_loop(0, steps, step, params["weight"])
