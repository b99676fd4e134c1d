"""The reference: the public names of every subpackage with their signatures and docstrings, read from the code."""

import ast
import dataclasses
import functools
import itertools
import re
from typing import Any

import lemmata
from lemmata.engine.catalogue import tree_of

from ._code import ROOT, Definition, in_file
from ._folds import fitting
from ._house import public_rooms, room_words
from ._light import light
from ._pages import page
from ._prose import docstring, first_sentence, sentence

_WIDE = 88  # longer signatures have one line per argument
_LONGEST = 60_000  # letters of docstrings on a page; HTML takes two to four times as many bytes

_MOST = 45  # names on a page
_SUBJECTS = "subjects."
FRONT = "interfaces.python"
"""The subpackage with the jobs, whose names users import from `lemmata`."""


@dataclasses.dataclass(frozen=True)
class Entry:
    """A public name with its definition in the code, its docstring, and its public methods."""

    name: str
    signature: str
    words: str
    methods: tuple[tuple[str, str], ...] = ()


def reference_pages(addresses: dict[str, str]) -> dict[str, str]:
    """One page for each subpackage with public names, and the first page.

    Args:
        addresses: the addresses of pages by the names that docstrings use.
    """
    link = lambda name: None if addresses.get(name) is None else f"../{addresses[name]}"
    pages, cards = {}, []
    for room in public_rooms():
        words, parts = docstring(room_words(room), link), shelves(room)
        names = [(address, [entry.name for entry in own]) for address, own in parts]
        for address, own in parts:
            pages[address] = fitting(functools.partial(
                page, "reference.html", address, "reference/index.html", f"lemmata.{room}", "",
                words=words, entries=own, names=names, here=address, sections=room.startswith(_SUBJECTS),
                set=lambda text: docstring(text, link), first=lambda text: light(sentence(first_sentence(text))),
            ))  # fmt: skip
        cards.append((room, sentence(first_sentence(room_words(room)), link), len(entries(room))))
    pages["reference/index.html"] = page(
        "references.html",
        "reference/index.html",
        "reference/index.html",
        "Reference",
        rooms=[card for card in cards if _is_package(card[0]) and not card[0].startswith(_SUBJECTS)],
        modules=[card for card in cards if not _is_package(card[0])],
        subjects=[card for card in cards if card[0].startswith(_SUBJECTS)],
    )
    return pages


def _is_package(room: str) -> bool:
    return ROOT.joinpath(*room.split(".")).is_dir()


def shelves(room: str) -> list[tuple[str, list[Entry]]]:
    """The public names of a subpackage by page: one page, or several if one would be too large, each with a title."""
    found: list[list[Entry]] = [[]]
    size = 0
    for entry in entries(room):
        own = sum(map(len, (entry.signature, entry.words, *itertools.chain(*entry.methods))))
        if found[-1] and (size + own > _LONGEST or len(found[-1]) == _MOST):
            found, size = [*found, []], 0
        found[-1].append(entry)
        size += own
    addresses = (f"reference/{room}{'' if number == 1 else f'-{number}'}.html" for number in itertools.count(1))
    return list(zip(addresses, found, strict=False))


def public_addresses() -> dict[str, str]:
    """Addresses in the reference by name: subpackages as "lemmata.kernels", and public names that are unique.

    Names that consist of one lower-case word are left out, because they may have another meaning in a sentence.
    """
    found = {"lemmata.subjects": "subjects/index.html"}
    twice = set()
    for room in public_rooms():
        found[f"lemmata.{room}"] = f"reference/{room}.html"
        for address, own in shelves(room) if room != "interfaces.cli" else ():  # these names are names of commands
            for entry in own:
                if entry.name in found:
                    twice.add(entry.name)
                found[f"lemmata.{room}.{entry.name}"] = f"{address}#{entry.name}"
                found[full_name(room, entry.name)] = f"{address}#{entry.name}"
                if not re.fullmatch("[a-z]+", entry.name):
                    found[entry.name] = f"{address}#{entry.name}"
    return {name: address for name, address in found.items() if name not in twice}


@functools.cache
def entries(room: str) -> tuple[Entry, ...]:
    """The public names of a subpackage: those that its `__init__.py` imports, or the definitions of a module.

    Names that are loaded when they are first used are imported there under `if TYPE_CHECKING`.
    """
    place = room.replace(".", "/")
    if not (ROOT / place).is_dir():
        return tuple(_entry(d.node.name, d) for d in in_file(f"{place}.py").values() if d.node.name[0] != "_")
    file = f"{place}/__init__.py"
    found = []
    body = tree_of(ROOT / file).body
    for node in itertools.chain.from_iterable([node, *_when_typed(node)] for node in body):
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module:
            own = f"{place}/{node.module.replace('.', '/')}.py"
            found += [_found(alias.asname or alias.name, own) for alias in node.names]
    return tuple(sorted((entry for entry in found if entry), key=lambda entry: entry.name.lower()))


def _when_typed(node: ast.stmt) -> list[ast.stmt]:
    """The statements below `if TYPE_CHECKING`; none for another statement."""
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return node.body
    return []


def full_name(room: str, name: str = "") -> str:
    """The name by which users import a subpackage or one of its names.

    >>> full_name("solvers", "kernel_ridge"), full_name("interfaces.python", "study")
    ('lemmata.solvers.kernel_ridge', 'lemmata.study')
    """
    if room == FRONT and name in dir(lemmata):
        return f"lemmata.{name}"
    return ".".join(filter(None, ("lemmata", room, name)))


def _found(name: str, file: str) -> Entry | None:
    definition = in_file(file).get(name)
    if definition is not None:
        return _entry(name, definition)
    value = _value(name, file)
    return None if value is None else Entry(name, *value)


def _value(name: str, file: str) -> tuple[str, str] | None:
    """The statement that assigns a value to a public name, and the docstring below it; None if it is not assigned."""
    path = ROOT / file
    if not path.is_file():
        return None
    body = tree_of(path).body
    for place, node in enumerate(body):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            after = body[place + 1] if place + 1 < len(body) else None
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            value = ast.unparse(node)
            return (value if len(value) < _WIDE else f"{name} = …"), str(said)
    return None


def _entry(name: str, definition: Definition) -> Entry:
    node = definition.node
    if isinstance(node, ast.FunctionDef):
        return Entry(name, _signature(node, name), definition.words)
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    methods = [
        (_signature(part, part.name), ast.get_docstring(part) or "")
        for part in node.body
        if isinstance(part, ast.FunctionDef) and part.name[0] != "_" and ast.get_docstring(part)
    ]
    return Entry(name, f"class {name}({bases})" if bases else f"class {name}", definition.words, tuple(methods))


def _signature(node: ast.FunctionDef, name: str) -> str:
    """The line that defines a function; if it is long, one line for each argument."""
    arguments = ast.unparse(node.args)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    line = f"{name}({arguments}){returns}"
    if len(line) <= _WIDE:
        return line
    parts: list[Any] = []
    depth, start = 0, 0
    for place, sign in enumerate(arguments):
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and not depth:
            parts.append(arguments[start:place].strip())
            start = place + 1
    parts.append(arguments[start:].strip())
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){returns}"])
