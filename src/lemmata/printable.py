"""Text that can be printed: what is invisible, or reorders what is read, is made visible."""

import dataclasses
import html
import re
from typing import Any

# Controls, surrogates, and the marks that reorder or hide text: they would be invisible or change what is read.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]")


def clean(value: Any, lines: bool = False) -> Any:
    """A record with every unprintable character of every string made visible: BEL becomes ␇, U+202E its number.

    Args:
        value: a string, or strings in lists, dictionaries (keys too) and dataclasses.
        lines: keep line breaks; otherwise they become spaces, as tabs do.
    """
    if isinstance(value, str):
        return _UNPRINTABLE.sub(lambda match: "\n" if lines and match.group() == "\n" else _visible(match), value)
    if isinstance(value, dict):
        return {clean(str(key)): clean(item, lines) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [clean(item, lines) for item in value]
        return tuple(parts) if type(value) is tuple else parts
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: clean(getattr(value, field.name), lines) for field in dataclasses.fields(value)}
        return dataclasses.replace(value, **fields)
    return value


def preformatted(value: object) -> str:
    """What `print` shows, as HTML in the colours of the page around it: for `_repr_html_` in a notebook.

    Args:
        value: anything with a string.

    >>> preformatted("a < b")
    '<pre style="white-space: pre-wrap; background: none; color: inherit">a &lt; b</pre>'
    """
    text = html.escape(clean(str(value), lines=True))
    return f'<pre style="white-space: pre-wrap; background: none; color: inherit">{text}</pre>'


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if chr(code) in "\n\r\t":
        return " "
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"
