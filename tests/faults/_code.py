"""User's code that leaves, and commands that have nothing to do."""

import random
import signal
from collections.abc import Iterator

from tests.faults.commands import Command
from tests.faults.holds import amiss
from tests.faults.inputs import CLAIMS
from tests.faults.world import World

CODE = (
    "The user's code ends the process (sys.exit, os._exit, SystemExit), raises an object that is not an Exception, "
    "recurses without end, or prints without end. The code does this at its import, or when it is called. The exit "
    "code is 0 only if the answer is printed."
)
NOTHING = (
    "There is nothing to do: nothing matches, there is no time, or every problem raises an error or is NaN. The exit "
    "code is not 0."
)
_LEAVES = {
    "sys.exit(0)": "import sys; sys.exit(0)",
    "sys.exit()": "import sys; sys.exit()",
    "SystemExit": "raise SystemExit(0)",
    "os._exit(0)": "import os; os._exit(0)",
    "BaseException": "raise BaseException('no Exception')",
    "GeneratorExit": "raise GeneratorExit",
    "recursion": "(lambda own: own(own))(lambda own: own(own))",
    "MemoryError": "raise MemoryError",
    "abort": "import os; os.abort()",
    "prints": "print('x' * 10**7)",
}
_ABORTED = 128 + signal.SIGABRT  # as a shell tells that a signal ended a process
_CALLED = {"net.py": "def build():\n", "claim.py": "    def measure(self, problem, key):\n"}
_ESTIMATOR = """
from sklearn.linear_model import Ridge

{module}

class Own(Ridge):
    def fit(self, X, y):
        {fit}
        return super().fit(X, y)


def made():
    {call}
    return Own()
"""


def runs_none(command: Command) -> str:
    """Why no code of the user's can leave."""
    return "" if command.program or command.verb == "study" else "the command does not run code of the user"


def leaving(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Drawn ways, at drawn places."""
    draw = random.Random(seed)
    places = ("module", "call", "fit") if command.verb == "study" else ("module", "call")
    ways = [(way, place) for way in _LEAVES for place in places]
    if command.verb == "show":
        ways = [(way, "module") for way in _LEAVES]
    for way, place in draw.sample(ways, min(most, len(ways))):
        with world.trial(command) as folder:
            words = [*command.words, *command.new]
            line = _LEAVES[way]
            if command.verb == "study":
                texts = dict.fromkeys(("module", "call", "fit"), "pass") | {place: line}
                (folder / "fault.py").write_text(_ESTIMATOR.format(**texts))
                words += ["--model", "fault.py:made"]
            else:
                path = folder / str(command.program)
                text = path.read_text()
                if place == "module":
                    text += f"\n{line}\n"
                else:
                    head = _CALLED[path.name]
                    indent = " " * (len(head) - len(head.lstrip()) + 4)
                    text = after(text, head, f"{indent}{line}\n")
                path.write_text(text)
            own = {"patches": []} if command.verb == "study" else {}
            ended = world.run(command, folder, words=words, **own)
            codes = {1, 2, 3, 4, 130} | {"prints": {command.clean, 0}, "abort": {_ABORTED}}.get(way, set())
            found = amiss(world, command, ended, codes, whole=False)
            if ended.code == _ABORTED and f"ended by signal {int(signal.SIGABRT)}" not in ended.err:
                found.append("the signal is not told")
            if ended.code == 0 and command.says not in ended.out:
                found.append("success without an answer")
            yield f"{way} at {place}", found


def after(text: str, head: str, more: str) -> str:
    """The text with more words after each occurrence of `head`, which must occur."""
    assert head in text, f"{head!r} is not in the text"
    return text.replace(head, head + more)


_EMPTY = b"a,b,y\n"
_RAISES = "raise ValueError('no problem')"
_NAN = "return problem * float('nan')"


def nothing(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Each way in which a command has nothing to do, with the exit codes that say so."""
    for name, words, files, codes in _nothing(command)[:most]:
        with world.trial(command) as folder:
            for path, content in files.items():
                (folder / path).parent.mkdir(exist_ok=True)
                (folder / path).write_bytes(content)
            ended = world.run(command, folder, words=words, patches=[])
            yield name, amiss(world, command, ended, codes, whole=False)


def _nothing(command: Command) -> list[tuple[str, list[str], dict[str, bytes], set[int]]]:
    """What is asked, with which files, and the exit codes that are right."""
    own = [*command.words, *command.new]
    measured, drawn = _CALLED["claim.py"], "    def sample(self, setting, key):\n"
    changed = {
        "every problem raises": after(CLAIMS, measured, f"        {_RAISES}\n"),
        "every problem is NaN": after(CLAIMS, measured, f"        {_NAN}\n"),
        "no problem can be drawn": after(CLAIMS, drawn, f"        {_RAISES}\n"),
        "no claim in the file": "x = 1\n",
    }
    bad = {name: {"claim.py": text.encode()} for name, text in changed.items()}
    if command.program == "claim.py" and command.verb != "show":
        found = [(name, own, files, {2, 4} if "file" in name else {3, 4}) for name, files in bad.items()]
        if command.verb in ("judge", "walk", "mutate"):
            found.append(("no time", [*own, "--minutes", "0"], {}, {2, 3}))
        return found
    if command.data and command.data.endswith("csv"):
        return [("no rows", own, {command.data: _EMPTY}, {2}), ("an empty file", own, {command.data: b""}, {2})]
    asked = {
        "list": [("no match", ["list", "qqqqzzzzxx"]), ("nothing of this kind", ["list", "--tool", "qqqqzzzz"])],
        "show": [("no such claim", ["show", "qqqqzzzz"])],
        "map": [("no such option", ["map", "--of-nothing"])],
        "map --out": [("no folder", ["map", "--out", ""])],
        "report": [("no record", ["report"]), ("a record without results", ["report", "empty.json"])],
        "compare": [("no families", [*own, "--families", ""]), ("no splits", [*own, "--repeats", "0"])],
        "calibrate": [("no verification", ["calibrate", "--repeats", "0"])],
        "ledger": [("no such ledger", ["ledger", "list", "--ledger", "absent.sqlite"])],
        "ledger export": [("no such ledger", ["ledger", "export", "x.parquet", "--ledger", "absent.sqlite"])],
    }
    return [(name, words, {"empty.json": b"{}"}, {1, 2}) for name, words in asked[command.name]]
