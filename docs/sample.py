"""Draws sentences for a reader: python docs/sample.py SEED prints 50 sentences of each of four groups and their places.

The groups are the documentation, what the commands print and say when they refuse, the titles and statements of claims,
and the docstrings for developers. Someone who has not read them marks each sentence that has to be read twice. At most
one sentence in ten may be marked in each group.
"""

import ast
import pathlib
import random
import re
import sys
from collections.abc import Iterator

from lemmata.engine.catalogue import entries

ROOT = pathlib.Path(__file__).parents[1]
EACH = 50
SHORTEST = 5  # words; fewer are headings and labels
PRINTED = ("src/lemmata/interfaces", "src/lemmata/workflows", "src/lemmata/errors.py", "src/lemmata/facts.py")
_HIDDEN = re.compile(r"^```.*?^```|^\|.*?$|^#.*?$|<!--.*?-->|^!\[.*?$", re.M | re.S)
_END = re.compile(r"(?<=[.?!:])\s+(?=[A-Z`*\d'\"(\[])")

Sentence = tuple[str, str]
"""The place of a sentence, and its text."""


def _sentences(place: str, text: str) -> Iterator[Sentence]:
    for paragraph in re.split(r"\n\s*\n|\\\n|\n(?=\s*[*-] |\s*\d+\. )", text):
        for found in _END.split(" ".join(paragraph.split())):
            if len(found.split()) >= SHORTEST:
                yield place, found


def documentation() -> Iterator[Sentence]:
    """Sentences of the pages, without code, tables and headings."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]:
        yield from _sentences(str(path.relative_to(ROOT)), _HIDDEN.sub("", path.read_text(encoding="utf-8")))


def _files(folders: tuple[str, ...]) -> Iterator[tuple[str, ast.Module]]:
    for folder in folders:
        path = ROOT / folder
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            yield str(file.relative_to(ROOT)), ast.parse(file.read_text(encoding="utf-8"))


def _docstrings(tree: ast.Module) -> Iterator[tuple[int, ast.Constant]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                yield first.lineno, first.value


def messages() -> Iterator[Sentence]:
    """Texts with several words in the code of the commands, the studies and the errors. A value is shown as {}."""
    for name, tree in _files(PRINTED):
        docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs | inner:
                text = node.value
            elif isinstance(node, ast.JoinedStr):
                text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
            else:
                continue
            if not re.search(r"\b(SELECT|INSERT|CREATE)\b|[<>]\w|^import |;\s*$", text):
                yield from _sentences(f"{name}:{node.lineno}", text)


def claims() -> Iterator[Sentence]:
    """Titles of claims, and sentences of their statements."""
    for name, entry in entries().items():
        yield name, entry["title"]
        yield from _sentences(name, entry["statement"])


def internals() -> Iterator[Sentence]:
    """Sentences of docstrings, without examples and names of arguments."""
    for name, tree in _files(("src/lemmata",)):
        for line, own in _docstrings(tree):
            text = re.sub(r"^\s*(>>>|\.\.\.).*?(?=^\s*$|\Z)", "", str(own.value), flags=re.M | re.S)
            yield from _sentences(f"{name}:{line}", text)


def main() -> None:
    """Print the sample of a seed."""
    if len(sys.argv) != 2 or not sys.argv[1].isdigit():
        sys.exit("python docs/sample.py SEED: SEED is a whole number.")
    for group in (documentation, messages, claims, internals):
        known = sorted(set(group()))
        chosen = random.Random(f"{sys.argv[1]} {group.__name__}").sample(known, EACH)
        print(f"\n{group.__name__}: {EACH} of {len(known):,}")
        for number, (place, text) in enumerate(chosen, 1):
            print(f"{number:2d}. [{place}] {text}")


if __name__ == "__main__":
    main()
