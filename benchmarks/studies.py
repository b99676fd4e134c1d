"""Is what `lemmata study` says true? Real tables with hidden rows, noise, generators of known truth, and speed.

    python benchmarks/studies.py tables --out tables.jsonl        # the interval, the rows, the floor, the best model
    python benchmarks/studies.py signals --out signals.jsonl      # how often noise is said to have a signal
    python benchmarks/studies.py generators --out known.jsonl     # is the named winner the winner, by scikit-learn
    python benchmarks/studies.py speed --out speed.jsonl          # seconds and GiB
    python benchmarks/studies.py report tables.jsonl              # any of these files as Markdown

A run adds lines to its file; where it stopped, or was stopped, the same command goes on. A line is known by what was
run: other options (--quick, --models, --seed) make other lines, and a report tells them apart. The first needs two
packages more than lemmata: see `studies_tables`, where the tables are; `studies_truth` says what is called the truth.
"""

import argparse
import dataclasses
import json
import math
import pathlib
import time

from lemmata.workers import Lost, finished, workers

SIZES = (100, 250, 1000)
FACTORS = (0.5, 1, 2, 4)
"""The truth is measured at so many times the studied rows, and at eight times where that is at most `FARTHEST`."""
FARTHEST = 2000
MODELS = {
    "classification": "linear,rbf,boosting,forest,logistic",
    "regression": "linear,rbf,boosting,forest",
}


def table_study(name: str, asked: int, draw: int, options: dict) -> dict | None:
    """Study rows of a table, and compare with the rows that were hidden; None where there are too few.

    Args:
        name: of the table.
        asked: rows that are studied.
        draw: which draw of them.
        options: quick, models, seconds.
    """
    import lemmata
    import studies_tables as tables
    from lemmata.errors import LemmataError
    from studies_truth import Pool

    table = tables.read(name)
    drawn = tables.drawn(table, asked, draw)
    if drawn is None:
        return None
    usual = MODELS[table.task].split(",")
    names = [item for item in options["models"].split(",") if item in usual] if options["models"] else usual
    frame = table.frame.iloc[drawn.pool[drawn.studied]].reset_index(drop=True)
    line = {"table": name, "kind": table.kind, "half": tables.half(name), "task": table.task, "asked_n": asked,
            "n": len(frame), "draw": draw, "total": len(table.frame)}  # fmt: skip
    started = time.monotonic()
    try:
        record = lemmata.study(frame, models=names, quick=options["quick"], seed=draw, **table.asked).record
    except LemmataError as error:
        return {**line, "error": f"{type(error).__name__}: {error}"[:300]}
    studied = time.monotonic()
    line |= _told(record) | {"seconds_study": studied - started}
    pool = Pool(table, drawn, record.unit.name, record.data.target_sd**2, draw, options["seconds"])
    line |= _truths(record, pool, len(frame))
    return line | {"seconds_truth": time.monotonic() - studied}


def _told(record) -> dict:
    """What the page says."""
    answers = record.answers
    models = {model.name: model for model in record.models}
    best = models.get(answers.best)
    return {
        "unit": dataclasses.asdict(record.unit),
        "sd": record.data.target_sd,
        "found": record.signal.found,
        "p": record.signal.p_value,
        "best": answers.best,
        "first": answers.first,
        "asked": answers.asked,
        "needed": None if answers.needed is None else dataclasses.asdict(answers.needed),
        "floor": None if best is None else dataclasses.asdict(best.limit),
        "models": {name: model.now.value for name, model in models.items()},
        "sentences": answers.sentences,
        "notes": record.notes,
    }


def _truths(record, pool, n: int) -> dict:
    """The truth beside it."""
    models = {model.name: model for model in record.models}
    same = {name: pool.truth(name, n) for name in models}
    same = {name: item for name, item in same.items() if item is not None}
    line = {
        "guessing": pool.guessing,
        "same_sets": {name: {"value": item.value, "loss": item.loss, "se": item.se} for name, item in same.items()},
        "page": {}, "truth": {}, "own": None, "following": {}, "anywhere": {}, "first_truth": {},
    }  # fmt: skip
    best, first = models.get(record.answers.best), record.answers.first
    if best is None:
        return line
    line["own"] = pool.own(best.name)
    sizes = {factor: round(factor * n) for factor in (*FACTORS, *((8,) if 8 * n <= FARTHEST else ()))}
    for factor, m in sizes.items():
        if not pool.fits(m):
            continue
        page = dataclasses.asdict(best.now) if factor == 1 else _between(best.band, m)
        line["page"][str(factor)] = page
        width = page["upper"] - page["lower"]
        measured = pool.truth(best.name, m, width if math.isfinite(width) else 0.0)
        if measured is None:
            continue
        line["truth"][str(factor)] = dataclasses.asdict(measured)
        if factor in (1, 2, 4):
            line["following"][str(factor)] = pool.following(best.name, m)
            far = (
                pool.truth(best.name, m, width if math.isfinite(width) else 0.0, anywhere=True) if pool.timed else None
            )
            line["anywhere"] |= {} if far is None else {str(factor): dataclasses.asdict(far)}
        if first not in (None, best.name):
            other = pool.truth(first, m, width if math.isfinite(width) else 0.0)
            line["first_truth"] |= {} if other is None else {str(factor): dataclasses.asdict(other)}
    return line


def _between(band, m: float) -> dict[str, float]:
    """What is expected at m rows, linear in ln(m) between the sizes of the band."""
    import numpy as np

    at = np.log([item.n for item in band])
    read = lambda part: float(np.interp(math.log(m), at, [getattr(item, part) for item in band]))
    return {part: read(part) for part in ("value", "lower", "upper")}


def table_tasks(told) -> list[tuple[str, tuple]]:
    """Keys and arguments of `table_study`, the small studies first."""
    from studies_tables import names

    options = {"quick": told.quick, "models": told.models, "seconds": told.seconds}
    return [
        (f"tables {name} {n} {draw} {told.models or 'usual'}{' quick' if told.quick else ''}",
         (name, n, draw, options))
        for draw in range(told.seed, told.seed + told.draws)
        for n in map(int, told.sizes.split(","))
        for name in names(told.half, told.only, told.kinds)
    ]  # fmt: skip


def signal_tasks(told) -> list[tuple[str, tuple]]:
    """Keys and arguments of `noise_study`, 20 tables each."""
    from studies_generators import NOISES

    return [
        (f"signals {name} {first}", (name, first, min(20, told.repeats - first)))
        for first in range(0, told.repeats, 20)
        for name in NOISES
    ]


def known_tasks(told) -> list[tuple[str, tuple]]:
    """Keys and arguments of `known_study`."""
    from studies_generators import GENERATORS

    kept = [name for name in told.only.split(",") if name] or list(GENERATORS)
    return [
        (f"generators {name} {n} {told.seed} {told.models or 'usual'}{' quick' if told.quick else ''}",
         (name, n, told.seed, {"quick": told.quick, "models": told.models}))
        for n in (1000, 10_000, *((100_000,) if told.large else ()))
        for name in kept
    ]  # fmt: skip


def speed_tasks(told) -> list[tuple[str, tuple]]:
    """Keys and arguments of `timed_study`."""
    cases = [(50_000, name) for name in ("linear", "forest", "boosting", "rbf")]
    cases += [(1_000_000, name) for name in ("linear", "boosting")] if told.large else []
    return [
        (f"speed {n} {name}{' quick' if told.quick else ''}", (n, name, told.quick))
        for n, name in cases
        if told.only in ("", name)
    ]


def command(name: str):
    """The tasks of a command, and the function that runs one."""
    if name == "tables":
        return table_tasks, table_study
    import studies_generators as known

    return {
        "signals": (signal_tasks, known.noise_study),
        "generators": (known_tasks, known.known_study),
        "speed": (speed_tasks, known.timed_study),
    }[name]


def run(told) -> None:
    """Run what the file does not hold yet; each line is written as soon as it is there."""
    path, (tasks, function) = pathlib.Path(told.out), command(told.command)
    done = {line["key"] for line in lines(path)}
    waiting = [task for task in tasks(told) if task[0] not in done]
    print(f"{len(waiting)} to do, {len(done)} lines in {path}", flush=True)
    started = time.monotonic()
    with workers(told.jobs) as executor, path.open("a") as file:
        for number, (key, found) in enumerate(finished(executor, function, waiting), 1):
            if isinstance(found, Lost):  # not written, so that the next run tries it again
                print(f"lost: {key}: {found.error}", flush=True)
                continue
            file.write(json.dumps({"key": key, **(found if found else {"nothing": True})}) + "\n")
            file.flush()
            print(f"{number}/{len(waiting)} {time.monotonic() - started:.0f} s: {key}", flush=True)


def lines(path: pathlib.Path) -> list[dict]:
    """The lines of a file; one that was cut in the middle is none."""
    found = []
    for text in path.read_text().splitlines() if path.exists() else ():
        try:
            found.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_subparsers(dest="command", required=True).add_parser
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--out", required=True, help="the file of JSON lines")
    shared.add_argument("--jobs", type=int, default=1, help="processes")
    shared.add_argument("--only", default="", help="names, separated by commas")
    shared.add_argument("--models", default="", help="models, separated by commas; default: the usual ones of the task")
    shared.add_argument("--quick", action="store_true", help="as in lemmata study")
    shared.add_argument("--seed", type=int, default=0)
    shared.add_argument("--large", action="store_true", help="100,000 rows (generators), 1,000,000 (speed)")
    tables = add("tables", parents=[shared])
    tables.add_argument("--half", choices=("odd", "even", "all"), default="all", help="odd calibrates, even reports")
    tables.add_argument("--kinds", default="", help="classes,numbers,heavy,grouped,timed,codes")
    tables.add_argument("--sizes", default=",".join(map(str, SIZES)), help="rows that are studied")
    tables.add_argument("--draws", type=int, default=1, help="studies of each table and size")
    tables.add_argument("--seconds", type=float, default=30.0, help="for the truth of one model at one size")
    add("signals", parents=[shared]).add_argument("--repeats", type=int, default=100, help="tables of each noise")
    add("generators", parents=[shared])
    add("speed", parents=[shared])
    report = add("report")
    report.add_argument("file")
    report.add_argument("--half", choices=("odd", "even", "all"), default="all")
    told = parser.parse_args()
    if told.command != "report":
        run(told)
        return
    from studies_report import report as written

    print(written([line for line in lines(pathlib.Path(told.file)) if "nothing" not in line], told.half))


if __name__ == "__main__":
    main()
