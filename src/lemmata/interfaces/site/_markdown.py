"""Convert Markdown to HTML: headings with anchors, typeset formulas, coloured code, and the output of programs."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name

from lemmata.interfaces.report import typeset

from ._prose import sentence

Link = Callable[[str], str | None]
_LANGUAGES = {"python": "python", "console": "console", "sh": "bash", "bash": "bash", "toml": "toml", "json": "json"}
_MANY_ROWS = 20
_PRINTS = re.compile(r"(This )?prints:?")
"""The paragraph between a program and its output."""


def rendered(text: str, link: Link, target: Callable[[str], str], raised: int = 0) -> Markup:
    """The HTML of a text.

    Args:
        text: Markdown.
        link: a function from a name in backticks to its address; None if the name has no page.
        target: a function from a link or picture of the text to its address on the site.
        raised: the number of levels by which headings are raised.
    """
    markdown = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = markdown.parse(text)
    for place, token in enumerate(tokens):
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{max(int(token.tag[1:]) - raised, 1)}"
        if token.type == "heading_open" and token.tag != "h1":
            token.attrSet("id", anchor(tokens[place + 1].content))
        for child in token.children or []:
            for name in ("href", "src"):
                found = child.attrGet(name)
                if isinstance(found, str):
                    child.attrSet(name, target(found))
    printed = set(_printed(tokens))
    rules: dict[str, Callable[..., str]] = {
        "table_open": lambda self, tokens, place, *_: _table(tokens, place),
        "table_close": lambda *_: "</table></div>",
        "code_block": lambda self, tokens, place, *_: _indented(tokens[place].content),
        "code_inline": lambda self, tokens, place, *_: _inline(tokens, place, link),
        "fence": lambda self, tokens, place, *_: _listing(tokens[place], place in printed),
        "text": lambda self, tokens, place, *_: _words(tokens[place].content),
    }
    for name, rule in rules.items():
        markdown.add_render_rule(name, rule)
    return Markup(_column_heads(markdown.renderer.render(tokens, markdown.options, {})))


def anchor(title: str) -> str:
    """The anchor of a heading.

    >>> anchor("How far is `the` [nearest](a.md) statement?")
    'how-far-is-the-nearest-statement'
    """
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
    return re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")


def without_marks(title: str) -> str:
    """A heading without its Markdown marks.

    >>> without_marks("[The `gram`](kernels.md)")
    'The gram'
    """
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).replace("`", "")


def _printed(tokens: list[Token]) -> Iterable[int]:
    """The positions of listings that show the output of the program before them."""
    for place, token in enumerate(tokens):
        before = tokens[max(place - 4, 0) : place]
        if token.type == "fence" and not token.info and len(before) == 4:
            fence, _, words, _ = before
            if fence.type == "fence" and fence.info and _PRINTS.fullmatch(words.content):
                yield place


def _listing(token: Token, printed: bool) -> str:
    """The HTML of a listing: code in colours, and other text without colours, with a mark if a program printed it."""
    language = _LANGUAGES.get(token.info.strip().partition(" ")[0])
    if language is None:
        kind = ' class="output"' if printed else ""
        return f'<pre{kind} tabindex="0"><code>{escape(token.content)}</code></pre>\n'
    found = highlight(token.content, get_lexer_by_name(language), HtmlFormatter(nowrap=True))
    return f'<pre class="code" tabindex="0"><code>{found}</code></pre>\n'


def listing(code: str, language: str) -> Markup:
    """The HTML of code with coloured syntax.

    >>> print(listing("x = 1", "python"))
    <pre class="code" tabindex="0"><code><span class="n">x</span> <span class="o">=</span> <span class="mi">1</span>
    </code></pre>
    <BLANKLINE>
    """
    found = highlight(code, get_lexer_by_name(language), HtmlFormatter(nowrap=True))
    return Markup(f'<pre class="code" tabindex="0"><code>{found}</code></pre>\n')


def _table(tokens: Sequence[Token], place: int) -> str:
    """The opening tags of a table; a long table scrolls in its own box."""
    end = next(i for i in range(place, len(tokens)) if tokens[i].type == "table_close")
    rows = sum(token.type == "tr_open" for token in tokens[place:end])
    tall = ' tall" tabindex="0" role="region" aria-label="Table' if rows > _MANY_ROWS else ""
    return f'<div class="scroll{tall}"><table>'


def _words(text: str) -> str:
    """Prose with its formulas typeset. The blanks at its ends stay, because they separate it from code and links."""
    inside = text.strip()
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :] if inside else ""
    return f"{before}{sentence(inside)}{after}"


def _column_heads(body: str) -> str:
    """Mark the head cells of a table's columns as such in HTML. An empty head cell becomes an ordinary cell."""
    return re.sub(
        r"<th(?=[ >])([^>]*)>(</th>)?", lambda m: f"<td{m[1]}></td>" if m[2] else f'<th scope="col"{m[1]}>', body
    )


def _indented(text: str) -> str:
    """The typeset formula if the text is a formula, otherwise the text unchanged."""
    ((kind, inside),) = typeset(
        "\n".join(f"    {line}" for line in text.rstrip("\n").split("\n")).replace("\n\n", "\n")
    )
    if kind == "formula":
        return f'<p class="formula">{inside}</p>\n'
    return f'<pre tabindex="0"><code>{escape(text)}</code></pre>\n'


def _inline(tokens: Any, place: int, link: Link) -> str:
    name = tokens[place].content
    inside = f"<code>{escape(name)}</code>"
    within = sum({"link_open": 1, "link_close": -1}.get(token.type, 0) for token in tokens[:place])
    address = None if within else link(name)
    return inside if address is None else f'<a href="{escape(address)}">{inside}</a>'
