"""Convert tables of an examination's record to polars data frames."""

from typing import Any

import polars as pl

from lemmata.workflows.records.model_tables import InputTable, LayerTable, beside_null


def inputs_frame(table: InputTable) -> pl.DataFrame:
    """A data frame with one row for each input, without empty columns.

    Args:
        table: the table of inputs of a record.
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


def layers_frame(table: LayerTable) -> pl.DataFrame:
    """A data frame with a row for each matrix and one for all arrays with a single axis, without empty columns.

    Args:
        table: the table of layers of a record.
    """
    rows = []
    for own in table.layers:
        row: dict[str, Any] = {"layer": own.name, "shape": "x".join(map(str, own.shape)), "norm": own.norm}
        for name, value, null in (
            ("spectral_norm", own.spectral, own.spectral_null),
            ("stable_rank", own.stable, own.stable_null),
            ("kernel_share", own.share, own.share_null),
        ):
            row |= {name: value, f"{name}_low": null and null.lower, f"{name}_high": null and null.upper}
            row[f"{name}_outside"] = beside_null(value, null) or None
        row |= {"singular_values_beyond": own.beyond, "start_norm": own.start_norm}
        rows.append(row | {"start_spectral_norm": own.start_spectral, "start_kernel_share": own.start_share})
    kinds = {"layer": pl.String, "shape": pl.String, "singular_values_beyond": pl.Int64}
    kind = lambda name: pl.String if name.endswith("_outside") else kinds.get(name, pl.Float64)
    frame = pl.DataFrame(rows, schema={name: kind(name) for name in (rows[0] if rows else ("layer",))})
    return frame.select(name for name in frame.columns if name == "layer" or frame[name].null_count() < frame.height)
