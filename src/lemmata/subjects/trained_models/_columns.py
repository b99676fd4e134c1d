"""The order of the columns of data frames. Columns are matched by their names, never by their positions alone."""

from collections import Counter
from typing import Any

from lemmata.errors import DataError

_SHOWN = 8


def is_frame(rows: Any) -> bool:
    """Return whether rows are a data frame of pandas or polars."""
    columns = getattr(rows, "columns", None)
    named = columns is not None and not callable(columns)
    return named and (hasattr(rows, "iloc") or type(rows).__module__.startswith("polars."))


def columns_of_model(model: Any) -> tuple[Any, ...] | None:
    """Return the names of the columns that a scikit-learn estimator or pipeline was fitted to, in order, or None.

    For a method of an estimator, such as `model.predict_proba`, return the columns of the estimator.

    Args:
        model: the user's model.
    """
    for own in (model, getattr(model, "__self__", None)):
        names = getattr(own, "feature_names_in_", None)
        if names is not None:
            return tuple(names)
    return None


def in_order(rows: Any, wanted: tuple[Any, ...] | None, name: str, whose: str, strict: bool = True) -> Any:
    """Return a data frame with its columns in the wanted order. Rows that are not a data frame are returned unchanged.

    A frame is also unchanged if it, or the wanted order, has only the default names of pandas or polars.

    Args:
        rows: rows in any form.
        wanted: the names of the columns, in order; None if there are none.
        name: the name of the rows in messages.
        whose: the object that has the wanted columns, in words.
        strict: whether other names of columns are an error. If False, a frame with other names is returned unchanged.

    Raises:
        DataError: if a column is missing or unknown, or appears twice.
    """
    if wanted is None or not is_frame(rows):
        return rows
    own = tuple(rows.columns)
    nameless = len(own) == len(wanted) and (_counted(own) or _counted(wanted)) and set(own) != set(wanted)
    if own == wanted or nameless:
        return rows
    twice = [column for column, count in Counter(own).items() if count > 1]
    missing = [column for column in wanted if column not in set(own)]
    unknown = [column for column in own if column not in set(wanted)]
    twice_wanted = len(set(wanted)) < len(wanted)
    if not (twice or missing or unknown or twice_wanted):
        return rows[list(wanted)]
    if not strict:
        return rows
    parts = (("missing", missing), ("unknown", unknown), ("there twice", twice))
    found = "; ".join(f"{words}: {_listed(columns)}" for words, columns in parts if columns)
    if not found:
        found = f"the order {_listed(own)}, although {whose} have two columns with the same name"
    raise DataError(
        f"columns of {name}", found=found, rule=f"the columns of {whose}, in any order: {_listed(wanted)}",
        remedy="select and rename the columns of the frame; or pass an array, such as frame.to_numpy(), whose "
               "columns are matched by position",
    )  # fmt: skip


def in_one_order(model: Any, x: Any, held: Any, deployed: Any) -> tuple[Any, Any, Any]:
    """Return training rows, held-out rows with their targets, and deployment rows, with columns in the model's order.

    The model's order is that of the columns to which it was fitted. If the model stores no names of columns, it is the
    column order of the training rows. Frames for a pipeline that selects columns by their names may have other columns,
    too.

    Args:
        model: the user's model, without an object that wraps the model.
        x: the training rows.
        held: a pair of held-out rows and their targets, or anything else, which is returned unchanged.
        deployed: the deployment rows, or None.

    Raises:
        DataError: see `in_order`.
    """
    wanted, whose = columns_of_model(model), "the rows that the model was fitted to"
    strict = not hasattr(model, "steps") or (wanted is None and hasattr(model[0], "n_features_in_"))
    x = in_order(x, wanted, "x", whose, strict)
    if wanted is None and is_frame(x):
        wanted, whose = tuple(x.columns), "the training rows"
    if isinstance(held, tuple | list) and held:
        held = (in_order(held[0], wanted, "the held-out rows", whose, strict), *held[1:])
    return x, held, in_order(deployed, wanted, "the deployment rows", whose, strict)


def _counted(columns: tuple[Any, ...]) -> bool:
    """Return whether the columns have only the names that pandas or polars gives to columns without names."""
    return columns in (tuple(range(len(columns))), tuple(f"column_{place}" for place in range(len(columns))))


def _listed(columns: Any) -> str:
    shown = [repr(str(column) if isinstance(column, str) else column) for column in list(columns)[:_SHOWN]]
    return ", ".join(shown) + (" and others" if len(columns) > _SHOWN else "")
