"""Make a table with the model's output and the results of the theory for each training row and held-out row."""

from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float

from lemmata.subjects.trained_models import (
    Trained,
    copies_of,
    fresh_rows,
    held_influence,
    held_outputs,
    held_rows,
    is_known,
    rows_left_out,
    training_outputs,
)
from lemmata.workflows.records.examinations import Gauge, RowShown

from ._posterior import posterior_rows
from ._prediction_sets import RowSets, prediction_sets
from ._row_names import PLACES, Names, RowNames
from ._wrong_labels import of_held_rows, of_training_rows, suspicion

SHOWN = 20
SPOKE = ("agrees", "disagrees", "unscored")


def row_table(trained: Trained, left_out: Gauge | None, names: RowNames = PLACES) -> pl.DataFrame:
    """Return a frame of all rows. Columns that are unknown for all rows are left out; other unknown cells are null.

    Args:
        trained: the model with its rows.
        left_out: the check that predicts the error from training rows alone. Without a result of this check, there are
            no columns about models trained without a row.
        names: the names of rows.

    Returns:
        Columns for all rows:
        `part`: "training" or "held out".
        `row`: the name of the row: an index, a line of the file, or a position from 0.
        `target`, `predicted`: classes or values; one column for each of several outputs.
        `probability`: the predicted probability of the row's own class.
        `loss`: log loss for classes, squared distance for values, nats per token for documents. For classes without
        probabilities, the loss is 1 if the class is wrong and 0 otherwise.
        `wrong_label`: the probability that the label is wrong, according to the model.
        `suspicion`: how strongly this model and a random forest, both fitted without the row, contradict the label of
        the row, from 0 to 1. The suspicion ranks rows better than `wrong_label`, but it is not a probability.
        `copy`: whether the row has a duplicate among the training rows.

        Columns for training rows:
        `left_out_predicted`, `left_out_probability`, `left_out_loss`: the prediction, probability and loss of a model
            trained without the row.
        `leverage`: the share of its own prediction that the row determines.
        `effect_on_held_loss`: the growth of the mean held-out loss if the row is left out of training. An examination
        computes this column only if it takes at most ten seconds.

        Columns for held-out rows: `prediction_set`, the classes separated by bars, or `lower` and `upper` for values.
        `posterior_probability` of the row's own class, or `posterior_deviation` of the target, by Laplace's
        approximation.
    """
    doubted = suspicion(trained, left_out)
    parts = [_doubted(_training(trained, left_out, names.training), doubted[0])]
    if trained.held is not None:
        parts.append(_doubted(_held(trained, names.held), doubted[1]))
    columns = list(dict.fromkeys(name for part in parts for name in part.columns))
    return pl.concat(parts, how="diagonal_relaxed").select(columns)


def worst_rows(table: pl.DataFrame) -> list[RowShown]:
    """Return the twenty rows with the largest loss in a model that was fitted without the row.

    Training rows count only if a model without them is known.

    Args:
        table: a table from `row_table`.
    """
    names = set(table.columns)
    unseen = pl.when(pl.col("part") == "held out").then(pl.col("loss"))
    unseen = unseen.otherwise(pl.col("left_out_loss") if "left_out_loss" in names else None)
    ranked = table.with_columns(unseen=unseen).drop_nulls("unseen").sort("unseen", descending=True, maintain_order=True)
    targets = [name for name in table.columns if name.startswith("target")]
    found = []
    for row in ranked.head(SHOWN).iter_rows(named=True):
        prefix = "" if row["part"] == "held out" else "left_out_"
        said = [row.get(f"{prefix}{name.replace('target', 'predicted')}") for name in targets]
        found.append(
            RowShown(
                row["part"], str(row["row"]), _told([row[name] for name in targets]), _told(said), row["unseen"],
                row.get(f"{prefix}probability"), row.get("wrong_label"), row.get("effect_on_held_loss"),
            )
        )  # fmt: skip
    return found


def _doubted(rows: pl.DataFrame, doubted: Float[np.ndarray, " n"]) -> pl.DataFrame:
    """Return the rows with the column `suspicion`, if the suspicion is known for any of the rows."""
    return rows.with_columns(suspicion=pl.Series(doubted).fill_nan(None)) if np.isfinite(doubted).any() else rows


def _training(trained: Trained, left_out: Gauge | None, names: Names) -> pl.DataFrame:
    columns = _said(trained, training_outputs(trained), trained.y, "training", names)
    if left_out is not None and left_out.status in SPOKE and not trained.task.is_language:
        without = rows_left_out(trained)
        unseen = _said(trained, without.outputs, trained.y, "training", names)
        kept = {name: own for name, own in unseen.items() if name.startswith(("predicted", "probability", "loss"))}
        columns |= {f"left_out_{name}": own for name, own in kept.items()} | {"leverage": without.leverage}
        if is_known(held_influence, trained):
            unit = 1.0 if trained.task.is_classification else 2.0  # the loss is half of the squared distance
            columns["effect_on_held_loss"] = unit * held_influence(trained)
    doubts = of_training_rows(trained, left_out)
    if doubts is not None:
        columns["wrong_label"] = doubts.wrong
    return pl.DataFrame({**columns, "copy": copies_of(trained).within})


def _held(trained: Trained, names: Names) -> pl.DataFrame:
    columns = _said(trained, held_outputs(trained), held_rows(trained)[1], "held out", names)
    doubts = of_held_rows(trained)
    if doubts is not None:
        wrong = np.full(len(columns["loss"]), np.nan)
        wrong[fresh_rows(trained)] = doubts.wrong
        columns["wrong_label"] = pl.Series(wrong).fill_nan(None)
    found = prediction_sets(trained)
    if found is not None:
        columns |= _sets(trained, found)
    return pl.DataFrame({**columns, **_posterior(trained), "copy": copies_of(trained).held})


def _posterior(trained: Trained) -> dict[str, pl.Series]:
    """Return the posterior's standard deviation of targets or probability of the row's own class, if it is known."""
    found = posterior_rows(trained) if is_known(posterior_rows, trained) else None
    if found is None or not len(found.rows):
        return {}
    m, width = held_rows(trained)[1].shape
    if trained.task.is_classification:
        own = {"posterior_probability": (found.probabilities * held_rows(trained)[1][found.rows]).sum(1)}
    else:
        tails = [""] if width == 1 else [f"[{k}]" for k in range(width)]
        own = {f"posterior_deviation{tail}": found.deviations[:, k] for k, tail in enumerate(tails)}
    whole = {name: np.full(m, np.nan) for name in own}
    for name, values in own.items():
        whole[name][found.rows] = values
    return {name: pl.Series(values).fill_nan(None) for name, values in whole.items()}


def _sets(trained: Trained, found: RowSets) -> dict[str, Any]:
    if found.members is None:
        f = trained.task.means(held_outputs(trained))[:, 0]
        return {"lower": f - found.reach, "upper": f + found.reach}
    labels = np.array([str(label) for label in trained.task.labels], dtype=object)
    return {"prediction_set": ["|".join(labels[row]) for row in found.members]}


def _said(
    trained: Trained, f: Float[np.ndarray, "n C"], y: Float[np.ndarray, "n C"], part: str, names: Names
) -> dict[str, Any]:
    """Return the names, targets, predictions and losses of some rows as columns."""
    task, n = trained.task, len(f)
    own = range(n) if names.own is None else names.own
    found: dict[str, Any] = {"part": [part] * n, "row": _names(list(own))}
    if task.is_classification:
        labels = [str(label) for label in task.labels]
        found |= {"target": [labels[k] for k in y.argmax(1)], "predicted": [labels[k] for k in f.argmax(1)]}
        if task.probable:
            found["probability"] = (task.means(f) * y).sum(1)
    elif not task.is_language:
        tails = [""] if f.shape[1] == 1 else [f"[{k}]" for k in range(f.shape[1])]
        found |= {f"{what}{tail}": own[:, k] for what, own in (("target", y), ("predicted", task.means(f)))
                  for k, tail in enumerate(tails)}  # fmt: skip
    loss = task.losses(f, y) if task.probable else task.errors(f, y)
    return {**found, "loss": loss}


def _names(own: list[Any]) -> list[Any]:
    """Return the names unchanged if all of them are whole numbers, and otherwise as texts."""
    whole = all(isinstance(name, int | np.integer) and not isinstance(name, bool) for name in own)
    return [int(name) for name in own] if whole else [str(name) for name in own]


def _told(values: list[Any]) -> str:
    """Return the values of one row in words."""
    return ", ".join("" if own is None else f"{own:.4g}" if isinstance(own, float) else str(own) for own in values)
