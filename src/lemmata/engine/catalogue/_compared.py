"""Find the strings in code that are data: the code compares them, looks them up, or offers them as options."""

import ast
from collections.abc import Iterator

COMPARING = (ast.Compare, ast.Subscript, ast.Dict, ast.MatchValue, ast.Attribute, ast.Call)
"""The kinds of code in which `compared` finds strings."""


def compared(part: ast.AST) -> Iterator[str]:
    """Strings that code compares, looks up or offers as options. They never count as prose, wherever they occur."""
    if isinstance(part, ast.Compare):
        yield from _strings(part)
    elif isinstance(part, ast.Subscript):
        yield from _strings(part.slice)
    elif isinstance(part, ast.Dict):
        yield from (word for key in part.keys if key is not None for word in _strings(key))
    elif isinstance(part, ast.MatchValue) or (isinstance(part, ast.Attribute) and isinstance(part.value, ast.Constant)):
        yield from _strings(part.value)
    elif isinstance(part, ast.Call) and called(part) in ("Choice", "get"):
        yield from (word for value in part.args[:2] for word in _strings(value))


def called(part: ast.Call) -> str:
    """The name of a function that is called, or the name of a method; empty for other expressions."""
    return part.func.attr if isinstance(part.func, ast.Attribute) else getattr(part.func, "id", "")


def _strings(part: ast.AST) -> Iterator[str]:
    return (each.value for each in ast.walk(part) if isinstance(each, ast.Constant) and isinstance(each.value, str))
