"""Tables of an examination's record as frames of polars."""

import polars as pl

from lemmata.workflows.records.model_tables import InputTable


def inputs_frame(table: InputTable) -> pl.DataFrame:
    """A row for each input; columns that nothing is known of are left out.

    Args:
        table: of a record.
    """
    rows = [
        {
            "input": own.name, "gradient": own.slope,
            **{name: None if own.growth is None else getattr(own.growth, field)
               for name, field in (("loss_growth", "value"), ("lower", "lower"), ("upper", "upper"))},
            "null": own.null, "told": own.told,
        }
        for own in table.columns
    ]  # fmt: skip
    kinds = {"input": pl.String, "told": pl.Boolean}
    names = ("input", "gradient", "loss_growth", "lower", "upper", "null", "told")
    frame = pl.DataFrame(rows, schema={name: kinds.get(name, pl.Float64) for name in names})
    return frame.select(name for name in names if name == "input" or frame[name].null_count() < frame.height)
