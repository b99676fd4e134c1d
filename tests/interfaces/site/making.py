"""Sites that several tests look at, each made by a program of its own: there no annotation is checked at run time."""

import os
import pathlib
import subprocess
import sys

from lemmata.engine.catalogue import rows
from lemmata.interfaces.site import _build, write_site

WIDE_TITLES = ("0367",)
"""Claims whose titles have formulas that are wider than the screen of a phone."""
KEPT = ("0005", "0002", "0009", "0041", "0105", "0201")


def few():
    """One claim of each subject, and some that tests look at."""
    known = rows()
    subjects = {row["subject"]: row["tag"] for row in known}
    corrected = {row["tag"] for row in known if row["corrects"]} & {"0004", "0006"}
    return [row for row in known if row["tag"] in {*KEPT, *WIDE_TITLES, *subjects.values(), *corrected}]


def made(folder: pathlib.Path, whole: bool) -> pathlib.Path:
    """The folder of the whole site, or of the whole site but for most of the claims."""
    root = pathlib.Path(__file__).parents[3]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *filter(None, map(str, sys.path))])}
    command = [sys.executable, "-m", "tests.interfaces.site.making", str(folder / "site"), *["whole"][: int(whole)]]
    subprocess.run(command, env=env, cwd=folder, check=True, timeout=1200)
    return folder / "site"


if __name__ == "__main__":
    import gc

    gc.set_threshold(50_000, 20, 20)
    if "whole" not in sys.argv[2:]:
        _build.rows = few
    write_site(pathlib.Path(sys.argv[1]))
