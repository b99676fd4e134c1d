"""`lemmata verify`: judge named statements on sampled problems. The exit code gives the verdict."""

import json
from typing import Annotated, Any

import typer

from lemmata.errors import SettingError

from ._judging import Judging, Kept, named_claims
from ._options import parse_settings, with_options
from ._verdicts import EXIT, show_verdict, worst


def _verify(
    own: Judging,
    claims: Annotated[
        list[str] | None,
        typer.Argument(
            help=(
                'Claims: full names, ends of names, tags, subjects, sections, statement numbers ("Lemma E.4"), or '
                "FILE.py[:Claim]."
            ),
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Change a setting of the claim; repeatable.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test one or a few named claims on sampled problems.

    The exit code gives the verdict: 0 supported, 1 refuted, 2 usage error, 3 inconclusive or inapplicable, 4 failed, 5
    vacuous (the bound holds but is no better than the trivial one), 6 outside or fails outside (a hypothesis is known
    to be false).

    If you name several claims, the probability that any true claim is refuted is at most the level. The exit code is
    then 0 if every verdict is the expected one. Statements that are false as printed are expected to be refuted.

    If the ledger cannot be written, the verdict is printed with the reason why it was not recorded, and the exit code
    is 4.

    To test many claims within a time limit, use `lemmata judge`. `lemmata verify --stale` does the same as `lemmata
    judge --stale`.
    """
    own.check()
    if not claims:
        raise SettingError(
            "lemmata verify",
            found="no claim",
            rule="at least one claim",
            remedy="name a claim (`lemmata list` lists all claims), or judge many claims with `lemmata judge`",
        )
    import jax

    jax.config.update("jax_enable_x64", True)
    from lemmata.engine.claims import verify, verify_all
    from lemmata.workers import workers

    from ._app import at_end
    from ._compilations import kept_compilations
    from ._console import plain

    at_end.enter_context(kept_compilations())
    chosen = named_claims(claims)
    for option, given in (("--set", settings), ("--corners", own.corners is not None)):
        if len(chosen) > 1 and given:
            raise SettingError(
                option,
                found=f"{len(chosen)} claims",
                rule="one claim, because settings belong to a single claim",
                remedy="verify the claims one at a time",
            )
    executor = at_end.enter_context(workers(own.jobs, own.dask))
    kept = Kept(own.ledger, own.seed, carried=own.dask is not None)
    alike: dict[str, Any] = {"budget": own.budget, "level": own.level, "seed": own.seed}
    if len(chosen) == 1:
        given = parse_settings(settings)
        verdicts = [verify(chosen[0], given, corners=own.corners, executor=executor, run=kept.run, **alike)]
        code = EXIT[verdicts[0].status]
    else:
        verdicts = verify_all(chosen, executor=executor, run=kept.run, **alike)
        code = worst(chosen, verdicts)
    known = {claim.name: claim for claim in chosen}
    _say_rules(chosen)
    for verdict in verdicts:
        kept.add(known[verdict.name], verdict)
    if as_json:
        records = [verdict.to_json() for verdict in verdicts]
        plain(json.dumps(records[0] if len(records) == 1 else records, indent=1, allow_nan=False))
    else:
        _report(verdicts, len(chosen), own.level)
    raise typer.Exit(EXIT["failed"] if kept.told() else code)


verify = with_options(_verify, Judging)


def _say_rules(claims: list[Any]) -> None:
    """Print the rules for writing claims that these claims break, because a verdict does not show them."""
    from lemmata.engine.claims import check_writing
    from lemmata.errors import ClaimError

    from ._console import err

    for claim in claims:
        try:
            check_writing(claim)
        except ClaimError as error:
            err.print(f"This claim breaks a rule: {error}", markup=False, highlight=False)


def _report(verdicts: list[Any], chosen: int, level: float) -> None:
    from ._console import plain

    for verdict in verdicts:
        show_verdict(verdict, short=len(verdicts) > 1)
    if len(verdicts) > 1:
        plain(
            f"{len(verdicts)} claims were judged at a family-wise level of {level:g}; each verdict gives its own level."
        )
    if len(verdicts) < chosen:
        plain(f"Interrupted: {chosen - len(verdicts)} claims were not tested.")
