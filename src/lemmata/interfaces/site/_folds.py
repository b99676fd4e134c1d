"""Fold texts that are too tall for a page: sections and overflow go into `details` elements that a reader opens."""

import itertools
from collections.abc import Callable

from markdown_it import MarkdownIt
from markupsafe import Markup

from ._heights import FITS, height

_FOLD = Markup('<details class="fold"><summary>{}</summary>{}</details>\n')
_REST = "The rest of this section"


def fitting(made: Callable[..., str]) -> str:
    """Return a page unchanged if it is not too tall, and folded otherwise.

    Args:
        made: a function that makes the page; its argument `folded` says whether to fold.
    """
    plain = made(folded=False)
    return plain if height(plain) <= FITS else made(folded=True)


def folded(text: str, rendered: Callable[[str], Markup], room: float, deep: str = "h3") -> Markup:
    """Put each section of a text into a `details` element. If the text before the sections does not fit, fold it too.

    Args:
        text: Markdown.
        rendered: a function from Markdown to HTML.
        room: the height in pixels that the text may take, unfolded, on a narrow screen.
        deep: the tag of the headings at which sections start.
    """
    lines, starts = text.split("\n"), _starts(text)
    heads = [line for line, tag in starts if tag == deep]
    ends = [*heads, len(lines)]
    parts = Markup("").join(
        _FOLD.format(rendered(lines[start]), rendered("\n".join(lines[start + 1 : end])))
        for start, end in itertools.pairwise(ends)
    )
    blocks = [line for line, _ in starts if line < ends[0]]
    left = room - height(parts) - height(_FOLD.format(_REST, ""))
    kept = blocks[0] if blocks else 0
    for start, end in itertools.pairwise([*blocks, ends[0]]):
        left -= height(rendered("\n".join(lines[start:end])))
        if left < 0:
            break
        kept = end
    body, rest = "\n".join(lines[:kept]), "\n".join(lines[kept : ends[0]])
    more = _FOLD.format(_REST, rendered(rest)) if rest.strip() else Markup("")
    return rendered(body) + more + parts


def _starts(text: str) -> list[tuple[int, str]]:
    """The lines at which the blocks of a Markdown text start, and the HTML tag of each block."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    return [(token.map[0], token.tag) for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
