"""What every page shares: templates, addresses, and the parts of the site that its navigation names."""

import functools
from typing import Any

import jinja2
from markupsafe import Markup

from lemmata.interfaces.report import number
from lemmata.version import __version__

PARTS = (
    ("index.html", "Claims"), ("subjects/index.html", "Subjects"), ("sources/index.html", "Sources"),
    ("house.html", "The house"), ("docs/index.html", "Documentation"), ("reference/index.html", "Reference"),
)  # fmt: skip
"""The parts of the site, by the address of their first page."""


def page(template: str, address: str, part: str, title: str, **context: Any) -> str:
    """The text of a page.

    Args:
        template: the template's file.
        address: the page's own address below the root of the site; others are relative to it, so that the site opens
            from disk and below any path.
        part: the first page of the part of the site that it belongs to.
        title: what the page is called.
        context: what the template shows.
    """
    root = "../" * address.count("/")
    parts = [{"href": root + href, "name": name, "here": href == part} for href, name in PARTS]
    return _template(template).render(root=root, parts=parts, title=title, version=__version__, **context) + "\n"


@functools.cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(
            [jinja2.PackageLoader("lemmata.interfaces.site"), jinja2.PackageLoader("lemmata.interfaces.report")]
        ),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["counted"] = counted
    return environment.get_template(name)


def counted(number: int, word: str) -> str:
    """A number of things.

    >>> counted(1, "claim"), counted(2, "claim")
    ('1 claim', '2 claims')
    """
    return f"{number} {word}" + "s" * (number != 1)


def claim_address(row: dict[str, Any]) -> str:
    """The address of a claim's page, by its tag; its name where it has none yet."""
    return f"claims/{row['tag'] or row['name']}.html"


def work_name(row: dict[str, Any]) -> str:
    """Authors and year of the work that a claim is from.

    >>> work_name({"source": "Barron (1993), Theorem 1"})
    'Barron (1993)'
    """
    return row["source"].partition(", ")[0]


def source_address(key: str) -> str:
    """The address of a source's page."""
    return f"sources/{key}.html"


def subject_address(row: dict[str, Any]) -> str:
    """The address of a claim's section within the page of its subject."""
    return f"subjects/{row['subject']}.html#{row['place'].rpartition('.')[2]}"


def script(text: str) -> Markup:
    """A script of the site's own, as it is."""
    return Markup(text)
