"""`lemmata in-context`: run a transformer that was never trained on the user's table."""

from pathlib import Path
from typing import Annotated

import typer

from lemmata.files import keep_inputs

MOST_ROWS = 2500
"""The largest number of rows that are used. It is limited because the attention of each query covers all rows."""


def in_context(
    data: Annotated[str, typer.Argument(help="diabetes or another bundled data set, or a CSV/Parquet/NPZ file.")],
    target: Annotated[
        str | None, typer.Option(help="Numeric column to predict. Bundled data sets have a default.")
    ] = None,
    features: Annotated[
        int,
        typer.Option(
            help=(
                "Number n of universal features, the functions that the Lasso combines. The transformer then carries "
                "about 2n numbers for each token."
            )
        ),
    ] = 256,
    layers: Annotated[
        int, typer.Option(help="Odd number L of layers. T iterations for the Lasso need L = 2T + 1 layers.")
    ] = 401,
    penalty: Annotated[float, typer.Option(help="Lasso penalty, for a target of variance 1.")] = 3e-3,
    sharpness: Annotated[float, typer.Option(help="Slope of the features.")] = 4.0,
    width: Annotated[
        float, typer.Option(help="Width of the bumps in the function class, for inputs in the unit ball.")
    ] = 0.5,
    held_out: Annotated[
        float, typer.Option("--held-out", help="Fraction of the rows that are used as queries.")
    ] = 0.25,
    seed: Annotated[int, typer.Option(help="Seed of the split and of the features.")] = 0,
    directory: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write in_context/ into this directory.")
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print only the results, as JSON, on stdout.")] = False,
    task: Annotated[
        str | None, typer.Option(help="Set this to regression if lemmata reads the numbers of the target as classes.")
    ] = None,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Drop rows with missing cells.")] = False,
    drop_column: Annotated[
        list[str] | None, typer.Option("--drop-column", metavar="NAME", help="Leave this column out. Repeatable.")
    ] = None,
) -> None:
    """Predict held-out rows in context, in one forward pass of a transformer, and compare with the Lasso.

    The Lasso uses the same features. The command writes DIR/in_context/run.json and pictures of rho and the attention
    along the layers.

    Exit code: 0 on success; 2 after a usage error.
    """
    from lemmata.printable import clean

    from ._app import at_end
    from ._console import err, out, plain
    from ._files import prepare_directory, strict_json
    from ._job import answered, begin
    from ._progress import StageProgress
    from ._study import check_seed
    from ._summary import describe_data

    check_seed(seed)
    keep_inputs([data], [directory / "in_context" / "run.json"])
    with StageProgress(err) as progress:
        begin(progress)
        from lemmata.interfaces.report import pictures_of
        from lemmata.results import digest, writing
        from lemmata.workflows.studies import load_dataset, run_in_context

        dataset = load_dataset(
            data, target, task=task, drop_missing=drop_missing, drop_columns=drop_column or (),
            max_rows=MOST_ROWS, seed=seed,
        )  # fmt: skip
        folder = directory / "in_context"
        prepare_directory(directory, "in_context/run.json")
        result = at_end.enter_context(writing(folder, "run.json"))
        describe_data(err, dataset)
        run = run_in_context(
            dataset, features=features, layers=layers, penalty=penalty, sharpness=sharpness, width=width,
            held_out=held_out, seed=seed, progress=progress,
        )  # fmt: skip
        progress("Drawing", 0, 1)
        pictures = pictures_of(run)
    if not pictures:
        run["notes"] = [*run["notes"], "No pictures were drawn, because the memory of the process is limited."]
    text = strict_json(run | {"pictures": {name: digest(picture) for name, picture in pictures.items()}})
    with answered(lambda: plain(text) if as_json else _print_table(run)):
        result.replace({"run.json": text + "\n", **pictures})
    if not as_json:
        written = " and ".join(filter(None, [str(folder / "run.json"), ", ".join(pictures)]))
        out.print(clean(f"Wrote {written}"), markup=False, highlight=False)


def _print_table(run: dict) -> None:
    from rich.table import Table

    from ._console import out

    streams = run["width_of_stream"]
    out.print(
        f"{run['examples']} examples, {run['queries']} queries, {run['columns']} columns; {run['features']} features, "
        f"{run['layers']} layers, width of the residual stream (numbers for each token) D = {streams['plain']} "
        f"({streams['with momentum']} with momentum)",
        highlight=False, markup=False,
    )  # fmt: skip
    table = Table(box=None, pad_edge=False)
    for name in ("model", "squared error", "Lasso objective", "coefficients"):
        table.add_column(name, justify="left" if name == "model" else "right", no_wrap=True)
    for row in run["rows"]:
        objective, used = row.get("objective"), row.get("coefficients")
        cells = ("" if objective is None else f"{objective:.6g}", "" if used is None else str(used))
        table.add_row(row["model"], f"{row['error']:.4g}", *cells)
    out.print(table)
    out.print("Squared errors are for a target with variance 1.", highlight=False)
    out.print("Conditions of the theorem:", highlight=False)
    for condition in run["hypotheses"]:
        out.print(f"- {_condition(condition)}", markup=False, highlight=False)
    for note in run["notes"]:
        out.print(f"- {note}", markup=False, highlight=False)


def _condition(condition: dict) -> str:
    if condition["holds"] is None:
        return f"{condition['name']}: cannot be checked ({condition['why']})"
    word = "holds" if condition["holds"] else "fails"
    compared = f"{condition['value']:.4g} {condition['relation']} {condition['threshold']:.4g}"
    return f"{condition['name']}: {word}, {compared}" + (f" ({condition['why']})" if condition["why"] else "")
