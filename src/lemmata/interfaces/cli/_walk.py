"""`lemmata walk`: is a claim's declared range the region in which it holds?"""

import json
import time
from typing import Annotated, Any

import typer

from lemmata.errors import SettingError

from ._judging import named_claims
from ._options import Jobs
from ._subjects import Subjects, is_of, known_subjects

SECONDS = 60.0
"""A trial may take so long, unless --trial-seconds says otherwise."""


def walk(
    claims: Annotated[
        list[str] | None, typer.Argument(help="Names as `lemmata verify` takes them.", show_default=False)
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every registered claim.")] = False,
    subject: Subjects = None,
    budget: Annotated[int | None, typer.Option(help="Trials at each setting; default: what support needs.")] = None,
    level: Annotated[float, typer.Option(help="Probability of refuting a true statement anywhere.")] = 1e-3,
    seed: Annotated[int, typer.Option(help="Seed of the settings and of all trials.")] = 0,
    jobs: Jobs = 1,
    trial_seconds: Annotated[float, typer.Option(help="A trial may take so long.")] = SECONDS,
    minutes: Annotated[float | None, typer.Option(metavar="M", help="Begin no claim after so long.")] = None,
    write: Annotated[bool, typer.Option("--write", help="Keep what is found in the records of the sections.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Judge claims at both ends of every variable of their populations, and at settings drawn between.

    A declared range is the region in which a claim is judged to hold. Where it is refuted there, the claim or its range
    is wrong. `lemmata verify --edges` is this command.

    Exit code 0 where nothing was refuted or failed that should not be, 1 where something was refuted, 2 usage, 3 where
    claims were left for want of time, 4 where something failed.
    """
    from lemmata.engine.catalogue import records, told_walk
    from lemmata.engine.claims import registry, walk_record, write_record

    from ._console import out, plain

    if not (claims or everything or subject):
        raise SettingError("walk", rule="names of claims, --all or --subject")
    chosen = named_claims(claims) if claims else list(registry().values())
    places = known_subjects(subject, [claim.name for claim in chosen])
    chosen = [claim for claim in chosen if not places or is_of(places, claim.name)]
    import jax

    jax.config.update("jax_enable_x64", True)
    began, told, left = time.monotonic(), {}, []
    for claim in chosen:
        if minutes is not None and time.monotonic() - began > 60 * minutes:
            left.append(claim.name)
            continue
        own = told[claim.name] = walk_record(claim, _walked(claim, budget, level, seed, jobs, trial_seconds))
        if not as_json:
            out.print(f"{claim.name}  walked: {told_walk(own)}", markup=False, highlight=False, soft_wrap=True)
            for place in own["where"]:
                out.print(f"  {place['status']} at {_spelled(place['setting'])}: {place['reason']}",
                          markup=False, highlight=False, soft_wrap=True)  # fmt: skip
        if write and claim.name in records():
            write_record(claim, {**records()[claim.name], "walk": own})
    if as_json:
        plain(json.dumps({"claims": told, "left": left}, indent=1))
    elif left:
        out.print(f"Left for want of time: {len(left)} claims.")
    wrong = {place["status"] for own in told.values() for place in own["where"]}
    raise typer.Exit(4 if "failed" in wrong else 1 if wrong else 3 if left else 0)


def _walked(claim: Any, budget: int | None, level: float, seed: int, jobs: int, limit: float) -> list[Any]:
    from lemmata.engine.claims import run_keyed, walk_of

    tasks = walk_of(claim, seed=seed, budget=budget, level=level)
    return [done.verdict for done in run_keyed(tasks, limit=limit, jobs=jobs)]


def _spelled(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in setting.items())
