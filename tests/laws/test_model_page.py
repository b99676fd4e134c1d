"""Every program of docs/model.md prints what the page says."""

import pathlib
import re

from tests.programs import printed, started_in_float32

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "model.md").read_text(encoding="utf-8")
# A program and what it prints.
PROGRAMS = re.findall(r"```python\n(.*?)```\n+prints\n+```\n(.*?)```", PAGE, re.S)


def test_the_page_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # a program writes a file of weights
    assert len(PROGRAMS) == PAGE.count("```python") >= 3
    here: dict = {}
    with started_in_float32():
        for program, expected in PROGRAMS:
            assert len(program.strip().splitlines()) <= 11
            assert printed(program, here) == expected.strip()


def test_the_zoo_is_whole():
    """All cells of a seed, and as many verdicts as the last line counts."""
    rows = [line for line in PAGE.splitlines() if re.match(r"\| (mlp|cnn|logistic) \|", line)]
    cells = {tuple(part.strip() for part in row.split("|")[1:4]) for row in rows}
    seeds = {seed for _, _, seed in cells}
    assert len(rows) == len(cells) == 21 * len(seeds)
    right = sum(row.rstrip(" |").endswith("as it should") for row in rows)
    assert f"{right} of {len(rows)} cells say what they should" in PAGE
