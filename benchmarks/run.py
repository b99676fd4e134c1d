"""Runs every benchmark of this folder and prints a table of time ratios, each measured against its peer in one run.

A benchmark is a module with `main() -> list[(what, peer, ratio)]`. Name some to run only those:
`python benchmarks/run.py kernels`.
"""

import importlib
import pathlib
import sys


def run(names: list[str]) -> None:
    """Runs the benchmark modules of these names (all, where none is given) and prints their rows."""
    folder = pathlib.Path(__file__).parent
    sys.path.insert(0, str(folder))
    known = sorted(path.stem for path in folder.glob("*.py") if path.stem != "run")
    unknown = sorted(set(names) - set(known))
    if unknown:
        sys.exit(f"unknown benchmark {', '.join(unknown)}; known: {', '.join(known)}")
    print(f"{'what':<66}{'peer':<50}{'ratio':>10}")
    for name in names or known:
        module = importlib.import_module(name)
        if hasattr(module, "main"):
            for what, peer, ratio in module.main():
                print(f"{what:<66}{peer:<50}{ratio:>10.3g}", flush=True)


if __name__ == "__main__":
    run(sys.argv[1:])
