"""`lemmata judge`: judge a family of claims together, at one level."""

import dataclasses
from typing import Annotated

import typer

from lemmata.errors import DataError, SettingError

from ._family import Family
from ._family_report import tell
from ._family_run import TRIAL_SECONDS, FamilyRun, RunOptions, of_package
from ._options import with_options


def _judge(
    family: Family,
    own: RunOptions,
    claims: Annotated[
        list[str] | None, typer.Argument(help="Claims, named as for `lemmata verify`.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test many claims together: all claims, some subjects, claims with changed code, or claims that you name.

    The probability that any true claim among them is refuted is at most the level. Claims whose trials promise the most
    information per second come first. Verdicts in the ledger are reused if the code of the claim has not changed. If
    one claim hangs, the other claims go on.

    The exit code is 0 if every verdict is the expected one. Statements that are false as printed are expected to be
    refuted. With --stale, the exit code is 0 only if the catalogue was also up to date. With --part, only the claims'
    own code must have been up to date. Other exit codes: 2 after a usage error; 3 if claims were left out; 4 if a claim
    raised, hung, gave NaN, or could not be recorded. In all other cases, the exit code is that of the worst unexpected
    verdict, as in `lemmata verify`.
    """
    family.check(claims)
    own.check()
    if own.trial_seconds is None and not claims:
        own = dataclasses.replace(own, trial_seconds=TRIAL_SECONDS)
    import jax

    jax.config.update("jax_enable_x64", True)
    from ._app import at_end
    from ._compilations import kept_compilations

    at_end.enter_context(kept_compilations())
    chosen = family.claims(claims)
    foreign = [claim.name for claim in chosen if not of_package(claim)]
    if foreign and own.write:
        raise SettingError(
            f"--write with claim {foreign[0]}",
            rule="--write is only for claims of lemmata's catalogue",
            remedy="leave --write out, or leave this claim out",
        )
    out_of_date = family.out_of_date(chosen)
    run = FamilyRun(chosen, own)
    _judged(run)
    raise typer.Exit(tell(run, out_of_date, as_json))


judge = with_options(_judge, Family, RunOptions)


def _judged(run: FamilyRun) -> None:
    """Judge the claims, print each verdict as it comes, and store it in the catalogue if this is requested."""
    from lemmata.engine.catalogue import costs, give_tags, write_costs
    from lemmata.engine.claims import record_of, registry, write_record

    from ._console import err
    from ._verdicts import amiss

    for claim, verdict in run.judge():
        wrong = "" if verdict.status is claim.expected else "  NOT AS EXPECTED"
        at = f"[{len(run.judged)}/{len(run.chosen)}]"
        err.print(
            f"{at} {verdict.status:<12} {verdict.name} {verdict.seconds:.1f} s{wrong}", markup=False, highlight=False
        )
        if run.options.write and amiss([claim], {claim.name: verdict}):
            run.notes.append(f"{claim.name} breaks a rule for writing claims, so its record was not changed")
        elif run.options.write:
            try:
                write_record(claim, record_of(claim, verdict))
                if run.options.continued or verdict.seconds > costs().get(type(claim).__name__, 0.0):
                    write_costs({type(claim).__name__: verdict.seconds})  # trials from the ledger take less time
            except DataError as error:  # an error of one file; other claims may have other errors
                run.notes.append(f"{claim.name}: its record could not be written: {error}")
    if run.options.write:
        give_tags(type(claim).__name__ for claim in registry().values())
