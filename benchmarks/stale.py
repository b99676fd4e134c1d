"""How many verdicts become stale when one of ten files is touched: `stale.py`. The table stands in docs/design.md."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import lemmata

TOUCHED = (
    ("errors.py", "a message", 'f"remedy: {remedy}"', 'f"what to do: {remedy}"'),
    ("kernels/_gram.py", "a remedy", "fewer points, or float32", "fewer points or float32"),
    ("engine/claims/_judge.py", "a reason", "before the first trial was finished", "before the end of the first trial"),
    (
        "engine/claims/_trials.py",
        "a local renamed",
        "lambda own: measured(claim, problem, own)",
        "lambda each: measured(claim, problem, each)",
    ),
    ("subjects/optimisers/decay.py", "a helper renamed", "_visited(", "_seen_at("),
    ("subjects/trained_models/_triggers.py", "a constant", "_RATE = 0.08", "_RATE = 0.09"),
    ("subjects/trained_models/_triggers.py", "the question", "seed=trained.seed)", "seed=trained.seed + 1)"),
    ("subjects/trained_models/_shift.py", "a constant", "_DRAWS = 199", "_DRAWS = 99"),
    ("subjects/trained_models/_polish.py", "a constant", "_FORCED = 1e-2", "_FORCED = 1e-3"),
    ("engine/claims/_statistics.py", "a number", "64 * np.finfo", "32 * np.finfo"),
)
"""A file, how it is touched, and the words before and after."""
COUNT = """
import json, pathlib
from lemmata.engine.catalogue import prints
root = pathlib.Path({root!r}) / "subjects"
stale = total = 0
for path in sorted(root.glob("*/records/*.json")):
    for name, record in json.loads(path.read_text()).items():
        total += 1
        module = f"lemmata.subjects.{{path.parts[-3]}}.{{path.stem}}"
        stale += prints(module, name).whole != record["fingerprint"]["whole"]
print(json.dumps([stale, total]))
"""


def stale(root: pathlib.Path) -> list[int]:
    """Stale verdicts and all of them, of a copy of the package."""
    run = [sys.executable, "-c", COUNT.format(root=str(root))]
    found = subprocess.run(run, env={**os.environ, "PYTHONPATH": str(root.parent)}, capture_output=True, text=True)
    if found.returncode:
        raise SystemExit(found.stderr)
    return json.loads(found.stdout)


def main() -> None:
    """Touch a file of a copy at a time, count, and put it back."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder) / "lemmata"
        shutil.copytree(pathlib.Path(lemmata.__file__).parent, root)
        print("nothing", *stale(root))
        for file, how, old, new in TOUCHED:
            text = (root / file).read_text()
            if old not in text:
                raise SystemExit(f"{file} does not say {old!r}: change TOUCHED in {__file__}")
            (root / file).write_text(text.replace(old, new))
            print(f"| `{file}`, {how} | {stale(root)[0]} |", flush=True)
            (root / file).write_text(text)


if __name__ == "__main__":
    main()
