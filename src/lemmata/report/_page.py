"""The page: the record is cleaned, drawn, and set into one template with everything it needs inside."""

import functools
import json
from pathlib import Path
from typing import Any

import altair as alt
import jinja2
import vl_convert
from markupsafe import Markup

from lemmata.files import replace_text

from . import _charts as charts
from ._text import (
    agreement,
    brief,
    clean,
    comparison,
    condition,
    interval,
    is_order,
    is_rate,
    number,
    own_units,
    percent,
    script_json,
    slug,
    verdict,
)

SECTIONS: dict[str, Any] = {
    "data": {},
    "answers": {},
    "quality": {},
    "architectures": [],
    "training": [],
    "claims": [],
    "bibliography": [],
    "notes": [],
}


def write_report(study: dict[str, Any], directory: str | Path) -> Path:
    """Write `directory/index.html`: one page that needs no other file and no network.

    Pictures stand in the page twice: as SVG, which every browser and printer shows, and as a Vega-Lite specification,
    which replaces it by one with tooltips where scripts run. Names that the user controls are escaped wherever they
    appear; control characters in them are made visible.

    Args:
        study: the record of a study, as `study.json` holds it. Sections may be missing or empty.
        directory: created where it does not exist.

    Returns:
        The path of the page.

    Raises:
        DataError: the page cannot be written; one that stood there stays as it was.

    >>> import tempfile
    >>> page = write_report({"data": {"name": "a < b"}}, tempfile.mkdtemp())
    >>> page.name, "a &lt; b" in page.read_text(encoding="utf-8")
    ('index.html', True)
    """
    record = clean({**study, **{key: study.get(key) or empty for key, empty in SECTIONS.items()}})
    return replace_text(Path(directory) / "index.html", _render(record))


def _render(record: dict[str, Any]) -> str:
    pictures: dict[str, dict[str, Any]] = {}
    for name in ("learning_curves", "overview", "samples_needed", "spectra"):
        _add(pictures, name, getattr(charts, name)(record))
    for i, run in enumerate(record["training"]):
        _add(pictures, f"training-{i}", charts.training(run))
    anchors = _anchors(record["claims"])
    return _template().render(
        study=record,
        pictures=pictures,
        titles=charts.titles(record),
        named=_named(record),
        anchors=anchors,
        last=_last_points(record),
        conditions=_conditions(record),
        units=own_units(record["data"], record["answers"].get("error")),
        specs={name: picture["spec"] for name, picture in pictures.items()},
        bundle=_bundle() if pictures else "",
    )


def _add(pictures: dict[str, dict[str, Any]], name: str, spec: dict[str, Any] | None) -> None:
    if spec is not None:
        svg = vl_convert.vegalite_to_svg(json.dumps(spec), vl_version=_vega_lite())
        pictures[name] = {"spec": spec, "svg": Markup(svg)}


def _last_points(record: dict[str, Any]) -> list[dict[str, Any]]:
    """For each architecture the measured point with the most training rows; empty where nothing was measured."""
    points = []
    for architecture in record["architectures"]:
        measured = [point for point in architecture.get("curve") or [] if point.get("measured") is not None]
        points.append(max(measured, key=lambda point: point["n"], default={}))
    return points


def _conditions(record: dict[str, Any]) -> list[str]:
    """The condition number of each architecture."""
    rows = record["data"].get("used_rows")
    return [condition(architecture.get("spectrum"), rows) for architecture in record["architectures"]]


def _named(record: dict[str, Any]) -> dict[str, str]:
    """The human name of each architecture, by its short one."""
    return {
        architecture.get("name", ""): title
        for architecture, title in zip(record["architectures"], charts.titles(record), strict=True)
    }


def _anchors(claims: list[dict[str, Any]]) -> list[str]:
    """A distinct anchor for each claim, also where a claim was examined for several architectures."""
    anchors: list[str] = []
    for claim in claims:
        anchor = slug("claim", claim.get("name"), claim.get("architecture"))
        while anchor in anchors:
            anchor += "-x"
        anchors.append(anchor)
    return anchors


def _vega_lite() -> str:
    """The version of Vega-Lite that altair writes, as far as the converter has it."""
    wanted = alt.SCHEMA_VERSION.lstrip("v").rsplit(".", 1)[0]
    known = vl_convert.get_vegalite_versions()
    return wanted if wanted in known else known[-1]


@functools.cache
def _bundle() -> Markup:
    """Vega, Vega-Lite and Vega-Embed in one script, which cannot close the element that it stands in."""
    script = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=_vega_lite())
    return Markup(script.replace("</script", "<\\/script").replace("<!--", "<\\!--"))


@functools.cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("lemmata.report"),
        autoescape=True,
        undefined=jinja2.ChainableUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": _or_missing(number),
        "brief": _or_missing(brief),
        "interval": _or_missing(interval),
        "percent": _or_missing(percent),
        "verdict": _or_missing(verdict),
        "script_json": script_json,
        "comparison": comparison,
        "agreement": agreement,
        "is_rate": is_rate,
        "is_order": is_order,
    }
    return environment.get_template("report.html")


def _or_missing(show: Any) -> Any:
    """A filter to which a field that the record lacks is None."""
    return lambda value: show(None if isinstance(value, jinja2.Undefined) else value)
