"""Tables whose law is known, for `studies`: noise of every dependence, ten generators, and one table for the clock.

The generators are judged by scikit-learn alone, on fresh rows of the same law: lemmata's models, forecasts and metrics
have no part in it.
"""

import math
import re
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

FRESH = 20_000
MOST_KERNEL, MOST_FOREST = 3000, 20_000
FAMILIES = {
    "linear": ("ridge",),
    "rbf": ("kernel ridge", "Nyström ridge"),
    "boosting": ("boosting", "boosting, 400 rounds"),
    "forest": ("forest",),
    "logistic": ("logistic",),
}
"""scikit-learn's models of the same family as lemmata's."""

Law = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]


def _product(rng, n):
    x = rng.standard_normal((n, 10))
    return x, x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + 0.5 * rng.standard_normal(n)


def _linear(rng, n):
    x = rng.standard_normal((n, 10))
    return x, x @ np.linspace(1, 0.1, 10) + rng.standard_normal(n)


def _friedman(rng, n):
    x = rng.random((n, 10))
    mean = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, mean + rng.standard_normal(n)


def _sparse(rng, n):
    x = rng.standard_normal((n, 50))
    return x, np.sin(2 * x[:, 0]) + np.abs(x[:, 1]) + 0.5 * x[:, 2] ** 2 + x[:, 3] + 0.5 * rng.standard_normal(n)


def _counts(rng, n):
    x = rng.standard_normal((n, 5))
    return x, rng.poisson(np.exp(1 + 0.7 * x[:, 0])).astype(float)


def _prices(rng, n):
    x = rng.standard_normal((n, 8))
    return x, np.exp(10 + 0.8 * x[:, 0] + 0.4 * x[:, 1] * (x[:, 2] > 0) + 0.4 * rng.standard_normal(n))


def _moons(rng, n):
    label, angle = rng.integers(0, 2, n), np.pi * rng.random(n)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    x[label == 1] = [1, 0.5] - x[label == 1]
    x += 0.2 * rng.standard_normal((n, 2))
    return x, np.where(rng.random(n) < 0.1, 1 - label, label)


def _gaussians(rng, n):
    label = rng.integers(0, 6, n)
    means = 1.2 * np.random.default_rng(7).standard_normal((6, 8))
    mixed = np.eye(8) + 0.4 * np.random.default_rng(8).standard_normal((8, 8))
    return (means[label] + rng.standard_normal((n, 8))) @ mixed, label


def _xor(rng, n):
    x = rng.integers(0, 2, (n, 20)).astype(float)
    label = x[:, :3].sum(axis=1).astype(int) % 2
    return x, np.where(rng.random(n) < 0.05, 1 - label, label)


def _steps(rng, n):
    x = rng.random((n, 10))
    mean = (
        2.0 * (x[:, 0] > 0.5) + 1.5 * ((x[:, 1] > 0.3) & (x[:, 2] > 0.6)) - 2.0 * ((x[:, 0] < 0.25) & (x[:, 3] > 0.5))
    )
    return x, mean + 0.3 * rng.standard_normal(n)


def _periodic(rng, n):
    x = rng.uniform(-2, 2, (n, 3))
    return x, np.sin(2 * x[:, 0]) * np.cos(x[:, 1]) + np.sin(x[:, 2]) + 0.2 * rng.standard_normal(n)


GENERATORS: dict[str, tuple[str, Law]] = {
    "product": ("regression", _product),
    "linear": ("regression", _linear),
    "friedman": ("regression", _friedman),
    "sparse": ("regression", _sparse),
    "counts": ("regression", _counts),
    "prices": ("regression", _prices),
    "moons": ("classification", _moons),
    "gaussians": ("classification", _gaussians),
    "xor": ("classification", _xor),
    "steps": ("regression", _steps),
    "periodic": ("regression", _periodic),
}


def frame(x: np.ndarray, y: np.ndarray, **more: np.ndarray):
    """A pandas frame with columns x0, x1, ..., y; classes are texts."""
    import pandas as pd

    table = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
    table["y"] = [f"class {label}" for label in y] if y.dtype.kind == "i" else y
    for name, column in more.items():
        table[name] = column
    return table


def known_study(name: str, n: int, seed: int, options: dict) -> dict:
    """Study a table of known law, and let scikit-learn judge on fresh rows what is said."""
    import lemmata
    from studies import MODELS

    task, law = GENERATORS[name]
    x, y = law(np.random.default_rng([seed, n, 1]), n)
    fresh = law(np.random.default_rng([seed, n, 2]), FRESH)
    models = [item for item in MODELS[task].split(",") if not options["models"] or item in options["models"].split(",")]
    started = time.monotonic()
    record = lemmata.study(
        frame(x, y), target="y", task=task, models=models, quick=options["quick"], seed=seed
    ).record  # fmt: skip
    seconds = time.monotonic() - started
    losses = {own: fitted(make, x, y, *fresh, task) for own, make in rivals(task, n, models).items()}
    part = float(np.var(fresh[1])) if task == "regression" else 1.0
    errors = {own: float(found.mean()) / part for own, found in losses.items()}
    best = record.answers.best
    named = [errors[own] for own in FAMILIES.get(best, ()) if own in errors]
    return {
        "generator": name, "n": n, "used": record.data.used_rows, "best": best, "errors": errors,
        "excess": min(named) - min(errors.values()) if named else 1 - min(errors.values()),
        "sentences": record.answers.sentences, "notes": record.notes, "seconds_study": seconds,
        "seconds_check": time.monotonic() - started - seconds,
        "contradictions": contradictions(record, losses, task, part),
    }  # fmt: skip


def rivals(task: str, n: int, models: list[str]) -> dict[str, Callable]:
    """scikit-learn's models by name: functions of training rows and targets that return a predictor."""
    from sklearn import ensemble, kernel_approximation, linear_model
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    classes = task == "classification"
    boosting = ensemble.HistGradientBoostingClassifier if classes else ensemble.HistGradientBoostingRegressor
    forest = ensemble.RandomForestClassifier if classes else ensemble.RandomForestRegressor
    ridge = (lambda: linear_model.RidgeClassifierCV(np.logspace(-3, 3, 7))) if classes else (
        lambda: linear_model.RidgeCV(np.logspace(-3, 3, 7))
    )  # fmt: skip
    fit = lambda model: lambda x, y: make_pipeline(StandardScaler(), model).fit(x, y).predict
    few = lambda make, most: lambda x, y: fit(make)(x[:most], y[:most])
    found = {
        "ridge": fit(ridge()),
        "boosting": fit(boosting(random_state=0)),
        "boosting, 400 rounds": fit(boosting(max_iter=400, early_stopping=True, random_state=0)),
        "forest": few(forest(n_jobs=1, random_state=0), MOST_FOREST),
    }
    if classes:
        found["logistic"] = fit(linear_model.LogisticRegression(max_iter=500))
    if n <= MOST_KERNEL:
        found["kernel ridge"] = lambda x, y: _kernel_ridge(x, y, classes)
    elif "rbf" in models:
        nystroem = lambda gamma: kernel_approximation.Nystroem(gamma=gamma, n_components=1000, random_state=0)
        found["Nyström ridge"] = lambda x, y: _best(
            x, y, [lambda a, b, g=gamma: make_pipeline(StandardScaler(), nystroem(g), ridge()).fit(a, b).predict
                   for gamma in _gammas(x)], 5000,
        )  # fmt: skip
    return found


def _gammas(x: np.ndarray) -> list[float]:
    return [scale / (2 * x.shape[1]) for scale in (0.1, 0.4, 1.5, 6.0)]


def _kernel_ridge(x: np.ndarray, y: np.ndarray, classes: bool) -> Callable:
    """Kernel ridge regression, of one-hot columns for classes, its two constants by a quarter of the rows."""
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    kinds = np.unique(y)

    def fit(a, b, gamma, alpha):
        model = make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", gamma=gamma, alpha=alpha))
        mean = 0.0 if classes else b.mean()
        model.fit(a, (b[:, None] == kinds).astype(float) if classes else b - mean)
        return (lambda rows: kinds[model.predict(rows).argmax(axis=1)]) if classes else (
            lambda rows: model.predict(rows) + mean
        )  # fmt: skip

    makers = [
        lambda a, b, g=gamma, r=alpha: fit(a, b, g, r) for gamma in _gammas(x) for alpha in (1e-3, 1e-2, 0.1, 0.5, 2.0)
    ]
    return _best(x, y, makers, 1500)


def _best(x: np.ndarray, y: np.ndarray, makers: list[Callable], most: int) -> Callable:
    """The maker with the least error on a quarter of the first rows, fitted to all."""
    few = min(len(x), most)
    cut = 3 * few // 4
    errors = [row_losses(make(x[:cut], y[:cut])(x[cut:few]), y[cut:few]).mean() for make in makers]
    return makers[int(np.argmin(errors))](x, y)


def row_losses(said: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """1 for each wrong class, or squared errors."""
    return (said != truth).astype(float) if truth.dtype.kind == "i" else (np.asarray(said).ravel() - truth) ** 2


def fitted(make: Callable, x, y, fresh_x, fresh_y, task: str) -> np.ndarray:
    """The losses of a model on fresh rows."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return row_losses(make(x, y)(fresh_x), fresh_y)


DENIES = re.compile(
    "not expected|none of these models is expected|however many rows|even with unlimited rows", re.IGNORECASE
)
NUMBER = r"([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)(?: ?%)?"


def denied(sentence: str, unit: str) -> tuple[float, float] | None:
    """The value that a sentence says is out of reach, and the best end of its interval; None where it denies nothing.

    >>> denied("However many rows, forest is not expected to come past rmse 1,234 (1,100 to 1,300).", "rmse")
    (1234.0, 1100.0)
    >>> denied("However many rows, forest is not expected to come past accuracy 86.6 % (77.8 % to 99.2 %).", "accuracy")
    (86.6, 99.2)
    """
    if not DENIES.search(sentence):
        return None
    found = re.search(rf"{re.escape(unit)} (?:of )?{NUMBER}(?: \({NUMBER} to {NUMBER}\))?", sentence, re.IGNORECASE)
    if not found:
        return None
    value, *ends = (float(text.replace(",", "")) for text in found.groups() if text)
    ends = ends or [value]
    return value, max(ends) if unit in ("accuracy", "r2", "auc") else min(ends)


def contradictions(record, losses: dict[str, np.ndarray], task: str, part: float) -> list[list[str]]:
    """Sentences that deny a value that a fit has: the sentence, the fit, whose model it is, and by how much.

    "the model's own": of the family that the sentence names, or the sentence speaks of every model; "another's": the
    sentence speaks of another model alone, and is literally true. Beyond its interval, the sentence is plainly wrong.
    """
    unit, found = record.unit.name, []
    titles = {model.title: model.name for model in record.models}
    for sentence in record.answers.sentences:
        told = denied(sentence, unit)
        if told is None or unit not in ("rmse", "accuracy"):
            continue
        about = [name for title, name in titles.items() if title in sentence and "any model" not in sentence]
        for own, rows in losses.items():
            mean, se = float(rows.mean()), float(rows.std()) / math.sqrt(len(rows))
            value, error = (100 * (1 - mean), 100 * se) if unit == "accuracy" else (
                math.sqrt(mean), se / (2 * math.sqrt(mean)) if mean else 0.0
            )  # fmt: skip
            beats = [(value - end if unit == "accuracy" else end - value) > error for end in told]
            if beats[0]:
                same = not about or any(own in FAMILIES.get(name, ()) for name in about)
                found.append([sentence, f"{own}: {value:.4g} ± {error:.2g}", "the model's own" if same else "another's",
                              "beyond the interval" if beats[1] else "within the interval"])  # fmt: skip
    return found


def _walk(rng, n: int, columns: int, rho: float) -> np.ndarray:
    """Columns of autoregression, at rest from the first row on; rho = 1 is a walk."""
    steps = rng.standard_normal((n, columns))
    rows = np.empty((n, columns))
    rows[0] = steps[0] / (math.sqrt(1 - rho * rho) if rho < 1 else 1.0)
    for i in range(1, n):
        rows[i] = rho * rows[i - 1] + steps[i]
    return rows


def _seasons(rng, n: int, columns: int) -> np.ndarray:
    """Columns with a season each, of a length and phase of its own, and noise."""
    length, phase = rng.uniform(6, 40, columns), rng.uniform(0, 2 * np.pi, columns)
    return np.sin(2 * np.pi * np.arange(n)[:, None] / length + phase) + 0.5 * rng.standard_normal((n, columns))


def _grouped(rng, groups: int, size: int, constant: int, varying: int) -> tuple:
    """Group effects of columns and target that are independent, columns that are constant in a group, and noise."""
    code = np.repeat(np.arange(groups), size)
    x = np.column_stack([rng.standard_normal((groups, constant))[code], rng.standard_normal((groups * size, varying))])
    x[:, constant:] += rng.standard_normal((groups, varying))[code]
    return x, rng.standard_normal(groups)[code] + 0.5 * rng.standard_normal(groups * size), code


NOISES: dict[str, tuple[str | None, Callable]] = {
    "independent, 200 x 5": (None, lambda rng: (rng.standard_normal((200, 5)), rng.standard_normal(200))),
    "independent, 100 x 60": (None, lambda rng: (rng.standard_normal((100, 60)), rng.standard_normal(100))),
    "independent, 60 x 200": (None, lambda rng: (rng.standard_normal((60, 200)), rng.standard_normal(60))),
    "heavy tails, 200 x 5": (None, lambda rng: (rng.standard_t(2, (200, 5)), np.exp(1.5 * rng.standard_normal(200)))),
    "classes, one in ten, 200 x 8": (None, lambda rng: (rng.standard_normal((200, 8)), rng.permutation(200) // 180)),
    "independent, 2000 x 8": (None, lambda rng: (rng.standard_normal((2000, 8)), rng.standard_normal(2000))),
    "heavy tails, 2500 x 5": (
        None, lambda rng: (rng.standard_t(2, (2500, 5)), np.exp(1.5 * rng.standard_normal(2500)))
    ),
    "classes, one in ten, 2000 x 8": (
        None, lambda rng: (rng.standard_normal((2000, 8)), rng.permutation(2000) // 1800)
    ),
    "groups, 40 of 5": ("group", lambda rng: _grouped(rng, 40, 5, 2, 3)),
    "groups, 12 of 30": ("group", lambda rng: _grouped(rng, 12, 30, 2, 3)),
    "time, white": ("time", lambda rng: (rng.standard_normal((200, 3)), rng.standard_normal(200))),
    **{
        f"time, AR {rho:g}": (
            "time", lambda rng, rho=rho: (_walk(rng, 300, 3, rho), _walk(rng, 300, 1, rho)[:, 0])
        )
        for rho in (0.5, 0.8, 0.95)
    },
    "time, walks": ("time", lambda rng: (_walk(rng, 300, 3, 1.0), _walk(rng, 300, 1, 1.0)[:, 0])),
    "time, seasons": ("time", lambda rng: (_seasons(rng, 300, 3), _seasons(rng, 300, 1)[:, 0])),
}  # fmt: skip
"""What is declared of the rows, and the law of columns and target (and groups)."""


def noise_study(name: str, first: int, count: int) -> dict:
    """The p-values of the test for signal on tables that have none."""
    import jax

    from lemmata.workflows.studies import load_dataset, signal

    declared, law = NOISES[name]
    values, started = [], time.monotonic()
    with warnings.catch_warnings(), jax.enable_x64(True):
        warnings.simplefilter("ignore")
        for number in range(first, first + count):
            x, y, *code = law(np.random.default_rng([number, len(name)]))
            asked = {}
            if declared == "group":
                asked = {"group": code[0]}
            elif declared == "time":
                asked = {"time": np.arange(len(y))}
            told = {column: column for column in asked}
            values.append(signal(load_dataset(frame(x, y, **asked), "y", **told)).p_value)
    return {"noise": name, "p": values, "seconds": time.monotonic() - started}


_CHILD = """
import resource, sys, time
import numpy as np
import lemmata
n, name, quick = int(sys.argv[1]), sys.argv[2], sys.argv[3] == "True"
rng = np.random.default_rng(0)
x = rng.standard_normal((n, 30))
y = x[:, 0] * x[:, 1] + np.sin(2 * x[:, 2]) + x[:, 3:8].sum(axis=1) + 0.5 * rng.standard_normal(n)
begun = time.monotonic()
record = lemmata.study((x, y), models=[name], quick=quick).record
seconds = time.monotonic() - begun
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print("told", seconds, record.data.used_rows, peak)
"""


def timed_study(n: int, name: str, quick: bool) -> dict:
    """Wall seconds of a study of n x 30 numbers, and the most memory of its process, Python and JAX included."""
    argv = [sys.executable, "-c", _CHILD, str(n), name, str(quick)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    told = [line.split() for line in done.stdout.splitlines() if line.startswith("told ")]
    if not told:
        raise RuntimeError(f"{n} rows with {name}: {done.stderr[-300:]}")
    return {"n": n, "model": name, "seconds": float(told[0][1]), "used": int(told[0][2]), "gib": float(told[0][3])}
