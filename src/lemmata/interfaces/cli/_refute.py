"""`lemmata refute`: search for a problem on which a claim fails."""

import json
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lemmata.errors import LemmataError, SettingError, line_of
from lemmata.files import check_place
from lemmata.interruption import exit_code
from lemmata.printable import clean

from ._judging import named_claims
from ._options import Dask, Jobs, parse_settings
from ._subjects import Subjects, is_of, known_subjects
from ._verdicts import EXIT

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
            help=(
                "Use with --write. Search for counterexamples to all bounds and to all statements that are false as "
                "printed. Searches that the catalogue already has are left out."
            ),
        ),
    ] = False,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help=(
                "Record the tightness in the catalogue: the largest ratio of measured value to bound that the search "
                "finds. With --write, --minutes counts processor time."
            ),
        ),
    ] = False,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Keep this setting at VALUE.")
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
    error; 3 if no problem satisfied the hypotheses of a claim; 4 if no problem of a claim gave a number, a worker died
    during a search, or a result could not be written or stored; 130 after Ctrl-C.
    """
    from ._study import check_seed

    check_seed(seed)
    import jax

    jax.config.update("jax_enable_x64", True)
    from lemmata.workers import workers

    from ._app import at_end
    from ._console import err, plain

    # These paths are made absolute before the code of a claim can change the current folder.
    given, told = parse_settings(setting), _Told(directory, as_json)
    storage = storage if storage is None or "://" in storage else os.path.abspath(storage)
    others = {"--set": setting, "--without": without, "--out": directory, "--storage": storage, "--jobs": jobs > 1,
              "--dask": dask}  # fmt: skip
    _check_asked(claims, subject, everything, write, others | {"--needs": needs})
    if needs:
        _check_needs(others | {"--json": as_json})
    own = _asked(claims, subject, everything)
    if write:
        raise typer.Exit(_record(own, minutes, seed, as_json))
    if needs:
        raise typer.Exit(_needed(own, minutes, seed))
    executor = at_end.enter_context(workers(jobs, dask))
    options = {"setting": given, "seed": seed, "without": without, "storage": storage}
    try:
        for name, found in _found(executor, own, 60 * minutes, options):
            told.add(name, found)
            if getattr(found, "interrupted", False):
                raise KeyboardInterrupt
    except KeyboardInterrupt:
        if not told.rows:
            raise
        told.interrupted = True
    if as_json:
        plain(json.dumps(told.rows, indent=1))
    if told.interrupted:
        rest = [claim.name for claim in own if claim.name not in told.finished]
        words = f"Interrupted; only the searches above were finished. Not finished: {', '.join(rest[:10])}"
        err.print(words + (f" and {len(rest) - 10} more" if len(rest) > 10 else "") + ".",
                  markup=False, highlight=False, soft_wrap=True)  # fmt: skip
    raise typer.Exit(told.code)


class _Told:
    """The results of searches, and the exit code. Each result is printed as soon as it is known, and then written."""

    def __init__(self, directory: Path | None, as_json: bool):
        self._directory, self._as_json = directory, as_json
        self._place = None if directory is None else directory.absolute()
        self.rows: list[dict[str, Any]] = []
        self.finished: set[str] = set()
        self._codes = {0}
        self.interrupted = False

    @property
    def code(self) -> int:
        """The exit code. If several codes apply, 4 (a result is missing) wins over all others, and 1 wins over 3."""
        if self.interrupted:
            return exit_code()
        return next(code for code in (EXIT["failed"], EXIT["refuted"], EXIT["inapplicable"], 0) if code in self._codes)

    def add(self, name: str, found: Any) -> None:
        """Print the result of a search and write its counterexample; report a file that cannot be written."""
        from lemmata.engine.refutations import Counterexample, Untested
        from lemmata.workers import Lost

        from ._console import err, out

        if not getattr(found, "interrupted", False):
            self.finished.add(name)
        if isinstance(found, Lost):
            self._amiss(f"{name}: {found.error}")
            return
        refuted = isinstance(found, Counterexample)
        self._codes.add(EXIT[found.status] if isinstance(found, Untested) else int(refuted))
        if isinstance(found, Untested) or not self._as_json:
            console = err if self._as_json else out
            console.print(clean(str(found), lines=True), markup=False, highlight=False, soft_wrap=True)
        written = self._written(name, found) if refuted and self._directory is not None else None
        if written is not None and not self._as_json:
            out.print(clean(f"Written: {written}"), markup=False, highlight=False, soft_wrap=True)
        if found.unstored:
            self._amiss(f"{name}: the search could not be stored: {found.unstored}")
        self.rows.append(_row(name, found, refuted, written))

    def _written(self, name: str, found: Any) -> Path | None:
        assert self._directory is not None
        assert self._place is not None
        try:
            check_place(self._place, f"{name}/counterexample.json")
            return self._directory / found.save(self._place / name).relative_to(self._place)
        except OSError as error:  # also a FileError of lemmata
            self._amiss(f"{name}: the counterexample could not be written: {error}")
            return None

    def _amiss(self, words: str) -> None:
        from ._console import err

        self._codes.add(EXIT["failed"])
        err.print(clean(words), markup=False, highlight=False, soft_wrap=True)


def _needed(claims: "list[Claim]", minutes: float, seed: int) -> int:
    """Print, for each claim, without which of its hypotheses it fails.

    The result is 3 if no hypothesis can be dropped, and 4 if a search tested nothing.
    """
    from lemmata.engine.refutations import ablate

    from ._console import err, out

    codes, told = set(), []

    def tell(one: Any) -> None:
        told.append(one)
        out.print(clean(str(one), lines=True), markup=False, highlight=False, soft_wrap=True)

    for claim in claims:
        try:
            found = ablate(claim, 60 * minutes, seed=seed, found=tell)
        except KeyboardInterrupt:
            if not told:
                raise
            err.print("Interrupted; only the hypotheses above were tested.")
            return exit_code()
        codes |= {EXIT["failed"] if one.untested else 0 for one in found} or {EXIT["inapplicable"]}
        if not found:
            words = f"{claim.name}: no hypothesis can be checked, so none was dropped"
            out.print(words, markup=False, highlight=False, soft_wrap=True)
    return max(codes)


def _found(executor: Any, claims: list[Any], budget: float, options: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each claim with the result of its search when the search is finished."""
    from lemmata.engine.refutations import refute as search
    from lemmata.engine.refutations import searches
    from lemmata.workers import Lost

    from ._console import err
    from ._progress import StageProgress

    if executor is not None:
        each = max(1, executor._max_workers // max(1, len(claims)))
        yield from searches(executor, search, claims, budget, each=each, **options)
        return
    for claim in claims:
        with StageProgress(err) as progress:

            def moved(settings: int, ratio: float | None, name: str = claim.name, progress: Any = progress) -> None:
                progress(
                    f"{name}: {settings} setting{'s' * (settings != 1)} tried"
                    + ("" if ratio is None else f", ratio {ratio:.4g}"),
                    0,
                    1,
                )

            try:
                found = search(claim, budget, progress=moved, **options)
            except LemmataError:
                raise
            except Exception as error:  # a claim's own code may raise anything
                found = Lost(claim.name, line_of(error))
        yield claim.name, found


def _asked(names: list[str] | None, subject: list[str] | None, everything: bool) -> "list[Claim]":
    """The claims to search: the named ones, or all, restricted to a subject if one is given."""
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
    """Refuse options that cannot be combined."""
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
            rule="the catalogue keeps only searches with the default options in one process",
            remedy="use --write with the default options, or leave --write out",
        )


def _check_needs(others: dict[str, Any]) -> None:
    """Refuse options that --needs would ignore."""
    given = [name for name, value in others.items() if value]
    if given:
        raise SettingError(
            f"--needs with {', '.join(given)}",
            rule="--needs searches with the default options in one process, and prints sentences instead of JSON",
            remedy="use --needs alone, or leave --needs out",
        )


def _record(claims: "list[Claim]", minutes: float, seed: int, as_json: bool) -> int:
    """Search claims for the catalogue. Return 1 if a claim fails unexpectedly, 4 if a claim could not be tested."""
    from lemmata.engine.catalogue import told_search
    from lemmata.engine.claims import Status

    from ._console import err, out, plain
    from ._tightness import searched_one_by_one

    rows, broken, failed = [], False, False
    if not claims:
        err.print(
            "Nothing to search: for each of these claims, the catalogue already has the result of a search with the "
            "current code."
        )
    for claim, record in searched_one_by_one(claims, minutes, seed):
        if isinstance(record, str):
            failed = True
            err.print(f"{claim.name}: {record}", markup=False, highlight=False, soft_wrap=True)
            continue
        broken |= bool(record["refuted"]) and claim.expected is not Status.REFUTED
        rows.append(record)
        if not as_json:
            out.print(f"{claim.name}: {told_search(record)}", markup=False, highlight=False, soft_wrap=True)
    if as_json:
        plain(json.dumps(rows, indent=1))
    return EXIT["failed"] if failed else int(broken)


def _row(name: str, found: Any, refuted: bool, written: Path | None) -> dict[str, Any]:
    from lemmata.engine.refutations import Untested

    place, ratio = getattr(found, "place", None), getattr(found, "ratio", None)
    ratio = ratio if ratio is None or math.isfinite(ratio) else None
    return {
        "claim": name, "refuted": refuted, "tested": not isinstance(found, Untested), "ratio": ratio,
        "trials": found.trials, "setting": None if place is None else place.setting,
        "program": None if written is None else str(written),
    }  # fmt: skip
