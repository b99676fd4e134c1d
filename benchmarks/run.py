"""Runs every benchmark of this folder and prints a table of ratios, each measured against its peer in one run.

    python benchmarks/run.py                    all, about an hour on two quiet cores
    python benchmarks/run.py kernels softmax    some
    python benchmarks/run.py --write [names]    the table with the machine into docs/speed.md
    python benchmarks/run.py --toy              all at toy size, to see that they run: the ratios say nothing

A benchmark is a module with `main() -> list[(what, peer, ratio)]` and `TOY`, the values of its constants at toy size.
Each runs in a process of its own; one that fails is named at the end, and the exit code is then 1. Other modules answer
a question about results, not about time: they say in their first line what they measure, and run by themselves. A
benchmark whose peer needs an environment of its own prints which variable names it, and has no rows without it.
"""

import argparse
import ast
import importlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable

FOLDER = pathlib.Path(__file__).resolve().parent
PAGE = FOLDER.parent / "docs" / "speed.md"
MARKS = ("<!-- table: written by benchmarks/run.py -->", "<!-- end of the table -->")
ROWS = "list[tuple[str, str, float]]"
Row = tuple[str, str, float]


def benchmarks() -> list[str]:
    """The modules of this folder whose `main` returns rows."""
    found = []
    for path in sorted(FOLDER.glob("*.py")):
        for part in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(part, ast.FunctionDef) and part.name == "main" and part.returns is not None:
                found += [path.stem] * (ast.unparse(part.returns) == ROWS)
    return found


def shrunk(name: str) -> None:
    """Give a module, and what it imports from this folder, the constants of toy size."""
    importlib.import_module(name)
    for other in benchmarks():
        if other in sys.modules:
            vars(sys.modules[other]).update(vars(sys.modules[other]).get("TOY", {}))


def measure(name: str, toy: bool, out: str) -> None:
    """Run one benchmark in this process and write its rows to a file."""
    if toy:
        shrunk(name)
    rows = importlib.import_module(name).main()
    pathlib.Path(out).write_text(json.dumps(rows), encoding="utf-8")


def rows_of(name: str, toy: bool, folder: str) -> tuple[list[Row] | None, float]:
    """The rows of a benchmark, None where it failed, and its seconds; what it prints goes to standard error."""
    out, begun = pathlib.Path(folder) / f"{name}.json", time.perf_counter()
    command = [sys.executable, __file__, name, "--into", str(out), *["--toy"] * toy]
    done = subprocess.run(command, stdout=sys.stderr, check=False)
    seconds = time.perf_counter() - begun
    if done.returncode or not out.exists():
        return None, seconds
    return [tuple(row) for row in json.loads(out.read_text(encoding="utf-8"))], seconds


def run(names: list[str], toy: bool = False) -> tuple[list[Row], list[str], float]:
    """Run benchmarks one after the other and print their rows; all rows, the names that failed, and the seconds."""
    print(f"{'what':<66}{'peer':<50}{'ratio':>10}")
    rows, failed, whole = [], [], 0.0
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            found, seconds = rows_of(name, toy, folder)
            whole += seconds
            if found is None:
                failed.append(name)
            for what, peer, ratio in found or []:
                print(f"{what:<66}{peer:<50}{ratio:>10.3g}", flush=True)
            rows += found or []
            print(f"{name}: {seconds:.0f} s, {len(found or [])} rows", file=sys.stderr, flush=True)
    return rows, failed, whole


def machine() -> str:
    """The processor, its cores, the memory and the versions, in words."""
    from importlib.metadata import version

    processor = platform.processor() or platform.machine()
    cpu = pathlib.Path("/proc/cpuinfo")
    if cpu.exists():
        named = [
            line.split(":", 1)[1].strip() for line in cpu.read_text().splitlines() if line.startswith("model name")
        ]
        processor = named[0] if named else processor
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    packages = ", ".join(f"{name} {version(name)}" for name in ("jax", "jaxlib", "numpy", "scipy", "scikit-learn"))
    return (
        f"{processor}, {cores} cores, {memory:.0f} GiB of memory, {platform.system()}; "
        f"Python {platform.python_version()}, {packages}"
    )


def page(rows: Iterable[Row], seconds: float, load: float, left: Iterable[str] = ()) -> str:
    """What stands between the marks of docs/speed.md."""
    rest = ", ".join(left)
    text = [
        f"Measured on {machine()}. The run took {seconds / 60:.0f} minutes; the machine's load before it was "
        f"{load:.1f} processes." + (f" These benchmarks were not run: {rest}." if rest else ""),
        "",
        "| what | peer | ratio |",
        "| --- | --- | ---: |",
        *(f"| {what} | {peer} | {ratio:.3g} |".replace("`", "") for what, peer, ratio in rows),
    ]
    return "\n".join(text)


def write(told: str) -> None:
    """Put a table into docs/speed.md."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    PAGE.write_text(f"{before}{MARKS[0]}\n{told}\n{MARKS[1]}{after}", encoding="utf-8")


def main(words: list[str]) -> int:
    """Run what the words ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="benchmarks; all by default")
    parser.add_argument("--toy", action="store_true", help="at toy size")
    parser.add_argument("--write", action="store_true", help="write the table into docs/speed.md")
    parser.add_argument("--into", help=argparse.SUPPRESS)
    told = parser.parse_args(words)
    known = benchmarks()
    unknown = sorted(set(told.names) - set(known))
    if unknown:
        others = sorted({path.stem for path in FOLDER.glob("*.py")} & set(unknown))
        remedy = f"; {', '.join(others)} measures no ratios: run it by itself" if others else ""
        parser.error(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(known)}{remedy}")
    if told.write and told.toy:
        parser.error("--write takes benchmarks at full size; leave out --toy")
    sys.path.insert(0, str(FOLDER))
    if told.into:
        measure(*told.names, told.toy, told.into)
        return 0
    load = os.getloadavg()[0]
    rows, failed, seconds = run(told.names or known, told.toy)
    print(f"{len(rows)} ratios in {seconds / 60:.1f} minutes on {machine()}", file=sys.stderr)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    elif told.write:
        write(page(rows, seconds, load, sorted(set(known) - set(told.names or known))))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
