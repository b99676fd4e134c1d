"""`lemmata study`: the main job on a bundled set or a file of the user's."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer


def study(
    data: Annotated[
        str, typer.Argument(help="digits, breast_cancer, wine, diabetes, iris, or a CSV/Parquet/NPZ file.")
    ],
    target: Annotated[str | None, typer.Option(help="The column to predict; bundled sets know theirs.")] = None,
    kernels: Annotated[str | None, typer.Option(help="Architectures to compare, separated by commas.")] = None,
    error: Annotated[
        float | None,
        typer.Option(
            help="Held-out squared error to reach; default: chosen. In regression the target is scaled to variance 1,"
            " so that 1 is the error of predicting the mean."
        ),
    ] = None,
    time_limit: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop after about this time.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where report/ and study.json go.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print study.json alone on stdout.")] = False,
    task: Annotated[str | None, typer.Option(help="classification or regression; default: by the target.")] = None,
    drop_missing: Annotated[bool, typer.Option("--drop-missing", help="Drop rows with missing cells.")] = False,
    drop_column: Annotated[
        list[str] | None, typer.Option("--drop-column", metavar="NAME", help="Leave a column out; repeatable.")
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", metavar="NAME", help="Keep a column that looks like an identifier.")
    ] = None,
    group: Annotated[str | None, typer.Option(metavar="COLUMN", help="Rows equal here are never split.")] = None,
    time: Annotated[str | None, typer.Option(metavar="COLUMN", help="Train on earlier rows, test on later.")] = None,
    max_rows: Annotated[int | None, typer.Option(help="Use at most this many rows; default 2500.")] = None,
) -> None:
    """How much data is needed, which architecture fits it, and which theorems speak about it.

    Writes DIR/report/index.html and DIR/study.json, and prints a summary. Exit code 0; 2 where the input is refused;
    130 after Ctrl-C, with what was finished written.
    """
    from ._app import INTERRUPTED, at_end
    from ._compilations import kept_compilations
    from ._console import err, out, plain
    from ._files import prepare_directory, strict_json, write_text
    from ._progress import StageProgress
    from ._summary import describe_data, print_summary

    _check_numbers(error, time_limit, seed)
    with StageProgress(err) as progress:
        progress("Loading", 0, 1)
        import jax

        jax.config.update("jax_enable_x64", True)
        at_end.enter_context(kept_compilations())
        from lemmata.study import check_names, load_dataset

        chosen = None if kernels is None else [name.strip() for name in kernels.split(",") if name.strip()]
        if chosen is not None:
            check_names(chosen)

        options: dict[str, Any] = {"task": task, "drop_missing": drop_missing, "group": group, "time": time}
        dataset = load_dataset(
            data,
            target,
            **options,
            drop_columns=drop_column or (),
            keep_columns=keep or (),
            max_rows=max_rows,
            seed=seed,
        )
        from lemmata.report import write_report
        from lemmata.study import run_study

        prepare_directory(directory)
        describe_data(err, dataset)
        record = run_study(dataset, kernels=chosen, error=error, time_limit=time_limit, seed=seed, progress=progress)
        record["command"] = _command(
            data,
            target=target,
            kernels=kernels,
            error=error,
            time_limit=time_limit,
            seed=seed or None,
            **options,
            drop_column=drop_column,
            keep=keep,
            max_rows=max_rows,
        )
        progress("Writing the report", 0, 1)
        text = strict_json(record)
        written = write_text(directory / "study.json", text)
        page = write_report(record, directory / "report")
    if as_json:
        plain(text)
    else:
        print_summary(out, record, page, written)
    if record.get("interrupted"):
        err.print("Interrupted: what was finished is written.")
        raise typer.Exit(INTERRUPTED)


def _check_numbers(error: float | None, time_limit: float | None, seed: int) -> None:
    import math

    from lemmata.errors import SettingError

    for name, value in (("--error", error), ("--time-limit", time_limit)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise SettingError(f"{name} is out of bounds", found=value, rule="a positive finite number")
    check_seed(seed)


def check_seed(seed: int) -> None:
    """Refuse a seed that no generator takes.

    Raises:
        SettingError: not a whole number from 0 to 2³² - 1.
    """
    from lemmata.errors import SettingError

    if not 0 <= seed < 2**32:
        raise SettingError("--seed is out of bounds", found=seed, rule="a whole number from 0 to 4294967295")


def _command(data: str, **options: Any) -> str:
    """The command that repeats this run, quoted for a shell; options at their defaults are left out."""
    words = ["lemmata", "study", data]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        elif isinstance(value, list):
            words += [word for item in value for word in (flag, item)]
        elif value is not None and value is not False:
            words += [flag, str(value).removesuffix(".0") if isinstance(value, float) else str(value)]
    return shlex.join(words)
