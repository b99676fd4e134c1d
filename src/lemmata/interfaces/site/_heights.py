"""Estimate how tall a page is on a narrow screen.

The estimate adds up the heights of lines of text, listings, tables and pictures in the HTML.
"""

import math
import re
from typing import NamedTuple

LIMIT = 8000
"""The greatest height of a page, in pixels. Taller parts are folded, or become separate pages."""
FITS = 7000
"""The largest estimated height of a page. It is an eighth below the limit, because the estimate has errors."""
WIDTH = 343  # width of the text on a screen of 390 pixels
_LETTERS, _CELLS = 44, 34  # the number of letters in a line of text, and in a line of a table's row
_LINE, _CODE, _ROW = 21.75, 18.5, 18.5
_BOX = 640.0  # height of a box that scrolls
_PICTURE = 260.0  # the height of a picture without a size
_DRAWING = 350.0  # the height of a drawing in a file, with the hint that it can be scrolled
_SPACE = {"p": 15, "h1": 25, "h2": 30, "h3": 26, "h4": 20, "li": 4.5, "dt": 0, "dd": 8, "summary": 15, "figcaption": 4,
          "caption": 0, "div": 0, "ul": 8, "ol": 8, "section": 0, "article": 0, "figure": 6, "dl": 12, "nav": 0,
          "header": 60, "footer": 30, "main": 0, "details": 0, "label": 30, "form": 20}  # fmt: skip
_TALLER = {"h1": 1.3, "h2": 1.2, "h3": 1.1}
_TOKEN = re.compile(r"<(?P<end>/?)(?P<tag>[a-zA-Z][\w-]*)(?P<given>[^>]*?)/?>|(?P<text>[^<]+)")
_UNSEEN = re.compile(r"<head>.*?</head>|<script.*?</script>|<style.*?</style>|<!--.*?-->", re.S)
_BLOCKS = re.compile(r"<svg.*?</svg>|<pre.*?</pre>|<table.*?</table>|<select.*?</select>", re.S)


class _Block(NamedTuple):
    """A part, such as a picture, whose height does not follow from its text. In the HTML, a mark stands for it."""

    pixels: float


def height(text: str) -> float:
    """The height of HTML in pixels at a width of 390, within about a quarter; a closed `details` counts as its summary.

    >>> height("<p>" + "word " * 88 + "</p>")
    232.5
    >>> height("<details><summary>More</summary><p>" + "word " * 880 + "</p></details>")
    36.75
    """
    found: list[_Block] = []

    def place(match: re.Match[str]) -> str:
        found.append(_Block(_of_block(match[0])))
        return f"<block {len(found) - 1}>"

    plain = _BLOCKS.sub(place, _UNSEEN.sub("", text))
    reader = _Reader(found)
    for token in _TOKEN.finditer(plain):
        reader.read(token)
    reader.flush()
    return reader.total


class _Reader:
    """Reads HTML in order and adds up the heights of its blocks."""

    def __init__(self, blocks: list[_Block]):
        self.blocks, self.total, self.letters, self.scale = blocks, 0.0, 0, 1.0
        self.hidden = 0  # the number of closed `details` elements around the current place
        # for each open element: its tag, whether it hides its content, and the height before it if it is a box
        self.open: list[tuple[str, bool, float | None]] = []

    def flush(self) -> None:
        """End a line."""
        if self.letters and not self.hidden:
            self.total += math.ceil(self.letters / _LETTERS) * _LINE * self.scale
        self.letters = 0

    def read(self, token: re.Match[str]) -> None:
        """Read one tag or one piece of text."""
        if token["text"] is not None:
            self.letters += len(" ".join(token["text"].split())) + (token["text"][0].isspace() and self.letters > 0)
            return
        tag, given = token["tag"].lower(), token["given"]
        if tag == "block":
            self.flush()
            self.total += 0 if self.hidden else self.blocks[int(given)].pixels
        elif tag == "img" and not self.hidden:
            self.total += _of_picture(given)
        elif tag == "br":
            self.flush()
        elif tag in _SPACE:
            self._end(tag) if token["end"] else self._start(tag, given)

    def _start(self, tag: str, given: str) -> None:
        self.flush()
        if tag == "summary" and self.hidden == 1:
            self.hidden = 0
        self.total += 0 if self.hidden else _SPACE[tag]
        self.scale = _TALLER.get(tag, 1.0)
        hides = tag == "details" and not re.search(r"\bopen\b", given)
        self.open.append((tag, hides, self.total if _is_box(given) else None))
        self.hidden += hides

    def _end(self, tag: str) -> None:
        self.flush()
        self.scale = 1.0
        while self.open:
            own, hides, before = self.open.pop()
            self.hidden -= hides and self.hidden > 0
            if before is not None:
                self.total = min(self.total, before + _BOX)
            if own == "summary" and any(hidden for _, hidden, _ in self.open):
                self.hidden = sum(hidden for _, hidden, _ in self.open)
            if own == tag:
                break


def _is_box(given: str) -> bool:
    return re.search(r'class="[^"]*\btall\b', given) is not None


def _of_block(text: str) -> float:
    """The height of a picture, a listing, a table, or a field of a form."""
    if text.startswith("<svg"):
        size = re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"', text)
        return 8 + (float(size[2]) * min(1, WIDTH / float(size[1])) if size else _PICTURE)
    if text.startswith("<pre"):
        return 38 + _CODE * (text.rstrip().count("\n") + 1)
    if text.startswith("<select"):
        return 0.0
    rows = [re.sub(r"<[^>]*>", "", row) for row in re.split(r"<tr[^>]*>", text)[1:]]
    return 12 + sum(7 + _ROW * math.ceil(len(" ".join(row.split())) / _CELLS) for row in rows)


def _of_picture(given: str) -> float:
    size = {name: float(value) for name, value in re.findall(r'(width|height)="([\d.]+)"', given)}
    return size["height"] * min(1, WIDTH / size["width"]) if len(size) == 2 else _DRAWING
