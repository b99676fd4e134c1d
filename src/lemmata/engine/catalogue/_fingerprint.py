"""Fingerprints: digests of the code that a verdict depends on, which change when the code's meaning changes.

A verdict depends on the code that its claim names, directly or through other code. For a class, the code includes the
fields of the class, and the methods whose names appear in this code. For a `singledispatch` function, the code
includes the functions that are registered for types that occur in the code. The code also includes derivatives that
`@f.defjvp` gives to a function. If a definition is moved, the fingerprint stays the same.
"""

import ast
import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Iterator

from ._meaning import Meaning, Token, Words, meaning
from ._modules import Function, Module, Node, methods_of, module_of, modules, part_of, resolved, statements_of

_ROUNDS = 2
_REGISTERS = ("register", "defjvp")
_SAID = ("name", "statement", "kind")
"""Attributes of a claim that only people read."""
_INERT = ("object", "abc.ABC", "equinox.Module", "enum.Enum", "enum.StrEnum", "typing.NamedTuple", "typing.Protocol",
          "typing.Generic", "Exception", "ValueError", "TypeError")  # fmt: skip
"""Base classes outside lemmata that do not call methods of their subclasses by name."""


@dataclasses.dataclass(frozen=True)
class Fingerprint:
    """Digests of the code that a definition depends on.

    Args:
        whole: the digest of all the code.
        own: the digest of the code in the claim's own files.
        shared: digests of the other code, by the subpackage that contains it.
    """

    whole: str
    own: str
    shared: dict[str, str]


def fingerprint(
    roots: Iterable[tuple[str, str]], own: Iterable[str] = (), asked: Iterable[str] = (), name: str = ""
) -> Fingerprint:
    """The digests of the code that some definitions depend on.

    Each name in the code is replaced by a digest of the piece of code to which the name refers. The names in this piece
    are replaced in the same way, three steps deep. In the digest of one subpackage, code of another subpackage is
    represented by its name.

    Args:
        roots: the definitions, each given by a module's full name and a name in this module.
        own: full names of the modules that count as the definitions' own code.
        asked: names of methods that the engine calls on the definitions. Their code is included.
        name: a text that is part of each digest, for other things on which the results of the code depend.
    """
    nodes = reached(frozenset(Node(*root) for root in roots), frozenset(asked))
    own = frozenset(own)
    data = frozenset(word for node in nodes for word in meaning(node).data)
    pieces = [(node, meaning(node), _told(meaning(node), data)) for node in nodes]
    brief = {node: _brief(node) for node in nodes}
    for node in nodes:
        methods = [brief[method] for method in _methods(node) if method in nodes]
        if methods:
            brief[node] = _hash([brief[node], *methods])
    alone = brief
    # if two pieces differ only in the names that they use, the code to which these names refer distinguishes the pieces
    for _ in range(_ROUNDS):
        brief = {node: _joined(piece, brief[node], tuple([brief[each] for each in piece.links]), words)
                 for node, piece, words in pieces}  # fmt: skip
    part = {node: "" if node.module in own else part_of(node.module) for node in nodes}
    whole, parts = [name], {"": [name]}
    for node, piece, words in pieces:
        header, mine = Node(*node[:2]) if node.method else None, part[node]
        digests = tuple([brief[each] for each in piece.links])
        whole.append(_joined(piece, brief[header] if header else "", digests, words))
        near = tuple([alone[each] if part[each] == mine else each.name for each in piece.links])
        parts.setdefault(mine, []).append(_joined(piece, alone[header] if header else "", near, words))
    told = {name: _hash(sorted(set(each))) for name, each in sorted(parts.items())}
    return Fingerprint(_hash(sorted(set(whole))), told.pop("", ""), {name: each[:8] for name, each in told.items()})


@functools.cache
def _methods(node: Node) -> tuple[Node, ...]:
    return tuple(Node(*node[:2], name) for name in methods_of(node))


def digest_of_modules(names: Iterable[str]) -> str:
    """A digest of the text of all code that some modules use, with messages, but without layout and comments."""
    roots = [Node(name, own) for name in names if (module := module_of(name)) for own in ("", *module.definitions)]
    return _hash(sorted(_text(node) for node in reached(roots)))


@functools.cache
def _text(node: Node) -> str:
    return _hash(map(_dumped, statements_of(node)))


def _dumped(statement: ast.stmt) -> str:
    """The syntax tree of a statement as text. The methods of a class are left out, because they are separate pieces."""
    if not isinstance(statement, ast.ClassDef):
        return ast.dump(statement)
    parts = [
        *statement.bases,
        *statement.decorator_list,
        *(each for each in statement.body if not isinstance(each, Function)),
    ]
    return " ".join([statement.name, *map(ast.dump, parts)])


def _told(piece: Meaning, data: frozenset[str]) -> frozenset[str]:
    """The strings of a piece that count as data; other prose is left out of digests."""
    return piece.prose and data & piece.prose


@functools.lru_cache(2**17)
def _joined(piece: Meaning, first: str, digests: tuple[str, ...], data: frozenset[str]) -> str:
    """The digest of a piece of code and of a text before it. Most claims share most of their code, so it is cached.

    Args:
        piece: the piece of code.
        first: the text before it.
        digests: the texts that stand for the definitions to which the piece's names refer.
        data: the strings of the piece that count as data.
    """
    known = dict(zip(piece.links, digests, strict=True))
    words = [first]
    for token in piece.tokens:
        if isinstance(token, Node):
            words.append(known[token])
        elif isinstance(token, Words):
            words.append(repr(token.text) if token.text in data else "words")
        else:
            words.append(token)
    return _hash(words)


def _hash(words: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]


@functools.cache
def _brief(node: Node) -> str:
    """The digest of a piece of code, in which the definitions that its names refer to are left out."""
    return _hash(token if isinstance(token, str) else "?" for token in meaning(node).tokens)


def reached(roots: Iterable[Node], asked: Iterable[str] = ()) -> frozenset[Node]:
    """The pieces of code that `roots` depend on, if the methods that `asked` names are called on the roots."""
    return _reached(frozenset(roots), frozenset(asked))


@functools.lru_cache(2**11)
def _reached(roots: frozenset[Node], names: frozenset[str]) -> frozenset[Node]:
    found, asked, waiting = set[Node](), set(names), sorted(roots)
    classes = dict[str, list[Node]]()  # the reached pieces, by names of methods that nothing has used yet
    pending = dict[Node, list[Node]]()  # registered functions, by classes that are not reached yet
    while waiting:
        node = waiting.pop()
        if node in found:
            continue
        found.add(node)
        told = meaning(node)
        waiting.extend(each for each in told.links if each not in found)
        new = told.names - asked
        asked |= new
        for name in new & classes.keys():
            waiting.extend(Node(*each[:2], name) for each in classes.pop(name))
        waiting.append(Node(node.module, ""))
        waiting.extend(pending.pop(node, ()))
        for function, kinds in _registrations().get(node, ()):
            missing = [kind for kind in kinds if kind not in found]
            if len(missing) < len(kinds) or not kinds:
                waiting.append(function)
            for kind in missing:
                pending.setdefault(kind, []).append(function)
        for name in methods_of(node) if not node.method else ():
            if node.name == "Claim" and name in _SAID:
                continue
            if name in asked or name.startswith("__") or _is_called_elsewhere(node):
                waiting.append(Node(*node[:2], name))
            else:
                classes.setdefault(name, []).append(node)
    return frozenset(found)


@functools.cache
def _is_called_elsewhere(node: Node) -> bool:
    """Whether other packages may call methods of a class, because the class derives from a class of such a package."""
    module = module_of(node.module)
    for statement in statements_of(node):
        for base in statement.bases if isinstance(statement, ast.ClassDef) else ():
            named = base.value if isinstance(base, ast.Subscript) else base
            known: Token | None = resolved(module, named.id) if isinstance(named, ast.Name) else None
            if isinstance(named, ast.Attribute) and isinstance(named.value, ast.Name):
                origin = resolved(module, named.value.id)
                inner = resolved(module_of(origin), named.attr) if isinstance(origin, str) else None
                known = inner or f"{origin}.{named.attr}"
            if isinstance(known, Node):
                if _is_called_elsewhere(known):
                    return True
            elif (known or ast.unparse(named)) not in _INERT:
                return True
    return False


@functools.cache
def _registrations() -> dict[Node, list[tuple[Node, tuple[Node, ...]]]]:
    """For each function, its derivative and its registered functions (with the types of lemmata that they handle)."""
    found: dict[Node, list[tuple[Node, tuple[Node, ...]]]] = {}
    for module in modules(holding=_REGISTERS):
        for name, statements in module.definitions.items():
            for statement in statements:
                for origin, kinds in _registered(module.name, statement):
                    found.setdefault(origin, []).append((Node(module.name, name), kinds))
    return found


def _registered(name: str, statement: ast.stmt) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    module = module_of(name)
    for decorator in statement.decorator_list if isinstance(statement, Function) else ():
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        origin = _dispatcher(module, called)
        if origin is None:
            continue
        if isinstance(called, ast.Attribute) and called.attr == "defjvp":
            yield origin, ()
            continue
        told = decorator.args if isinstance(decorator, ast.Call) else [a.annotation for a in statement.args.args[:1]]  # pyright: ignore
        named = [part for each in told if each is not None for part in ast.walk(each) if isinstance(part, ast.Name)]
        kinds = [resolved(module, part.id) for part in named]
        known = tuple(kind for kind in kinds if isinstance(kind, Node))
        yield origin, known if len(known) == len(kinds) else ()  # a type outside lemmata may occur in any code


def _dispatcher(module: Module | None, called: ast.expr) -> Node | None:
    """The function f of a decorator `f.register` or `f.defjvp`, or of a decorator that calls `f.register`."""
    if isinstance(called, ast.Attribute) and called.attr in _REGISTERS and isinstance(called.value, ast.Name):
        origin = resolved(module, called.value.id)
        return origin if isinstance(origin, Node) else None
    helper = resolved(module, called.id) if isinstance(called, ast.Name) else None
    if isinstance(helper, Node):
        for part in (part for each in statements_of(helper) for part in ast.walk(each)):
            if isinstance(part, ast.Attribute) and part.attr == "register":
                return _dispatcher(module_of(helper.module), part)
    return None
