"""Make the page of a study: clean the record, draw its pictures, and fill the template of a self-contained page."""

import functools
import re
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from lemmata.printable import clean
from lemmata.workflows.records.studies import StudyRecord

from . import _charts as charts
from . import _views as views
from ._curves import drawn_models, learning_curve_chart
from ._described import described
from ._policy import secured
from ._text import number, script_json, told, told_asked, told_interval, told_marks, told_save, verdict
from ._theme import themed
from ._vega import bundle, svg_text

WIDE = {"width": 500, "height": 290}
_UNDRAWN = Markup(
    '<p class="soft">This picture was not drawn, because the memory of the process was limited. It shows: {}</p>'
)


def page(record: StudyRecord) -> str:
    """The HTML of the page of a study."""
    record = clean(record, lines=True)
    pictures = drawn(_pictures(record), described(record))
    return template("report.html").render(
        record=record,
        pictures=pictures,
        models=views.models(record),
        more=views.more(record),
        points=views.points(record),
        quality=views.quality(record),
        columns=views.columns(record),
        confusions=views.confusions(record) if record.data.task == "classification" else [],
        worst=views.worst(record),
        claims=views.claims(record),
        warnings=views.warnings(record),
        version=record.lemmata,
        **shipped(pictures),
    )


def page_text(record: StudyRecord) -> str:
    """A fragment of HTML for a notebook: answers, learning curve (SVG), table of models and warnings, without scripts.

    Args:
        record: a study.
    """
    record = clean(record, lines=True)
    pictures = drawn(_curves(record), described(record))
    return template("fragment.html").render(
        record=record, pictures=pictures, models=views.models(record), warnings=views.warnings(record)
    )


def _curves(record: StudyRecord) -> dict[str, Any]:
    return {"curves": learning_curve_chart(record, **WIDE)} if drawn_models(record) else {}


def _pictures(record: StudyRecord) -> dict[str, Any]:
    found = _curves(record) | {
        "all-curves": charts.all_curves(record),
        "theory": charts.theory(record),
        "spectra": charts.spectra(record),
        "residuals": charts.residuals(record),
    }
    found |= {f"training-{i}": charts.training(run) for i, run in enumerate(record.training)}
    return {name: chart for name, chart in found.items() if chart is not None}


def drawn(pictures: dict[str, Any], words: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return, for each chart, its Vega-Lite specification, its SVG and the columns of its data as CSV.

    Args:
        pictures: the charts by name, as Vega-Lite specifications or altair charts.
        words: the description of each picture, for readers who cannot see it.
    """
    found = {}
    for name, chart in pictures.items():
        spec = {**themed(chart), "description": words[name]}
        found[name] = {"spec": spec, "svg": svg_of(spec, words[name], name), "csv": charts.CSV.get(name)}
    return found


def svg_of(spec: dict[str, Any], words: str, name: str) -> Markup:
    """Convert a Vega-Lite specification to SVG, with a description of what the picture shows.

    Args:
        spec: the Vega-Lite specification.
        words: the description of the picture, for readers who cannot see it.
        name: a name that no other picture of the page has.
    """
    svg = svg_text(spec)
    if svg is None:
        return _UNDRAWN.format(words)
    # Clip paths get new numbers in every picture, because pictures on one page need different names.
    svg = re.sub(r'(id="|url\(#)(?=clip|gradient)', rf"\g<1>{name}-", svg)
    # A reader's font may be wider than the font with which names were measured. With visible overflow, wider text is
    # not cut off.
    opening = Markup('<svg role="img" overflow="visible" aria-label="{}"').format(words)
    return Markup(svg.replace("<svg", str(opening), 1))


def shipped(pictures: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """The data for the scripts of a page: the chart specifications and Vega itself."""
    specs = {name: {"spec": item["spec"], "csv": item["csv"]} for name, item in pictures.items()}
    return {"specs": specs, "bundle": bundle() if specs else "", "embed": _script()}


@functools.cache
def _script() -> Markup:
    return Markup((Path(__file__).parent / "templates" / "report.js").read_text(encoding="utf-8"))


class _Page(jinja2.Template):
    """A template that adds to its pages a Content-Security-Policy, which restricts what a page may run and load."""

    def render(self, *given: Any, **named: Any) -> str:
        return secured(super().render(*given, **named))


@functools.cache
def template(name: str) -> jinja2.Template:
    """A template with the filters that all pages use."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lemmata.interfaces.report"),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.template_class = _Page
    environment.filters |= {
        "number": _or_missing(number),
        "verdict": _or_missing(verdict),
        "told": told,
        "told_asked": told_asked,
        "told_marks": told_marks,
        "told_save": told_save,
        "told_interval": told_interval,
        "script_json": script_json,
    }
    return environment.get_template(name)


def _or_missing(show: Any) -> Any:
    """Convert a function to a template filter that passes None for a missing field of a claim."""
    return lambda value: show(None if isinstance(value, jinja2.Undefined) else value)
