"""What a face says, kept as a file beside its test: a change of it fails until somebody has read it.

Words have to be equal, numbers as near as other versions of libraries bring them. After a change on purpose,

    LEMMATA_WRITE_PINNED=1 pytest -m every FILE

writes the files anew, and `git diff` shows what has changed.
"""

import difflib
import itertools
import math
import os
import pathlib
import re

NUMBER = re.compile(r"(?<![\w.])[-−]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w.])|(?<![\w.])[-−]?\d+\.\d+")
NEAR = 1e-6
"""Of a number: what other sums and other compilers change is a hundred times as small."""


def check(test: str, name: str, text: str, near: float = NEAR) -> None:
    """Fail where a text is not the one that was kept.

    Args:
        test: the file of the test, `__file__`; the text is kept in the folder `pinned` beside it.
        name: of the text.
        text: what is said now.
        near: how far numbers with a point may be apart, as a share of them.
    """
    path = pathlib.Path(test).parent / "pinned" / f"{name}.txt"
    text = "\n".join(line.rstrip() for line in text.splitlines()) + "\n"
    if "LEMMATA_WRITE_PINNED" in os.environ:
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    assert path.exists(), f"{path} is missing: run this test with LEMMATA_WRITE_PINNED=1"
    kept = path.read_text(encoding="utf-8")
    assert same(kept, text, near), "\n" + "\n".join(itertools.islice(_apart(kept, text), 40))


def same(kept: str, text: str, near: float = NEAR) -> bool:
    """Whether two texts have the same words, and numbers that differ by rounding alone."""
    if NUMBER.split(kept) != NUMBER.split(text):
        return False
    pairs = zip(NUMBER.findall(kept), NUMBER.findall(text), strict=True)
    return all(one == other or _near(one, other, near) for one, other in pairs)


def _near(one: str, other: str, near: float) -> bool:
    if "." not in one + other:
        return False  # counts
    first, second = (float(each.replace("−", "-")) for each in (one, other))
    return math.isclose(first, second, rel_tol=near, abs_tol=1e-12)


def _apart(kept: str, text: str):
    lines = difflib.unified_diff(kept.splitlines(), text.splitlines(), "kept", "now", lineterm="", n=1)
    return (line[:300] for line in lines)
