"""Every program of docs/tools.md prints what the page says."""

import importlib.util
import pathlib
import re

import pytest

from tests.programs import printed, started_in_float32

PAGE = (pathlib.Path(__file__).parents[2] / "docs" / "tools.md").read_text(encoding="utf-8")
ABSENT = [name for name in ("torch", "flax") if importlib.util.find_spec(name) is None]
# A program, at most a few words, and what it prints.
PROGRAMS = re.findall(r"```python\n(.*?)```\n+(?:This prints:\n+)?```(?:text)?\n(.*?)```", PAGE, re.S)


def test_every_program_shows_what_it_prints():
    assert len(PROGRAMS) == PAGE.count("```python") >= 10


@pytest.mark.parametrize("chapter", re.findall(r"^## (.*)$", PAGE, re.M))
def test_the_page_prints_what_it_says(chapter):
    part = re.split(r"^## ", PAGE.split(f"## {chapter}\n")[1], flags=re.M)[0]
    here: dict = {}
    with started_in_float32():
        for program, expected in PROGRAMS:
            if program not in part or any(f"import {name}" in program for name in ABSENT):
                continue  # of another chapter, or for those who have PyTorch or Flax
            assert printed(program, here) == expected.strip()
