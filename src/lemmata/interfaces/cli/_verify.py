"""`lemmata verify`: judge claims on sampled problems. Exit codes say the verdict."""

import functools
import json
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from lemmata.errors import SettingError

from ._options import Dask, Jobs
from ._verdicts import EXIT, show_verdict, worst

MOST_TRIALS = 10**7
"""The largest budget: at a thousand trials a second, which few claims reach, it takes three hours."""


def verify_claims(
    claims: Annotated[
        list[str] | None,
        typer.Argument(
            help='Claims, ends of names, chapters, sections, "Lemma E.4", or FILE.py[:Claim].', show_default=False
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="A setting of the claim; repeatable.")
    ] = None,
    budget: Annotated[
        int | None, typer.Option(help="Number of trials, fixed beforehand; default: what support needs.")
    ] = None,
    corners: Annotated[
        int | None, typer.Option(help="Other settings to judge; default: 3, none with --set.", min=0, max=50)
    ] = None,
    level: Annotated[float, typer.Option(help="Probability of refuting a true statement.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    everything: Annotated[
        bool, typer.Option("--all", help="Every registered claim, with a family-wise level (Holm).")
    ] = False,
    chapter: Annotated[str, typer.Option(help="Only claims of this chapter or chapter.section.")] = "",
    source: Annotated[str, typer.Option(help="Only claims of this source, by its key.")] = "",
    subject: Annotated[str, typer.Option(help="Only claims of this subject.")] = "",
    minutes: Annotated[
        float | None, typer.Option(metavar="M", help="Begin no claim after so long; the next run takes the rest.")
    ] = None,
    continued: Annotated[
        bool, typer.Option("--continue", help="Add fresh trials to what the ledger has; e-values hold the level.")
    ] = False,
    trial_seconds: Annotated[
        float | None,
        typer.Option("--trial-seconds", metavar="T", help="A trial may take so long; default: 600 for many claims."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="DIR", help="Write a page of the run to DIR/index.html.")] = None,
    stale: Annotated[
        bool, typer.Option("--stale", help="Claims whose code has changed since the recorded verdict.")
    ] = False,
    part: Annotated[
        str,
        typer.Option(metavar="K/N", help="With --stale: where shared code changed, the K-th of N parts of the claims."),
    ] = "",
    write: Annotated[bool, typer.Option("--write", help="Write the verdicts into the catalogue.")] = False,
    jobs: Jobs = 1,
    dask: Dask = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="PATH", help="Trials are kept and found here; default: platform's."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Verify claims. Exit code 0 supported, 1 refuted, 2 usage, 3 inconclusive or inapplicable, 4 failed.

    5 is vacuous (a bound that held and says nothing) and 6 outside (a hypothesis is known to be false). With --all,
    --stale, --chapter, --source, --subject or several claims, the family-wise error is at most the level, and the exit
    code is 0 where every verdict is the expected one (a misprint entered as printed is expected to be refuted) and,
    with --stale, the catalogue was up to date; 4 where a claim raised, hung or gave NaN, or could not be recorded; 3
    where claims were left.
    """
    from ._study import check_seed

    check_seed(seed)
    _check_budget(budget)
    _check_choice(claims, everything, stale)
    if part and not stale:
        raise SettingError("--part", rule="it goes with --stale")
    import jax

    jax.config.update("jax_enable_x64", True)
    from lemmata.engine.claims import verify, verify_all
    from lemmata.workers import workers

    from ._app import at_end
    from ._compilations import kept_compilations
    from ._console import plain
    from ._verified import verify_many
    from ._verify_all import TRIAL_SECONDS, Options, chosen_claims

    at_end.enter_context(kept_compilations())
    family = not claims and bool(everything or stale or chapter or source or subject)
    chosen = chosen_claims(_asked(claims or [], family, stale, part), chapter, source, subject)
    if len(chosen) > 1 and settings:
        raise SettingError("--set", found=f"{len(chosen)} claims", rule="settings belong to one claim")
    beside = (jobs > 1 or dask is not None) and len(chosen) > 1
    if family or write or beside or continued or minutes is not None or trial_seconds is not None or out is not None:
        if settings:
            raise SettingError(
                "--set", rule="it goes with the name of one claim, --budget, --corners, --level and --seed"
            )
        limit = TRIAL_SECONDS if trial_seconds is None and family else trial_seconds
        options = Options(
            seed, budget, corners, level, minutes, limit, jobs, continued, write, stale, out, ledger, dask
        )  # fmt: skip
        raise typer.Exit(verify_many(chosen, options, as_json))
    if not chosen:
        raise SettingError("verify", found="no claim", rule="--chapter, --source and --subject leave at least one")
    executor = at_end.enter_context(workers(jobs, dask))
    kept = _Kept(ledger, seed, elsewhere=dask is not None)
    if len(chosen) == 1:
        given = parse_settings(settings)
        asked = {"budget": budget, "corners": corners, "level": level, "seed": seed, "run": kept.run}
        verdicts = [verify(chosen[0], given, executor=executor, **asked)]
        code = EXIT[verdicts[0].status]
    else:
        verdicts = verify_all(chosen, budget=budget, level=level, seed=seed, run=kept.run, executor=executor)
        code = worst(chosen, verdicts)
    for claim, verdict in zip(chosen, verdicts, strict=False):
        kept.add(claim, verdict)
    if as_json:
        records = [verdict.to_json() for verdict in verdicts]
        plain(json.dumps(records[0] if len(records) == 1 else records, indent=1, allow_nan=False))
    else:
        _report(verdicts, len(chosen), level)
    raise typer.Exit(code)


class _Kept:
    """The ledger of a run: what runs its trials, and where its verdicts go.

    Workers elsewhere do not see its file: their trials come back with the verdict.
    """

    def __init__(self, path: Path | None, seed: int, elsewhere: bool = False):
        from lemmata.engine.ledger import CarriedTrials, default_path, open_ledger, recorded_trials

        self.path = path or default_path()
        with open_ledger(self.path) as ledger:
            self.number = ledger.begin(shlex.join(["lemmata", *sys.argv[1:]]), seed)
        self.run = functools.partial(recorded_trials, self.path, self.number)
        if elsewhere:
            self.run = CarriedTrials(self.path, self.number)

    def add(self, claim: Any, verdict: Any) -> None:
        """Write a verdict."""
        from lemmata.engine.claims import fingerprint_of
        from lemmata.engine.ledger import open_ledger

        with open_ledger(self.path) as ledger:
            ledger.add_verdict(self.number, fingerprint_of(claim), verdict.to_json())


def _asked(names: list[str], family: bool, stale: bool, part: str) -> list[Any]:
    """The claims that are meant before `--chapter`, `--source` and `--subject` choose among them."""
    from lemmata.engine.claims import find, registry

    from ._stale import stale_claims

    if family:
        return stale_claims(part) if stale else list(registry().values())
    asked = _different([claim for name in names for claim in find(name)])
    if not asked:
        raise SettingError("verify", rule="at least one claim, or --all", remedy="`lemmata list` lists the claims")
    return asked


def _check_budget(budget: int | None) -> None:
    """Refuse a number of trials that no run ends."""
    if budget is not None and not 1 <= budget <= MOST_TRIALS:
        raise SettingError(
            "--budget is out of bounds",
            found=budget,
            rule=f"at least 1 trial and at most {MOST_TRIALS:,}",
            remedy="leave --budget out for the number that support needs",
        )


def _check_choice(claims: list[str] | None, everything: bool, stale: bool) -> None:
    """Refuse what names claims twice over."""
    options = [option for option, given in (("--all", everything), ("--stale", stale)) if given]
    if claims and options:
        raise SettingError(
            " and ".join([*options, *(claims or [])]), rule="either names of claims, or --all or --stale"
        )


def _different(claims: list[Any]) -> list[Any]:
    """Each claim once; SettingError where two have one name, by which the verdicts of a family are told apart."""
    found: dict[str, Any] = {}
    for claim in claims:
        if found.setdefault(claim.name, claim) is not claim:
            raise SettingError(f"claim {claim.name}", found="twice", rule="claims of one run have different names")
    return list(found.values())


def _report(verdicts: list[Any], chosen: int, level: float) -> None:
    from ._console import plain

    for verdict in verdicts:
        show_verdict(verdict, short=len(verdicts) > 1)
    if len(verdicts) > 1:
        plain(f"{len(verdicts)} claims at a family-wise level of {level:g}; each verdict names its own level.")
    if len(verdicts) < chosen:
        plain(f"Interrupted: {chosen - len(verdicts)} claims were not run.")


def parse_settings(pairs: list[str] | None) -> dict[str, str]:
    """NAME=VALUE pairs as a dictionary; SettingError where one has no equals sign or a name comes twice."""
    setting = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SettingError("--set", found=repr(pair), rule="NAME=VALUE, for example --set n=100")
        if name.strip() in setting:
            raise SettingError(f"--set {name.strip()}", found="twice", rule="one value for a setting")
        setting[name.strip()] = value.strip()
    return setting
