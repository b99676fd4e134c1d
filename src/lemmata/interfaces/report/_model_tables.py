"""Inputs, layers and outputs of an examined model as cells of tables, each with a sentence on its meaning."""

from typing import Any

from lemmata.intervals import Interval
from lemmata.workflows.records.examinations import ExaminationRecord
from lemmata.workflows.records.model_tables import InputTable, LayerTable, OutputScore, beside_null

from ._text import MISSING, number, percent

INPUTS, LAYERS = 20, 40
_SIZES = {  # the meaning of a column of numbers
    "input": {
        "gradient × spread": (
            "how far the output, or the log probability of the right class, moves with the input. It "
            "is the mean size of the gradient times the input's standard deviation"
        ),
        "loss grows by": (
            "by how much the mean loss grows if the input's values are permuted among the rows, with a 95 % interval "
            "for new rows. If the value is below 0, the model errs less with permuted values"
        ),
        "by chance": "the range of the growth for 95 % of inputs that carry no information",
    },
    "layer": {
        "norm": "the Frobenius norm, the root of the sum of squared entries",
        "largest singular value": "the largest factor by which the matrix stretches a vector",
        "stable rank": (
            "the squared norm divided by the squared largest singular value: roughly the number of "
            "directions in which the matrix is large"
        ),
        "values beyond": (
            "how many singular values lie above the 95 % range of a random matrix's largest singular value"
        ),
        "share of the tangent kernel": (
            "the part of the model's first-order response to training that comes from this matrix"
        ),
    },
    "output": {
        "RMSE": "the root of the mean squared error on held-out rows, in the target's unit, with its 95 % interval",
        "R²": (
            "the share by which the model's squared error is below that of the training mean; at 0 "
            "the model is no better than the mean"
        ),
    },
}


def tables_of(record: ExaminationRecord) -> list[dict[str, Any]]:
    """The tables of a record: each with anchor, title, hint, sentences, column heads and their meanings, rows, notes.

    Args:
        record: an examination, cleaned.
    """
    found = []
    if record.outputs:
        found.append(_outputs(record.outputs))
    if record.inputs is not None and (record.inputs.columns or record.inputs.notes):
        found.append(_inputs(record.inputs))
    if record.layers is not None and record.layers.layers:
        found.append(_layers(record.layers))
    return found


def posterior_words(record: ExaminationRecord) -> str:
    """State in words what the posterior predicts for held-out rows, and whether that came true. Empty if unknown.

    Args:
        record: an examination, cleaned.
    """
    own = record.posterior
    if own is None or (not own.reason and own.status == "unscored"):
        return ""
    if own.reason:
        return f"Laplace's approximation of the posterior has no result here: {own.reason}."
    parts = "parameters" if own.whole else "parameters of the last layer"
    told = f"The rows determine {number(own.dimension)} {parts} well, according to Laplace's approximation."
    if own.covered is not None:
        ends = f"{percent(own.covered.lower)} to {percent(own.covered.upper)}"
        return (
            f"{told} With the noise of the residuals included, intervals at level {percent(own.level)} contain "
            f"{percent(own.covered.value)} of the targets of {own.rows:,} held-out rows ({ends})."
        )
    gain = own.gain
    if gain is None:
        return ""
    verdict = "better than" if gain.lower > 0 else "worse than" if gain.upper < 0 else "no different from"
    return (
        f"{told} On {own.rows:,} held-out rows, probabilities averaged over this posterior have log loss "
        f"{number(own.corrected)}. This log loss is {verdict} the log loss {number(own.plain)} of the model itself "
        f"(the gain is {_ends(gain)})."
    )


def _table(anchor: str, title: str, hint: str, kind: str, words: str, rows: list[list[str]], **rest: Any) -> dict:
    """A table from which the columns that are empty in every row are left out."""
    heads = [kind, *_SIZES[kind]]
    kept = [place for place in range(len(heads)) if any(row[place] != MISSING for row in rows) or not place]
    meanings = [(name, text) for name, text in _SIZES[kind].items() if heads.index(name) in kept]
    return {
        "anchor": anchor, "title": title, "hint": hint, "words": words, "meanings": meanings,
        "heads": [heads[place] for place in kept], "rows": [[row[place] for place in kept] for row in rows],
        "marked": [], "notes": [], "frame": "", "guide": "", **rest,
    }  # fmt: skip


def _outputs(scores: list[OutputScore]) -> dict[str, Any]:
    rows = [[own.name, _ends(own.rmse), _ends(own.explained)] for own in scores]
    count = max(len(scores) - 1, 1)
    hint = f"{count} output{'' if count == 1 else 's'}"
    words = "Each output on held-out rows" + (
        ", and the squared distance between targets and predictions over all outputs." if count > 1 else "."
    )
    return _table("outputs", "How well values are predicted", hint, "output", words, rows)


def _inputs(own: InputTable) -> dict[str, Any]:
    told = sum(column.told is True for column in own.columns)
    tested = sum(column.told is not None for column in own.columns)
    chance = lambda column: MISSING if column.null is None else f"± {number(column.null)}"
    rows = [
        [column.name, number(column.slope), _ends(column.growth), chance(column)] for column in own.columns[:INPUTS]
    ]
    rows_of = f"{own.rows:,} {own.part.replace(' ', '-')} rows"
    words = (
        f"Each input was permuted {own.permutations} times on {rows_of}. Without a permutation, their mean {own.unit} "
        f"is {number(own.loss)}. {told} of {tested} inputs matter (bold): permuting such an input raises the loss by "
        "more than chance allows (at 5 % for all inputs together), and the interval lies above 0. Two inputs with the "
        "same information may both look unimportant."
    )
    if own.part == "training":
        words += (
            " There are too few held-out rows. The table therefore shows which inputs the model uses, and not which "
            "inputs help the model on new rows."
        )
    return _table(
        "inputs", "Which inputs matter", f"{told} of {tested} matter", "input", words, rows,
        marked=[column.told is True for column in own.columns[:INPUTS]], notes=_more(own.notes, own.columns, INPUTS),
        frame="inputs", guide="Which inputs matter",
    )  # fmt: skip


def _layers(own: LayerTable) -> dict[str, Any]:
    rows = []
    begun = any(layer.start_norm is not None for layer in own.layers)
    start = lambda value: f"; start {number(value)}" if begun and value is not None else ""
    for layer in own.layers[:LAYERS]:
        shape = f" {'×'.join(map(str, layer.shape))}" if layer.shape else ""
        rows.append([
            f"{layer.name}{shape}", number(layer.norm) + start(layer.start_norm),
            _beside(layer.spectral, layer.spectral_null) + start(layer.start_spectral),
            _beside(layer.stable, layer.stable_null), number(layer.beyond),
            _beside(layer.share, layer.share_null) + start(layer.start_share),
        ])  # fmt: skip
    words = (
        "The brackets show the 95 % range for random Gaussian matrices with the same shape and norm. A number outside "
        "this range is marked above or below. By chance, one number in twenty lies outside its range. The table "
        "describes the layers and does not grade them."
    )
    if own.rows:
        words += f" The shares of the layers are computed on {own.rows} training rows."
    return _table(
        "layers", "Layers", "norms, spectra and shares, compared with random matrices", "layer", words, rows,
        notes=_more(own.notes, own.layers, LAYERS), frame="layers", guide="Layers",
    )  # fmt: skip


def _more(notes: list[str], rows: list[Any], shown: int) -> list[str]:
    return notes if len(rows) <= shown else [*notes, f"The first {shown} of {len(rows):,} are shown."]


def _ends(own: Interval | None) -> str:
    return MISSING if own is None else f"{number(own.value)} ({number(own.lower)} to {number(own.upper)})"


def _beside(value: float | None, null: Interval | None) -> str:
    """A number, the range expected by chance, and whether the number lies outside this range."""
    if value is None:
        return MISSING
    if null is None:
        return number(value)
    return f"{number(value)} ({number(null.lower)} to {number(null.upper)}) {beside_null(value, null)}".rstrip()
