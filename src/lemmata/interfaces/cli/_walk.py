"""`lemmata walk`: does a claim hold in the whole region that it declares?"""

import json
import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from lemmata.errors import SettingError
from lemmata.interruption import exit_code, heed

from ._judging import Judging, Kept, LedgerPath, check_limits, named_claims
from ._options import Jobs
from ._subjects import Subjects, is_of, known_subjects, refuse_together
from ._verdicts import EXIT

SECONDS = 60.0
"""The time limit of a trial in seconds, unless --trial-seconds sets another."""
PLACE_SECONDS = 120.0
"""The time limit of all trials at one setting in seconds, unless --place-seconds sets another."""

EMPTY = "inapplicable"
"""The status of a setting at which no trial satisfies the hypotheses."""


def walk(
    claims: Annotated[
        list[str] | None, typer.Argument(help="Claims, named as for `lemmata verify`.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Test every registered claim, the cheapest first.")] = False,
    subject: Subjects = None,
    budget: Annotated[
        int | None,
        typer.Option(help="Number of trials at each setting. Default: enough trials to support a true claim."),
    ] = None,
    level: Annotated[
        float, typer.Option(help="Largest allowed probability of refuting a true statement at any setting.")
    ] = 1e-3,
    seed: Annotated[int, typer.Option(help="Seed of the settings and of all trials.")] = 0,
    jobs: Jobs = 1,
    ledger: LedgerPath = None,
    trial_seconds: Annotated[float, typer.Option(help="Time limit of one trial.")] = SECONDS,
    place_seconds: Annotated[float, typer.Option(help="Time limit of all trials at one setting.")] = PLACE_SECONDS,
    minutes: Annotated[
        float | None, typer.Option(metavar="M", help="Do not start further claims after M minutes.")
    ] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Also test claims whose current code was already tested in this way.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Store the results in the catalogue.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test claims at both ends of every setting's declared range, and at four settings in between.

    The declared range is the region in which a claim should hold. If a claim is refuted there, the claim or its range
    is wrong. A setting that exceeds its time limit is reported as unfinished. Trials in the ledger are reused. If you
    name no claims, the command skips claims with a recorded walk of their current code. `lemmata verify --edges` does
    the same as this command.

    Exit code: 0 if no claim failed or was unexpectedly refuted; 1 if a claim was refuted; 2 after a usage error; 3 if
    time ran out before some claims were tested, or no setting could be tested; 4 if a claim failed, or trials could not
    be recorded; 130 after Ctrl-C.
    """
    from lemmata.engine.catalogue import told_walk
    from lemmata.engine.claims import write_beside

    from ._console import err, out, plain

    if not (claims or everything or subject):
        raise SettingError(
            "lemmata walk",
            rule="names of claims, --all or --subject",
            found="no claim",
            remedy="name a claim, or choose claims with --subject NAME",
        )
    refuse_together(names=claims, all=everything)
    Judging(budget=budget, level=level, seed=seed).check()
    check_limits(minutes=minutes, trial_seconds=trial_seconds, place_seconds=place_seconds)
    chosen = _in_order(_chosen(claims, subject), again or bool(claims))
    if not chosen:
        err.print(
            "Nothing to test: for each of these claims, the catalogue already has the results with the current code. "
            "Use --again to repeat the tests."
        )
    import jax

    jax.config.update("jax_enable_x64", True)
    known, told = {claim.name: claim for claim in chosen}, {}
    asked = {"seed": seed, "budget": budget, "level": level}
    kept = Kept(ledger, seed)
    limits = {"limit": trial_seconds, "most": place_seconds, "jobs": jobs, "run": kept.run.run}
    interrupted = False
    try:
        for name, own in _walked(chosen, asked, limits, minutes, kept):
            told[name] = own
            if not as_json:
                out.print(f"{name}  walked: {told_walk(own)}", markup=False, highlight=False, soft_wrap=True)
                for place in own["where"]:
                    out.print(f"  {place['status']} at {_spelled(place['setting'])}: {place['reason']}",
                              markup=False, highlight=False, soft_wrap=True)  # fmt: skip
            if write and (why := write_beside(known[name], "walk", own)):
                kept.run.unrecorded = kept.unrecorded or f"{name}: {why}"
    except KeyboardInterrupt:
        if not told:
            raise
        interrupted = True
    left = [name for name in known if name not in told]
    if as_json:
        plain(json.dumps({"claims": told, "left": left}, indent=1))
    elif left:
        why = "the walk was interrupted" if interrupted else "time ran out"
        out.print(f"Claims not tested, because {why}: {len(left)}.", markup=False)
    unrecorded = kept.told()
    raise typer.Exit(exit_code() if interrupted else 4 if unrecorded else _code(told, left))


def _code(told: dict[str, dict[str, Any]], left: list[str]) -> int:
    """The exit code of a walk that ran to its end; it is 3 also if no setting was tested.

    No setting is tested if no claim has a setting to vary, no setting was finished in time, or the hypotheses hold at
    no setting.
    """
    from ._console import err

    wrong = {place["status"] for own in told.values() for place in own["where"]}
    judged = sum(count for own in told.values() for status, count in own.items() if status in EXIT)
    failed = sum(own.get("failed", 0) for own in told.values())
    if "failed" in wrong or (failed and failed == judged):
        return EXIT["failed"]
    if told and judged == sum(own.get(EMPTY, 0) for own in told.values()):
        why = "no trial satisfied the hypotheses" if judged else (
            "no claim has a setting to vary, or no setting was finished in time"
        )  # fmt: skip
        err.print(f"Nothing was tested: {why}.", markup=False, highlight=False, soft_wrap=True)
        return EXIT["inconclusive"]
    return EXIT["refuted"] if wrong else EXIT["inconclusive"] if left else 0


def _chosen(claims: list[str] | None, subject: list[str] | None) -> list[Any]:
    from lemmata.engine.claims import registry

    chosen = named_claims(claims) if claims else list(registry().values())
    places = known_subjects(subject, [claim.name for claim in chosen])
    return [claim for claim in chosen if not places or is_of(places, claim.name)]


def _in_order(chosen: list[Any], again: bool) -> list[Any]:
    """The claims to walk, the cheapest first. Each setting is expected to take as long as the default setting."""
    from lemmata.engine.catalogue import costs, records
    from lemmata.engine.claims import fingerprint_of, places

    def is_walked(claim: Any) -> bool:
        return records().get(claim.name, {}).get("walk", {}).get("fingerprint") == fingerprint_of(claim)

    def price(claim: Any) -> float:
        return costs().get(type(claim).__name__, 0.0) * len(places(claim.population.settings()))

    return sorted((claim for claim in chosen if again or not is_walked(claim)), key=price)


def _walked(
    chosen: list[Any], asked: dict[str, Any], limits: dict[str, Any], minutes: float | None, kept: Kept
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the record of each claim by name, as soon as its last setting is judged."""
    from lemmata.engine.claims import run_keyed, walk_of, walk_record

    from ._compilations import kept_compilations

    began = time.monotonic()
    waiting: dict[str, int] = {}
    found: dict[str, list[Any]] = {}
    bare: list[Any] = []

    def tasks() -> Iterator[Any]:
        for claim in chosen:
            if minutes is not None and time.monotonic() - began > 60 * minutes:
                return
            own = walk_of(claim, **asked)
            waiting[claim.name], found[claim.name] = len(own), []
            if not own:
                bare.append(claim)
            yield from own

    for done in run_keyed(tasks(), around=kept_compilations, **limits):
        heed()
        claim = done.task.claim
        kept.run.unrecorded = kept.unrecorded or done.unrecorded
        found[claim.name].append(done)
        if len(found[claim.name]) == waiting[claim.name]:
            yield claim.name, walk_record(claim, found.pop(claim.name))
    for claim in bare:  # claims whose population has no settings to vary
        yield claim.name, walk_record(claim, [])


def _spelled(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items())
