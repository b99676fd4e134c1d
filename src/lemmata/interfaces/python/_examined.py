"""The examination of a trained model, at home in Python."""

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import altair as alt
import jax

from lemmata.files import replace_text
from lemmata.interfaces.report import model_fragment, model_sentences, strip_chart, write_model
from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations import Record, run_examination


@dataclasses.dataclass(frozen=True)
class ModelStudy:
    """A finished examination.

    Args:
        record: everything it found, as model.json holds it.
    """

    record: Record

    @property
    def answer(self) -> str:
        """The answer in words, the most important sentence first."""
        return "\n".join(model_sentences(self.record))

    def plot(self) -> alt.Chart | alt.LayerChart | None:
        """Predicted intervals over measured values; None where nothing was measured."""
        return strip_chart(self.record)

    def report(self, directory: str | Path) -> Path:
        """Write the page into a directory, and return its path."""
        return write_model(self.record, directory)

    def save(self, path: str | Path) -> Path:
        """Write model.json, which `ModelStudy.load` reads.

        Raises:
            FileError: the file cannot be written; what stood there before is untouched.
        """
        return replace_text(path, self.record.to_json() + "\n")

    @classmethod
    def load(cls, path: str | Path) -> "ModelStudy":
        """Read model.json.

        Raises:
            MissingFileError: there is no such file.
            DataError: it is no record of an examination of this version.
        """
        return cls(Record.load(path))

    def __repr__(self) -> str:
        return f"ModelStudy of {self.record.model.name}\n{self.answer}"

    def _repr_html_(self) -> str:
        return model_fragment(self.record)


def study_model(
    model: Any, x: Any, y: Any, *, held: Any = None, labels: tuple[Any, ...] | None = None,
    decay: float | None = None, start: Any = None, fit: Callable[..., Any] | None = None, rate: float | None = None,
    deployed: Any = None, checkpoints: tuple[Any, ...] = (), claimed: tuple[float, float] | None = None,
    noised: Any = None, corrected: Any = None, padding: int | None = None, scale: float | None = None,
    sizes: tuple[Any, ...] = (),
    user: Callable[..., Any] | None = None, time_limit: float | None = None, seed: int = 0,
) -> ModelStudy:  # fmt: skip
    """What does theory predict about this trained model, and did it come true?

    Args:
        model: (f, params), a module of Equinox, Flax or PyTorch, or a fitted scikit-learn estimator; see
            `lemmata.subjects.trained_models.read_model`.
        x: training rows (n, *row).
        y: their targets: classes or values; None for a language model, which takes tokens (n, T) and gives logits
            (n, T, vocabulary): each row is then a document, and its loss that of all its tokens.
        held: rows and targets (or documents) that training has not seen; without them predictions are not scored.
        labels: the class of each output, where whole numbers from 0 or the sorted classes are not it.
        decay: delta in mean loss + (delta/2) |theta|²; None: as the weights imply.
        start: the model as training began.
        fit: trains afresh: fit(x, y, seed) returns a model.
        rate: the step of the gradient descent on all rows that trained the model.
        deployed: rows that the model meets in use, without targets.
        checkpoints: the model at earlier times of its training, in their order.
        claimed: (epsilon, delta) of the differential privacy that the training is said to have.
        noised: the steps that should give it: {"sampling": probability with which a row took part in a step, "noise":
            standard deviation of the noise in units of the clipping norm, "steps": how many}.
        corrected: right targets of the training rows, where somebody has looked at them.
        padding: the token that fills documents up; -1 is padding always.
        scale: the largest size of an input, where all inputs have one unit: 255 for pixels, say.
        sizes: models of other sizes, trained alike on the same rows: what their errors say of this one's.
        user: your own call of the model on rows; its outputs must be those that are examined.
        time_limit: seconds after which no gauge is begun.
        seed: of all that is chosen at random.

    Raises:
        DataError, SettingError, ShapeError: for a model or rows that do not fit each other.

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
    with jax.enable_x64(True):
        trained = read_trained(
            model, x, y, held=held, labels=labels, decay=decay, start=start, fit=fit, rate=rate, deployed=deployed,
            checkpoints=checkpoints, claimed=claimed, noised=noised, corrected=corrected, padding=padding, scale=scale,
            sizes=sizes, seed=seed,
        )  # fmt: skip
        name = type(model).__name__ if not isinstance(model, tuple) else "model"
        record = run_examination(trained, name=name, time_limit=time_limit, user=user, started=started)
    return ModelStudy(record)
