"""`lemmata judge --stale`: select stale claims, whose code has changed since their last verdict."""

import re
from collections.abc import Iterable
from typing import Any

from lemmata.errors import SettingError


def stale_claims(claims: Iterable[Any], part: str = "") -> list[Any]:
    """Select the claims that are to be judged again.

    The result has all claims whose own code changed, and part K of N of the claims of which only shared code changed.
    Claims are distributed among the parts in turn, the cheapest first, so all parts cost about the same. N runs, each
    with another part, judge all claims.

    Args:
        claims: the claims to choose from; their order is kept.
        part: the part as "K/N"; empty for all.

    Raises:
        SettingError: if the text is not a valid part.
    """
    from lemmata.engine.catalogue import State, costs
    from lemmata.engine.claims import state_of

    from ._console import err

    number, parts = _part(part)
    claims = list(claims)
    found: dict[State, list[Any]] = {state: [] for state in State}
    for claim in claims:
        found[state_of(claim)].append(claim)
    seconds = lambda claim: costs().get(type(claim).__name__, 0.0)
    told = [f"{len(found[State.CURRENT])} with the current code"]
    for state in (State.OWN, State.SHARED):
        cost = sum(map(seconds, found[state]))
        told.append(f"{len(found[state])} whose {state}" + (f" (about {cost:,.0f} s)" if found[state] else ""))
    err.print("Verdicts: " + ", ".join(told) + ".", markup=False, highlight=False)
    shared = sorted(found[State.SHARED], key=seconds)[number - 1 :: parts]
    if parts > 1:
        err.print(
            f"Of the claims whose shared code has changed, this run tests {len(shared)}: part {number} of {parts}.",
            markup=False,
            highlight=False,
        )
    asked = {claim.name for claim in (*found[State.OWN], *shared)}
    return [claim for claim in claims if claim.name in asked]


def _part(text: str) -> tuple[int, int]:
    if not text:
        return 1, 1
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    number, parts = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= parts:
        raise SettingError(
            "--part",
            found=repr(text),
            rule="K/N, with whole numbers K from 1 to N",
            remedy="write --part 3/20, for example",
        )
    return number, parts
