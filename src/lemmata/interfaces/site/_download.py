"""The catalogue as files to download: all claims as JSON, a table as CSV, and metadata in the Croissant format."""

import csv
import hashlib
import io
import json
from typing import Any

from lemmata.engine.catalogue import history
from lemmata.version import __version__

from ._pages import claim_address
from ._published import Published
from ._works import title_of, work

COLUMNS = {
    "tag": "permanent number of the claim", "name": "name on the command line", "title": "title",
    "statement": "what it says", "kind": "theorem, lemma, step, ...", "label": "upper or lower bound, identity, rate",
    "status": "last verdict", "expected": "expected verdict",
    "tightness": "factor between the median prediction and the measurement",
    "estimate": "number that decided", "low": "lower end of its interval", "high": "upper end of its interval",
    "control": "false statement that the same trials must refute", "trials": "number of trials of a verification",
    "subject": "subject", "tool": "mathematical tool", "architecture": "architecture", "object": "what it is about",
    "source": "authors, year and place", "work": "title of the work", "link": "DOI or arXiv link, if known",
    "corrects": "name of the claim that it corrects", "page": "its page on this site",
}  # fmt: skip
"""The columns of catalogue.csv and their meanings."""
_CREATOR = "The lemmata developers"
_NUMBERS = ("estimate", "low", "high")
_FILES = {"catalogue.csv": "text/csv", "catalogue.json": "application/json"}


def download_files(
    known: list[dict[str, Any]],
    where: Published = Published(),  # noqa: B008 (frozen)
) -> dict[str, str]:
    """The files to download and a JSON file for each claim, by address.

    Args:
        known: the rows of the catalogue.
        where: the address of the site.
    """
    files = {"catalogue.json": _json({"lemmata": __version__, "claims": known}), "catalogue.csv": _table(known)}
    files["croissant.json"] = _json(croissant(files, where))
    for row in known:
        files[claim_address(row).replace(".html", ".json")] = _json(row)
    return files


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _table(known: list[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in known:
        verdict, cited = row.get("verdict") or {}, work(row["key"])
        low, high = verdict.get("interval") or (None, None)
        own = {name: row[name] for name in COLUMNS if name in row}
        writer.writerow(
            {
                **own, "estimate": verdict.get("estimate"), "low": low, "high": high, "trials": row["trials"],
                "control": row["control"]["statement"], "work": title_of(row), "link": cited.link if cited else "",
                "page": claim_address(row),
            }
        )  # fmt: skip
    return text.getvalue()


def croissant(files: dict[str, str], where: Published) -> dict[str, Any]:
    """Describe the files in the format Croissant 1.0. The date is the day of the last change of a verdict.

    Args:
        files: catalogue.csv and catalogue.json.
        where: the address of the site; without it, the property `url`, which the format requires, is missing.
    """
    days = [change.day for changes in history().values() for change in changes]
    return {
        "@context": _CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": "lemmata-catalogue",
        "description": "Statements of deep-learning theory, each with the last verdict of its computer trials.",
        **({"url": f"{where.base}/"} if where.base else {}),
        "creator": {"@type": "sc:Organization", "name": _CREATOR},
        **({"datePublished": max(days)} if days else {}),
        "license": "https://spdx.org/licenses/MIT",
        "version": __version__,
        "citeAs": f"{_CREATOR}. lemmata {__version__}, the catalogue of claims.",
        "distribution": [
            {
                "@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name, "encodingFormat": kind,
                "contentSize": f"{len(files[name].encode())} B",
                "sha256": hashlib.sha256(files[name].encode()).hexdigest(),
            }
            for name, kind in _FILES.items()
        ],
        "recordSet": [
            {
                "@type": "cr:RecordSet", "@id": "claims", "name": "claims", "key": {"@id": "claims/tag"},
                "field": [_field(name, told) for name, told in COLUMNS.items()],
            }
        ],
    }  # fmt: skip


def _field(name: str, told: str) -> dict[str, Any]:
    kind = "sc:Float" if name in _NUMBERS else "sc:Integer" if name == "trials" else "sc:Text"
    source = {"fileObject": {"@id": "catalogue.csv"}, "extract": {"column": name}}
    return {
        "@type": "cr:Field", "@id": f"claims/{name}", "name": f"claims/{name}", "description": told, "dataType": kind,
        "source": source,
    }  # fmt: skip


_CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/", "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{
        name: f"cr:{name}" for name in (
            "citeAs", "column", "extract", "field", "fileProperty", "fileObject", "fileSet", "format", "includes",
            "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex",
            "equivalentProperty", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
        )
    },
}  # fmt: skip
"""The JSON-LD context that Croissant 1.0 requires."""
