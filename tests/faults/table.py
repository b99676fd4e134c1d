"""The table of commands and faults: `python -m tests.faults.table` runs it and writes it into docs/trust.md.

With `--command` or `--fault` only these cells are run; the others keep what they showed. `--most` says how many
attempts a cell makes at most. `--left` runs the cells that were never run. `--write` writes the page from what is kept,
without running anything.
"""

import argparse
import json
import pathlib
import re
import sys
import tempfile

from filelock import FileLock

from lemmata.files import replace_text
from tests.faults.commands import COMMANDS
from tests.faults.faults import FAULTS
from tests.faults.world import World

PAGE = pathlib.Path(__file__).parents[2] / "docs/trust.md"
KEPT = pathlib.Path(__file__).with_name("shown.json")
MARKS = ("<!-- faults: written by python -m tests.faults.table -->", "<!-- end of faults -->")
MOST = 50


def cell(world: World, command: str, fault: str, most: int, seed: int = 0) -> list[tuple[str, list[str]]]:
    """What each attempt of a cell showed; a world that cannot be set up is an attempt that fails."""
    try:
        return list(FAULTS[fault].attempts(world, COMMANDS[command], most, seed))
    except AssertionError as error:
        return [("set-up", [str(error)[-400:]])]


def shown() -> dict[str, dict[str, list[int]]]:
    """For each command and fault how many attempts were made, and how many held."""
    return json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}


def keep(command: str, fault: str, attempts: list[tuple[str, list[str]]]) -> None:
    """Write down what a cell showed."""
    held = sum(not problems for _, problems in attempts)
    with FileLock(pathlib.Path(tempfile.gettempdir()) / "lemmata-faults.lock"):
        known = shown()
        known.setdefault(command, {})[fault] = [len(attempts), held]
        replace_text(KEPT, json.dumps(known, sort_keys=True).replace("}, ", "},\n ") + "\n")


def table() -> list[str]:
    """The lines of the page."""
    known = shown()
    reasons: dict[str, str] = {}
    lines = [f"| command | {' | '.join(FAULTS)} |", "| --- |" + " ---: |" * len(FAULTS)]
    for name, command in COMMANDS.items():
        cells = []
        for fault in FAULTS.values():
            reason = fault.spared(command)
            if reason:
                cells.append(reasons.setdefault(reason, f"({len(reasons) + 1})"))
            else:
                tried, held = known.get(name, {}).get(fault.name, (0, 0))
                cells.append(f"{held} of {tried}" if tried else "not run")
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    cells = [cell for own in known.values() for cell in own.values()]
    tried, held = (sum(column) for column in zip(*cells, strict=True)) if cells else (0, 0)
    lines += [
        "",
        f"All conditions held in {held} of {tried} attempts. `pytest -m every tests/faults` makes other attempts, and",
        "more of them. For example, it kills each command 50 times, and damages 20 files.",
    ]
    lines += ["", "A number in brackets gives the reason why a fault does not apply to a command:", ""]
    lines += [f"* {number} {reason}." for reason, number in reasons.items()]
    lines += ["", "The faults, and what must hold:", ""]
    lines += [f"* **{fault.name}**: {fault.what}" for fault in FAULTS.values()]
    return lines


def write() -> None:
    """Write the table between its marks."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = MARKS
    body = "\n".join([begin, *table(), end])
    PAGE.write_text(
        re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: body, text, flags=re.S), encoding="utf-8"
    )


def main() -> None:
    """Run cells and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    parser.add_argument("--fault", nargs="+", choices=FAULTS, default=list(FAULTS))
    parser.add_argument("--most", type=int, default=MOST)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--left", action="store_true")
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    wrong = 0
    if not asked.write:
        with World() as world:
            for fault in asked.fault:
                for command in asked.command:
                    known = asked.left and shown().get(command, {}).get(fault)
                    if FAULTS[fault].spared(COMMANDS[command]) or known:
                        continue
                    found = cell(world, command, fault, asked.most, asked.seed)
                    keep(command, fault, found)
                    held = sum(not problems for _, problems in found)
                    print(f"{command} x {fault}: {held} of {len(found)}", flush=True)
                    for label, problems in found:
                        wrong += bool(problems)
                        for problem in problems:
                            print(f"  {label}: {problem}", flush=True)
    write()
    sys.exit(int(bool(wrong)))


if __name__ == "__main__":
    main()
