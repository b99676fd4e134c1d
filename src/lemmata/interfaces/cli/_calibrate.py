"""`lemmata calibrate`: measure the engine's error rates on statements that are known to be true or false."""

import json
from typing import Annotated

import typer

from ._options import Dask, Jobs
from ._subjects import refuse_together

_HEAD = "| relation | family | promised result | trials | level | share with this result | exact limits | least share |"


def calibrate(
    repeats: Annotated[
        int, typer.Option(help="How often each kind of test claim is verified.", min=10, max=1_000_000)
    ] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of all random numbers.")] = 0,
    jobs: Jobs = 1,
    dask: Dask = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print the table as Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure how often verdicts are wrong, on statements that are known to be true or false.

    The command measures how often true statements are refuted, nearly true statements are detected, intervals contain
    the true value, and false statements are supported.

    Exit code: 0 if the repetitions agree with every promised rate; 1 if they do not; 4 if a worker died.
    """
    from ._study import check_seed

    check_seed(seed)
    refuse_together(json=as_json, markdown=markdown)
    from rich.console import Console

    from lemmata.engine.claims import calibrate as measure
    from lemmata.workers import workers

    from ._app import at_end
    from ._console import err, out, plain
    from ._progress import StageProgress

    executor = at_end.enter_context(workers(jobs, dask))
    with StageProgress(err if isinstance(err, Console) else Console(stderr=True)) as progress:
        told = lambda done, total: progress("Families", done, total)
        found = measure(repeats, seed, progress=told, executor=executor)
    for one in found:
        if one.error:
            err.print(one.error, markup=False, highlight=False, soft_wrap=True)
    found, lost = [one for one in found if not one.error], any(one.error for one in found)
    rows = [
        {
            "relation": type(one.family.relation).__name__,
            "family": one.family.what,
            "asked": one.family.asked,
            "trials": one.family.trials,
            "level": one.level,
            "rate": one.rate,
            "low": one.limits[0],
            "high": one.limits[1],
            "least": one.least,
            "passed": one.passed,
        }
        for one in found
    ]
    if as_json:
        plain(json.dumps(rows, indent=1))
    elif markdown:
        plain(_HEAD)
        plain("| --- | --- | --- | ---: | ---: | ---: | --- | ---: |")
        for row in rows:
            plain(
                "| {relation} | {family} | {asked} | {trials} | {level:g} | ".format(**row)
                + _figures(row, " | ")
                + " |"
            )
    else:
        for row in rows:
            mark = "" if row["passed"] else "  NOT AS PROMISED"
            out.print(f"{row['relation']}: {row['family']}", style="bold", markup=False, highlight=False)
            said = f"  {row['asked']} at level {row['level']:g}, {row['trials']} trials: {_figures(row, ', ')}{mark}"
            out.print(said, markup=False, highlight=False)
    wrong = sum(not row["passed"] for row in rows)
    if not as_json:
        told = f"{len(rows)} families of test claims were verified {repeats} times each (seed {seed})"
        plain(f"\n{told}. In {wrong} of these families, the result is not as promised.")
    raise typer.Exit(4 if lost else int(bool(wrong)))


def _figures(row: dict, between: str) -> str:
    return between.join((f"{row['rate']:.4f}", f"{row['low']:.4f} to {row['high']:.4f}", f"{row['least']:g}"))
