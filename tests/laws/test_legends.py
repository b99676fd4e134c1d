"""The pictures of chapters name each of their marks in a legend."""

import pathlib
import re

import pytest

PICTURES = pathlib.Path(__file__).parents[2] / "docs" / "pictures"
NAMED = {
    "chapter_14": {"√JS of distributions", "√JS of samples", "1 + k/(m - k - 1)", "mean of 400 recoveries"},
    "chapter_18": {"found", "proved", "l_1 decoder", "threshold"},
    "chapter_19": {"validation", "training", "decay 0.5: 163, 4110"},
    "chapter_22": {"1 token", "16 tokens", "smooth law", "measured"},
}  # fmt: skip


def labels(svg):
    """The texts of legends."""
    parts = re.findall(r'role-legend-label".*?</g>', svg, re.S)
    return {text for part in parts for text in re.findall(r">([^<>]+)</text>", part)}


@pytest.mark.parametrize("name", NAMED)
def test_every_mark_has_a_legend(name):
    found = labels((PICTURES / f"{name}.svg").read_text(encoding="utf-8"))
    assert NAMED[name] <= found, found
