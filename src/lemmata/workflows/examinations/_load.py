"""Load a program, the weights of its model and files of rows as one trained model."""

import dataclasses

from lemmata.code_files import current_folder, in_folder
from lemmata.options import ModelOptions
from lemmata.subjects.trained_models import Trained, read_trained

from ._pipelines import as_examined, form_of
from ._program import Program, load_program
from ._row_names import RowNames, naming_rows
from ._rows import PLAIN, read_corrected, read_deployed, read_held, read_rows
from ._saved import is_saved, load_saved


def load_trained(program: str, data: object, options: ModelOptions) -> tuple[Trained, str, str, RowNames]:
    """Return the trained model for the command line's arguments, and the names of the program, the data and the rows.

    Args:
        program: a Python file that defines `build()`, or a pipeline of scikit-learn in a file of skops.
        data: the file of training rows.
        options: the options, such as the files of weights and of held-out rows.

    Raises:
        DataError, SettingError, ShapeError: if files cannot be read or do not fit each other.
    """
    if is_saved(program):
        return load_saved(program, data, options)
    here = current_folder()
    own = load_program(program, options.weights, options.start, options.checkpoint, options.size)
    with in_folder(here):  # the program may have changed the folder, but the names of files are relative to this one
        return _with_rows(own, data, options)


def _with_rows(own: Program, data: object, options: ModelOptions) -> tuple[Trained, str, str, RowNames]:
    documents = own.task == "language"
    form = PLAIN if documents else form_of(own.model)
    rows = read_rows(data, options.target, options.split, documents, options.corrected, form)
    held, names = rows.held, dataclasses.replace(rows.names, columns=rows.columns)
    if options.held is not None:
        held, others = read_held(options.held, rows)
        names = dataclasses.replace(names, held=others)
    decay = own.decay if options.decay is None else options.decay
    rest = {"held": held, "labels": own.labels, "decay": decay, "start": own.start, "fit": own.fit}
    rest["loss"] = own.loss if options.loss is None else options.loss
    rest |= {"rate": options.rate, "checkpoints": own.checkpoints, "noised": own.privacy}
    rest["deployed"] = None if options.deploy is None else read_deployed(options.deploy, rows)
    rest["claimed"] = options.claimed
    rest |= {"padding": own.padding, "sizes": own.sizes, "scale": own.scale, "corrected": rows.corrected}
    if options.corrected is not None and rows.corrected is None:
        rest["corrected"] = read_corrected(options.corrected, rows)
    x, y = rows.pair
    model, x, rest, names = as_examined(own.model, x, rest, names)
    with naming_rows(names):
        return read_trained(model, x, y, **rest, seed=options.seed), own.name, rows.name, names
