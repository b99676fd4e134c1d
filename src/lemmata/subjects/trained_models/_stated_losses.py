"""The loss and the decay that a scikit-learn estimator states by its type and settings."""

import math
import sys
from typing import Any

import numpy as np

from ._boosted import BoostedTrees
from ._losses import StatedLoss

_ORIGIN = "as the estimator states"
_OTHERS = {
    "GammaRegressor": "the gamma deviance of GammaRegressor",
    "TweedieRegressor": "the Tweedie deviance of TweedieRegressor",
    "LinearSVC": "the hinge loss of LinearSVC",
    "SVC": "the hinge loss of SVC",
    "LinearSVR": "the insensitive loss of LinearSVR",
    "SVR": "the insensitive loss of SVR",
}
_ABSOLUTE = ("Lasso", "ElasticNet")  # names of estimators with this penalty begin so, perhaps after MultiTask
_BOOSTED = ("GradientBoostingRegressor", "HistGradientBoostingRegressor", "GradientBoostingClassifier")
_USUAL = ("squared_error", "log_loss", "reg:squarederror", "binary:logistic", "multi:soft")
_ABSOLUTE_ERROR = ("absolute_error", "reg:absoluteerror")
_QUANTILES = ("quantile", "reg:quantileerror")
_ORDERING = ("survival:cox", "rank:")  # the beginnings of XGBoost's objectives for outputs that only order rows
_OF_SGD = {"squared_error": "squared", "huber": "huber", "log_loss": "log"}


def estimator_loss(estimator: Any, n: int) -> tuple[StatedLoss | None, float | None]:
    """Return the loss and the decay that follow from the type and settings of a fitted estimator. Each may be None.

    Boosters of XGBoost state their objective, too.

    HuberRegressor minimises sum_i s h(r_i/s) 2 + alpha |w|² for residuals r_i, weights w and a fitted scale s. Here h
    is Huber's loss of width epsilon. At the fitted s, the estimator minimises the mean of Huber losses of width epsilon
    s plus (s alpha/n) |w|²/2. PoissonRegressor and stochastic gradient descent add alpha |w|²/2 to the mean loss. Least
    squares, and logistic regression with an infinite C, have no penalty, which is a decay of 0. A penalty on absolute
    values is not a decay. With this penalty, checks that need the objective are skipped. Any other regressor is assumed
    to have squared loss.

    Args:
        estimator: a fitted estimator; other models do not state a loss.
        n: the number of training rows of the estimator.
    """
    if isinstance(estimator, BoostedTrees):
        return _of_booster(estimator), None
    if not any(own.__module__ == "sklearn.base" for own in type(estimator).__mro__):
        return None, None
    name = type(estimator).__name__
    say = lambda kind, **rest: StatedLoss(kind, **rest, origin=_ORIGIN)
    if name in _OTHERS:
        return say("other", said=_OTHERS[name]), None
    if _has_absolute_values(estimator, name):
        return say("other", said=f"a penalty of absolute values, that of {name}"), None
    if (words := _other_objective(estimator, name)) is not None:
        return say("other", said=words, quantile=_quantile(estimator, name), ordering=_orders(estimator)), None
    if name == "HuberRegressor":
        scale = float(estimator.scale_)
        return say("huber", width=float(estimator.epsilon) * scale), scale * float(estimator.alpha) / n
    if name == "PoissonRegressor":
        return say("poisson"), float(estimator.alpha)
    if name in ("SGDRegressor", "SGDClassifier"):
        return _of_descent(estimator, name)
    if name in ("LogisticRegression", "LogisticRegressionCV"):
        free = getattr(estimator, "penalty", "") is None or getattr(estimator, "C", 1.0) == math.inf
        weighted = say("log", weights=_weights(estimator))
        return weighted if weighted.weights else None, 0.0 if free else None
    if sys.modules["sklearn.base"].is_regressor(estimator):
        return say("squared"), 0.0 if name == "LinearRegression" else None
    return None, None


def _other_objective(estimator: Any, name: str) -> str | None:
    """Return the loss of boosted trees or of a quantile in words, or None for squared loss and log loss."""
    if name == "QuantileRegressor":
        return "the pinball loss of QuantileRegressor"
    objective = getattr(estimator, "objective", None)  # of XGBoost
    if objective is not None and hasattr(estimator, "get_booster"):
        usual = isinstance(objective, str) and objective.startswith(_USUAL)
        called = objective if isinstance(objective, str) else "of your own"
        return None if usual else f"the objective {called} of {name}"
    loss = getattr(estimator, "loss", None)
    if name in _BOOSTED and isinstance(loss, str) and loss not in _USUAL:
        return f"the {loss.replace('_', ' ')} loss of {name}"
    return None


def _of_booster(trees: BoostedTrees) -> StatedLoss | None:
    """Return the loss of a booster, or None for squared loss and log loss."""
    if trees.objective.startswith(("binary:logi", *_USUAL)):
        return None
    quantile = 0.5 if trees.objective in _ABSOLUTE_ERROR else trees.quantile
    ordering = trees.objective.startswith(_ORDERING)
    words = f"the objective {trees.objective} of a Booster"
    return StatedLoss("other", said=words, origin="as the Booster states", quantile=quantile, ordering=ordering)


def _objective(estimator: Any) -> str:
    """Return the name of an estimator's objective; empty if the estimator has none, or a function."""
    named = getattr(estimator, "objective", None) if hasattr(estimator, "get_booster") else None
    named = getattr(estimator, "loss", None) if named is None else named
    return named if isinstance(named, str) else ""


def _quantile(estimator: Any, name: str) -> float | None:
    """Return the quantile of the target that an estimator predicts, or None if it predicts no single quantile."""
    objective = _objective(estimator)
    if objective in _ABSOLUTE_ERROR:
        return 0.5
    if name != "QuantileRegressor" and objective not in _QUANTILES:
        return None
    names = {"GradientBoostingRegressor": "alpha", "XGBRegressor": "quantile_alpha"}
    level = estimator.get_params().get(names.get(name, "quantile"))
    return float(level) if isinstance(level, int | float) and 0 < level < 1 else None


def _orders(estimator: Any) -> bool:
    """Return whether an estimator's outputs only order the rows."""
    return _objective(estimator).startswith(_ORDERING)


def _has_absolute_values(estimator: Any, name: str) -> bool:
    """Return whether absolute values of the weights were part of the objective."""
    if name.removeprefix("MultiTask").startswith(_ABSOLUTE):
        # the names with a final underscore are shares that the model chose
        share = getattr(estimator, "l1_ratio_", getattr(estimator, "l1_ratio", 1.0))
        return bool(np.any(np.asarray(1.0 if share is None else share, float) > 0))
    penalty = getattr(estimator, "penalty", None)
    if penalty in ("l1", "elasticnet", "deprecated"):  # "deprecated" means that only the ratio is set
        share = getattr(estimator, "l1_ratio_", getattr(estimator, "l1_ratio", None))
        return penalty == "l1" or bool(np.any(np.asarray(0.0 if share is None else share, float) > 0))
    return False


def _weights(estimator: Any) -> tuple[tuple[Any, float], ...] | str | None:
    """Return the class weights as an estimator states them."""
    weights = getattr(estimator, "class_weight", None)
    return weights if weights is None or isinstance(weights, str) else tuple(weights.items())


def _of_descent(estimator: Any, name: str) -> tuple[StatedLoss, float | None]:
    """Return the loss and the decay of an SGD estimator.

    The decay is None if the penalty is not squared or the loss is squared.
    """
    known = _OF_SGD.get(estimator.loss)
    words = f"the {estimator.loss} loss of {name}"
    if known is None or (known == "log" and len(estimator.classes_) > 2):
        more = ", one class against the others" if known == "log" else ""
        return StatedLoss("other", said=words + more, origin=_ORIGIN), None
    width = float(estimator.epsilon) if known == "huber" else 1.0
    own = StatedLoss(known, width=width, weights=_weights(estimator), origin=_ORIGIN)
    return own, float(estimator.alpha) if estimator.penalty == "l2" and known != "squared" else None
