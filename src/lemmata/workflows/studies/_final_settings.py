"""Make the last steps of a pipeline that is fitted to all rows: a scikit-learn estimator with chosen settings."""

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.kernels import RBF, AbstractKernel

from ._gram import padded_gram
from ._kernel_fit import kernel_fit
from ._large_fit import CENTRES, centres_fit, column_fit
from ._models import MOST_EXACT, chosen, kernels_of, near_range
from ._trees import LEAF_OF_MANY, boosting_of, forest
from ._usual import (
    RATIOS,
    Makers,
    amounts,
    best_of,
    counting,
    lassos,
    logistics,
    machine_settings,
    neighbours,
)
from ._validation import Groups

UNSCALED = ("boosting", "forest")
"""The models that do not depend on the scales of the columns."""
_AMONG: dict[str, Callable[[np.ndarray, np.ndarray, str, Groups], Makers]] = {
    "logistic": logistics,
    "poisson": functools.partial(counting, "poisson"),
    "gamma": functools.partial(counting, "gamma"),
    "neighbours": neighbours,
}


def usual_estimator(
    name: str, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n k"], task: str, groups: Groups = None
) -> Any:
    """Return an unfitted estimator. Its settings are chosen on these rows in the same way as in a split of the study.

    Args:
        name: the name of one of the usual models.
        x: the encoded rows, in random order.
        y: one column of numbers, or the classes as one-hot columns.
        task: "regression" or "classification".
        groups: the group of each row, or None.
    """
    from sklearn import ensemble

    numbers = task == "regression"
    kind = "Regressor" if numbers else "Classifier"
    if name == "boosting":
        made = boosting_of(getattr(ensemble, f"HistGradientBoosting{kind}"), x, y, task, groups)
        return _with_plain_numbers(made)
    if name == "forest":
        made = forest(getattr(ensemble, f"RandomForest{kind}"), LEAF_OF_MANY if numbers else 1, len(y))
        return made.set_params(n_jobs=None)
    if name == "svm":
        return _machine(x, y, task, groups)
    if name in ("lasso", "elastic-net") and numbers:
        return _penalised(name, x, y, groups)
    makers = _AMONG[name](x, y, task, groups) if name in _AMONG else lassos((1.0,), x, y, task, groups)
    made = _with_plain_numbers(makers[best_of(makers, x, y, task, groups)]())
    return made if name not in ("poisson", "gamma") else _between(made, *amounts(y))


def kernel_steps(
    name: str, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n k"], task: str, groups: Groups = None
) -> list[Any]:
    """Return a kernel machine as two steps: features, and ridge regression on the features.

    The width of the kernel and the ridge are chosen on these rows.

    With all rows X as centres, the features of a row x are K(x, X) K(X, X)^(-1/2). Ridge regression with an intercept
    on these features is kernel ridge regression with an intercept. scikit-learn's KernelRidge has no intercept.

    Args:
        name: the name of a kernel.
        x: the encoded rows, in random order.
        y: columns of numbers, or the classes as one-hot columns.
        task: "regression" or "classification".
        groups: the group of each row, or None. With groups, width and ridge are chosen by the error on groups that are
            left out, because rows of one group have information about each other.
    """
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge, RidgeClassifier

    n, d = x.shape
    kind = Ridge if task == "regression" else RidgeClassifier
    kept = (lambda made: _between(made, *near_range(y))) if task == "regression" else (lambda made: made)
    if name == "linear":
        if n > d:
            return [kept(kind(alpha=column_fit(x, x[:1], y, groups).ridge))]
        return [kept(kind(alpha=_ridge(kernels_of(name, x)[0], x, y, groups) * d))]
    kernel = chosen(kernels_of(name, x), x, y, groups)
    ridge = _ridge(kernel, x, y, groups)
    own = _kernel_settings(name, kernel, x)
    solver: dict[str, Any] = {"solver": "svd"} if n <= MOST_EXACT else {}
    features = Nystroem(**own, n_components=min(n, CENTRES), random_state=0)
    return [features, kept(kind(alpha=ridge, **solver))]


def _between(estimator: Any, low: np.ndarray, high: np.ndarray) -> Any:
    """Return an estimator whose predictions are clipped to `low` and `high` of each target, as in the study."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import FunctionTransformer

    ends = {"a_min": low.tolist(), "a_max": high.tolist()}
    if len(low) == 1:
        ends = {name: value[0] for name, value in ends.items()}
    clip = FunctionTransformer(inverse_func=np.clip, inv_kw_args=ends, check_inverse=False)
    return TransformedTargetRegressor(estimator, transformer=clip)


def _ridge(kernel: AbstractKernel, x: np.ndarray, y: np.ndarray, groups: Groups) -> float:
    if len(y) > MOST_EXACT:
        return centres_fit(kernel, x, x[:1], y, groups=groups)[0].ridge
    matrix = padded_gram(kernel, x)
    return kernel_fit(matrix, matrix[:1], y, groups).ridge


def _kernel_settings(name: str, kernel: AbstractKernel, x: np.ndarray) -> dict[str, Any]:
    """Return the kernel for `Nystroem`: a kernel of scikit-learn, or the kernel of a network."""
    from sklearn.gaussian_process.kernels import Matern

    d = x.shape[1]
    if isinstance(kernel, RBF):
        return {"kernel": "rbf", "gamma": 1 / (2 * float(kernel.lengthscale) ** 2)}
    if name == "laplace":
        return {"kernel": Matern(length_scale=math.sqrt(d), nu=0.5)}
    if name.startswith("matern"):
        return {"kernel": Matern(length_scale=math.sqrt(d), nu=1.5 if name == "matern-3/2" else 2.5)}
    if name.startswith("polynomial"):
        return {"kernel": "poly", "degree": int(name.partition("-")[2]), "gamma": 1 / d, "coef0": 1.0}
    from lemmata.estimators import NetworkKernel

    radius = float(np.sqrt((x**2).sum(axis=1).max())) or 1.0
    return {"kernel": NetworkKernel(name, radius=radius) if name == "softmax" else NetworkKernel(name)}


def _machine(x: np.ndarray, y: np.ndarray, task: str, groups: Groups) -> Any:
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler
    from sklearn.svm import SVC, SVR

    if task == "classification":
        # Predict the class of the largest score, as the study does.
        return _with_plain_numbers(SVC(**machine_settings(x, y, task, groups), break_ties=True))
    spread = y.std(axis=0)
    made = machine_settings(x, (y - y.mean(axis=0)) / np.where(spread > 0, spread, 1.0), task, groups)
    return TransformedTargetRegressor(_with_plain_numbers(SVR(**made)), transformer=StandardScaler())


def _penalised(name: str, x: np.ndarray, y: np.ndarray, groups: Groups) -> Any:
    """Return a lasso or an elastic net. Cross-validation on these rows chooses its penalties."""
    from sklearn.linear_model import ElasticNet, Lasso

    (make,) = lassos((1.0,) if name == "lasso" else RATIOS, x, y, "regression", groups)
    found = make().fit(x, y[:, 0])
    if name == "lasso":
        return Lasso(alpha=float(found.alpha_), max_iter=2000)
    return ElasticNet(alpha=float(found.alpha_), l1_ratio=float(found.l1_ratio_), max_iter=2000)


def _with_plain_numbers(estimator: Any) -> Any:
    """Convert settings to Python's own numbers, which are printed in a readable form."""
    plain = {name: value.item() for name, value in estimator.get_params().items() if isinstance(value, np.generic)}
    return estimator.set_params(**plain)
