"""The documentation: the pages of `docs/` as HTML, with their pictures and programs, beside the catalogue."""

import dataclasses
import functools
import pathlib
import posixpath
import re
from collections.abc import Callable
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from lemmata.interfaces.report import typeset

from ._code import ROOT
from ._pages import page

GROUPS = {
    "Learn": ("tour", "tutorial", "glossary"),
    "How to": ("examples/README", "claims", "empirical", "solvers"),
    "Explained": ("study", "model", "kernels", "trust", "design"),
}
"""The pages in the order in which they are offered; those that no group names stand under "In full"."""
_OTHERS = "In full"
_COPIED = (".svg", ".py", ".png")


@dataclasses.dataclass(frozen=True)
class Document:
    """A page of the documentation: its place below `docs/` without the ending, its title and its text."""

    name: str
    title: str
    text: str

    @property
    def address(self) -> str:
        """The address of its page; a folder's README is its first page."""
        name = re.sub("(^|/)README$", r"\1index", self.name)
        return f"docs/{name}.html"

    @property
    def lead(self) -> str:
        """The first paragraph below the title, as plain text, at most to the end of its first sentence."""
        parts = [part for part in self.text.split("\n\n")[1:] if part[:1].isalnum() or part[:1] in "`*["]
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(parts[0].split())) if parts else ""
        return re.split(r"(?<=[.?!]) ", plain.replace("`", "").replace("*", ""))[0]


def folder() -> pathlib.Path | None:
    """Where the documentation lies: in the installed package, or beside the sources; None where it is not."""
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
    """The photographs of pages that the documentation has, by their places below `docs/`."""
    place = folder()
    found = [] if place is None else sorted(place.glob("pictures/*.png"))
    return {f"pictures/{path.name}": path.read_bytes() for path in found}


def document_pages(addresses: dict[str, str]) -> dict[str, str | bytes]:
    """The pages of the documentation, the files that they show, and the first page.

    Args:
        addresses: of pages that code in backticks names, by those names.
    """
    known = {document.name: document for document in documents()}
    groups = [(title, [known[name] for name in names if name in known]) for title, names in GROUPS.items()]
    named = {name for names in GROUPS.values() for name in names}
    groups.append((_OTHERS, [document for document in documents() if document.name not in named]))
    groups = [(title, own) for title, own in groups if own]
    pages: dict[str, str | bytes] = {f"docs/{name}": picture for name, picture in pictures().items()}
    for document in documents():
        depth = "../" * document.address.count("/")
        link = lambda name, depth=depth: depth + addresses[name] if name in addresses else None
        body, copied = _rendered(document, link)
        pages[document.address] = page(
            "document.html", document.address, "docs/index.html", document.title,
            body=body, groups=groups, here=document, headings=[each[:2] for each in sections_of(document) if each[1]],
            about=document.lead,
        )  # fmt: skip
        pages |= copied
    pages["docs/index.html"] = page(
        "documents.html", "docs/index.html", "docs/index.html", "Documentation", groups=groups
    )
    return pages


def sections_of(document: Document) -> list[tuple[str, str, str]]:
    """The parts of a page: anchor, heading and text of each section of the second level; the start has no heading."""
    hidden = re.sub(r"^```.*?^```", lambda match: "\n" * match[0].count("\n"), document.text, flags=re.M | re.S)
    lines, plain = document.text.split("\n"), hidden.split("\n")
    starts = [place for place, line in enumerate(plain) if line.startswith("## ")]
    found = [("", "", "\n".join(lines[: (*starts, len(lines))[0]]))]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        title = lines[start].removeprefix("## ")
        found.append((_anchor(title), _shown(title), "\n".join(lines[start + 1 : end])))
    return found


def _shown(title: str) -> str:
    """A heading without its marks."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)|`", r"\1", title)


def _anchor(title: str) -> str:
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


def _rendered(document: Document, link: Callable[[str], str | None]) -> tuple[Markup, dict[str, str | bytes]]:
    """The body of a page, and the files that it shows or names, by their addresses."""
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    copied: dict[str, str | bytes] = {}
    tokens = markdown.parse(document.text)
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.tag != "h1":
            token.attrSet("id", _anchor(tokens[place + 1].content))
        for child in token.children or []:
            for name in ("href", "src"):
                target = child.attrGet(name)
                if isinstance(target, str):
                    child.attrSet(name, _target(document, target, copied))
    markdown.add_render_rule("table_open", lambda *_: '<div class="scroll"><table>')
    markdown.add_render_rule("table_close", lambda *_: "</table></div>")
    markdown.add_render_rule("code_block", lambda self, tokens, place, *_: _indented(tokens[place].content))
    markdown.add_render_rule("code_inline", lambda self, tokens, place, *_: _inline(tokens, place, link))
    body = markdown.renderer.render(tokens, markdown.options, {})
    return Markup(_column_heads(body)), copied


def _column_heads(body: str) -> str:
    """Heads of columns say that they are; an empty one is a cell, since it heads nothing."""
    return re.sub(
        r"<th(?=[ >])([^>]*)>(</th>)?", lambda m: f"<td{m[1]}></td>" if m[2] else f'<th scope="col"{m[1]}>', body
    )


def _indented(text: str) -> str:
    """A formula where the text is one, else the text as it is."""
    ((kind, inside),) = typeset(
        "\n".join(f"    {line}" for line in text.rstrip("\n").split("\n")).replace("\n\n", "\n")
    )
    return f'<p class="formula">{inside}</p>\n' if kind == "formula" else f"<pre><code>{escape(text)}</code></pre>\n"


def _inline(tokens: Any, place: int, link: Callable[[str], str | None]) -> str:
    name = tokens[place].content
    inside = f"<code>{escape(name)}</code>"
    within = sum({"link_open": 1, "link_close": -1}.get(token.type, 0) for token in tokens[:place])
    address = None if within else link(name)
    return inside if address is None else f'<a href="{escape(address)}">{inside}</a>'


def _target(document: Document, target: str, copied: dict[str, str | bytes]) -> str:
    """Where a link of a page leads on the site: to pages by their new names, to copies of pictures and programs."""
    place = folder()
    if place is None or re.match(r"[a-z]+:|#", target):
        return target
    path, _, anchor = target.partition("#")
    name = posixpath.normpath(posixpath.join(posixpath.dirname(document.name), path))
    if name.endswith(".md"):
        found = next((other for other in documents() if f"{other.name}.md" == name), None)
        if found is None:
            return "#"
        start = posixpath.dirname(document.address)
        return posixpath.relpath(found.address, start) + (f"#{anchor}" if anchor else "")
    file = place / name
    if file.suffix in _COPIED and file.is_file() and not name.startswith(".."):
        copied[f"docs/{name}"] = file.read_bytes() if file.suffix == ".png" else file.read_text(encoding="utf-8")
    return target
