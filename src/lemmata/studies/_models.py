"""What a study compares: kernels of the theory, and the models that people use, on the same rows."""

import dataclasses
import functools
import importlib.util
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.errors import DataError, LemmataError, SettingError, UnknownNameError
from lemmata.kernels import RBF, AbstractKernel, gram

from ._architectures import Architecture, architectures, check_names
from ._kernel_fit import best_of, chances, kernel_fit

TUNED_ROWS = 200
LENGTHSCALES = (0.25, 0.5, 1.0, 2.0, 4.0)
USUAL = ("boosting", "forest", "logistic")


@dataclasses.dataclass(frozen=True)
class Fit:
    """What a model says of held-out rows.

    Args:
        outputs: predictions (m, k): numbers in the target's units, or one score a class.
        chances: probabilities of the classes (m, k); None in regression.
        left_out: for a kernel, leave-one-out outputs of the training rows, and
        left_out_chances: their probabilities.
        learns: False for a kernel whose best ridge is the largest: it predicts the mean.
        ridge: for a kernel, the ridge that was chosen.
    """

    outputs: Float[np.ndarray, "m k"]
    chances: Float[np.ndarray, "m k"] | None = None
    left_out: Float[np.ndarray, "n k"] | None = None
    learns: bool = True
    ridge: float | None = None


@dataclasses.dataclass(frozen=True)
class Model:
    """A model under the name that the user gives it.

    Args:
        name, title: short and in words.
        formula: what it is.
        theory: whether lemmata's theory speaks about it: it is a kernel.
        fit: (encoded rows (n + m, d), targets of the first n, task) to what it says of the last m.
        cost: how much longer a fit takes than a kernel's, for fewer splits.
        kernels: the kernel, or those of which leave-one-out chooses one.
    """

    name: str
    title: str
    formula: str
    theory: bool
    fit: Callable[[np.ndarray, np.ndarray, str], Fit]
    cost: int = 1
    kernels: tuple[AbstractKernel, ...] = ()


def models(names: Sequence[str] | None, file: str | None, x: Float[np.ndarray, "N d"], task: str) -> list[Model]:
    """The models of these names: kernels (see `architectures`), boosting, forest, logistic; and the user's own.

    Args:
        names: names of kernels and models; None for the default.
        file: "FILE.py:function", where the function returns a scikit-learn estimator.
        x: encoded rows, for the kernels' scales.
        task: "regression" or "classification".

    Raises:
        UnknownNameError: no such model.
        SettingError: the file or its function cannot be used.
    """
    check_models(names)
    usual = _usual(task)
    kernels = None if names is None else [name for name in names if name not in USUAL]
    wanted = list(usual) if names is None else [name for name in names if name in USUAL]
    missing = [name for name in wanted if name not in usual]
    if missing:
        raise UnknownNameError(f"model {missing[0]!r} is for classes", rule="a regression has boosting and forest")
    found = [_kernel(item, x.shape[1]) for item in architectures(kernels, x)] if kernels is None or kernels else []
    found += [usual[name] for name in dict.fromkeys(wanted)]
    return found + ([_of_file(file)] if file else [])


def check_models(names: Sequence[str] | None) -> None:
    """Refuse names that `models` does not know, before there is a table.

    Raises:
        UnknownNameError: no such model; the message names the nearest.
        SettingError: there is no name.
    """
    if names is not None:
        check_names(names, USUAL)


def _kernel(architecture: Architecture, columns: int) -> Model:
    kernel = architecture.kernel
    tuned = architecture.name == "rbf"
    kernels = [RBF(math.sqrt(columns) * scale) for scale in LENGTHSCALES] if tuned else [kernel]
    formula = "exp(-|x - y|²/(2s²)), s by leave-one-out" if tuned else architecture.formula
    fit = functools.partial(_fit_kernel, tuple(kernels))
    return Model(architecture.name, architecture.title, formula, True, fit, kernels=tuple(kernels))


def _fit_kernel(kernels: tuple[AbstractKernel, ...], x: np.ndarray, y: np.ndarray, task: str) -> Fit:
    n = len(y)
    matrix = padded_gram(chosen(kernels, x[:n], y), x, n)
    if not np.isfinite(matrix).all():
        raise DataError("a kernel is not finite on these rows", rule="finite values", remedy="leave the kernel out")
    fit = kernel_fit(matrix[:n], matrix[n:], y)
    probable = chances(fit, y) if task == "classification" else None
    return Fit(fit.outputs, probable, fit.left_out, fit.learns, fit.ridge)


def chosen(
    kernels: tuple[AbstractKernel, ...], x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n k"]
) -> AbstractKernel:
    """The kernel with the smallest leave-one-out error on the first 200 training rows."""
    if len(kernels) == 1:
        return kernels[0]
    some = slice(0, TUNED_ROWS)
    return kernels[best_of([padded_gram(kernel, x[some]) for kernel in kernels], y[some])]


def padded_gram(
    kernel: AbstractKernel, x: Float[np.ndarray, "n d"], columns: int | None = None
) -> Float[np.ndarray, "n columns"]:
    """The kernel between all rows and the first `columns` of them, all by default.

    Computed for round numbers of rows and columns, so that few shapes are compiled.
    """
    n = len(x) if columns is None else columns
    if isinstance(kernel, RBF):  # a matter of distances: nothing to compile
        squares = (x**2).sum(axis=1)
        apart = np.maximum(squares[:, None] + squares[:n] - 2 * x @ x[:n].T, 0.0)
        return np.exp(apart / (-2 * float(kernel.lengthscale) ** 2))
    rows = jnp.asarray(np.concatenate([x, np.repeat(x[:1], _round(len(x)) - len(x), axis=0)]))
    matrix = gram(kernel, rows) if n == len(x) else gram(kernel, rows, rows[: _round(n)])
    return np.asarray(matrix)[: len(x), :n]


def _round(n: int) -> int:
    """64, 256, 1024, and then multiples of 512."""
    return next((size for size in (64, 256, 1024) if n <= size), 512 * math.ceil(n / 512))


def _usual(task: str) -> dict[str, Model]:
    """Gradient boosting, a random forest, for classes logistic regression (ridge regression is the linear kernel)."""
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from sklearn.linear_model import LogisticRegressionCV

    classes = task == "classification"
    boosting = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    forest = RandomForestClassifier if classes else RandomForestRegressor
    makers: dict[str, tuple[str, str, Callable[[], Any], int]] = {
        "boosting": (
            "gradient boosting",
            "scikit-learn's histogram gradient boosting",
            functools.partial(boosting, random_state=0),
            16,
        ),
        "forest": ("random forest", "scikit-learn's, 100 trees", functools.partial(forest, 100, random_state=0), 4),
    }
    if classes:
        logistic = functools.partial(LogisticRegressionCV, Cs=8, cv=3, max_iter=300)
        makers["logistic"] = ("logistic regression", "scikit-learn's, penalty by cross-validation", logistic, 4)
    return {
        name: Model(name, title, words, False, functools.partial(_fit_estimator, make), cost)
        for name, (title, words, make, cost) in makers.items()
    }


def _fit_estimator(make: Callable[[], Any], x: np.ndarray, y: np.ndarray, task: str) -> Fit:
    n, classes = len(y), y.shape[1]
    labels = y.argmax(axis=1)
    if task == "classification" and len(np.unique(labels)) == 1:
        sure = np.repeat(y[:1], len(x) - n, axis=0)
        return Fit(sure, sure)
    estimator = make()
    if task == "regression":
        columns = [make().fit(x[:n], column).predict(x[n:]) for column in y.T]
        return Fit(np.stack(columns, axis=1).astype(float))
    estimator.fit(x[:n], labels)
    if not hasattr(estimator, "predict_proba"):
        sure = np.eye(classes)[np.asarray(estimator.predict(x[n:]), int)]
        return Fit(sure, sure)
    probable = np.zeros((len(x) - n, classes))
    probable[:, np.asarray(estimator.classes_, int)] = estimator.predict_proba(x[n:])
    return Fit(probable, probable)


def _of_file(file: str) -> Model:
    path, colon, name = file.rpartition(":")
    if not colon or not path.endswith(".py") or not Path(path).is_file():
        raise SettingError("--model is no function in a file", found=file[:80], rule="FILE.py:function")
    make = functools.partial(_made, path, name)
    try:
        estimator = make()
    except LemmataError:
        raise
    except Exception as error:
        raise SettingError(
            f"--model {file[:80]} cannot be used",
            found=f"{type(error).__name__}: {error}",
            rule=f"{name}() returns an estimator with fit and predict",
        ) from error
    if not (hasattr(estimator, "fit") and hasattr(estimator, "predict")):
        raise SettingError(
            f"--model {file[:80]} cannot be used",
            found=f"{name}() returns {type(estimator).__name__}",
            rule="an estimator with fit and predict",
        )
    return Model(
        name,
        name,
        f"{type(estimator).__name__} of {Path(path).name}",
        False,
        functools.partial(_fit_estimator, make),
        2,
    )


def _made(path: str, name: str) -> Any:
    """What the function of that name in a file returns, in whichever process."""
    return getattr(_module(path, Path(path).stat().st_mtime_ns), name)()


@functools.cache
def _module(path: str, written: int) -> Any:
    """The file as it was written at that time."""
    spec = importlib.util.spec_from_file_location("lemmata_user_model", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
