"""The reader that turns the user's model, rows and other facts about the training into one `Trained`."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any, Unpack

import numpy as np

from lemmata.answers import positive, whole
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.facts import Facts, states_facts, with_defaults

from ._columns import in_one_order
from ._contract import AbstractModel, rows_at_once
from ._documents import LANGUAGE, check_tokens, language_model, read_documents
from ._estimators import with_both_classes
from ._frames import as_numbers, fit_of_frames, model_of_frames
from ._loss_objects import stated_loss
from ._one_output import with_two_outputs
from ._read import read_model
from ._several_inputs import check_one_array, check_one_input
from ._shift import check_deployed
from ._stated_losses import estimator_loss
from ._task import Task, read_task
from ._trained import Trained
from ._wrapped import bare_model, bare_rows

_TRIED = 32


@states_facts
def read_trained(model: Any, x: Any, y: Any, **facts: Unpack[Facts]) -> Trained:
    """Return the model, rows and other facts that the user states as one `Trained`.

    Args:
        model: the model, in a form that `read_model` accepts.
        x: the training rows.
        y: the targets of the rows; None for a language model, whose rows are documents.
        **facts: other known facts; see `lemmata.facts.Facts`.

    Raises:
        ShapeError, DataError, SettingError: if rows, targets and model do not fit each other.
    """
    told = with_defaults(facts)
    seed: Any = told["seed"]
    decay, labels, held = told["decay"], told["labels"], told["held"]
    if not (isinstance(seed, int | np.integer) and seed >= 0):
        raise SettingError("seed", found=f"{seed}", rule="a whole number, at least 0")
    model = bare_model(model)
    check_one_array(model, x, y)
    check_one_input(model)
    x, y = bare_rows(x, y)
    stated = stated_loss(told["loss"])
    frames = in_one_order(model, x, held, told["deployed"])
    own, x, held, met, code = as_numbers(read_model(model), model, *frames)
    rows = _rows("x", x, own)
    if decay is not None and not (math.isfinite(decay) and decay >= 0):
        raise SettingError("decay", found=f"{decay:g}", rule="a finite number, at least 0")
    if labels is None and getattr(model, "classes_", None) is not None:
        labels = tuple(np.asarray(model.classes_).tolist())  # of an estimator
    if y is None:
        own, task, rows, y, other = _language(own, rows, held, told["padding"])
    else:
        own = dataclasses.replace(own, batch=rows_at_once(own, rows))
        rows = _as_taken(own, rows)
        _check_call(own, rows)
        own = with_both_classes(own, rows, y)
        known, penalty = estimator_loss(model, len(rows))
        stated, decay = stated or known, decay if told["loss"] is not None or decay is not None else penalty
        own, labels, why = with_two_outputs(own, rows, y, labels, stated)
        task = read_task(own, rows, y, labels, stated)
        task = dataclasses.replace(task, why=why) if why and stated is None else task
        if task.outputs == "probabilities":
            own = dataclasses.replace(own, link="log")
        other = None if held is None else _unseen(held, task, rows, y, own)
    begun = told["start"]
    if met is not None:
        met = check_deployed(rows, _like(rows, _rows("deployment rows", met, own), "deployment rows"))
    return Trained(
        own,
        task,
        rows,
        task.encode(y),
        other,
        decay,
        start=None if begun is None else _earlier("start", model_of_frames(begun, code), own),
        fit=fit_of_frames(told["fit"], code),
        targets=y,
        rate=_positive("rate", told["rate"]),
        deployed=met,
        checkpoints=tuple(
            _earlier(f"checkpoint {i}", model_of_frames(one, code), own) for i, one in enumerate(told["checkpoints"], 1)
        ),
        claimed=_privacy(told["claimed"]),
        noised=_noised(told["noised"]),
        corrected=_corrected(told["corrected"], task, rows),
        seed=int(seed),
        scale=_positive("scale", told["scale"]),
        sizes=tuple(_sized(i, one, own, rows) for i, one in enumerate(told["sizes"], 1)),
    )


def _language(
    model: AbstractModel, rows: np.ndarray, held: Any, padding: int | None
) -> tuple[AbstractModel, Task, np.ndarray, np.ndarray, tuple[np.ndarray, np.ndarray] | None]:
    """Return the model of losses of documents, its task, and the training and held-out documents with their targets.

    Training documents are their own targets. Targets of held-out documents are encoded as numbers of tokens that count.
    """
    rows = read_documents(rows, padding)
    own = language_model(model, rows)
    own = dataclasses.replace(own, batch=rows_at_once(own, rows))
    if held is None:
        return own, LANGUAGE, rows, rows, None
    if isinstance(held, tuple | list) and len(held) == 2 and held[1] is None:
        held = held[0]
    x = read_documents(_like(rows, _rows("held-out rows", held, model), "held-out rows"), padding, "held-out document")
    check_tokens(x, model.vocabulary(rows[:1])[2], "held-out document")
    return own, LANGUAGE, rows, rows, (x, LANGUAGE.encode(x))


def _unseen(held: Any, task: Task, rows: np.ndarray, y: Any, model: AbstractModel) -> tuple[np.ndarray, np.ndarray]:
    """Check held-out rows and targets against the training rows. Return the rows and the encoded targets."""
    given, held = type(held).__name__, held if isinstance(held, tuple | list) else bare_rows(held)
    if len(held) != 2 or held[1] is None:
        raise ShapeError("held", found=f"a {given}", rule="two arrays: rows and their targets")
    x = _like(rows, _rows("held-out rows", held[0], model), "held-out rows")
    if np.shape(held[1])[:1] != (len(x),):
        raise ShapeError(
            "held-out targets", found=f"shape {np.shape(held[1])}", rule=f"one target for each of {len(x)} rows"
        )
    targets = task.encode(held[1], "held-out row")
    if targets.shape[1] != (len(task.labels) or task.encode(y).shape[1]):
        raise ShapeError(
            "held-out targets", found=f"{targets.shape[1]} values a row", rule="as many values as in training"
        )
    return x, targets


def _like(rows: np.ndarray, others: np.ndarray, name: str) -> np.ndarray:
    """Return other rows as numbers of the same kind as the training rows, after a check of their shape."""
    if rows.dtype.kind != others.dtype.kind:
        kind = others.astype(rows.dtype)
        if not np.array_equal(kind, others):
            raise ShapeError(name, found="fractions", rule="whole numbers, as in training")
        others = kind
    if others.shape[1:] != rows.shape[1:]:
        raise ShapeError(name, found=f"shape {others.shape[1:]}", rule=f"{rows.shape[1:]}, as in training")
    return others


def _earlier(name: str, model: Any, own: AbstractModel) -> AbstractModel:
    found = dataclasses.replace(read_model(model), link=own.link, batch=own.batch)
    if found.layers != own.layers:
        raise ShapeError(
            name, found="other parameters", rule="parameters with the same names and shapes as the model's parameters"
        )
    return found


def _sized(place: int, model: Any, own: AbstractModel, rows: np.ndarray) -> AbstractModel:
    """Return a model of another size, which must accept the same rows and return the same number of outputs."""
    found = dataclasses.replace(read_model(model), link=own.link, batch=own.batch)
    if not found.differentiable:
        raise SettingError(
            f"model {place} of sizes", found=f"a {found.kind}", rule="a model with parameters that lemmata can count"
        )
    shape, few = own.outputs(rows[:2]).shape, found.outputs(rows[:2])
    if few.shape != shape:
        raise ShapeError(
            f"model {place} of sizes",
            found=f"{few.shape[1]} outputs",
            rule=f"{shape[1]} outputs, as many as the model has",
        )
    return found


def _positive(name: str, value: float | None) -> float | None:
    if value is not None and not (math.isfinite(value) and value > 0):
        raise SettingError(name, found=f"{value:g}", rule="a finite number above 0")
    return value


def _privacy(claimed: tuple[float, float] | None) -> tuple[float, float] | None:
    if claimed is None:
        return None
    epsilon, delta = claimed
    _positive("epsilon", epsilon)
    if not 0 <= delta < 1:
        raise SettingError("delta", found=f"{delta:g}", rule="a number from 0 to below 1")
    return float(epsilon), float(delta)


def _noised(stated: Any) -> tuple[float, float, int] | None:
    if stated is None:
        return None
    names = ("sampling", "noise", "steps")
    if not isinstance(stated, Mapping) or set(stated) != set(names):
        found = sorted(map(str, stated)) if isinstance(stated, Mapping) else type(stated).__name__
        raise SettingError(
            "steps of a private training", found=found, rule=f"a mapping with the keys {', '.join(names)}"
        )
    sampling, noise = (positive(f"{name} of a private training", stated[name]) for name in names[:2])
    if sampling > 1:
        raise SettingError("sampling of a private training", found=f"{sampling:g}", rule="a probability in (0, 1]")
    return sampling, noise, whole("steps of a private training", stated["steps"], 1)


def _corrected(targets: Any, task: Task, rows: np.ndarray) -> np.ndarray | None:
    if targets is None:
        return None
    if task.is_language:
        raise DataError(
            "corrected targets", found="documents", rule="rows with classes or values; documents have neither"
        )
    if np.shape(targets)[:1] != (len(rows),):
        raise ShapeError(
            "corrected targets", found=f"shape {np.shape(targets)}", rule=f"one entry for each of {len(rows)} rows"
        )
    return task.encode(targets, "corrected row")


def _rows(name: str, x: Any, model: AbstractModel) -> np.ndarray:
    """Return rows as an array of numbers. NaN cells are allowed if the model accepts them and has no derivatives."""
    try:
        rows = np.asarray(x)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ShapeError(name, found=f"a {type(x).__name__}: {str(error)[:120]}", rule="an array of rows") from error
    if rows.ndim < 2 or not rows.size:
        raise ShapeError(
            name, found=f"shape {rows.shape}", rule="an array (n, *row) with one input of the model in each row"
        )
    if rows.dtype.kind not in "fiub":
        remedy = "encode texts as numbers, as in training"
        if rows.dtype.kind == "c":
            remedy = (
                "split each number into its real and imaginary part in two columns, and join them at the start of "
                "the model"
            )
        if not model.differentiable and rows.ndim == 2:
            remedy += ", or pass a data frame, which lemmata passes on to the model as a frame"
        raise DataError(name, found=f"cells of type {rows.dtype}", rule="numbers", remedy=remedy)
    if rows.dtype.kind != "f" or np.isfinite(rows).all():
        return rows
    missing = np.isnan(rows)
    wrong = ~np.isfinite(rows) if model.differentiable else np.isinf(rows)
    if wrong.any():
        found = f"a cell that is not finite in row {int(np.argwhere(wrong)[0][0])}, counted from 0"
        raise ShapeError(
            name, found=found, rule="finite numbers", remedy="fill the cell in the same way as for training"
        )
    few = rows[missing.reshape(len(rows), -1).any(1)][:_TRIED]
    if not np.isfinite(model.outputs(few)).all():
        row = int(np.argwhere(missing)[0][0])
        raise ShapeError(name, found=f"NaN in row {row}, counted from 0, for which the model returns NaN",
                         rule="finite numbers", remedy="fill the cell in the same way as for training")  # fmt: skip
    return rows


def _check_call(model: AbstractModel, rows: np.ndarray) -> None:
    """Call the model with the first two rows. If this call fails, raise ShapeError with a remedy for all models."""
    try:
        model.outputs(rows[:2])
    except ShapeError as error:
        if error.what != "rows":
            raise
        remedy = (
            "call the model on x[:2] to see where it fails. If the model takes other arguments than one array (n, "
            "*row), such as a dictionary, pass a function or module of one array that calls the model"
        )
        raise ShapeError(error.what, found=error.found, rule=error.rule, remedy=remedy) from error.__cause__


def _as_taken(model: AbstractModel, rows: np.ndarray) -> np.ndarray:
    """Return rows of whole numbers unchanged if the numbers are names, and otherwise as floating-point numbers.

    Numbers are names if the model does not accept 3.0 in place of 3, or returns different outputs for 3.0. Otherwise
    the numbers are quantities, and the model has derivatives with respect to them.
    """
    if rows.dtype.kind == "f":
        return rows
    few = rows[:_TRIED]
    try:
        numbers = model.outputs(few.astype(float))
    except ShapeError:
        return rows
    try:
        whole = model.outputs(few)
    except ShapeError:
        return rows.astype(float)
    return rows.astype(float) if np.allclose(whole, numbers, rtol=1e-4, equal_nan=True) else rows
