"""`lemmata mutate`: would a claim's trials refute the claim if its statement were slightly wrong?"""

import json
import time
from typing import Annotated, Any

import typer

from lemmata.errors import SettingError
from lemmata.interruption import exit_code, heed

from ._judging import Kept, LedgerPath, check_limits, named_claims
from ._options import Jobs
from ._subjects import Subjects, is_of, known_subjects, refuse_together
from ._verdicts import EXIT


def mutate(
    claims: Annotated[
        list[str] | None, typer.Argument(help="Claims, named as for `lemmata verify`.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Test every registered claim.")] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help=(
                "Test N claims. Claims with the same subject and the same kind of comparison form a group. lemmata "
                "takes one claim of each group in turn, the cheapest first."
            ),
        ),
    ] = None,
    subject: Subjects = None,
    budget: Annotated[
        int | None, typer.Option(help="Number of trials of each claim. Default: enough trials to support a true claim.")
    ] = None,
    level: Annotated[float, typer.Option(help="Largest allowed probability of refuting a true statement.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Seed of the sample and of all trials.")] = 0,
    jobs: Jobs = 1,
    ledger: LedgerPath = None,
    minutes: Annotated[
        float | None, typer.Option(metavar="M", help="Do not start further claims after M minutes.")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Store the results in the catalogue.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print only the tables, as Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test slightly wrong versions of claims on the same trials, and report the distance of the nearest refuted one.

    Predictions are multiplied by 1.05, 0.95, 1.25 and 0.8. Exponents are changed by 0.1 and 0.2. Bounds are tightened,
    effects are switched off, and variables are exchanged. The score is the fraction of these wrong versions that the
    trials refute. Only supported claims that are neither vacuous nor loose count. Trials in the ledger are reused.

    Exit code: 0 if all claims were tested; 2 after a usage error; 3 if time ran out before some claims were tested, or
    no trial satisfied the hypotheses; 4 if a claim failed, or trials could not be recorded; 130 after Ctrl-C.
    """
    from lemmata.engine.catalogue import told_mutations
    from lemmata.engine.claims import registry, write_beside
    from lemmata.workers import workers

    from ._console import out, plain

    if not (claims or everything or subject or sample is not None):
        raise SettingError(
            "lemmata mutate",
            rule="names of claims, --all, --subject or --sample",
            found="no claim",
            remedy="name a claim, or choose claims with --subject NAME",
        )
    refuse_together(names=claims, all=everything)
    refuse_together(json=as_json, markdown=markdown)
    chosen = named_claims(claims) if claims else list(registry().values())
    places = known_subjects(subject, [claim.name for claim in chosen])
    chosen = [claim for claim in chosen if not places or is_of(places, claim.name)]
    chosen = _sampled(chosen, sample, seed)
    _check(budget, level)
    check_limits(minutes=minutes)
    import jax

    jax.config.update("jax_enable_x64", True)
    known, found, failed, interrupted = {claim.name: claim for claim in chosen}, {}, {}, False
    kept = Kept(ledger, seed)
    asked = {"seed": seed, "budget": budget, "level": level, "run": kept.run}
    try:
        with workers(jobs) as executor:
            for name, own, unrecorded in _mutated(chosen, asked, executor, minutes):
                kept.run.unrecorded = kept.unrecorded or unrecorded
                if isinstance(own, str):
                    failed[name] = own
                else:
                    found[name] = own
                    if write and (why := write_beside(known[name], "mutations", own)):
                        kept.run.unrecorded = kept.unrecorded or f"{name}: {why}"
                if not (as_json or markdown):
                    told = f"failed: {own}" if isinstance(own, str) else told_mutations(own)
                    out.print(f"{name}  {told}", markup=False, highlight=False, soft_wrap=True)
    except KeyboardInterrupt:
        if not (found or failed):
            raise
        interrupted = True
    left = [name for name in known if name not in found and name not in failed]
    if as_json:
        plain(json.dumps({"claims": found, "failed": failed, "left": left}, indent=1))
    else:
        _print_scores(found)
        if left:
            why = "the run was interrupted" if interrupted else "time ran out"
            out.print(f"Claims not tested, because {why}: {len(left)}.", markup=False)
    unrecorded = kept.told()
    raise typer.Exit(exit_code() if interrupted else _code(found, bool(failed) or unrecorded, bool(left)))


def _code(found: dict[str, dict[str, Any]], failed: bool, left: bool) -> int:
    """The exit code of a completed run. The code is also 3 if no claim had a trial that satisfied the hypotheses."""
    from ._console import err

    if failed or any(own["status"] == "failed" for own in found.values()):
        return EXIT["failed"]
    if found and not any(own["trials"] for own in found.values()):
        err.print("Nothing was tested: no trial of these claims satisfied the hypotheses.")
        return EXIT["inapplicable"]
    return EXIT["inconclusive"] if left else 0


def _sampled(chosen: list[Any], sample: int | None, seed: int) -> list[Any]:
    from lemmata.engine.claims import drawn

    from ._study import check_seed

    check_seed(seed)
    return chosen if sample is None else drawn(chosen, sample, seed)


def _check(budget: int | None, level: float) -> None:
    """Refuse invalid options before a run begins."""
    from ._judging import Judging

    Judging(budget=budget, level=level).check()


def _mutated(chosen: list[Any], asked: dict, executor: Any, minutes: float | None) -> Any:
    """Yield each claim's name with its finished record, or with the reason why the claim has no record.

    Each result also gives the reason why trials were not stored.
    """
    from lemmata.engine.claims import sent
    from lemmata.workers import Lost, finished

    began = time.monotonic()

    def tasks() -> Any:
        for claim in chosen:
            if minutes is not None and time.monotonic() - began > 60 * minutes:
                return
            yield claim.name, (sent(claim), asked)

    for name, own in finished(executor, _record, tasks()):
        heed()  # a claim that Ctrl-C cut short was not tested
        yield (name, own.error, "") if isinstance(own, Lost) else (name, *own)


def _record(claim: Any, asked: dict) -> tuple[dict[str, Any], str]:
    """The record of one claim, and the reason why its trials were not stored (empty if they were).

    The compiled code of the claim is then released, since the compiled code of hundreds of claims would fill the
    memory.
    """
    import jax

    from lemmata.engine.claims import compiled, mutate, mutation_record, received

    claim = received(claim)
    try:
        return mutation_record(claim, mutate(claim, **asked)), asked["run"].unrecorded
    finally:
        compiled.cache_clear()
        jax.clear_caches()


def _print_scores(found: dict[str, dict[str, Any]]) -> None:
    """If more than one claim was mutated, print scores by relation and subject, and distances of refuted versions."""
    from lemmata.engine.catalogue import distance_table, score_table, scores

    from ._console import plain

    if len(found) < 2:
        return
    told = [score_table(scores(found, by), head) for head, by in (("relation", _relation), ("subject", _subject))]
    for lines in (*told, distance_table(found)):
        plain("")
        for line in lines:
            plain(line)


def _relation(name: str, record: dict[str, Any]) -> str:
    return record["relation"]


def _subject(name: str, record: dict[str, Any]) -> str:
    return name.partition(".")[0]
