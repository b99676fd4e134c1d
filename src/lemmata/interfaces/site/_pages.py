"""The common part of all pages: templates, addresses, and the parts of the site in its navigation."""

import functools
import importlib.resources
import re
from typing import Any

import jinja2
from markupsafe import Markup

from lemmata.interfaces.report import number, prose, secured
from lemmata.version import __version__

from ._light import light

PARTS = (
    ("docs/index.html", "Documentation"), ("claims.html", "Claims"), ("subjects/index.html", "Subjects"),
    ("sources/index.html", "Sources"), ("reference/index.html", "Reference"), ("house.html", "Contributing"),
)  # fmt: skip
"""The parts of the site in the navigation, by the address of their first page."""
_LONGEST = 200
_LITERAL = re.compile(r"<(pre|code|script|style)\b.*?</\1>", re.DOTALL)
_SHARE = re.compile(r"(?<=\d) %")
_SEARCHING = ("claims.html", "search.html")  # the pages that load the search index as a script
HEAD = "<!-- what search engines read -->\n"
"""The placeholder in the head of a page for parts that depend on the address of the site."""


def page(template: str, address: str, part: str, title: str, about: str = "", **context: Any) -> str:
    """Fill a template, and return the text of the page.

    Args:
        template: the template's file.
        address: the page's address below the root of the site. Other addresses are relative to it, so the site can be
            opened from disk and below any path.
        part: the address of the first page of the part of the site that the page belongs to, as in the navigation.
        title: the title of the page.
        about: one or two sentences that a search engine may show beneath the title. If there are none, the title is
            used.
        context: the values for the template.
    """
    root = "../" * address.count("/")
    parts = [{"href": root + href, "name": name, "here": href == part} for href, name in PARTS]
    told = {
        "title": title,
        "about": _short(about or title),
        "address": address,
        "version": __version__,
        "head": Markup(HEAD),
    }
    text = _template(template).render(root=root, parts=parts, **told, **context) + "\n"
    return secured(unbroken(text), folder=True, scripts=address in _SEARCHING)


def unbroken(text: str) -> str:
    """Keep each number on one line with its percent sign, outside code and scripts.

    >>> unbroken("<p>At 5 %, <code>7 % 2</code></p>").replace(chr(160), "_")
    '<p>At 5_%, <code>7 % 2</code></p>'
    """
    found, place = [], 0
    for literal in _LITERAL.finditer(text) if " %" in text else ():
        found += [_SHARE.sub("\u00a0%", text[place : literal.start()]), literal[0]]
        place = literal.end()
    return "".join([*found, _SHARE.sub("\u00a0%", text[place:])])


def _short(text: str) -> str:
    """A text on one line, cut between words if it is longer than search engines show.

    >>> _short("one two " * 40)[-12:], len(_short("one two " * 40)) <= _LONGEST
    ('two one two…', True)
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else line[:_LONGEST].rpartition(" ")[0].rstrip(" ,;:") + "…"


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
    environment.filters["typeset"] = prose
    environment.filters["light"] = light
    return environment.get_template(name)


def counted(number: int, word: str) -> str:
    """A number with its noun in the singular or plural.

    >>> counted(1, "claim"), counted(2, "claim")
    ('1 claim', '2 claims')
    """
    return f"{number} {word}" + "s" * (number != 1)


def claim_address(row: dict[str, Any]) -> str:
    """The address of a claim's page, by its tag, or by its name if it has no tag yet."""
    return f"claims/{row['tag'] or row['name']}.html"


def work_name(row: dict[str, Any]) -> str:
    """The authors and the year of the work that a claim comes from.

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


@functools.cache
def script(name: str) -> Markup:
    """A script of the site, unchanged.

    Args:
        name: the name of its file among the templates.
    """
    folder = importlib.resources.files("lemmata.interfaces.site").joinpath("templates")
    return Markup(folder.joinpath(name).read_text(encoding="utf-8"))
