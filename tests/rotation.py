"""Which cases of a law the default run takes: every n-th, others for every commit, and at least one for every object.

A law with `pytest.mark.rotating(n)` runs in full over any n consecutive seeds; what a seed leaves out, the exhaustive
run takes.
"""

import functools
import os
import pathlib
import subprocess
from collections.abc import Sequence
from typing import NamedTuple


class Turn(NamedTuple):
    """A case: the law it belongs to, the object that it judges, and the number of seeds until it is chosen again."""

    law: str
    judged: str
    period: int


@functools.cache
def seed() -> int:
    """LEMMATA_SEED where it is set, else the number that the commit begins with, else 0."""
    if "LEMMATA_SEED" in os.environ:
        return int(os.environ["LEMMATA_SEED"])
    root = pathlib.Path(__file__).parents[1]
    command = ["git", "-C", str(root), "rev-parse", "HEAD"]
    try:
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout[:6], 16)
    except (OSError, ValueError, subprocess.CalledProcessError):
        return 0


def beyond_the_share(names: Sequence[str]) -> set[str]:
    """Of the cases of the exhaustive run those that this run leaves to other seeds.

    LEMMATA_SHARE=k takes every k-th, from another start for every seed; without it all are taken.
    """
    share = int(os.environ.get("LEMMATA_SHARE", "1"))
    return {name for number, name in enumerate(names) if (number + seed()) % share}


def chosen(modules: Sequence[str], turns: Sequence[Turn], seed: int) -> set[int]:
    """The indices of the cases to run.

    Objects and laws are numbered in the order in which their module names them; case v of object o under law l has its
    turn where o + l + v + seed is a multiple of the law's period. An object that no law would take gets one of its
    cases, the (o + seed)-th.
    """
    found: set[int] = set()
    for module in dict.fromkeys(modules):
        own = [i for i, name in enumerate(modules) if name == module]
        laws = {law: n for n, law in enumerate(dict.fromkeys(turns[i].law for i in own))}
        objects = {name: n for n, name in enumerate(dict.fromkeys(turns[i].judged for i in own))}
        for name, number in objects.items():
            cases = [i for i in own if turns[i].judged == name]
            variants = _variants([turns[i].law for i in cases])
            due = [
                i for i, v in zip(cases, variants, strict=True)
                if (number + laws[turns[i].law] + v + seed) % turns[i].period == 0
            ]  # fmt: skip
            found |= set(due or [cases[(number + seed) % len(cases)]])
    return found


def _variants(laws: Sequence[str]) -> list[int]:
    """For every case the number of cases before it under the same law."""
    return [laws[:i].count(law) for i, law in enumerate(laws)]
