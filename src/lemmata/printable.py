"""Make text printable in any encoding: invisible characters, and characters that reorder text, are made visible."""

import codecs
import dataclasses
import html
import json
import os
import re
import sys
import unicodedata
from typing import Any

_SIGNS = {
    "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∼": "~", "×": "x", "·": "*", "−": "-", "–": "-", "—": "-", "…": "...",
    "‘": "'", "’": "'", "′": "'", "“": '"', "”": '"', "→": "->", "←": "<-", "±": "+-", "∞": "infinity", "√": "sqrt",
    "≪": "<<", "≫": ">>", "≔": ":=", "∈": "in", "✓": "+", "⟨": "<", "⟩": ">", "•": "*",
}  # fmt: skip
_MARKS = {"<super>": "^", "<sub>": "_", "<compat>": ""}
_HANDLER = "lemmata.spelled"

# control characters, surrogates, and marks that reorder or hide text: they are invisible, or change the text's meaning
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\ufffe\uffff]")


def clean(value: Any, lines: bool = False) -> Any:
    """Return the value with every unprintable character of its strings made visible.

    For example, the control character BEL becomes ␇, and the character U+202E is replaced by its number.

    Args:
        value: a string, or strings in lists, dictionaries (keys too) and dataclasses.
        lines: whether to keep line breaks. Otherwise line breaks become spaces. Tabs always become spaces.
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


def open_streams() -> None:
    """Make sure that standard output and standard error exist and accept every text.

    If the encoding of the terminal lacks a mathematical sign, ASCII characters replace the sign ("<=" for less or
    equal). Any other missing character is escaped, as by `backslashreplace`. If the caller closed a stream, the output
    to this stream is discarded. Without this function, a file opened later would get the number of the closed stream,
    and a library would print into this file.
    """
    codecs.register_error(_HANDLER, _spelled)
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # this opening gets the lowest free number
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller, as `lemmata list >&-` does
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=_HANDLER)


def json_for(text: str, encoding: str | None) -> str:
    r"""Make JSON that can be written in an encoding. Characters that the encoding lacks are escaped as JSON allows.

    Args:
        text: the JSON text.
        encoding: the encoding of the stream; None means UTF-8.

    >>> json_for('["é", "≤"]', "latin-1")
    '["\\u00e9", "\\u2264"]'
    """
    try:
        text.encode(encoding or "utf-8")
    except UnicodeEncodeError:
        return re.sub("[^\x00-\x7f]", lambda match: json.dumps(match.group())[1:-1], text)
    return text


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Replace the characters that an encoding lacks. `codecs` calls this function as an error handler."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(map(_ascii, error.object[error.start : error.end])), error.end


def _ascii(sign: str) -> str:
    """Spell a character in ASCII."""
    if sign in _SIGNS:
        return _SIGNS[sign]
    mark, _, code = unicodedata.decomposition(sign).partition(" ")
    if mark in _MARKS:
        return _MARKS[mark] + _ascii(chr(int(code, 16)))
    name = unicodedata.name(sign, "")
    if name.startswith("GREEK SMALL LETTER ") and name.count(" ") == 3:
        return name.rpartition(" ")[2].lower().replace("lamda", "lambda")
    if name.startswith("GREEK CAPITAL LETTER ") and name.count(" ") == 3:
        return name.rpartition(" ")[2].capitalize().replace("Lamda", "Lambda")
    return sign.encode("ascii", errors="backslashreplace").decode()


def preformatted(value: object) -> str:
    """The text that `print` shows, as HTML in the colours of the surrounding page, for `_repr_html_` in a notebook.

    Args:
        value: any object.

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
