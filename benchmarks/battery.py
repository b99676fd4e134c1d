"""Classical false statements and their true neighbours: does the search for counterexamples tell them apart?

    python -m benchmarks.battery [--seconds 120] [--simplify 48] [--seed 0] [--only NAME ...] [--true] [--out FILE]

Each false statement of `tests/engine/refutations/battery` is searched for at most the given seconds of processor time;
with --true it is the true neighbours. With --out a finished statement is a line of that file at once: a run that ended
early goes on where it was, and one with more seconds searches again what survived. To be run from the root of the
repository, with OMP_NUM_THREADS=1.
"""

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np
from tests.engine.refutations.battery import CASES

from lemmata.engine.claims import Claim
from lemmata.engine.refutations import Counterexample, refute
from lemmata.engine.refutations._pressure import searchable

SECONDS = 120.0


@dataclasses.dataclass(frozen=True)
class Row:
    """What became of one statement.

    Args:
        statement: the claim's class.
        true: whether it is a true neighbour.
        seed: of the search.
        budget: processor seconds that it was given.
        refuted: whether a counterexample was confirmed.
        found: processor seconds until the first confirmed one.
        seconds: processor seconds in all, with making it simpler.
        trials: problems that were looked at.
        ratio: of the counterexample, else the largest that was met; None where ratios say nothing.
        sure: whether one problem contradicts such a statement.
        setting: where it is.
        numbers: in the counterexample's arrays; those among them that are not 0, 1 or -1.
    """

    statement: str
    true: bool
    seed: int
    budget: float
    refuted: bool
    found: float | None
    seconds: float
    trials: int
    ratio: float | None
    sure: bool
    setting: dict[str, Any]
    numbers: tuple[int, int]


def searched(claim: Claim, true: bool, seconds: float, simplify: float | None, seed: int) -> Row:
    """Search one statement."""
    begun, last = time.process_time(), [0.0]

    def heard(settings: int, ratio: float | None) -> None:
        last[0] = time.process_time() - begun

    found = refute(claim, seconds, seed=seed, progress=heard, clock=time.process_time, simplify=simplify)
    spent, refuted = time.process_time() - begun, isinstance(found, Counterexample)
    place = found.place
    values = [np.ravel(value) for value in place.fields.values()] if place is not None else []
    flat = np.concatenate(values) if values else np.zeros(0)
    return Row(
        type(claim).__name__, true, seed, seconds, refuted, last[0] if refuted else None, spent, found.trials,
        found.ratio, searchable(claim), {} if place is None else place.setting,
        (len(flat), int((~np.isin(flat, (0, 1, -1))).sum())),
    )  # fmt: skip


def told(row: Row) -> str:
    """A line of the table."""
    size = "" if not row.refuted else f"{row.numbers[0]} numbers, {row.numbers[1]} not 0 or ±1"
    setting = ", ".join(f"{k}={v:.4g}" if isinstance(v, float) else f"{k}={v}" for k, v in row.setting.items())
    ratio = "" if row.ratio is None or not row.sure else f"{row.ratio:.7g}"
    found = "" if row.found is None else f"{row.found:.1f}"
    answer = "yes" if row.refuted else "no"
    return f"| {row.statement} | {answer} | {found} | {row.seconds:.1f} | {row.trials} | {ratio} | {setting} | {size} |"


def summary(rows: list[Row]) -> str:
    """How many fell, and what was met on the way."""
    fell = [row for row in rows if row.refuted]
    line = f"{len(fell)} of {len(rows)} statements refuted, {sum(row.seconds for row in rows):.0f} processor seconds"
    if fell:
        times = sorted(row.found or 0.0 for row in fell)
        line += f"; found after {np.median(times):.1f} s in the median, {times[-1]:.1f} s at most"
    tight = [row.ratio for row in rows if row.sure and not row.refuted and row.ratio is not None]
    if tight:
        near = sum(ratio >= 0.99 for ratio in tight)
        line += (
            f"; of {len(tight)} sure ones that survived the largest ratio was {max(tight):.10g}, {near} within 1 % of 1"
        )
    return line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--simplify", type=float, help="processor seconds for making it simpler; 0.4 of the others")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=())
    parser.add_argument("--true", action="store_true", help="the true neighbours")
    parser.add_argument("--out", type=Path)
    own = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    claims = [case.true if own.true else case.false for case in CASES]
    claims = [claim for claim in claims if not own.only or type(claim).__name__ in own.only]
    lines = own.out.read_text(encoding="utf-8").splitlines() if own.out and own.out.exists() else []
    rows = {row.statement: row for line in lines if (row := Row(**json.loads(line))).seed == own.seed}
    for claim in claims:
        name = type(claim).__name__
        if name in rows and (rows[name].refuted or rows[name].budget >= own.seconds):
            continue
        rows[name] = searched(claim, own.true, own.seconds, own.simplify, own.seed)
        jax.clear_caches()
        print(told(rows[name]), file=sys.stderr, flush=True)
        if own.out:
            with own.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(dataclasses.asdict(rows[name])) + "\n")
    shown = [rows[type(claim).__name__] for claim in claims]
    print("| statement | refuted | found after, s | in all, s | problems | ratio | setting | counterexample |")
    print("|---|---|---|---|---|---|---|---|")
    print("\n".join(told(row) for row in shown))
    print(summary(shown))


if __name__ == "__main__":
    main()
