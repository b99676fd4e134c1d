"""A scikit-learn estimator: a transformer that learns in context by construction."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from lemmata.core import refuse_text, refusing_in_one_line, whole
from lemmata.errors import SettingError, ShapeError
from lemmata.functions import AbstractFunctionClass, GaussianBumps
from lemmata.networks import InContextTransformer, construct_transformer

from ._ball import ball_scale
from ._leaves import jax_leaves, numpy_leaves

# The number of entries of the queries' features and coefficients that are stored at once: 512 MiB in float64.
_ENTRIES = 2**26


class InContextRegressor(RegressorMixin, BaseEstimator):
    """Predict from a prompt: `fit` stores the examples, and `predict` runs a transformer that was never trained.

    The weights of the transformer are explicit, for a class of functions. Its layers compute universal features of the
    inputs: Phi of the N examples and phi of the query. Then they run proximal gradient descent in rho on the Lasso
    (1/N) |y - Phi rho|² + penalty |rho|_1, and return <phi, rho>. The source is Li et al. (2025), Lemma 4. The second
    attention layer of each block (Attn2) lacks a factor N in the source.

    The theory is about inputs in the unit ball. So inputs are divided by the largest norm of a training row. Targets
    are centred and divided by their standard deviation.

    Args:
        functions: a class of `lemmata.functions`; None means Gaussian bumps of width 1/2 with centres in the unit ball.
        features: the number n of features that are drawn for the class.
        layers: the odd number L = 2T + 1 of layers, for T iterations.
        penalty: the penalty of the Lasso, in units of the scaled targets.
        sharpness: the slope tau of the features, which are logistic functions of tau (<u, x> - t) for drawn u and t.
        accelerated: whether the iteration uses momentum (FISTA). The residual stream then also stores the previous
            iterate.
        temperature: the temperature of the attention layers; None means 10^4.
        stable: whether logistic functions are evaluated without cancellation.
        normalise: True divides inputs by the largest norm of a training row. False refuses rows of norm above 1. None
            divides if a norm is above 1, with a warning.
        random_state: a seed, a RandomState or None, for the draw of the features.

    Attributes:
        transformer_: the transformer with its weights, for prompts of the stored length.
        scale_: the divisor of inputs.
        offset_: the mean of the targets.
        target_scale_: the divisor of centred targets.

    Example:
        >>> import numpy as np
        >>> from lemmata.estimators import InContextRegressor
        >>> x = np.linspace(-1, 1, 60)[:, None]
        >>> y = np.sin(3 * x[:, 0])
        >>> bool(InContextRegressor(random_state=0).fit(x, y).score(x, y) > 0.99)
        True
    """

    def __init__(
        self,
        functions=None,
        features=256,
        layers=401,
        penalty=3e-3,
        sharpness=4.0,
        accelerated=True,
        temperature=None,
        stable=True,
        normalise=None,
        random_state=None,
    ):
        self.functions = functions
        self.features = features
        self.layers = layers
        self.penalty = penalty
        self.sharpness = sharpness
        self.accelerated = accelerated
        self.temperature = temperature
        self.stable = stable
        self.normalise = normalise
        self.random_state = random_state

    def fit(self, X, y):
        """Store the prompt and build the transformer for its length.

        Args:
            X: inputs of the examples (N, d), N at least 2.
            y: the targets (N,) of the examples.

        Raises:
            DataError: for a row of norm above 1 with `normalise=False`; the message gives the row and its norm.
            SettingError: if a setting is out of its range; the message names it.
        """
        with refusing_in_one_line():
            refuse_text(X)
            validated = validate_data(self, X, y, y_numeric=True, dtype=np.float64, ensure_min_samples=2)
        X, y = (np.asarray(values, float) for values in validated)
        _, _, self.scale_ = ball_scale(X, self.normalise)
        exponent = np.frexp(np.abs(y).max())[1]  # squares may overflow; division by a power of 2 is exact
        scaled = np.ldexp(y, -exponent)
        spread = float(np.std(scaled)) or 1.0
        self._x, self._y = X / self.scale_, (scaled - scaled.mean()) / spread
        self.offset_, self.target_scale_ = float(np.ldexp(scaled.mean(), exponent)), float(np.ldexp(spread, exponent))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        with jax.enable_x64(True):
            functions = GaussianBumps(X.shape[1]) if self.functions is None else self.functions
            if not isinstance(functions, AbstractFunctionClass):
                raise SettingError(
                    "functions", found=repr(functions), rule="a class of functions (an AbstractFunctionClass), or None"
                )
            transformer = construct_transformer(
                functions, whole("features", self.features), whole("layers", self.layers), examples=len(y),
                key=jax.random.key(seed), penalty=_number("penalty", self.penalty),
                sharpness=_number("sharpness", self.sharpness), accelerated=_flag("accelerated", self.accelerated),
                temperature=None if self.temperature is None else _number("temperature", self.temperature),
            )  # fmt: skip
            known = transformer.features.omega.shape[1]
            if known != X.shape[1]:
                raise ShapeError(
                    "functions",
                    found=f"functions of {known} variables",
                    rule=f"functions of {X.shape[1]} variables, because X has {X.shape[1]} columns",
                )
            self.transformer_: InContextTransformer = numpy_leaves(transformer)
        return self

    def predict(self, X):
        """Predictions (m,) at the inputs X (m, d). Each row takes one forward pass.

        Rows outside the unit ball get predictions, too, although no theory covers them. Far outside, the features
        hardly vary.
        """
        check_is_fitted(self)
        with refusing_in_one_line():
            refuse_text(X)
            X = np.asarray(validate_data(self, X, reset=False, dtype=np.float64)) / self.scale_
        rows = max(1, _ENTRIES // (len(self._y) + 4 * len(self.transformer_.features.thresholds)))
        with jax.enable_x64(True):
            transformer = jax_leaves(self.transformer_)
            x, y = jnp.asarray(self._x), jnp.asarray(self._y)
            blocks = [
                np.asarray(transformer(x, y, jnp.asarray(X[first : first + rows]), _flag("stable", self.stable)))
                for first in range(0, len(X), rows)
            ]
        return self.offset_ + self.target_scale_ * np.concatenate(blocks)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise SettingError(name, found=repr(value), rule="a number") from error


def _flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise SettingError(name, found=repr(value), rule="True or False")
    return bool(value)
