"""`lemmata verify`: judge claims on sampled problems. Exit codes say the verdict."""

import json
from typing import Annotated

import typer

from lemmata.errors import SettingError

EXIT = {"supported": 0, "refuted": 1, "inconclusive": 3, "inapplicable": 3, "failed": 4}


def verify_claims(
    claims: Annotated[
        list[str] | None,
        typer.Argument(help="Claims, ends of names, chapters or sections, or FILE.py[:claim].", show_default=False),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the claim; repeatable.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Number of trials, fixed beforehand; default: the claim's own.")
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of refuting a true statement.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    everything: Annotated[
        bool, typer.Option("--all", help="Every registered claim, with a family-wise level (Holm).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Verify claims. Exit code 0 supported, 1 refuted, 2 usage, 3 inconclusive or inapplicable, 4 failed.

    With --all, or several claims, the family-wise error is at most the level, and the exit code is 0 where every
    verdict is the expected one (a misprint entered as printed is expected to be refuted).
    """
    from ._study import check_seed

    check_seed(seed)
    import jax

    jax.config.update("jax_enable_x64", True)
    from lemmata.claims import find, registry, verify, verify_all

    from ._app import at_end
    from ._compilations import kept_compilations
    from ._console import plain

    at_end.enter_context(kept_compilations())

    chosen = list(registry().values()) if everything else [claim for name in claims or [] for claim in find(name)]
    if not chosen:
        raise SettingError("verify", rule="at least one claim, or --all", remedy="`lemmata list` lists the claims")
    if len(chosen) > 1 and settings:
        raise SettingError("--set", found=f"{len(chosen)} claims", rule="settings belong to one claim")
    if len(chosen) == 1:
        verdicts = [verify(chosen[0], parse_settings(settings), budget=budget, level=level, seed=seed)]
        code = EXIT[verdicts[0].status]
    else:
        verdicts = verify_all(chosen, budget=budget, level=level, seed=seed)
        wrong = [v.status for v, claim in zip(verdicts, chosen, strict=False) if v.status is not claim.expected]
        unfinished = len(chosen) - len(verdicts)
        code = max([EXIT[status] or 1 for status in wrong] + [EXIT["inconclusive"]] * bool(unfinished), default=0)
    if as_json:
        records = [verdict.to_json() for verdict in verdicts]
        plain(json.dumps(records[0] if len(records) == 1 else records, indent=1, allow_nan=False))
    else:
        for verdict in verdicts:
            _print(verdict, short=len(verdicts) > 1)
        if len(verdicts) > 1:
            plain(f"{len(verdicts)} claims at a family-wise level of {level:g}; each verdict names its own level.")
        if len(verdicts) < len(chosen):
            plain(f"Interrupted: {len(chosen) - len(verdicts)} claims were not run.")
    raise typer.Exit(code)


def parse_settings(pairs: list[str] | None) -> dict[str, str]:
    """NAME=VALUE pairs as a dictionary; SettingError where one has no equals sign."""
    setting = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SettingError("--set", found=repr(pair), rule="NAME=VALUE, for example --set n=100")
        setting[name.strip()] = value.strip()
    return setting


def _print(verdict, short: bool) -> None:
    from ._console import out

    colour = {"supported": "green", "refuted": "red", "failed": "magenta"}.get(verdict.status, "yellow")
    out.print(f"[{colour} bold]{verdict.status}[/]  {verdict.name}  [dim]{verdict.source}[/dim]", highlight=False)
    out.print(f"  {verdict.reason}", markup=False, highlight=False)
    vacuous = "" if verdict.vacuous is None else f"; vacuous in {verdict.vacuous:.0%} of the trials"
    low, middle, high = verdict.slack or (None, None, None)
    slack = "" if middle is None else f"; predicted / measured {middle:.3g} ({low:.3g} to {high:.3g})"
    out.print(
        f"  {verdict.judged} of {verdict.requested} trials judged at level {verdict.level:.2g}; "
        f"control {verdict.control}{vacuous}{slack}; {verdict.seconds:.1f} s",
        markup=False,
        highlight=False,
    )
    if not short:
        setting = ", ".join(f"{name}={value}" for name, value in verdict.setting.items()) or "none"
        out.print(
            f"  settings: {setting}; seed {verdict.seed}; worst trial {verdict.worst}", markup=False, highlight=False
        )
        out.print(f"  {verdict.remedy}", markup=False, highlight=False)
