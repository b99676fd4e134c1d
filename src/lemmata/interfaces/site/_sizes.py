"""Give each picture of a page its width and height, so that a browser keeps its place while the picture loads."""

import posixpath
import re
import struct

from ._heights import WIDTH

_PICTURE = re.compile(r'<img src="([^"]+)"(?![^>]*\bwidth=)')
_BOX = re.compile(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"')


def sized(address: str, text: str, files: dict[str, str | bytes]) -> str:
    """Return a page whose pictures have their sizes. Drawings wider than the text of a phone get the mark `data-wide`.

    Args:
        address: the address of the page.
        text: the page.
        files: the files of the site by address; a picture that is not among them stays as it is.

    >>> sized("docs/a.html", '<img src="b.svg">', {"docs/b.svg": '<svg viewBox="0 0 64 32.5">'})
    '<img src="b.svg" width="64" height="32">'
    >>> sized("a.html", '<img src="b.svg">', {"b.svg": '<svg viewBox="0 0 640 325">'})
    '<img src="b.svg" width="640" height="325" data-wide>'
    """

    def with_size(found: re.Match[str]) -> str:
        picture = files.get(posixpath.normpath(posixpath.join(posixpath.dirname(address), found[1])))
        size = None if picture is None else size_of(picture)
        wide = " data-wide" if size and size[0] > WIDTH and isinstance(picture, str) else ""
        return found[0] if size is None else f'{found[0]} width="{size[0]}" height="{size[1]}"{wide}'

    return _PICTURE.sub(with_size, text)


def size_of(picture: str | bytes) -> tuple[int, int] | None:
    """The size of an SVG (text) by its view box, or of a PNG (bytes) by its header; None for another file."""
    if isinstance(picture, str):
        box = _BOX.search(picture)
        return None if box is None else (round(float(box[1])), round(float(box[2])))
    return struct.unpack(">II", picture[16:24]) if picture.startswith(b"\x89PNG") else None
