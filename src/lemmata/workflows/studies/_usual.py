"""The scikit-learn models that people usually try first. Their settings are chosen on training rows."""

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.errors import LemmataError

from ._estimators import Fit, Fitted, fit_estimator, side_by_side
from ._splits import MOST_HELD_OUT
from ._trees import LEAF_OF_MANY, boosted, boosting_price, forest, forest_price, sized
from ._validation import PARTS, Groups, group_parts, parted, validating

STEPS = 20
"""The largest number of steps per training row of a support vector machine. Without this limit, some fits never end."""
RATIOS = (0.2, 0.5, 0.9)
"""The values that are tried for the share of the absolute penalty in the whole penalty of an elastic net."""


Makers = Sequence[Callable[[], Any]]
Entry = tuple[str, str, Fitted, Callable[[int, int, int], float]]


def _chosen(makers: Makers, x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    """Fit each estimator to four fifths of the training rows, and compare the losses on the other fifth.

    Then fit the best estimator to all training rows. The loss is the log-loss for classes, and the squared error for
    numbers. An estimator that cannot be fitted is not chosen.
    """
    n = len(y)
    if task == "regression" and y.shape[1] > 1:
        return side_by_side(functools.partial(_chosen, makers), x, y, task, groups)
    return fit_estimator(makers[best_of(makers, x[:n], y, task, groups)], x, y, task)


def best_of(makers: Makers, x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> int:
    """Return the position of the estimator with the smallest loss on a fifth of the rows, or on left-out groups.

    With fewer than ten rows, the result is the middle position.
    """
    if len(makers) == 1 or len(y) < 2 * PARTS:
        return len(makers) // 2
    return int(np.argmin([_validated(make, x, y, task, groups) for make in makers]))


def _validated(make: Callable[[], Any], x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> float:
    """Return the loss on a fifth of the rows, or on left-out groups, of an estimator fitted to the other rows."""
    last = validating(len(y), groups)
    try:
        shown = fit_estimator(make, np.concatenate([x[~last], x[last]]), y[~last], task)
        return _loss(shown, y[last])
    except LemmataError:
        raise
    except (ValueError, ArithmeticError):
        return math.inf


def _loss(shown: Fit, y: Float[np.ndarray, "v k"]) -> float:
    if shown.chances is None:
        value = float(((shown.outputs - y) ** 2).mean())
    else:
        value = float(-np.log(np.clip((shown.chances * y).sum(axis=1), 1e-6, None)).mean())
    return value if math.isfinite(value) else math.inf


def among(makers: Callable[[np.ndarray, np.ndarray, str, Groups], Makers]) -> Fitted:
    """Return a function that fits the best of the estimators from `makers`, and returns this estimator's outputs."""
    return functools.partial(_among, makers)


def _among(makers: Callable[..., Makers], x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    return _chosen(makers(x, y, task, groups), x, y, task, groups)


def logistics(x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Makers:
    """Return logistic regressions with six penalties, from which one is chosen."""
    from sklearn.linear_model import LogisticRegression

    wide = x.shape[1] * y.shape[1] > 300
    solver: dict[str, Any] = {"solver": "lbfgs"} if wide else {"solver": "newton-cholesky"}
    return [functools.partial(LogisticRegression, C=c, max_iter=300, **solver) for c in 10.0 ** np.arange(-4, 2)]


def _logistic_price(n: int, d: int, k: int) -> float:
    wide = d * k > 300
    return 0.05 + 7 * n * (100 * d * k * 4e-9 if wide else 8 * (d * k) ** 2 * 1e-9)


def lassos(ratio: tuple[float, ...], x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Makers:
    """Return linear regression with an absolute penalty or, for several ratios, with an absolute and a squared one.

    Cross-validation chooses the size of the penalty. For classes, return four logistic regressions with an absolute
    penalty, from which one is chosen.
    """
    from sklearn.linear_model import ElasticNetCV, LassoCV, LogisticRegression
    from sklearn.model_selection import KFold

    if task == "classification":
        return [functools.partial(_rest, LogisticRegression, C=c) for c in 10.0 ** np.linspace(-2, 1, 4)]
    folds: dict[str, Any] = {"cv": KFold(min(PARTS, len(y) // 2)), "max_iter": 2000, "alphas": 40}
    if parted(groups):
        assert groups is not None
        folds["cv"] = [(np.setdiff1d(np.arange(len(y)), part), part) for part in group_parts(groups)]
    if len(ratio) == 1:
        return [functools.partial(LassoCV, **folds)]
    return [functools.partial(ElasticNetCV, l1_ratio=list(ratio), **folds)]


def _rest(kind: Any, C: float) -> Any:
    from sklearn.multiclass import OneVsRestClassifier  # each class against the other classes

    return OneVsRestClassifier(
        kind(C=C, l1_ratio=1.0, solver="liblinear", max_iter=200, intercept_scaling=10.0, random_state=0)
    )


def _lasso_price(ratios: int, n: int, d: int, k: int) -> float:
    return ratios * k * (0.05 + 2e-8 * n * d + 5e-7 * d * min(n, d) + 5e-9 * min(n, d) * n * d / 10)


def counting(kind: str, x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Makers:
    """Return Poisson (counts) or gamma (amounts) regressions with a logarithmic link, for six penalties."""
    from sklearn.linear_model import GammaRegressor, PoissonRegressor

    model = PoissonRegressor if kind == "poisson" else GammaRegressor
    solver: Any = "newton-cholesky" if x.shape[1] <= 300 else "lbfgs"
    return [functools.partial(model, alpha=a, solver=solver, max_iter=200) for a in 10.0 ** np.arange(-4, 2)]


def _counts(kind: str, x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    found = _among(functools.partial(counting, kind), x, y, task, groups)
    return Fit(np.clip(found.outputs, *amounts(y)))


def amounts(y: Float[np.ndarray, "n k"]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Return the least and greatest allowed prediction, as a log link may predict far beyond all training targets."""
    return np.zeros(y.shape[1]), 2 * y.max(axis=0)


def _counts_price(n: int, d: int, k: int) -> float:
    return 0.05 * k + 7 * k * n * (15 * d * d * 1e-9 if d <= 300 else 100 * d * 4e-9)


def neighbours(x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Makers:
    """Return nearest-neighbour models with several numbers of neighbours, from which one is chosen."""
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    kind = KNeighborsRegressor if task == "regression" else KNeighborsClassifier
    trained = min(len(y) * (PARTS - 1) // PARTS, int((~validating(len(y), groups)).sum()))
    most = max(1, trained - 1)
    numbers = [number for number in (1, 3, 5, 10, 20, 40) if number <= most] or [1]
    return [functools.partial(kind, number) for number in numbers]


def _neighbours_price(n: int, d: int, k: int) -> float:
    return 0.02 + 4e-9 * n * n * math.sqrt(d) + 1e-6 * n * d


def _vectors(x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    """Fit a support vector machine with a Gaussian kernel. Choose the penalty, the width and, for numbers, the margin.

    The search starts from scikit-learn's default width. The search changes one setting after the other by a factor, as
    long as the validation loss falls.
    """
    numbers = task == "regression"
    if numbers and y.shape[1] > 1:
        return side_by_side(_vectors, x, y, task, groups)
    mean, size = (y.mean(axis=0), np.where(y.std(axis=0) > 0, y.std(axis=0), 1.0)) if numbers else (0.0, 1.0)
    y = (y - mean) / size
    found = fit_estimator(functools.partial(_machine, task, **machine_settings(x, y, task, groups)), x, y, task)
    return Fit(mean + size * found.outputs, found.chances)


def machine_settings(x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> dict[str, Any]:
    """Return penalty, width and margin, chosen on these rows. If the targets are numbers, they must have variance 1."""
    n, numbers = len(y), task == "regression"
    scale = 1 / max(float(x[:n].var()) * x.shape[1], np.finfo(float).tiny)
    made: dict[str, Any] = {"C": 10.0, "gamma": scale, "max_iter": STEPS * n} | ({"epsilon": 0.1} if numbers else {})
    loss = lambda trial: _validated(functools.partial(_machine, task, **trial), x[:n], y, task, groups)
    least = loss(made) if n >= 2 * PARTS else -math.inf
    path = [("C", 10.0, 1), ("gamma", 4.0, 2), ("epsilon", 0.1, 1)]  # small margins or large penalties may never end
    path = path if numbers else [("C", 10.0, 2), ("gamma", 4.0, 2), ("C", 10.0, 1)]
    for name, factor, moves in path if least > -math.inf else []:
        before = least
        for step in (factor, 1 / factor) if name != "epsilon" else (factor,):
            for _ in range(moves if least == before else 0):  # the second direction only if the first does not help
                trial = made | {name: made[name] * step}
                if (own := loss(trial)) >= least:
                    break
                made, least = trial, own
    return made


def _machine(task: str, **made: Any) -> Any:
    from sklearn.svm import SVC, SVR

    return _scored(SVC, **made) if task == "classification" else SVR(**made)


class _scored:
    """A support vector machine whose scores become probabilities by a softmax of twice the score."""

    def __init__(self, kind: Any, **made: Any):
        self.inner = kind(decision_function_shape="ovr", **made)

    def fit(self, x: np.ndarray, labels: np.ndarray) -> "_scored":
        """Fit the machine and return it."""
        self.inner.fit(x, labels)
        self.classes_ = self.inner.classes_
        return self

    def predict_proba(self, x: np.ndarray) -> np.ndarray:
        """Return the probabilities of the classes. The predicted class has the largest probability."""
        scores = np.asarray(self.inner.decision_function(x), float)
        scores = np.stack([-scores, scores], axis=1) if scores.ndim == 1 else 2 * scores
        weights = np.exp(scores - scores.max(axis=1, keepdims=True))
        return weights / weights.sum(axis=1, keepdims=True)


def _vectors_price(classes: bool, n: int, d: int, k: int) -> float:
    """Return the seconds of six fits in the search, and of predictions, which compare held-out and training rows."""
    rows = n + min(4 * n, MOST_HELD_OUT) / 12
    return (1 if classes else 2 * k) * (0.02 + 9e-8 * n * rows * (1 + d / 20) + 6e-5 * n)


def _last(x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    """Predict the last training row's target for all later rows."""
    said = np.repeat(y[-1:], len(x) - len(y), axis=0)
    return Fit(said, said if task == "classification" else None)


def _season(x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    """Repeat the last season's targets. The season is the lag with the largest autocorrelation of training targets."""
    return last_season(season(y), x, y, task)


def last_season(period: int, x: np.ndarray, y: np.ndarray, task: str, groups: Groups = None) -> Fit:
    """Predict later rows by repeating the last `period` targets of the training rows."""
    said = repeated(y, period, len(x) - len(y))
    return Fit(said, said if task == "classification" else None)


def repeated(y: Float[np.ndarray, "n k"], period: int, m: int) -> Float[np.ndarray, "m k"]:
    """Return m rows that repeat the last `period` rows."""
    return y[len(y) - period + np.arange(m) % period]


def season(y: Float[np.ndarray, "n k"]) -> int:
    """Return the lag from 2 to n/3 with the largest autocorrelation of the detrended target; 1 if no lag stands out.

    The search begins at the first lag at which the autocorrelation is below zero, so that slow changes do not count as
    seasons. At most the last 5000 rows are used.
    """
    y = y[-5000:]
    n = len(y)
    time = np.arange(n) - (n - 1) / 2
    apart = y - y.mean(axis=0) - np.outer(time, time @ y / max(float(time @ time), 1.0))
    size = 1 << (2 * n - 1).bit_length()
    power = (np.abs(np.fft.rfft(apart, size, axis=0)) ** 2).sum(axis=1)
    alike = np.fft.irfft(power)[: n // 3 + 1]
    if len(alike) < 3 or alike[0] <= 0:
        return 1
    alike = alike / alike[0] * n / (n - np.arange(len(alike)))
    below = np.flatnonzero(alike < 0)
    if not len(below) or below[0] + 1 >= len(alike):
        return 1
    start = int(below[0])
    period = start + int(np.argmax(alike[start:]))
    return period if alike[period] > 2 / math.sqrt(n) else 1


def free(n: int, d: int, k: int) -> float:
    """Return the price, in seconds, of a model that needs almost no time."""
    return 1e-8 * n


NAIVE: dict[str, Entry] = {
    "last": ("last value", "the target of the last training row", _last, free),
    "season": ("last season", "the targets of the last season again", _season, free),
}
USUAL = ("boosting", "forest", "logistic", "lasso", "elastic-net", "poisson", "gamma", "neighbours", "svm")


def usual_models(task: str) -> dict[str, Entry]:
    """Return title, words, fit and price, by name, of each scikit-learn model that suits the task."""
    from sklearn import ensemble

    classes = task == "classification"
    kind = "Classifier" if classes else "Regressor"
    rounds = functools.partial(boosted, getattr(ensemble, f"HistGradientBoosting{kind}"))
    trees = functools.partial(forest, getattr(ensemble, f"RandomForest{kind}"), 1 if classes else LEAF_OF_MANY)
    found: dict[str, Entry] = {
        "boosting": ("gradient boosting", "scikit-learn's histogram gradient boosting",
                     rounds, boosting_price),
        "forest": ("random forest", "scikit-learn's, 100 trees, fewer on many rows",
                   functools.partial(sized, trees), functools.partial(forest_price, classes)),
        "logistic": ("logistic regression", "scikit-learn's, penalty by validation", among(logistics),
                     _logistic_price),
        "lasso": ("lasso", "scikit-learn's, penalty by validation", among(functools.partial(lassos, (1.0,))),
                  functools.partial(_lasso_price, 1)),
        "elastic-net": ("elastic net", "scikit-learn's, both penalties by cross-validation",
                        among(functools.partial(lassos, RATIOS)), functools.partial(_lasso_price, 3)),
        "poisson": ("Poisson regression", "scikit-learn's, penalty by validation",
                    functools.partial(_counts, "poisson"), _counts_price),
        "gamma": ("gamma regression", "scikit-learn's, penalty by validation",
                  functools.partial(_counts, "gamma"), _counts_price),
        "neighbours": ("nearest neighbours", "scikit-learn's, number by validation", among(neighbours),
                       _neighbours_price),
        "svm": ("support vector machine", "scikit-learn's, Gaussian kernel, penalty and width by validation", _vectors,
                functools.partial(_vectors_price, classes)),
    }  # fmt: skip
    without = ("elastic-net", "poisson", "gamma") if classes else ("logistic",)
    return {name: entry for name, entry in found.items() if name not in without}
