"""Labels fit in their picture, also in a font that is wider than the one with which the picture was laid out."""

import dataclasses
import re
import xml.etree.ElementTree as ElementTree

import pytest

from lemmata.interfaces.report import svg_of
from lemmata.interfaces.report._families import cost_chart, curves_chart, errors_chart
from lemmata.interfaces.report._letters import axis_of_names, widest
from lemmata.interfaces.report._model import strip_chart
from lemmata.interfaces.report._page import _pictures
from lemmata.interfaces.report._theme import themed
from tests.interfaces.report.example import classified, measured
from tests.interfaces.report.test_families import example as families
from tests.interfaces.report.test_model_page import gauge, with_gauges

LONG = "Success of a membership attack by the loss, predicted from training rows"
_MOVED = re.compile(r"translate\(([-\d.]+)[, ]([-\d.]+)\)")
_START = {"end": 1.0, "middle": 0.5}


def cut(svg):
    """The labels of a picture that may reach beyond its left or right edge, with the pixels by which they do so."""
    root = ElementTree.fromstring(svg)
    first, _, width, _ = map(float, root.get("viewBox").split())
    found = []

    def look(node, x):
        move = node.get("transform") or ""
        moved = _MOVED.match(move)
        x += float(moved[1]) if moved else 0.0
        if node.tag.endswith("text") and "rotate(-90)" not in move and node.get("opacity") != "0":
            size = float((node.get("font-size") or "11").removesuffix("px"))
            for line in [node, *node.iter(f"{node.tag.removesuffix('text')}tspan")]:
                own = widest(line.text or "", size)
                start = x + float(node.get("x") or 0) - own * _START.get(node.get("text-anchor"), 0.0)
                over = max(first - start, start + own - first - width)
                if over > 0.5:
                    found.append((line.text, round(over)))
        for inner in node:
            look(inner, x)

    look(root, 0.0)
    return found


def pictures():
    strip = with_gauges([dataclasses.replace(gauge(1), title=LONG), gauge(2), gauge(3)])
    compared = families()
    found = {"strip": strip_chart(strip), "errors": errors_chart(compared)}
    found |= {"cost": cost_chart(compared), "families": curves_chart(compared)}
    for record in (classified(), measured()):
        found |= {f"{record.data.task}-{name}": chart for name, chart in _pictures(record).items()}
    return {name: chart for name, chart in found.items() if chart is not None}


@pytest.mark.parametrize("name", pictures())
def test_no_label_reaches_beyond_its_picture(name):
    assert cut(svg_of(themed(pictures()[name]), "words", name)) == []


def test_a_label_that_is_cut_is_found():
    label = '<g transform="translate(40,10)"><text text-anchor="end">membership</text></g>'
    drawn = f'<svg viewBox="0 0 100 20">{label}</svg>'
    assert [text for text, _ in cut(drawn)] == ["membership"]
    assert cut(drawn.replace("40,10", "90,10")) == []


def test_long_names_are_broken_between_words_and_none_is_lost():
    axis = axis_of_names([LONG, "a"], 12, 42)
    assert LONG in axis["labelExpr"]
    assert axis["minExtent"] < widest(LONG, 12)
    assert "labelExpr" not in axis_of_names([LONG], 12)
