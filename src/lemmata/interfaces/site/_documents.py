"""Convert the pages of `docs/` to HTML, with their pictures and programs.

Each section of a long page becomes a separate page. The page at the address of the long page then lists the sections.
"""

import dataclasses
import functools
import itertools
import pathlib
import posixpath
import re
from typing import NamedTuple

from markupsafe import Markup

from ._code import ROOT
from ._folds import folded
from ._heights import FITS, height
from ._markdown import Link, anchor, rendered, without_marks
from ._pages import page

GALLERY = "examples/README"
"""The page that lists programs; `_gallery` shows it."""
GROUPS = {
    "Learn": ("tour", "tutorial", "glossary"),
    "How to": (GALLERY, "claims", "empirical", "solvers"),
    "Explained": ("study", "model", "kernels", "trust", "design"),
}
"""The pages in the order of the menu; pages that are in no group are listed under "In full"."""
_OTHERS = "In full"
_COPIED = (".svg", ".py", ".png", ".ipynb")
_LONG = 2000
"""If a page has more words than this, each section becomes a separate page."""


class Section(NamedTuple):
    """A part of a page.

    Args:
        anchor: the anchor of its heading; empty at the start of the page.
        title: its heading without marks; empty at the start of the page.
        text: the text below the heading.
    """

    anchor: str
    title: str
    text: str

    @property
    def lead(self) -> str:
        """The first sentence below the heading, as plain text."""
        return _first_sentence(self.text)


@dataclasses.dataclass(frozen=True)
class Document:
    """A page of the documentation: its path below `docs/` without the ending, its title and its text."""

    name: str
    title: str
    text: str

    @property
    def address(self) -> str:
        """The address of the document's page; the README of a folder is the folder's first page."""
        name = re.sub("(^|/)README$", r"\1index", self.name)
        return f"docs/{name}.html"

    @property
    def lead(self) -> str:
        """The first sentence below the title, as plain text."""
        return _first_sentence(self.text.partition("\n")[2])

    @functools.cached_property
    def sections(self) -> tuple[Section, ...]:
        """The start of the document, followed by its sections with second-level headings."""
        hidden = re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), self.text, flags=re.M | re.S)
        lines, plain = self.text.split("\n"), hidden.split("\n")
        starts = [place for place, line in enumerate(plain) if line.startswith("## ")]
        found = [Section("", "", "\n".join(lines[: (*starts, len(lines))[0]]))]
        for start, end in itertools.pairwise([*starts, len(lines)]):
            title = lines[start].removeprefix("## ")
            found.append(Section(anchor(title), without_marks(title), "\n".join(lines[start + 1 : end])))
        return tuple(found)

    @functools.cached_property
    def in_parts(self) -> bool:
        """Whether each section of the document becomes a separate page."""
        return len(self.text.split()) > _LONG and len(self.sections) > 2

    def address_of(self, place: str) -> str:
        """The address of a heading, by its anchor."""
        if not place or not self.in_parts:
            return self.address + (f"#{place}" if place else "")
        return self._places.get(place, self.address)

    @functools.cached_property
    def _places(self) -> dict[str, str]:
        """The addresses of the headings of a document in parts, by anchor; a repeated anchor means the first one."""
        folder, found = self.address.removesuffix(".html"), dict[str, str]()
        for section in self.sections[1:]:
            own = f"{folder}/{section.anchor}.html"
            found.setdefault(section.anchor, own)
            for title in re.findall(r"^#{3,} (.+)$", section.text, re.M):
                found.setdefault(anchor(title), f"{own}#{anchor(title)}")
        return found


def _first_sentence(text: str) -> str:
    """The first sentence of at least five words in the prose, without markup, listings and bold headings."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)
    found = []
    for part in (own.strip("\n") for own in text.split("\n\n")):
        if part[:1].isalnum() or (part[:1] in ("`", "*", "[") and part[:2] != "* "):
            plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(part.split()))
            plain = re.sub(r"^\*\*[^*]+[.:]\*\* (?=.)", "", plain)
            found += re.split(r"(?<=[.?!]) (?=[A-Z`*(])", plain)
    found = [own.replace("`", "").replace("*", "") for own in found]
    first = next((own for own in found if len(own.split()) > 4), "")
    return first.removesuffix(":") + "." * first.endswith(":")


def folder() -> pathlib.Path | None:
    """The folder of the documentation: in the installed package, or next to the sources; None if it is missing."""
    places = (ROOT / "docs", ROOT.parents[1] / "docs")
    return next((place for place in places if (place / "design.md").is_file()), None)


@functools.cache
def documents() -> tuple[Document, ...]:
    """The pages of the documentation, in the order of their groups."""
    place = folder()
    if place is None:
        return ()
    found = {}
    for path in sorted(place.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(place).with_suffix("").as_posix()
        title = re.search(r"^# (.+)$", text, re.M)
        found[name] = Document(name, title[1].replace("`", "") if title else name, text)
    order = [name for names in GROUPS.values() for name in names if name in found]
    return tuple(found[name] for name in dict.fromkeys([*order, *found]))


def pictures() -> dict[str, bytes]:
    """The PNG pictures of the documentation, by their paths below `docs/`."""
    place = folder()
    found = [] if place is None else sorted(place.glob("pictures/*.png"))
    return {f"pictures/{path.name}": path.read_bytes() for path in found}


def document_pages(addresses: dict[str, str]) -> dict[str, str | bytes]:
    """The pages of the documentation, the files that they show, and the first page.

    Args:
        addresses: the addresses of pages by the names that stand in backticks.
    """
    pages: dict[str, str | bytes] = {f"docs/{name}": picture for name, picture in pictures().items()}
    for document in documents():
        if document.name == GALLERY:
            continue
        pages |= _page_of(document, None, addresses)
        for section in document.sections[1:] if document.in_parts else ():
            pages |= _page_of(document, section, addresses)
    pages["docs/index.html"] = page(
        "documents.html", "docs/index.html", "docs/index.html", "Documentation", groups=page_groups()
    )
    return pages


def _page_of(document: Document, section: Section | None, addresses: dict[str, str]) -> dict[str, str | bytes]:
    """The page of a document or of one of its sections, and the files that it shows or names, by address."""
    address = document.address if section is None else document.address_of(section.anchor)
    if section is None:
        text = document.sections[0].text if document.in_parts else document.text
    else:
        text = f"## {section.title}\n{section.text}"
    copied: dict[str, str | bytes] = {}
    set_as = lambda part: words_of(document, part, address, addresses, copied, raised=section is not None)
    body = set_as(text)
    parts = document.sections[1:] if document.in_parts else ()
    place = parts.index(section) if section else -1
    title = f"{section.title}: {document.title}" if section else document.title
    made = lambda body: page(
        "document.html", address, "docs/index.html", title,
        body=body, groups=page_groups(), here=document, section=section,
        before=parts[place - 1] if place > 0 else None, after=parts[place + 1] if place + 1 < len(parts) else None,
        about=section.lead if section else document.lead,
    )  # fmt: skip
    whole = made(body)
    if height(whole) > FITS:
        room = FITS - height(whole) + height(body)
        whole = made(folded(text, set_as, room, "h3" if section else "h2"))
    return {address: whole, **copied}


def words_of(
    document: Document,
    text: str,
    address: str,
    addresses: dict[str, str],
    copied: dict[str, str | bytes] | None = None,
    raised: int = 0,
) -> Markup:
    """A text as HTML.

    Args:
        document: the page of the documentation that contains the text.
        text: Markdown.
        address: the address of the page on the site that shows the text.
        addresses: the addresses of pages by the names that stand in backticks.
        copied: receives the files that the text shows or names, by address.
        raised: the number of levels by which headings are raised.
    """  # fmt: skip
    titles = {f"{other.name}.md": other.title for other in documents()}
    text = re.sub(r"\[([\w/]+\.md)\]", lambda found: f"[{titles.get(found[1], found[1])}]", text)
    depth, files = "../" * address.count("/"), {} if copied is None else copied
    link: Link = lambda name: depth + addresses[name] if name in addresses else None
    return rendered(text, link, lambda target: _target(document, address, target, files), raised)


@functools.cache
def page_groups() -> list[tuple[str, list[Document]]]:
    """The groups of documentation pages, each with its title."""
    known = {document.name: document for document in documents()}
    groups = [(title, [known[name] for name in names if name in known]) for title, names in GROUPS.items()]
    named = {name for names in GROUPS.values() for name in names}
    groups.append((_OTHERS, [document for document in documents() if document.name not in named]))
    return [(title, own) for title, own in groups if own]


def _target(document: Document, address: str, target: str, copied: dict[str, str | bytes]) -> str:
    """The address on the site for a link of a page: the new name of a page, or the copy of a picture or program."""
    place = folder()
    if place is None or re.match(r"[a-z]+:", target):
        return target
    start, (path, _, heading) = posixpath.dirname(address), target.partition("#")
    name = posixpath.normpath(posixpath.join(posixpath.dirname(document.name), path)) if path else f"{document.name}.md"
    if name.endswith(".md"):
        other = next((other for other in documents() if f"{other.name}.md" == name), None)
        if other is None:
            return "#"
        found = other.address_of(heading)
        same = found.partition("#")[0] == address
        return f"#{heading}" if same and heading in found else posixpath.relpath(found, start)
    file = place / name
    if file.suffix in _COPIED and file.is_file() and not name.startswith(".."):
        copied[f"docs/{name}"] = file.read_bytes() if file.suffix == ".png" else file.read_text(encoding="utf-8")
        return posixpath.relpath(f"docs/{name}", start)
    return target
