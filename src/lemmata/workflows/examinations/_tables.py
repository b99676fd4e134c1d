"""Make the tables of an examination that do not come from a check: inputs, layers, outputs and the posterior."""

import time
from collections.abc import Callable
from typing import Any

from lemmata.errors import line_of
from lemmata.subjects.trained_models import Trained

from ._inputs import has_input_table, input_table
from ._layers import layer_table
from ._output_scores import output_scores
from ._posterior import has_posterior, posterior_summary
from ._row_names import RowNames


def add_tables(trained: Trained, names: RowNames, deadline: float | None, found: dict[str, Any]) -> list[str]:
    """Add each table to `found` under its name in the record. Return notes on tables that could not be made.

    There is no note for a table that the model cannot have, such as the layers of a forest.

    Args:
        trained: a model with its rows.
        names: the names of rows, inputs and targets.
        deadline: the `time.monotonic()` after which no table is begun.
        found: the tables, to which this function adds. If the function is interrupted, the finished tables are kept.
    """
    found["outputs"] = output_scores(trained, names.targets)
    inputs, layers = lambda: input_table(trained, names.columns, deadline), lambda: layer_table(trained, deadline)
    asked: dict[str, tuple[str, bool, Callable[[], Any]]] = {
        "inputs": ("the table of inputs", has_input_table(trained), inputs),
        "posterior": ("the posterior", has_posterior(trained), lambda: posterior_summary(trained)),
        "layers": ("the table of layers", trained.model.differentiable, layers),
    }
    notes = []
    for name, (words, applies, question) in asked.items():
        if not applies:
            continue
        if deadline is not None and time.monotonic() > deadline:
            notes.append(f"lemmata did not compute {words}, because of the time limit.")
            continue
        try:
            found[name] = question()
        except (Exception, SystemExit) as error:  # the user's own function may raise any error
            why = line_of(error, 200)
            notes.append(f"lemmata could not compute {words}, because the model raised {why}.")
    return notes
