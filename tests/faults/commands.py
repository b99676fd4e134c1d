"""The commands of the table: what each is run with, what it writes, and how it may end."""

import dataclasses

from tests.faults.inputs import write_inputs as write_inputs


@dataclasses.dataclass(frozen=True)
class Command:
    """A row of the table.

    Args:
        name: as the table has it: the command, and what it is asked where there are two rows.
        words: of the command line, without what differs between two runs.
        old: words of the first run, whose results are there when the fault comes.
        new: words of the run that has the fault.
        results: files that belong together, below the folder.
        marks: a text that the results of the first run hold, and one of the second's; where there is none, a file is
            known by its bytes.
        codes: exit codes that the help names, besides 130 after an interruption.
        clean: the exit code without any fault.
        says: a text on stdout without any fault.
        data: the word that names a table or record that is read.
        program: the word that names Python code that is read.
        ledger: whether the run writes trials and verdicts.
        together: whether the results of one run stand or those of the other, never some of each.
        patches: what keeps the run short.
        jobs: whether it takes --jobs.
    """

    name: str
    words: tuple[str, ...]
    old: tuple[str, ...] = ()
    new: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    marks: tuple[str, str] | None = None
    codes: tuple[int, ...] = (0, 2)
    clean: int = 0
    says: str = ""
    data: str | None = None
    program: str | None = None
    ledger: bool = False
    together: bool = True
    patches: tuple[str, ...] = ()
    jobs: bool = False

    @property
    def verb(self) -> str:
        """The command's own name."""
        return self.words[0]

    @property
    def computes(self) -> bool:
        """Whether it loads JAX and computes."""
        return self.verb not in ("list", "show", "map", "report", "ledger")


_SEEDS = {"old": ("--seed", "5"), "new": ("--seed", "7")}
_KEPT = ("--ledger", "kept/ledger.sqlite")
_JUDGED = (0, 1, 2, 3, 4, 5, 6)
TABLE = (
    Command(
        "study", ("study", "table.csv", "--target", "y", "--quick", "--models", "linear", "--out", "out"), **_SEEDS,
        results=("out/study.json", "out/report/index.html"), marks=("--seed 5", "--seed 7"), codes=(0, 1, 2),
        says="Record:", data="table.csv",
    ),
    Command(
        "report", ("report",), ("old.json", "--out", "out"), ("new.json", "--out", "out"), results=("out/index.html",),
        marks=("--seed 5", "--seed 7"), says="Report:", data="new.json",
    ),
    Command(
        "model", ("model", "net.py", "table.csv", "--target", "y", "--out", "out"), ("--decay", "0.05"),
        ("--decay", "0.07"), results=("out/model.json", "out/model/index.html"), marks=("--decay 0.05", "--decay 0.07"),
        codes=(0, 1, 2, 3), says="Record:", data="table.csv", program="net.py",
    ),
    Command(
        "compare",
        ("compare", "sequences.npz", "--families", "mlp", "--repeats", "1", "--lengths", "none", "--out", "out"),
        **_SEEDS, results=("out/compare.json", "out/compare/index.html"), marks=("--seed 5", "--seed 7"),
        says="Record:", data="sequences.npz", jobs=True,
    ),
    Command(
        "in-context", ("in-context", "table.csv", "--target", "y", "--features", "8", "--layers", "3", "--out", "out"),
        **_SEEDS, results=("out/in_context/run.json",), marks=('"seed": 5', '"seed": 7'), says="run.json",
        data="table.csv",
    ),
    Command("scaling", ("scaling", "scaling.csv"), says="alpha", data="scaling.csv"),
    Command("emergence", ("emergence", "emergence.csv"), says="rise", data="emergence.csv"),
    Command("grokking", ("grokking", "log.csv"), says="step", data="log.csv"),
    Command("list", ("list", "--subject", "grokking"), says="claims"),
    Command("show", ("show", "claim.py:Square"), says="Squares", program="claim.py"),
    Command("map", ("map",), says="claims"),
    Command(
        "map --out", ("map", "--out", "site"), ("--base-url", "https://old.example"),
        ("--base-url", "https://new.example"),
        results=("site/index.html", "site/claims.html", "site/house.html", "site/a/one.html", "site/b/two.html"),
        marks=("old.example", "new.example"), says="index.html", together=False, patches=("few pages",),
    ),
    Command(
        "verify", ("verify", "claim.py:Square", "--corners", "0", "--budget", "12", *_KEPT), **_SEEDS,
        codes=_JUDGED, clean=3, says="inconclusive",
        program="claim.py", ledger=True, jobs=True,
    ),
    Command(
        "judge", ("judge", "claim.py:Square", "--corners", "0", "--budget", "12", *_KEPT), **_SEEDS,
        codes=_JUDGED, clean=3, says="inconclusive",
        program="claim.py", ledger=True, jobs=True,
    ),
    Command(
        "walk", ("walk", "claim.py:Square", "--budget", "4", *_KEPT), **_SEEDS, codes=(0, 1, 2, 3, 4), says="walked",
        program="claim.py", ledger=True, jobs=True,
    ),
    Command(
        "mutate", ("mutate", "claim.py:Square", "--budget", "12", *_KEPT), **_SEEDS, codes=(0, 2, 3, 4),
        says="mutations", program="claim.py", ledger=True, jobs=True,
    ),
    Command("calibrate", ("calibrate", "--repeats", "10"), **_SEEDS, codes=(0, 1, 2, 4), says="families", jobs=True),
    Command(
        "refute", ("refute", "claim.py:Cube", "--minutes", "0.02", "--out", "out"), **_SEEDS,
        results=("out/claim.cube/counterexample.py", "out/claim.cube/counterexample.json"), codes=(0, 1, 2, 4), clean=1,
        says="Written:", program="claim.py", jobs=True,
    ),
    Command("ledger", ("ledger", "list", *_KEPT), codes=(0, 1, 2), says="runs", data="kept/ledger.sqlite"),
    Command(
        "ledger export", ("ledger", "export", "trials.parquet", *_KEPT), codes=(0, 1, 2), says="trials written",
        results=("trials.parquet",), data="kept/ledger.sqlite",
    ),
)  # fmt: skip
COMMANDS = {command.name: command for command in TABLE}
COSTS = {
    "study": 2.5, "model": 3.0, "compare": 4.0, "in-context": 5.0, "scaling": 0.5, "emergence": 0.5, "grokking": 0.5,
    "list": 2.0, "map": 0.5, "verify": 2.0, "judge": 2.0, "walk": 5.0, "mutate": 3.0, "calibrate": 4.0, "refute": 8.0,
}  # fmt: skip
"""About how many seconds of processor a run takes, where it is not one."""
