"""`lemmata verify --stale`: which verdicts are not on the code as it is, and what judging them again costs."""

import re
from typing import Any

from lemmata.errors import SettingError


def stale_claims(part: str = "") -> list[Any]:
    """The claims to judge again: those whose own code changed, and of those whose shared code changed one part.

    Parts have about the same cost: claims are dealt to them in turn, the cheapest first. So N runs, each with another
    part, judge all of them.

    Args:
        part: "K/N"; empty for all.

    Raises:
        SettingError: that is no part.
    """
    from lemmata.engine.catalogue import State, costs
    from lemmata.engine.claims import registry, state_of

    from ._console import err

    number, parts = _part(part)
    found: dict[State, list[Any]] = {state: [] for state in State}
    for claim in registry().values():
        found[state_of(claim)].append(claim)
    seconds = lambda claim: costs().get(type(claim).__name__, 0.0)
    told = [f"{len(found[State.CURRENT])} on the code as it is"]
    for state in (State.OWN, State.SHARED):
        cost = sum(map(seconds, found[state]))
        told.append(f"{len(found[state])} whose {state}" + (f" (about {cost:,.0f} s)" if found[state] else ""))
    err.print("Verdicts: " + ", ".join(told) + ".", markup=False, highlight=False)
    shared = sorted(found[State.SHARED], key=seconds)[number - 1 :: parts]
    if parts > 1:
        err.print(
            f"Of the last, this run takes {len(shared)}, part {number} of {parts}.", markup=False, highlight=False
        )
    asked = {claim.name for claim in (*found[State.OWN], *shared)}
    return [claim for name, claim in registry().items() if name in asked]


def _part(text: str) -> tuple[int, int]:
    if not text:
        return 1, 1
    match = re.fullmatch(r"(\d{1,4})/(\d{1,4})", text)
    number, parts = (int(match[1]), int(match[2])) if match else (0, 0)
    if not 1 <= number <= parts:
        raise SettingError("--part", found=repr(text), rule="K/N with K from 1 to N", remedy="--part 3/20, say")
    return number, parts
