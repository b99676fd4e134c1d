"""Writes a result, and ends itself with SIGKILL before or after its n-th change of the file system."""

import os
import pathlib
import signal
import sys

from lemmata.files import replace_text
from lemmata.results import replace_files

WATCHED = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "open", "shutil.rmtree")
FILES = {"study.json": "{}", "report/index.html": "<p>", "report/rows.csv": "a"}


def files(mark):
    """The files of the result of some run."""
    return {name: text + mark for name, text in FILES.items()}


def main(folder, kind, mark, number):
    """Write it; the hook sees every rename, removal and opening before it happens."""
    left = [int(number)]

    def hook(event, words):
        if event in WATCHED and str(folder) in str(words):
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    if kind == "files":
        replace_files(folder, "study.json", files(mark), gone=["report/old.csv"])
    else:
        replace_text(pathlib.Path(folder, "a.txt"), "a" + mark)


if __name__ == "__main__":
    main(*sys.argv[1:])
