"""Every program of docs/papers.md is short and prints what the page says, and every paper has its figure."""

import pathlib
import re

import pytest

from lemmata.engine.sources import reproductions, sources
from tests.programs import printed, skip_without_nuclei, started_in_float32

DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "papers.md").read_text(encoding="utf-8")
CHAPTERS = dict(re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
PAPERS = [key for key in sources() if reproductions(key)]
PROGRAM = re.compile(r"```python\n(.*?)```\n+(?:This prints:\n+)?```(?:text)?\n(.*?)```", re.S)


@pytest.mark.parametrize("key", PAPERS)
def test_every_paper_has_a_program_a_figure_and_its_statements(key):
    (part,) = [part for part in CHAPTERS.values() if f"<!-- {key}:" in part]
    assert len(PROGRAM.findall(part)) == part.count("```python") >= 1
    for picture in re.findall(r"!\[[^\]]{20,}\]\(pictures/(\w+)\.svg\)", part):
        assert (DOCS / "pictures" / f"{picture}.svg").read_text(encoding="utf-8").startswith("<svg")
        break
    else:
        raise AssertionError(f"{key} has no figure")


@pytest.mark.parametrize("title", [title for title, part in CHAPTERS.items() if "```python" in part])
def test_a_program_has_at_most_fifteen_lines_and_prints_what_the_page_says(title):
    for program, expected in PROGRAM.findall(CHAPTERS[title]):
        assert sum(bool(line.strip()) for line in program.splitlines()) <= 15
        if "measured_radii" in program:
            skip_without_nuclei()
        with started_in_float32():
            assert printed(program, {}) == expected.strip()
