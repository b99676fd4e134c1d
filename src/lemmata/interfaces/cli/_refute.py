"""`lemmata refute`: a search for a problem on which a claim fails."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lemmata.errors import SettingError

from ._judging import named_claims
from ._options import Dask, Jobs, parse_settings
from ._subjects import Subjects, is_of, known_subjects

if TYPE_CHECKING:
    from lemmata.engine.claims import Claim


def refute(
    claims: Annotated[
        list[str] | None,
        typer.Argument(help="Claims: names, subjects, statement numbers, or files.", show_default=False),
    ] = None,
    subject: Subjects = None,
    minutes: Annotated[float, typer.Option(help="Search time for each claim, in minutes.", min=0.001)] = 1.0,
    everything: Annotated[
        bool,
        typer.Option(
            "--all",
            help="Use with --write: search all bounds and all false printed statements that have no recorded search.",
        ),
    ] = False,
    write: Annotated[
        bool,
        typer.Option("--write", help="Record the tightness in the catalogue. --minutes then counts processor time."),
    ] = False,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Keep this setting fixed.")
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(help="Allow problems that violate this hypothesis. Give the exact name of the hypothesis."),
    ] = None,
    needs: Annotated[
        bool, typer.Option("--needs", help="Drop each hypothesis in turn, to see which hypotheses the statement needs.")
    ] = False,
    directory: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="Write counterexamples into this directory.")
    ] = None,
    jobs: Jobs = 1,
    dask: Dask = None,
    storage: Annotated[
        str | None,
        typer.Option(help="SQLite file or database URL that stores the search. An earlier search in it is continued."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Search for a counterexample: a problem that satisfies a claim's hypotheses and contradicts its conclusion.

    If the search finds a counterexample, the command writes DIR/CLAIM/counterexample.py, with a record and arrays. This
    program shows that the claim is false. With --jobs or --dask, several claims are searched at the same time. If you
    name a single claim, each worker searches it with another seed.

    Exit code: 0 if every claim survived, which is evidence and not a proof; 1 if a claim is false; 2 after a usage
    error; 4 if a worker died during a search.
    """
    from ._study import check_seed

    check_seed(seed)
    import jax

    jax.config.update("jax_enable_x64", True)
    from lemmata.engine.refutations import Counterexample, ablate
    from lemmata.workers import Lost, workers

    from ._app import at_end
    from ._console import err, out, plain

    given = parse_settings(setting)
    _check_asked(claims, subject, everything, write, {"--set": setting, "--without": without, "--needs": needs,
                                             "--out": directory, "--storage": storage})  # fmt: skip
    own = _asked(claims, subject, everything)
    if write:
        raise typer.Exit(_record(own, minutes, seed, as_json))
    rows: list[dict[str, Any]] = []
    if needs:
        for claim in own:
            for one in ablate(claim, 60 * minutes, seed=seed):
                out.print(str(one), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(0)
    executor = at_end.enter_context(workers(jobs, dask))
    options = {"setting": given, "seed": seed, "without": without, "storage": storage}
    broken = lost = False
    for name, found in _found(executor, own, 60 * minutes, options):
        if isinstance(found, Lost):
            lost = True
            err.print(f"{name}: {found.error}", markup=False, highlight=False, soft_wrap=True)
            continue
        refuted = isinstance(found, Counterexample)
        broken |= refuted
        written = found.save(directory / name) if refuted and directory is not None else None
        rows.append(_row(name, found, refuted, written))
        if not as_json:
            out.print(str(found), markup=False, highlight=False, soft_wrap=True)
            if written is not None:
                out.print(f"Written: {written}", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        plain(json.dumps(rows, indent=1))
    raise typer.Exit(4 if lost else int(broken))


def _found(executor: Any, claims: list[Any], budget: float, options: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Each claim with what its search found, as it is finished."""
    from lemmata.engine.refutations import refute as search
    from lemmata.engine.refutations import searches

    from ._console import err
    from ._progress import StageProgress

    if executor is not None:
        each = max(1, executor._max_workers // max(1, len(claims)))
        yield from searches(executor, search, claims, budget, each=each, **options)
        return
    for claim in claims:
        with StageProgress(err) as progress:

            def moved(settings: int, ratio: float | None, name: str = claim.name, progress: Any = progress) -> None:
                progress(f"{name}: {settings} settings" + ("" if ratio is None else f", ratio {ratio:.4g}"), 0, 1)

            found = search(claim, budget, progress=moved, **options)
        yield claim.name, found


def _asked(names: list[str] | None, subject: list[str] | None, everything: bool) -> "list[Claim]":
    """The claims to search: those that are named, or all, and of a subject where one is given."""
    from lemmata.engine.claims import registry

    from ._tightness import is_recorded, wanted

    known = named_claims(names)
    if not names:
        known = wanted() if everything else list(registry().values())
    places = known_subjects(subject, [claim.name for claim in known])
    found = [claim for claim in known if not places or is_of(places, claim.name)]
    return [claim for claim in found if not is_recorded(claim)] if everything else found


def _check_asked(
    names: list[str] | None, subject: list[str] | None, everything: bool, write: bool, others: dict[str, Any]
) -> None:
    """Refuse combinations that mean nothing."""
    if not (names or subject or everything):
        raise SettingError(
            "lemmata refute",
            rule="the names of claims, --subject, or --all",
            found="no claim",
            remedy="name a claim, or choose claims with --subject NAME",
        )
    if names and everything:
        raise SettingError(
            "names of claims with --all", rule="either names of claims, or --all", remedy="leave one of them out"
        )
    if everything and not write:
        raise SettingError(
            "--all without --write",
            rule="--all searches the whole catalogue and needs --write",
            remedy="add --write, or search the claims of one subject with --subject NAME",
        )
    given = [name for name, value in others.items() if value]
    if write and given:
        raise SettingError(
            f"--write with {', '.join(given)}",
            rule="the catalogue keeps only searches with the default options",
            remedy="leave --write or the other options out",
        )


def _record(claims: "list[Claim]", minutes: float, seed: int, as_json: bool) -> int:
    """Search claims for the catalogue; 1 where one fails that is not known to be false."""
    from lemmata.engine.catalogue import told_search
    from lemmata.engine.claims import Status

    from ._console import out, plain
    from ._tightness import searched_one_by_one

    rows, broken = [], False
    for claim, record in searched_one_by_one(claims, minutes, seed):
        broken |= bool(record["refuted"]) and claim.expected is not Status.REFUTED
        rows.append(record)
        if not as_json:
            out.print(f"{claim.name}: {told_search(record)}", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        plain(json.dumps(rows, indent=1))
    return int(broken)


def _row(name: str, found: Any, refuted: bool, written: Path | None) -> dict[str, Any]:
    place = found.place
    ratio = found.ratio if found.ratio is None or math.isfinite(found.ratio) else None
    return {
        "claim": name, "refuted": refuted, "ratio": ratio, "trials": found.trials,
        "setting": None if place is None else place.setting, "program": None if written is None else str(written),
    }  # fmt: skip
