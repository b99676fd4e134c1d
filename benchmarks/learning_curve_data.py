"""Measured learning curves: those of the Learning Curve Database, and the file that `learning_curve_tables` writes."""

import dataclasses
import importlib.util
import json
import math
import pathlib

import numpy as np
import polars as pl

METRICS = {"accuracy": "error rate", "logloss": "log-loss", "auc": "1 - auc"}


@dataclasses.dataclass(frozen=True)
class MeasuredCurve:
    """Held-out losses of one learner on one table; nan where a split was not measured.

    Args:
        table: its name or number.
        loss: which.
        sizes: numbers of training rows.
        losses: one row a size, one column a split.
        baseline: loss of predicting the mean or the class shares; nan where unknown.
    """

    table: str | int
    loss: str
    sizes: np.ndarray
    losses: np.ndarray
    baseline: float

    @property
    def truth(self) -> np.ndarray:
        """The mean over all splits at each size."""
        return np.nanmean(self.losses, axis=1)

    def measured(self, kept: np.ndarray, splits: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sizes, mean over the splits and its standard error at the indices kept, where two splits were measured."""
        part = self.losses[np.ix_(kept, splits)]
        count = np.isfinite(part).sum(1)
        part, kept, count = part[count >= 2], kept[count >= 2], count[count >= 2]
        return self.sizes[kept], np.nanmean(part, 1), np.nanstd(part, 1, ddof=1) / np.sqrt(count)


def find_lcdb(path: str | None) -> pathlib.Path:
    """The folder with the tables of the Learning Curve Database: the one given, or that of the installed package."""
    if path:
        return pathlib.Path(path)
    spec = importlib.util.find_spec("lcdb")  # found, not imported: that would need openml
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("pip install --no-deps lcdb, or name the folder of its database-*.csv")
    return pathlib.Path(spec.submodule_search_locations[0])


def read_lcdb(folder: pathlib.Path) -> list[MeasuredCurve]:
    """All curves of error rate, log-loss and 1 - auc.

    A loss is the mean over the validation and the test rows of a split. Sizes at which fewer than half of the usual
    number of splits were measured are left out, and curves of fewer than five sizes.
    """
    rows = pl.read_csv(folder / "datasets.csv").select(
        "openmlid", "NumberOfInstances", "MajorityClassSize", "ClassEntropy"
    )
    tables = {row[0]: row[1:] for row in rows.iter_rows()}
    found = []
    for metric, loss in METRICS.items():
        score = (pl.col("score_valid") + pl.col("score_test")) / 2
        order = ["openmlid", "learner", "size_train", "outer_seed", "inner_seed"]
        data = pl.read_csv(folder / f"database-{metric}.csv").select(*order, score=score).sort(order)
        for (table, _), part in data.group_by(["openmlid", "learner"], maintain_order=True):
            sizes, at = np.unique(part["size_train"].to_numpy(), return_inverse=True)
            seeds = part["outer_seed"].to_numpy() * 1000 + part["inner_seed"].to_numpy()
            seeds, split = np.unique(seeds, return_inverse=True)
            losses = np.full((len(sizes), len(seeds)), np.nan)
            score = part["score"].to_numpy()
            losses[at, split] = score if metric == "logloss" else 1 - score
            counts = np.isfinite(losses).sum(1)
            usual = counts >= max(2.0, 0.5 * np.median(counts))
            if usual.sum() >= 5:
                baseline = _baseline(metric, tables.get(table))
                found.append(MeasuredCurve(table, loss, sizes[usual].astype(float), losses[usual], baseline))
    return found


def _baseline(metric: str, row: tuple | None) -> float:
    if metric == "auc":
        return 0.5
    if row is None or None in row:
        return math.nan
    count, majority, entropy = row
    return 1 - majority / count if metric == "accuracy" else entropy * math.log(2)


def read_tables(path: pathlib.Path) -> list[MeasuredCurve]:
    """The curves that `learning_curve_tables` measured."""
    found = []
    for record in json.loads(path.read_text()):
        sizes = sorted(map(int, record["losses"]))
        widest = max(len(values) for values in record["losses"].values())
        losses = np.full((len(sizes), widest), np.nan)
        for row, size in zip(losses, sizes, strict=True):
            values = record["losses"][str(size)]
            row[: len(values)] = values
        found.append(MeasuredCurve(record["table"], record["loss"], np.array(sizes, float), losses, record["baseline"]))
    return found
