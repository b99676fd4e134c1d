"""`lemmata.study_model`: the examination of a trained model, as a function in Python."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Unpack

import jax
import polars as pl

from lemmata.facts import Facts, states_facts
from lemmata.interfaces.report import (
    action_sentences,
    model_fragment,
    model_sentences,
    plotted,
    strip_chart,
    write_page,
)
from lemmata.options import EXAMINATION, check_limit
from lemmata.signatures import shows_signature, shows_signatures
from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations import (
    ExaminationRecord,
    RowNames,
    as_examined,
    columns_in_frame,
    names_in_frame,
    naming_rows,
    row_table,
    run_examination,
)
from lemmata.workflows.records.examinations import ROWS

from ._exits import exits_told
from ._finished import Finished
from ._model_frames import inputs_frame, layers_frame


@shows_signatures
@dataclasses.dataclass(frozen=True, repr=False)
class ModelStudy(Finished[ExaminationRecord]):
    """A finished examination.

    Args:
        record: everything that the examination found, as stored in its file.
        rows: one row for each training and held-out row, with its target, prediction, loss and results of theory
            (`lemmata.workflows.examinations.row_table` lists the columns). None if the examination was loaded from a
            file or the model was refused.
    """

    rows: pl.DataFrame | None = dataclasses.field(default=None, compare=False)
    kind = ExaminationRecord

    @property
    def inputs(self) -> pl.DataFrame | None:
        """One row for each input, with the most important input first. None for documents and for too few rows.

        The columns are:
        `input`: the name of the input.
        `gradient`: the mean size over rows of the gradient by this input, times the input's standard deviation; missing
            if the model has no derivatives.
        `loss_growth`, `lower`, `upper`: how much the mean loss grows if the input's values are permuted among the
        rows, with the 95 % interval for new rows.
        `null`: if an input carries no information, the growth lies between -null and +null with probability 95 %.
        `told`: whether the input matters, that is, whether the growth of the loss is larger than chance allows.
        """
        return None if self.record.inputs is None else inputs_frame(self.record.inputs)

    @property
    def layers(self) -> pl.DataFrame | None:
        """One row for each weight matrix, and one row for all arrays with a single axis. None without parameters.

        The columns are:
        `layer`, `shape`, `norm`: the name, the shape and the Frobenius norm.
        `spectral_norm`, `stable_rank`, `kernel_share`: the largest singular value, the stable rank (squared Frobenius
        norm over squared spectral norm), and the share of the trace of the tangent kernel on training rows. For each of
        these three, `_low` and `_high` are the ends of the 95 % range of a Gaussian matrix with this shape and norm,
        and `_outside` says "above" or "below".
        `singular_values_beyond`: how many singular values lie above that range.
        `start_...`: the same numbers at the parameters before training, if you pass these as `start=`.
        """
        return None if self.record.layers is None else layers_frame(self.record.layers)

    def report(self, directory: str | Path) -> Path:
        """Write the page and rows.csv into a directory, and return the path of the page."""
        beside = None if self.rows is None else {ROWS: self.rows.write_csv()}
        return write_page(directory, self.record, beside=beside)

    @property
    def answer(self) -> str:
        """The answer in sentences, the most important one first, followed by the next steps."""
        steps = [f"Next: {line}" for line in action_sentences(self.record)]
        return "\n".join([*model_sentences(self.record), *steps])

    def plot(self) -> Any:
        """A chart of the predicted intervals, each divided by the measured value; None if nothing was measured."""
        return plotted(strip_chart(self.record))

    def __repr__(self) -> str:
        return f"ModelStudy of {self.record.model.name}\n{self.answer}"

    def _repr_html_(self) -> str:
        return model_fragment(self.record)


@shows_signature
@states_facts
@exits_told()
def study_model(
    model: Any,
    x: Any,
    y: Any,
    *,
    user: Callable[..., Any] | None = None,
    time_limit: int | float | None = EXAMINATION,
    **facts: Unpack[Facts],
) -> ModelStudy:
    """What does theory predict about this trained model, and did it come true?

    Args:
        model: (f, params), a module of Equinox, Flax or PyTorch, a fitted scikit-learn estimator, or a function of a
            batch, of which lemmata uses only the outputs; see `lemmata.subjects.trained_models.read_model`. If the
            model is a pipeline, lemmata examines the last step, with the rows as the earlier steps transform them.
        x: training rows (n, *row), or a sparse matrix; or a PyTorch `DataLoader` or dataset of pairs, with y=None.
        y: targets of the training rows, classes or values. None for a language model, which maps tokens (n, T) to
            logits (n, T, vocabulary). Each row is then a document, and the loss of a row is the loss of all its tokens.
        user: a function that calls the model on rows as your program does. Its outputs must equal the examined outputs.
        time_limit: seconds after which no further check is started; None for no limit.
        **facts: other known facts about the model and its training; see `lemmata.facts.Facts`.

    Raises:
        DataError, SettingError, ShapeError: if the model and the rows do not fit each other.

    >>> import lemmata
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> x, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression().fit(x[::2], y[::2])
    >>> found = lemmata.study_model(model, x[::2], y[::2], held=(x[1::2], y[1::2]))
    >>> found.record.held_error.value < 0.1
    True
    """
    started = time.monotonic()
    if time_limit is not None:
        check_limit(time_limit, "time_limit")
    held = facts.get("held")
    others = names_in_frame(held[0] if isinstance(held, tuple | list) and held else None)
    names = RowNames(names_in_frame(x), others, targets=columns_in_frame(y))
    with jax.enable_x64(True):
        model, x, told, names = as_examined(model, x, facts, names)
        with naming_rows(names):
            trained = read_trained(model, x, y, **told)
        name = type(model).__name__ if not isinstance(model, tuple) else "model"
        record = run_examination(trained, name=name, time_limit=time_limit, user=user, started=started, names=names)
        whole = all(check.holds is not False for check in record.preflight)
        rows = row_table(trained, record.left_out, names) if whole else None
    return ModelStudy(record, rows)
