"""Fingerprints: a hash of the code that a definition rests on, without comments and docstrings.

The code is read, never run. A definition rests on its own text, on the definitions of its module that it names, on what
those name, and so on through imports of lemmata's modules; on statements of these modules that define nothing; and on
functions that other modules register with a `singledispatch` function that it reaches. It does not rest on which fields
a population calls `free`: searches for counterexamples move those, and no verdict does.
"""

import ast
import dataclasses
import functools
import hashlib
import pathlib
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).parents[1]
PACKAGE = ROOT.name
Node = tuple[str, str]  # a module and a name in it; the name "" is the module's other statements


@dataclasses.dataclass
class _Module:
    """Names that a module defines or imports, and its statements that define nothing."""

    package: bool
    definitions: dict[str, list[ast.stmt]]
    imports: dict[str, Node]
    rest: list[ast.stmt]


def fingerprint(module: str, name: str) -> str:
    """Sixteen hexadecimal digits that change when the code behind a definition changes.

    Args:
        module: the full name of one of lemmata's modules.
        name: a definition in it.
    """
    digest = hashlib.sha256()
    for node in sorted(_reached((module, name))):
        digest.update(f"{node[0]}:{node[1]}:{_text(node)}".encode())
    return digest.hexdigest()[:16]


@functools.cache
def _reached(start: Node) -> frozenset[Node]:
    """A definition and all that it rests on."""
    found, waiting = {start}, [start]
    while waiting:
        for node in _next(waiting.pop()):
            if node not in found:
                found.add(node)
                waiting.append(node)
    return frozenset(found)


@functools.cache
def _next(node: Node) -> frozenset[Node]:
    """What a definition names directly."""
    module, name = node
    source = _module(module)
    if source is None:
        return frozenset()
    statements = source.definitions.get(name, []) if name else source.rest
    found = {(module, "")} if name else set()
    for statement in statements:
        for part in ast.walk(statement):
            if isinstance(part, ast.Name):
                found |= set(_resolved(module, part.id))
            elif isinstance(part, ast.Attribute):
                found |= set(_attribute(module, part))
    return frozenset(found | set(_registrations().get(node, ())))


def _resolved(module: str, name: str) -> Iterator[Node]:
    """Where a name of a module is defined, through imports and the lists of names of packages."""
    source = _module(module)
    if source is None:
        return
    if name in source.definitions:
        yield module, name
    elif name in source.imports:
        origin, original = source.imports[name]
        if not original or _module(f"{origin}.{original}") is not None:
            return  # a module: its attributes are resolved where they are used
        yield from _resolved(origin, original)


def _attribute(module: str, part: ast.Attribute) -> Iterator[Node]:
    """`section.function` where `section` is an imported module of lemmata."""
    source = _module(module)
    if source is None or not isinstance(part.value, ast.Name) or part.value.id not in source.imports:
        return
    origin, original = source.imports[part.value.id]
    target = f"{origin}.{original}" if original else origin
    if _module(target) is not None:
        yield from _resolved(target, part.attr)


@functools.cache
def _registrations() -> dict[Node, list[Node]]:
    """For each `singledispatch` function, the functions that any module registers with it."""
    found: dict[Node, list[Node]] = {}
    for path in sorted(ROOT.rglob("*.py")):
        if ".register" not in path.read_text(encoding="utf-8"):
            continue  # few modules do, and parsing all of them took a first fingerprint ten times as long
        module = ".".join((PACKAGE, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        source = _module(module)
        for statements in (source.definitions if source else {}).values():
            for statement in statements:
                for decorator in getattr(statement, "decorator_list", ()):
                    called = decorator.func if isinstance(decorator, ast.Call) else decorator
                    if _registers(called):
                        for origin in _resolved(module, called.value.id):  # pyright: ignore
                            found.setdefault(origin, []).append((module, statement.name))  # pyright: ignore
    return found


def _registers(decorator: ast.expr) -> bool:
    named = isinstance(decorator, ast.Attribute) and isinstance(decorator.value, ast.Name)
    return named and decorator.attr == "register"  # pyright: ignore[reportAttributeAccessIssue]


@functools.cache
def _module(name: str) -> _Module | None:
    """One of lemmata's modules, read; None for anything else."""
    if name.split(".")[0] != PACKAGE:
        return None
    path = ROOT.joinpath(*name.split(".")[1:])
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return None
    module = _Module(path.is_dir(), {}, {}, [])
    for statement in ast.parse(file.read_text(encoding="utf-8")).body:
        _enter(module, name, statement)
    return module


def _enter(module: _Module, name: str, statement: ast.stmt) -> None:
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        module.definitions.setdefault(statement.name, []).append(statement)
    elif isinstance(statement, ast.ImportFrom):
        origin = _origin(name, module.package, statement)
        for alias in statement.names:
            module.imports[alias.asname or alias.name] = (origin, alias.name)
    elif isinstance(statement, ast.Import):
        for alias in statement.names:
            module.imports[alias.asname or alias.name.split(".")[0]] = (alias.name, "")
    elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        for defined in names:
            module.definitions.setdefault(defined, []).append(statement)
    elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
        module.rest.append(statement)


def _origin(name: str, package: bool, statement: ast.ImportFrom) -> str:
    """The full name of the module that a statement imports from."""
    if not statement.level:
        return statement.module or ""
    parts = name.split(".")
    parts = parts[: len(parts) - statement.level + (1 if package else 0)]
    return ".".join((*parts, statement.module) if statement.module else parts)


@functools.cache
def _text(node: Node) -> str:
    """The code of a definition without positions, comments and docstrings."""
    source = _module(node[0])
    if source is None:
        return ""
    statements = source.definitions.get(node[1], []) if node[1] else source.rest
    return "\n".join(ast.dump(_bare(statement)) for statement in statements)


def _bare(statement: ast.stmt) -> ast.stmt:
    """A copy without docstrings, and without the names of free fields in a class."""

    class Strip(ast.NodeTransformer):
        def generic_visit(self, node: ast.AST) -> ast.AST:
            body = getattr(node, "body", None)
            if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.AsyncFunctionDef)) and isinstance(body, list):
                first = body[0]
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    node.body = body[1:] or [ast.Pass()]
            if isinstance(node, ast.ClassDef):
                node.body = [part for part in node.body if not _names_free_fields(part)] or [ast.Pass()]
            return super().generic_visit(node)

    copied = ast.parse(ast.unparse(statement)).body[0]
    return Strip().visit(copied)


def _names_free_fields(statement: ast.stmt) -> bool:
    """Whether a statement of a class is `free = ("x", ...)`; a field `free: tuple = ...` says what is sampled."""
    return (
        isinstance(statement, ast.Assign)
        and [target.id for target in statement.targets if isinstance(target, ast.Name)] == ["free"]
        and isinstance(statement.value, ast.Tuple)
        and all(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in statement.value.elts)
    )
