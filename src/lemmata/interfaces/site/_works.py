"""Titles, links and BibTeX of the works in lemmata's bibliography, taken from their BibTeX entries."""

import dataclasses
import functools
import re
from typing import Any

from pybtex.database import Entry
from pybtex.richtext import Text

from lemmata.engine.claims import Source, bibliography, written_entries

ARXIV = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Z]{2})?/\d{7})(?:v\d+)?")
"""An arXiv identifier, such as 2304.12465, or cs/0411099 in the form used before 2007."""
DOI = re.compile(r"10\.\d{4,9}/\S+")
_KEY = re.compile(r"(\(?)\b([a-z]+\d{4}[a-z0-9]*)\b(\)?)")
_FIELDS = ("journal", "howpublished", "note", "volume")


@dataclasses.dataclass(frozen=True)
class Work:
    """A work of the bibliography.

    Args:
        key: the key of its entry.
        title: the title as plain text.
        link: the link of its DOI or arXiv identifier; empty if the entry has neither.
        called: the text of the link: "doi:10.1/2", "arXiv:2304.12465"; empty without a link.
        bibtex: the entry in BibTeX.
    """

    key: str
    title: str
    link: str
    called: str
    bibtex: str


@functools.cache
def work(key: str) -> Work | None:
    """The work with this key; None if it is not in lemmata's bibliography."""
    entry = bibliography().get(key)
    if entry is None:
        return None
    called = identifier(entry)
    site, _, name = called.partition(":")
    link = {"doi": "https://doi.org/", "arXiv": "https://arxiv.org/abs/", "": ""}[site] + name
    return Work(key, _plain(dict(entry.fields or {}).get("title", "Untitled")), link, called, written_entries()[key])


def identifier(entry: Entry) -> str:
    """The DOI of an entry, or else its arXiv identifier, from any of its fields. Empty if it has neither.

    Args:
        entry: an entry of the bibliography.
    """
    fields = {name.lower(): value for name, value in dict(entry.fields or {}).items()}
    if doi := DOI.search(fields.get("doi", "")):
        return f"doi:{doi[0]}"
    if ARXIV.fullmatch(fields.get("eprint", "")):
        return f"arXiv:{fields['eprint']}"
    for name in _FIELDS:
        if found := re.search(rf"arXiv:\s*({ARXIV.pattern})", fields.get(name, "")):
            return f"arXiv:{found[1]}"
    return ""


def title_of(row: dict[str, Any]) -> str:
    """The title of the work that a claim comes from; the claim's reference if the work is not in the bibliography."""
    found = work(row["key"])
    return row["reference"] if found is None else found.title


def named(text: str) -> str:
    """A text in which the keys of works are replaced by their authors and years.

    >>> named("Lemma 1 of gu2024softmax, and a bound (barron1993)")
    'Lemma 1 of Gu et al. (2024), and a bound (Barron, 1993)'
    """
    return _KEY.sub(_called, text)


def _called(found: re.Match[str]) -> str:
    opened, key, closed = found.groups()
    if key not in bibliography():
        return found[0]
    who, _, year = str(Source(key)).removesuffix("), ").rpartition(" (")
    return f"({who}, {year})" if opened and closed else f"{opened}{who} ({year}){closed}"


def _plain(latex: str) -> str:
    return str(Text.from_latex(latex)).replace("\N{EN DASH}", "-")
