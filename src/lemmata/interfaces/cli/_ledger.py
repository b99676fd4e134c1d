"""`lemmata ledger`: list all runs, compare two runs, or replay one trial."""

import contextlib
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from lemmata.errors import DataError, MissingFileError, SettingError, shortened
from lemmata.printable import clean

_APART = 3
"""The exit code if two runs judged no claim in common."""
_MOST = 2**63 - 1
"""The largest whole number that SQLite can store."""
_ACTIONS = {
    "list": "[CLAIM]: all runs, or the trials and verdicts of one claim",
    "compare": "RUN RUN: verdicts that changed, and the reasons",
    "replay": "CLAIM NUMBER: repeat one trial, bit for bit",
    "export": "FILE.parquet: write every trial", "check": "check the file",
}  # fmt: skip


def ledger(
    action: Annotated[
        str, typer.Argument(help="list [CLAIM], compare RUN RUN, replay CLAIM NUMBER, export FILE, check.")
    ],
    words: Annotated[list[str] | None, typer.Argument(metavar="[WORDS]", help="Arguments of the action.")] = None,
    path: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="PATH", help="Ledger file. Default: a file in the platform's data directory."),
    ] = None,
    setting: Annotated[
        list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Use with replay: a setting of the trial.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Use with replay: the seed of the trial.", show_default="0")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Read the ledger, the file in which `lemmata verify` stores every trial and every verdict.

    The command writes nothing into the ledger, so it can also read a ledger on a read-only disk.

    Exit code: 0 on success; 1 if a replayed trial gives other numbers or the file is damaged; 2 after a usage error, or
    if the ledger holds nothing that matches; 3 if two runs have no claim in common.
    """
    given = words or []
    counts = {"list": (0, 1), "compare": (2, 2), "replay": (2, 2), "export": (1, 1), "check": (0, 0)}
    if action not in counts:
        raise SettingError("lemmata ledger", found=action, rule=f"one of {', '.join(counts)}")
    least, most = counts[action]
    if not least <= len(given) <= most:
        raise SettingError(
            f"lemmata ledger {action}", found=f"{len(given)} argument{'s' * (len(given) != 1)}", rule=_ACTIONS[action]
        )
    for word in given if action == "compare" else given[1:] if action == "replay" else ():
        _number(word)
    _check_replay(action, setting, seed)
    import jax

    jax.config.update("jax_enable_x64", True)
    from lemmata.engine.ledger import default_path, read_ledger, reading

    own = path or default_path()
    if not own.exists():
        rule = "a ledger that `lemmata verify` wrote"
        raise MissingFileError(
            f"ledger {own}",
            found="no file",
            rule=rule,
            remedy="name an existing ledger with --ledger PATH, or run `lemmata verify` first",
        )
    with read_ledger(own) as opened:
        # A replay runs code of a claim, so its errors are not reported as errors of the ledger.
        with contextlib.nullcontext() if action == "replay" else reading():
            code, record, lines = _DO[action](opened, given, setting, seed or 0)
        with reading():
            shown = json.dumps(record, indent=1) if as_json else clean("\n".join(lines), lines=True)
    from ._console import plain

    plain(shown)
    raise typer.Exit(code)


def _check_replay(action: str, setting: list[str] | None, seed: int | None) -> None:
    """Refuse the options of `replay` with another action, and a seed that no trial has."""
    from ._study import check_seed

    given = [name for name, value in (("--set", setting), ("--seed", seed)) if value is not None and value != []]
    if given and action != "replay":
        raise SettingError(
            f"lemmata ledger {action} with {' and '.join(given)}",
            rule="--set and --seed select the trial to repeat, so only `lemmata ledger replay` accepts them",
            remedy="leave them out",
        )
    check_seed(seed or 0)


Found = tuple[int, Any, list[str]]


def _list(ledger: Any, words: list[str], setting: Any, seed: int) -> Found:
    if not words:
        rows = [dict(row) for row in ledger.query(
            "SELECT runs.id, began, command, count(verdicts.id) AS verdicts "
            "FROM runs LEFT JOIN verdicts ON run = runs.id GROUP BY runs.id ORDER BY runs.id"
        )]  # fmt: skip
        lines = [f"{row['id']:4d}  {row['began']}  {row['verdicts']:4d} verdicts  {row['command']}" for row in rows]
        trials = ledger.query("SELECT count(*) AS n FROM trials")[0]["n"]
        if not (rows or trials):
            raise _nothing(ledger, "no run", "lemmata verify")
        return 0, rows, [*lines, f"{len(rows)} runs, {trials} trials in {ledger.path}"]
    from lemmata.engine.claims import find

    names = [claim.name for claim in find(words[0])]
    marks = ", ".join("?" * len(names))
    rows = [dict(row) for row in ledger.query(
        f"SELECT claim, fingerprint, setting, seed, count(*) AS trials, sum(seconds) AS seconds FROM trials "
        f"WHERE claim IN ({marks}) GROUP BY claim, fingerprint, setting, seed", *names
    )]  # fmt: skip
    verdicts = [dict(row) for row in ledger.query(
        f"SELECT run, claim, fingerprint, setting, seed, status, reason FROM verdicts WHERE claim IN ({marks})", *names
    )]  # fmt: skip
    lines = [
        f"{row['claim']}  {row['trials']} trials  {row['seconds']:.2f} s  seed {row['seed']}  "
        f"code {row['fingerprint'][:8]}  {row['setting']}" for row in rows
    ]  # fmt: skip
    lines += [f"{row['claim']}  run {row['run']}: {row['status']}, {row['reason']}" for row in verdicts]
    if not lines:
        raise _nothing(ledger, f"no trial or verdict of {words[0]}", f"lemmata verify {words[0]}")
    return 0, {"trials": rows, "verdicts": verdicts}, lines


def _compare(ledger: Any, words: list[str], setting: Any, seed: int) -> Found:
    import dataclasses

    from lemmata.engine.ledger import compare_runs

    found = compare_runs(ledger, *(_number(word) for word in words))
    record = [dataclasses.asdict(change) for change in found]
    judged = [{row["claim"] for row in ledger.query("SELECT claim FROM verdicts WHERE run = ?", _number(word))}
              for word in words]  # fmt: skip
    if not judged[0] & judged[1]:
        return _APART, record, ["no claim has a verdict in both runs, so nothing was compared"]
    return (
        0,
        record,
        [str(change) for change in found] or ["every claim that was judged in both runs has the same verdict in both"],
    )


def _replay(ledger: Any, words: list[str], setting: Any, seed: int) -> Found:
    from lemmata.engine.claims import find
    from lemmata.engine.ledger import replay

    from ._options import parse_settings

    claims, number = find(words[0]), _number(words[1])
    if len(claims) != 1:
        raise SettingError("lemmata ledger replay", found=f"{len(claims)} claims", rule="the name of a single claim")
    own = json.dumps(claims[0].population.settings().resolve(parse_settings(setting)), sort_keys=True)
    row, same = replay(ledger, claims[0], own, seed, number)
    from lemmata.engine.ledger import numbers_of

    record = {"claim": claims[0].name, "number": number, "setting": own, "same": same, **numbers_of(row)}
    lines = [
        f"{name}: {', '.join(f'{value:.17g}' for value in values[:8])}" for name, values in numbers_of(row).items()
    ]
    word = "the same numbers as in the ledger, bit for bit" if same else "DIFFERENT NUMBERS from those in the ledger"
    return int(not same), record, [*lines, word]


def _export(ledger: Any, words: list[str], setting: Any, seed: int) -> Found:
    if not ledger.query("SELECT 1 FROM trials LIMIT 1"):
        raise _nothing(ledger, "no trial", "lemmata verify")
    count = ledger.export(words[0])
    return 0, {"trials": count, "file": words[0]}, [f"{count} trials written to {words[0]}"]


def _check(ledger: Any, words: list[str], setting: Any, seed: int) -> Found:
    found = ledger.check()
    return int(bool(found)), found, found or [f"{ledger.path} is undamaged"]


def _nothing(ledger: Any, found: str, command: str) -> DataError:
    remedy = f"run `{command}` first, or name another file with --ledger PATH"
    return DataError(
        f"ledger {ledger.path}", found=found, rule="a ledger with at least one matching entry", remedy=remedy
    )


def _number(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) <= len(str(_MOST)) and int(word) <= _MOST):
        raise SettingError("number of a run or trial", found=shortened(word), rule=f"a whole number from 0 to {_MOST}")
    return int(word)


_DO = {"list": _list, "compare": _compare, "replay": _replay, "export": _export, "check": _check}
