"""lemmata's modules as source code: the definitions in each module, and the place where each of its names is defined.

The code is read, but never run.
"""

import ast
import collections
import dataclasses
import functools
import pathlib
from collections.abc import Iterable, Iterator
from typing import ClassVar, NamedTuple

from ._values import with_values

ROOT = pathlib.Path(__file__).parents[2]
PACKAGE = ROOT.name
GROUPS = ("engine", "subjects", "workflows", "interfaces")
"""Folders of lemmata. Each package in such a folder counts as a separate subpackage."""
ROOTS = {PACKAGE: ROOT}
"""The packages whose code is read, each with its folder."""
Function = ast.FunctionDef, ast.AsyncFunctionDef


class _Names(NamedTuple):
    module: str
    name: str
    method: str = ""


class Node(_Names):
    """A piece of code: a function, a class without its methods, one method of a class, or a constant.

    There is one object for each piece. Pieces are compared by identity, so they are cheap keys.

    Args:
        module: the full name of the module.
        name: the name of the definition; empty for statements of the module that define no name.
        method: the name of a method of the class `name`.
    """

    _known: ClassVar[dict[tuple[str, str, str], "Node"]] = {}
    __eq__ = object.__eq__  # pyright: ignore[reportAssignmentType]
    __hash__ = object.__hash__

    def __new__(cls, module: str, name: str, method: str = "") -> "Node":
        """Return the object for the piece of code with these names."""
        key = (module, name, method)
        known = cls._known.get(key)
        return known if known is not None else cls._known.setdefault(key, super().__new__(cls, *key))


@dataclasses.dataclass
class Module:
    """A module: its definitions by name, the origins of imported names, and statements that define no name."""

    name: str
    package: bool
    definitions: dict[str, list[ast.stmt]] = dataclasses.field(default_factory=dict)
    imports: dict[str, tuple[str, str]] = dataclasses.field(default_factory=dict)
    rest: list[ast.stmt] = dataclasses.field(default_factory=list)


def tree_of(file: pathlib.Path) -> ast.Module:
    """The syntax tree of a file. The tree is cached by the text of the file, so callers must not change the tree."""
    return _parsed(file.read_text(encoding="utf-8"))


@functools.cache
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def nested_statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements, those inside other statements too; statements of less depth come first.

    Expressions, which are most of a tree, are skipped, because they contain no statements.
    """
    waiting = collections.deque(body)
    while waiting:
        node = waiting.popleft()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            waiting.extend(getattr(node, name, ()))


@functools.cache
def module_of(name: str) -> Module | None:
    """The module of lemmata with this name; None if lemmata has no such module."""
    package, *parts = name.split(".")
    if package not in ROOTS:
        return None
    path = ROOTS[package].joinpath(*parts)
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return None
    module = Module(name, path.is_dir())
    tree = tree_of(file)
    for statement in tree.body:
        _enter(module, statement)
    for part in nested_statements(tree.body):  # imports inside functions are included; module-level imports come first
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            for known, origin in _imported(module, part):
                module.imports.setdefault(known, origin)
    return module


def _enter(module: Module, statement: ast.stmt) -> None:
    if isinstance(statement, ast.ClassDef):
        statement = with_values(statement)
    if isinstance(statement, (*Function, ast.ClassDef)):
        module.definitions.setdefault(statement.name, []).append(statement)
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        module.imports.update(_imported(module, statement))
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        for part in (part for target in targets for part in ast.walk(target)):
            if isinstance(part, ast.Name) and part.id != "__all__":
                module.definitions.setdefault(part.id, []).append(statement)
    elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
        module.rest.append(statement)


def _imported(module: Module, statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, tuple[str, str]]]:
    """Names that an import binds, each with its module and its name in that module (empty for the module itself)."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            whole = alias.name if alias.asname else alias.name.split(".")[0]
            yield alias.asname or whole, (whole, "")
        return
    origin = statement.module or ""
    if statement.level:
        parts = module.name.split(".")
        parts = parts[: len(parts) - statement.level + module.package]
        origin = ".".join((*parts, statement.module) if statement.module else parts)
    for alias in statement.names:
        yield alias.asname or alias.name, (origin, alias.name)


def modules(holding: Iterable[str]) -> Iterator[Module]:
    """The modules of lemmata whose text uses an attribute with one of the given names."""
    root = ROOTS[PACKAGE]
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if any(f".{word}" in text for word in holding):
            name = ".".join((PACKAGE, *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
            module = module_of(name)
            if module is not None:
                yield module


def resolved(module: Module | None, name: str) -> Node | str | None:
    """The definition that a name of a module refers to.

    Returns:
        The definition in lemmata, which is found by following imports. If the name stands for a module, or for an
            object outside lemmata, the result is its dotted name. The result is None if the module does not define the
            name.
    """
    seen: set[tuple[str, str]] = set()
    while module is not None:
        if name in module.definitions:
            return Node(module.name, name)
        if name not in module.imports or (module.name, name) in seen:
            return None
        seen.add((module.name, name))
        origin, original = module.imports[name]
        whole = f"{origin}.{original}" if original else origin
        target = module_of(origin) if original and module_of(whole) is None else None
        if target is None:
            return whole
        module, name = target, original
    return None


def statements_of(node: Node) -> list[ast.stmt]:
    """The statements that define a piece of code. For a class, these are its statements without the methods."""
    module = module_of(node.module)
    if module is None:
        return []
    found = module.definitions.get(node.name, []) if node.name else module.rest
    if not node.method:
        return found
    return [
        part for each in found if isinstance(each, ast.ClassDef) for part in each.body
        if isinstance(part, Function) and part.name == node.method
    ]  # fmt: skip


@functools.cache
def methods_of(node: Node) -> tuple[str, ...]:
    """The names of a class's methods and properties; empty if the piece of code is not a class."""
    classes = [each for each in statements_of(node) if isinstance(each, ast.ClassDef)]
    return tuple(dict.fromkeys(part.name for each in classes for part in each.body if isinstance(part, Function)))


@functools.cache
def part_of(module: str) -> str:
    """The subpackage that a module belongs to, such as "kernels" or "engine.claims".

    >>> part_of("lemmata.kernels._gram"), part_of("lemmata.engine.claims._verify"), part_of("lemmata.errors")
    ('kernels', 'engine.claims', 'errors')
    """
    _, *parts = module.split(".")
    return ".".join(parts[: 2 if parts[:1] and parts[0] in GROUPS else 1])
