"""Run trials and write each trial when it finishes. Trials that the ledger already has are read, and not run again."""

import json
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path

import jax
import numpy as np

from lemmata.core import float64_enabled, one_blas_thread
from lemmata.engine.claims import (
    Claim,
    Hypothesis,
    Outcome,
    Standing,
    Trials,
    compiled,
    executed,
    root_key,
    stacked,
    trials_print_of,
)
from lemmata.errors import DataError, line_of

from ._file import Ledger, open_ledger
from ._rows import ARRAYS, Row, arrays_of, reading


def recorded_trials(
    path: str | Path, run: int, claim: Claim, setting: dict, trials: int, seed: int, executor: Executor | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Trials:  # fmt: skip
    """Read or run the trials of a claim at a setting.

    Known trials are read from the ledger. The other trials are run, and written as they finish.

    A trial is identified by its claim, the fingerprint of the code that it runs, its setting, seed and number. If the
    claim is written in JAX, the size of the compiled call (the number of its trials) is also part of the identity. The
    reason is that the last digits of results depend on this size.

    Args:
        path: the path of the ledger.
        run: the number of the run (one call of a command) to which the trials belong.
        claim: the claim.
        setting: the setting of the claim's population.
        trials: the number of trials.
        seed: the seed of all randomness.
        executor: where trials run, if the claim is not written in JAX.
        progress: a function that is called with the number of finished trials and the number of all trials.
    """
    with open_ledger(path) as ledger:
        finished, rows = Trials(trials), []
        base = {"claim": claim.name, "fingerprint": trials_print_of(claim), "seed": seed, "run": run}
        base["setting"] = json.dumps(setting, sort_keys=True)
        source = _traced if claim.traced else _untraced
        try:
            with one_blas_thread():
                for found in source(ledger, base, claim, setting, trials, executor):
                    if isinstance(found, str):
                        finished.errors.append(found)
                    else:
                        rows += found
                    progress(len(rows) + len(finished.errors), trials)
        except KeyboardInterrupt:
            finished.interrupted = True
        except DataError:
            raise
        except Exception as error:  # a claim's own code may raise any error; its failure is a verdict, not a traceback
            finished.errors.append(line_of(error))
    rows.sort(key=lambda row: row["number"])
    finished.numbers = np.asarray([row["number"] for row in rows], int)
    if rows:
        finished.stacked = stacked_rows(rows)
    return finished


def _known(ledger: Ledger, base: Row, size: int | None, trials: int) -> dict[int, Row]:
    own = [base[name] for name in ("claim", "fingerprint", "setting", "seed")]
    where = "claim = ? AND fingerprint = ? AND setting = ? AND seed = ? AND number < ?"
    found = ledger.query(f"SELECT * FROM trials WHERE {where}", *own, trials)
    return {row["number"]: dict(row) for row in found if size is None or row["size"] == size}


def _traced(
    ledger: Ledger, base: Row, claim: Claim, setting: dict, trials: int, executor: Executor | None
) -> Iterator[list[Row]]:
    known = _known(ledger, base, None, trials)
    sizes = {row["size"] for row in known.values()}
    if len(known) == trials and len(sizes) == 1:
        yield [known[number] for number in range(trials)]
        return
    program, size = compiled(claim, tuple(setting.items()), trials)
    root = root_key(claim, base["seed"])
    known = {number: row for number, row in known.items() if row["size"] == size}
    for start in range(0, trials, size):
        wanted = range(start, min(start + size, trials))
        if not all(number in known for number in wanted):
            begun = time.monotonic()
            result = jax.tree.map(np.asarray, program(root, np.arange(start, start + size)))
            seconds = (time.monotonic() - begun) / size
            rows = [_row(base, number, size, _at(result, number - start), seconds) for number in wanted]
            ledger.add_trials(rows)
            known.update((row["number"], row) for row in rows)
        yield [known[number] for number in wanted]


def _untraced(
    ledger: Ledger, base: Row, claim: Claim, setting: dict, trials: int, executor: Executor | None
) -> Iterator[list[Row] | str]:
    known = _known(ledger, base, 0, trials)
    yield [known[number] for number in sorted(known)]
    if len(known) == trials:
        return
    begun = time.monotonic()
    for (number,), result in executed(claim, setting, trials, base["seed"], executor):
        if number in known:
            continue
        if isinstance(result, str):
            yield result
            continue
        row = _row(base, number, 0, _at(result, 0), time.monotonic() - begun)
        ledger.add_trials([row])
        begun = time.monotonic()
        yield [row]


def _at(batch: Outcome, place: int) -> Outcome:
    return jax.tree.map(lambda leaf: np.asarray(leaf)[place], batch)


def _row(base: Row, number: int, size: int, one: Outcome, seconds: float) -> Row:
    """One finished trial as a row."""
    arrays = [np.asarray(getattr(one, name), float) for name in ARRAYS]
    hypotheses = [
        [h.name, float(h.value), h.relation, float(h.threshold), h.why, h.rounding, str(h.standing), float(h.margin)]
        if np.ndim(h.value) == 0
        else [h.name, np.asarray(h.value).tolist(), h.relation, np.asarray(h.threshold).tolist(), h.why, h.rounding,
              str(h.standing), np.asarray(h.margin).tolist()]
        for h in one.hypotheses
    ]  # fmt: skip
    return base | {
        "number": number, "size": size, "holds": int(np.all(one.holds)), "undefined": int(np.any(one.undefined)),
        "hypotheses": json.dumps(hypotheses), "arrays": b"".join(array.tobytes() for array in arrays),
        "shapes": json.dumps([array.shape for array in arrays]),
        "dtype": "float64" if float64_enabled() else "float32", "seconds": seconds,
    }  # fmt: skip


def stacked_rows(rows: list[Row]) -> Outcome:
    """The rows of several trials as the outcome of a batch."""
    return stacked([_outcome(row) for row in rows])


def _outcome(row: Row) -> Outcome:
    """The row of one trial as an outcome with a leading axis of length 1."""
    parts = {name: array[None] for name, array in arrays_of(row).items()}
    with reading():
        hypotheses = [
            jax.tree.map(np.asarray, Hypothesis(name, np.asarray([value], float), relation,
                                                np.asarray([threshold], float), why, rounding, Standing(standing)))
            for name, value, relation, threshold, why, rounding, standing, _ in json.loads(row["hypotheses"])
        ]  # fmt: skip
    holds, undefined = (np.asarray([bool(row[name])]) for name in ("holds", "undefined"))
    return Outcome(hypotheses, holds, undefined, parts["predicted"], parts["false"], parts["measured"],
                   parts["condition"], parts["trivial"])  # fmt: skip


def replay(ledger: Ledger, claim: Claim, setting: str, seed: int, number: int) -> tuple[Row, bool]:
    """Run one trial of the ledger again, in a compiled call of the same size as before.

    Returns:
        The new row of the trial, and whether its hypotheses and numbers equal the recorded values bit for bit.

    Raises:
        DataError: if the ledger has no such trial of the current code, or if the trial now raises an error.
    """
    base = {"claim": claim.name, "fingerprint": trials_print_of(claim), "setting": setting, "seed": seed, "run": 0}
    known = _known(ledger, base, None, number + 1).get(number)
    if known is None:
        other = ledger.query(
            "SELECT DISTINCT fingerprint FROM trials WHERE claim = ? AND number = ?", claim.name, number
        )
        found = "only trials of other versions of the code" if other else "no such trial"
        raise DataError(f"trial {number} of {claim.name}", found=found, rule="a recorded trial of the current code",
                        remedy="run `lemmata ledger list` to see the recorded trials")  # fmt: skip
    with reading():
        own, size = json.loads(setting), int(known["size"] or 0)
    if size:
        program, _ = compiled(claim, tuple(own.items()), size)
        start = number // size * size
        one = _at(
            jax.tree.map(np.asarray, program(root_key(claim, seed), np.arange(start, start + size))), number - start
        )
    else:
        found = [result for (at,), result in executed(claim, own, number + 1, seed, None) if at == number]
        if isinstance(found[0], str):
            raise DataError(f"trial {number} of {claim.name}", found=found[0], rule="a trial that runs as before")
        one = _at(found[0], 0)
    again = _row(base, number, size, one, 0.0)
    same = all(again[name] == known[name] for name in ("arrays", "shapes", "hypotheses", "holds", "undefined"))
    return again, same
