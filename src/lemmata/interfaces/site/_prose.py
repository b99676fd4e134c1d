"""Convert docstrings to HTML: paragraphs with typeset formulas, code in backticks, lists, arguments and examples."""

import re
import textwrap
from collections.abc import Callable

from markupsafe import Markup, escape

from lemmata.interfaces.report import prose, typeset

from ._works import named

_SECTIONS = (
    "Args",
    "Returns",
    "Raises",
    "Yields",
    "Attributes",
    "Example",
    "Examples",
    "Questions (methods) of a claim",
)
_CODE = re.compile(r"`([^`\n]+)`")
Link = Callable[[str], str | None]


def sentence(text: str, link: Link = lambda name: None) -> Markup:
    """The HTML of a paragraph: words in backticks are code, linked if `link` returns an address; formulas are MathML.

    >>> print(sentence("see `gram`, x_i²"))
    see <code>gram</code>, <math alttext="x_i²"><msubsup><mi>x</mi><mi>i</mi><mn>2</mn></msubsup></math>
    """
    text = " ".join(text.split())
    found, place = [], 0
    for match in _CODE.finditer(text):
        found += [_words(text[place : match.start()]), _code(match[1], link)]
        place = match.end()
    return Markup("".join([*found, _words(text[place:])]))  # each part is escaped


def _words(text: str) -> Markup:
    """The HTML of prose, with the blanks at its ends."""
    before = " " if text[:1].isspace() else ""
    after = " " if text[-1:].isspace() and text.strip() else ""
    return Markup(f"{before}{prose(named(text))}{after}")  # prose escapes


def _code(name: str, link: Link) -> Markup:
    address = link(name)
    inside = Markup(f"<code>{escape(name)}</code>")
    return inside if address is None else Markup('<a href="{}">{}</a>').format(address, inside)


def statement(text: str, link: Link = lambda name: None) -> Markup:
    """The HTML of a statement: paragraphs, and indented formulas on separate lines."""
    found = Markup("")
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        found += _block(block, link)
    return found


def _block(block: str, link: Link) -> Markup:
    if re.match(r"\s*[*-] ", block):
        items = re.split(r"\n\s*[*-] ", re.sub(r"^\s*[*-] ", "", block))
        return Markup(f"<ul>{''.join(f'<li>{sentence(item, link)}</li>' for item in items)}</ul>")
    if block.startswith("  "):
        ((kind, inside),) = typeset(block)
        return Markup('<p class="{}">{}</p>\n').format(kind, inside)
    return Markup(f"<p>{sentence(block, link)}</p>\n")


def docstring(text: str, link: Link = lambda name: None) -> Markup:
    """The HTML of a docstring in Google's style: arguments and errors become lists, and examples are not changed."""
    found, lines, place = Markup(""), text.split("\n"), 0
    plain: list[str] = []
    while place < len(lines):
        line = lines[place]
        heading = re.fullmatch(r"([A-Z][\w ()]*):", line)
        if line.startswith(">>> "):
            found, plain = found + _flushed(plain, link), []
            end = _until(lines, place, lambda other: not other.strip())
            found += Markup("<pre><code>{}</code></pre>\n").format("\n".join(lines[place:end]))
        elif heading and heading[1] in _SECTIONS:
            found, plain = found + _flushed(plain, link), []
            end = _until(lines, place + 1, lambda other: bool(other.strip()) and not other.startswith(" "))
            found += _section(heading[1], textwrap.dedent("\n".join(lines[place + 1 : end])), link)
        else:
            plain.append(line)
            end = place + 1
        place = end
    return found + _flushed(plain, link)


def _until(lines: list[str], start: int, ends: Callable[[str], bool]) -> int:
    return next((place for place in range(start, len(lines)) if ends(lines[place])), len(lines))


def _flushed(lines: list[str], link: Link) -> Markup:
    text = "\n".join(lines).strip("\n")
    return statement(text, link) if text.strip() else Markup("")


def _section(title: str, text: str, link: Link) -> Markup:
    """The HTML of a section of arguments, errors or the like: names with descriptions, words, or an example."""
    if title.startswith("Example"):
        return Markup("<p><b>{}</b></p>{}").format(title, docstring(text, link))
    items = re.split(r"\n(?=\S)", text.strip("\n"))
    pairs = [re.match(r"([\w*, .()]+?): (.*)", item, re.S) for item in items]
    if not all(pairs):
        return Markup("<p><b>{}</b></p>{}").format(title, statement(text, link))
    rows = Markup("").join(
        Markup("<dt><code>{}</code></dt><dd>{}</dd>").format(pair[1], sentence(pair[2], link)) for pair in pairs if pair
    )
    return Markup("<p><b>{}</b></p><dl>{}</dl>\n").format({"Args": "Arguments"}.get(title, title), rows)


def first_sentence(text: str) -> str:
    r"""The first paragraph of a docstring on one line.

    >>> first_sentence("Ramps: steps\nof one variable.\n\nThis theory ...")
    'Ramps: steps of one variable.'
    """
    return " ".join(text.strip().split("\n\n")[0].split())


def code(text: str) -> Markup:
    """The HTML of a listing in Python, which a script of the page colours."""
    return Markup('<pre class="code" data-python><code>{}</code></pre>').format(escape(text))
