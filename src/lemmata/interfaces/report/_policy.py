"""Restrict what a page may run and load by a Content-Security-Policy with the digests of its scripts and styles."""

import base64
import hashlib
import re

_HEAD = '<meta charset="utf-8">\n'
_INLINE = re.compile(r"<(script|style)\b([^>]*)>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)
_DATA = "application/json"  # a script of that type does not run
_BESIDE = "'self' file:"  # in some browsers, a page that is opened from disk has no origin of its own


def secured(page: str, *, folder: bool = False, scripts: bool = False) -> str:
    """Put a policy into the head of a page: only scripts now in the page may run, and it loads nothing from elsewhere.

    All text that a user controls is escaped in the page. Even if one text were not escaped, the browser would not run a
    script in the text or send anything. Inline styles are allowed, because styles run no code. Styles cannot send data
    either, as long as they may load nothing.

    Args:
        page: the whole text of the page; a text that is not a page, such as a fragment for a notebook, is not changed.
        folder: whether the page loads styles, pictures and other pages from its own folder.
        scripts: whether the page loads scripts from its own folder.
    """
    if not page.startswith("<!doctype html>"):
        return page
    beside = [_BESIDE] if folder else []
    digests: dict[str, list[str]] = {"script": [_BESIDE] if scripts else [], "style": list(beside)}
    for kind, attributes, text in _INLINE.findall(page):
        if _DATA not in attributes:
            digests[kind.lower()].append(_digest(text))
    allowed = {
        "default-src": [],
        "script-src": digests["script"],
        "style-src": [*beside, "'unsafe-inline'"],  # for inline code, and for browsers that do not know the next line
        "style-src-elem": digests["style"],
        "img-src": [*beside, "data:"],
        "form-action": beside,
        "base-uri": ["'self'"] if "<base " in page else [],
    }
    sources = {name: dict.fromkeys(known) or ["'none'"] for name, known in allowed.items()}
    policy = "; ".join(f"{name} {' '.join(known)}" for name, known in sources.items())
    head = f'{_HEAD}<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
    return page.replace(_HEAD, head, 1)


def _digest(text: str) -> str:
    """The entry of the policy that allows a script or style with this text, as a browser reads the text."""
    read = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return f"'sha256-{base64.b64encode(hashlib.sha256(read.encode()).digest()).decode()}'"
