"""Which verdicts differ between a commit and the records as they are, in any figure: `same_verdicts.py 6b1701a`."""

import json
import subprocess
import sys
from typing import Any

from lemmata.engine.catalogue import entries

OLD = "src/lemmata/catalogue/catalogue.json"
PASSING = ("seconds", "setting")
"""Figures that records do not hold: times, and the default setting, which the code says."""


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def verdicts_at(commit: str) -> dict[str, dict[str, Any]]:
    """The verdicts of a commit by the names of classes, from its records or from the file that held all of them."""
    files = _git("ls-tree", "-r", "--name-only", commit).splitlines()
    if OLD in files:
        claims = json.loads(_git("show", f"{commit}:{OLD}"))["claims"].values()
        return {entry["class"]: entry["verdict"] for entry in claims if "verdict" in entry}
    found = {}
    for file in (name for name in files if "/records/" in name and name.endswith(".json")):
        found |= json.loads(_git("show", f"{commit}:{file}"))
    return found


def main(commit: str) -> int:
    """Print what differs; 1 where anything does."""
    before, now = verdicts_at(commit), {entry["class"]: entry["verdict"] for entry in entries().values()}
    differ = 0
    for name in sorted(set(before) & set(now)):
        own = {key: (value, now[name].get(key)) for key, value in before[name].items() if key not in PASSING}
        told = {key: pair for key, pair in own.items() if pair[0] != pair[1] and key in now[name]}
        if told:
            differ += 1
            print(f"{name}: " + "; ".join(f"{key} {old} -> {new}" for key, (old, new) in told.items()))
    gone, new = len(set(before) - set(now)), len(set(now) - set(before))
    print(f"{len(set(before) & set(now))} verdicts compared, {differ} differ; {gone} gone, {new} new")
    return int(differ > 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
