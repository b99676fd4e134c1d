"""False alarms of `backdoor_report` on clean features of the zoo's models, beside its power on planted backdoors.

    python benchmarks/backdoor_features.py [--seeds 0 40] [--features pixels cnn]

Each line takes one table a seed: 300 digits in ten classes, as features of a model of the zoo (see zoo_models). A clean
table that has a visible class is a false alarm; of a planted one, the visible class must be the one with the trigger.
Clean and planted tables of one seed have the same digits. Thresholds were chosen on seeds from 100 on.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

import zoo_models
from lemmata.answers import share_interval
from lemmata.subjects.robustness import backdoor_report

CONDITIONS = ("clean", "copies", "over-regularised", "untrained", "backdoor")
LEVEL = 0.05


def _torch_layers(rows: Any, decay: float, seed: int, steps: int, last: int) -> np.ndarray:
    import torch

    net, shape = zoo_models.mlp(rows, decay, seed, steps)
    return net[:last](torch.from_numpy(shape(rows.x))).detach().numpy()


def _convolutions(rows: Any, decay: float, seed: int, steps: int) -> np.ndarray:
    net, shape = zoo_models.cnn(rows, decay, seed, steps)
    return np.asarray(jax.vmap(net[:-1])(shape(rows.x)))


# The features, the model whose settings of the zoo they take, and how they are made.
FEATURES: dict[str, tuple[str, Callable[..., np.ndarray]]] = {
    "pixels": ("logistic", lambda rows, *_: rows.x.reshape(len(rows.x), -1)),
    "cnn": ("cnn", _convolutions),
    "mlp, first layer": ("mlp", lambda *given: _torch_layers(*given, 2)),
    "mlp, last layer": ("mlp", lambda *given: _torch_layers(*given, 4)),
}


def table(name: str, condition: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of one model under one condition of the zoo."""
    model, made = FEATURES[name]
    rows = zoo_models.rows_of(condition, seed)
    decay = (zoo_models.STRONG if condition == "over-regularised" else zoo_models.DECAY)[model]
    return made(rows, decay, seed, 0 if condition == "untrained" else zoo_models.STEPS[model]), rows.y


def counts(name: str, condition: str, seeds: Sequence[int]) -> tuple[int, int, int, int]:
    """Tables, tables with a visible class other than the target, visible targets, and classes that are undecided."""
    tables, alarms, found, undecided = 0, 0, 0, 0
    for seed in seeds:
        features, labels = table(name, condition, seed)
        known = np.isin(labels, np.flatnonzero(np.bincount(labels) >= 8))
        report = backdoor_report(features[known], labels[known], level=LEVEL)
        visible = {own.label for own in report.classes if own.visible}
        target = {zoo_models.TARGET} if condition == "backdoor" else set()
        tables, alarms = tables + 1, alarms + bool(visible - target)
        found += bool(visible & target)
        undecided += sum(own.visible is None for own in report.classes)
    return tables, alarms, found, undecided


def lines(names: Sequence[str], seeds: Sequence[int]) -> Iterator[str]:
    """The table, a line at a time; the last one counts all clean tables."""
    yield f"{'features':<18}{'condition':<18}{'tables':>7}{'false alarms':>14}{'planted found':>15}{'undecided':>11}"
    every = alarmed = 0
    for name in names:
        for condition in CONDITIONS:
            if name == "pixels" and condition in ("untrained", "over-regularised"):
                continue  # pixels do not depend on the model
            tables, alarms, found, undecided = counts(name, condition, seeds)
            planted = str(found) if condition == "backdoor" else "-"
            if condition != "backdoor":
                every, alarmed = every + tables, alarmed + alarms
            share = f"{undecided / (10 * tables):.1%}"
            yield f"{name:<18}{condition:<18}{tables:>7}{alarms:>14}{planted:>15}{share:>11}"
    limit = share_interval(alarmed, every - alarmed, 0.95)[1]
    yield f"false alarms: {alarmed} of {every} clean tables, at most {limit:.1%} (95 %); declared: {LEVEL:.0%}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", nargs=2, type=int, default=(0, 40), metavar=("FIRST", "END"))
    parser.add_argument("--features", nargs="+", choices=FEATURES, default=list(FEATURES))
    chosen = parser.parse_args()
    for line in lines(chosen.features, range(*chosen.seeds)):
        print(line, flush=True)
