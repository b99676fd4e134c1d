"""Transform rows into the form that the last step of a pipeline takes, and convert sparse rows to dense arrays."""

import dataclasses
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse

from lemmata.core import available_bytes
from lemmata.errors import DataError, LemmataError, MemoryPlanError, SettingError
from lemmata.subjects.trained_models import (
    bare_model,
    columns_of_model,
    in_one_order,
    is_frame,
    only_numbers,
    read_model,
)

from ._row_names import RowNames, columns_after, columns_in_frame
from ._rows import Form

_SHARE = 0.25  # the share of free memory that the rows may take


def as_examined(model: Any, x: Any, facts: Mapping[str, Any], names: RowNames) -> tuple[Any, Any, Any, RowNames]:
    """Return the model without wrappers and preceding steps, and all rows in the form that this model takes.

    A search is replaced by its best estimator. A pipeline, also inside a search or another pipeline, is replaced by its
    last step, and the rows are replaced by the inputs of this step. The columns of frames are brought into the order of
    the model.

    Args:
        model: the user's model.
        x: the training rows.
        facts: other facts about the model. The held-out and deployment rows in these facts are also transformed.
        names: the names of rows and columns. The names of the columns are replaced by those of the transformed rows.

    Returns:
        The model, the training rows, the facts and the names.

    Raises:
        DataError, SettingError: if columns do not fit, or the pipeline is not fitted or does not accept the rows.
        MemoryPlanError: see `dense`.
    """
    model, facts, held = bare_model(model), dict(facts), facts.get("held")
    x, held = dense(x), (dense(held[0]), *held[1:]) if isinstance(held, tuple | list) and held else held
    x, held, met = in_one_order(model, x, held, facts.get("deployed"))
    columns = names.columns if columns_in_frame(x) is None else columns_in_frame(x)
    while hasattr(model, "steps"):
        if len(model) > 1:
            columns = columns_after(model[:-1])
            if isinstance(held, tuple | list) and held:
                held = (as_last_step_reads(model, held[0], "the held-out rows"), *held[1:])
            met = None if met is None else as_last_step_reads(model, met, "the deployment rows")
            x = as_last_step_reads(model, x)
        model = bare_model(model[-1])
    for name, own in (("held", held), ("deployed", met)):
        if name in facts:
            facts[name] = own
    return model, x, facts, dataclasses.replace(names, columns=columns)


def form_of(model: Any) -> Form:
    """Return the form in which a model takes the rows of a table.

    A pipeline that was fitted to a frame takes frames. A pipeline that was fitted to an array takes a frame only if
    some columns are not numbers.

    Args:
        model: the user's model.
    """
    model = bare_model(model)
    columns = columns_of_model(model)
    if not hasattr(model, "steps"):
        return Form(not read_model(model).differentiable, None if columns is None else tuple(map(str, columns)))
    columns = columns if columns is not None else tuple(getattr(model[0], "columns", None) or ()) or None
    names = None if columns is None else tuple(map(str, columns))
    return Form(True, names, "for words" if names is None else "always")


def as_last_step_reads(pipeline: Any, rows: Any, name: str = "x") -> Any:
    """Return the rows after all steps but the last of a fitted pipeline: an array in double precision, or a frame.

    Sparse matrices, which encoders of categories and words return, become dense arrays. A frame with columns that are
    not numbers stays a frame.

    Args:
        pipeline: a pipeline of scikit-learn with at least two steps.
        rows: the rows in a form that the pipeline takes: an array, a data frame, or texts.
        name: the name of the rows in messages.

    Raises:
        SettingError: if the pipeline is not fitted.
        DataError: if a step of the pipeline does not accept the rows, or does not return numbers.
        MemoryPlanError: see `dense`.
    """
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X (does not have valid|has) feature names")  # columns are in order
            found = pipeline[:-1].transform(_copy(rows))  # a step may write to its input
    except LemmataError:
        raise
    except Exception as error:  # a step of the user may raise any error
        if type(error).__name__ == "NotFittedError":
            raise SettingError("model", found="a Pipeline that is not fitted", rule="a fitted pipeline",
                               remedy="call model.fit(x, y) on the training rows first") from error  # fmt: skip
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        raise DataError(
            f"{name}, before the last step of the pipeline", found=said, rule="rows that the pipeline accepts",
            remedy="pass the same columns and types as when the pipeline was fitted",
        ) from error  # fmt: skip
    found = dense(found)
    if is_frame(found) and not only_numbers(found):
        return found
    try:
        return np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name}, before the last step of the pipeline", found=f"a {type(found).__name__} with cells that are not"
            " numbers", rule="numbers, or a data frame", remedy="encode the column in the pipeline. Or call "
                                                                'model.set_output(transform="pandas"), so that the '
                                                                "steps return frames, and fit the pipeline again",
        ) from error  # fmt: skip


def _copy(rows: Any) -> Any:
    """Return a copy of an array, a data frame, a list or a tensor of PyTorch. Return other rows unchanged."""
    copied = getattr(rows, "clone" if type(rows).__module__.startswith(("torch", "polars")) else "copy", None)
    return copied() if callable(copied) else rows


def dense(rows: Any) -> Any:
    """Return the rows of a sparse matrix as an array (n, d) in double precision. Return anything else unchanged.

    Args:
        rows: the user's rows, as a sparse matrix or in any other form.

    Raises:
        MemoryPlanError: if the dense array of a sparse matrix would take more than a quarter of the free memory.
    """
    if not sparse.issparse(rows):
        return rows
    size, free = 8.0 * np.prod(rows.shape, dtype=float), _SHARE * available_bytes()
    if size > free:
        found = (
            f"{rows.shape[0]:,} rows of {rows.shape[1]:,} columns, which take {size / 2**30:.2g} GiB as a dense array"
        )
        raise MemoryPlanError(
            "rows of a sparse matrix", found=found, rule=f"at most {free / 2**30:.2g} GiB",
            remedy="encode fewer columns (for a vectorizer, set max_features), or pass fewer rows",
        )  # fmt: skip
    return np.asarray(rows.toarray(), dtype=np.float64)
