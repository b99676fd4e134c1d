"""The meaning of a piece of code: its syntax tree, without the parts that cannot affect a result.

The meaning contains no docstrings, no annotations, no messages (prose, and the arguments of exceptions, warnings and
assertions), no calls of `heed`, and no texts of claims that only people read. For an error of lemmata, the builtin
errors among its bases are left out, too. Names of local variables and of positional parameters are replaced by numbers.
Names of lemmata's functions, classes and constants are replaced by their definitions. Names of attributes and keywords
are kept, because the code does not show to which objects they belong.
"""

import ast
import dataclasses
import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ._compared import COMPARING, called, compared
from ._modules import Function, Module, Node, module_of, resolved, statements_of

WORDS = frozenset((
    "title", "controls", "unexplained", "reading", "passage", "readings", "stated", "source", "expected", "corrects",
    "of_data", "free",
))  # fmt: skip
"""Attributes of claims and populations that no trial reads."""
PROSE: dict[str, tuple[int | str, ...]] = {
    "Control": (0, "statement", "loose"), "Hypothesis": (0, 4, "name", "why"), "unchecked": (0, 1, "name", "why"),
    "violated": (0, 1, "name", "why"), "Integer": (3, "meaning"), "Real": (3, "meaning"), "Choice": (2, "meaning"),
    "where": (0, "rule"),
}  # fmt: skip
"""The positions and names of the arguments that only people read, for each function or class."""
_HEED = Node("lemmata.interruption", "heed")
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclasses.dataclass(frozen=True)
class Words:
    """A string that counts as prose, unless code in the same fingerprint compares it or looks it up."""

    text: str


Token = str | Node | Words


@dataclasses.dataclass(frozen=True, eq=False)  # compared by identity, so that it is a cheap key of a cache
class Meaning:
    """The meaning of a piece of code.

    Args:
        tokens: the normalised tree. In the place of a name, the tree has a `Node`: the definition of the name.
        names: the attributes that the code uses, and words that may be names of attributes.
        data: strings of several words that the code compares or looks up, so that they can affect a result.
    """

    tokens: tuple[Token, ...]
    names: frozenset[str]
    data: frozenset[str]

    @functools.cached_property
    def links(self) -> tuple[Node, ...]:
        """The pieces of code that this piece names, each once, in the order of the code."""
        return tuple(dict.fromkeys(token for token in self.tokens if isinstance(token, Node)))

    @functools.cached_property
    def prose(self) -> frozenset[str]:
        """The strings of this piece that count as prose, unless some code treats them as data."""
        return frozenset(token.text for token in self.tokens if isinstance(token, Words))


@functools.cache
def meaning(node: Node) -> Meaning:
    """The normalised tree of a piece of code."""
    module = module_of(node.module)
    if module is None:
        return Meaning((), frozenset(), frozenset())
    writer = _Writer(module)
    for statement in statements_of(node):
        if isinstance(statement, ast.ClassDef):
            writer.class_header(statement, claim=node.name in ("Claim", "Population") or _speaks(node))
        elif isinstance(statement, Function):
            writer.function(statement, named=bool(node.method))
        elif not _types_only(statement):
            writer.tokens.append(f"target {_place(node.name, statement)}")
            writer.write(statement)
    return Meaning(tuple(_joined(writer.tokens)), frozenset(writer.names), frozenset(writer.data))


def _joined(tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens. Successive tokens that are text are joined into one."""
    for is_text, run in itertools.groupby(tokens, key=lambda token: isinstance(token, str)):
        if is_text:
            yield "\n".join(run)  # pyright: ignore[reportArgumentType, reportCallIssue]
        else:
            yield from run


def _place(name: str, statement: ast.stmt) -> int:
    """The position of a name among the names that a statement assigns."""
    targets = statement.targets if isinstance(statement, ast.Assign) else ()
    named = [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return named.index(name) if name in named else 0


def _types_only(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.If) and ast.unparse(statement.test).endswith("TYPE_CHECKING")


def _running(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a class, without statements that only type checkers read."""
    for each in body:
        yield from each.orelse if isinstance(each, ast.If) and _types_only(each) else [each]


@functools.cache
def _speaks(node: Node) -> bool:
    """Whether a class is a claim or a population (a generator of test problems), by the names of its bases."""
    for statement in statements_of(node):
        for base in statement.bases if isinstance(statement, ast.ClassDef) else ():
            named = base.value if isinstance(base, ast.Subscript) else base
            known = resolved(module_of(node.module), named.id) if isinstance(named, ast.Name) else None
            if isinstance(known, Node) and (known.name in ("Claim", "Population") or _speaks(known)):
                return True
    return False


def _counted_bases(module: Module, part: ast.ClassDef) -> Sequence[ast.expr]:
    """The bases of a class.

    If an error derives from an error of lemmata, its other bases are left out. These bases only determine how users may
    catch the error.
    """
    known = {base: resolved(module, base.id) for base in part.bases if isinstance(base, ast.Name)}
    own = [base for base, origin in known.items() if isinstance(origin, Node) and _is_error(origin)]
    return own or part.bases


@functools.cache
def _is_error(node: Node) -> bool:
    """Whether a class derives from `Exception`, directly or through classes of lemmata."""
    module = module_of(node.module)
    bases = [base for each in statements_of(node) if isinstance(each, ast.ClassDef) for base in each.bases]
    known = [resolved(module, base.id) or base.id for base in bases if isinstance(base, ast.Name)]
    return any(_is_error(each) if isinstance(each, Node) else each == "Exception" for each in known)


class _Writer:
    """An object that writes syntax trees of one module as tokens."""

    def __init__(self, module: Module):
        self.module, self.tokens, self.names, self.data = module, list[Token](), set[str](), set[str]()
        self.scopes: list[dict[str, str]] = []
        self.count = 0

    def write(self, part: ast.AST | list | object) -> None:
        """Write any part of a tree."""
        if isinstance(part, list):
            self.tokens.append("[")
            for each in part:
                if not self._is_heeding(each):
                    self.write(each)
            self.tokens.append("]")
        elif isinstance(part, ast.AST):
            if isinstance(part, COMPARING):
                self.data.update(word for word in compared(part) if " " in word)
            _writing(type(part))(self, part)
        else:
            self.tokens.append(repr(part))

    def _is_heeding(self, part: object) -> bool:
        """Whether a statement only looks for a request to stop, which cannot affect a result."""
        call = part.value if isinstance(part, ast.Expr) else None
        named = call.func.id if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) else None
        return named is not None and resolved(self.module, named) == _HEED

    def _plain(self, part: ast.AST) -> None:
        self.tokens.append(f"({type(part).__name__}")
        for name, value in ast.iter_fields(part):
            if name not in ("ctx", "type_comment", "kind"):
                self.write(value)
        self.tokens.append(")")

    # Definitions

    def class_header(self, part: ast.ClassDef, claim: bool = False) -> None:
        """Write a class without methods, docstring and name. For claims and populations, leave out `WORDS`, too."""
        self.tokens.append("class")
        for each in (*part.decorator_list, *_counted_bases(self.module, part), *part.keywords):
            self.write(each)
        for each in _running(part.body):
            if isinstance(each, ast.ClassDef):
                self.write(each)
            elif isinstance(each, Function) or _is_docstring(each) or (claim and _is_words(each)):
                continue
            elif isinstance(each, ast.AnnAssign):
                kept = ast.unparse(each.annotation).strip("\"'").startswith(("ClassVar", "typing.ClassVar"))
                self.tokens.append(f"field {ast.unparse(each.target)} {kept}")
                self.write(each.value)
            else:
                self.write(each)

    def function(self, part: ast.FunctionDef | ast.AsyncFunctionDef, named: bool) -> None:
        """Write a function, with its name if it is a method."""
        self.tokens.append(f"{type(part).__name__} {part.name if named else ''}")
        for each in part.decorator_list:
            self.write(each)
        registered = any(isinstance(each, ast.Attribute) and each.attr == "register" for each in part.decorator_list)
        if registered and part.args.args and part.args.args[0].annotation is not None:
            self.write(part.args.args[0].annotation)  # the type for which the function is registered
        self._scope(part.args, [each for each in part.body if not _is_docstring(each)])

    def _functiondef(self, part: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        if self.scopes:  # a function inside a function has a local name
            self.tokens.append(self._local(part.name) or part.name)
        self.function(part, named=False)

    _asyncfunctiondef = _functiondef

    def _classdef(self, part: ast.ClassDef) -> None:
        self.tokens.append(self._local(part.name) or part.name)
        self.class_header(part)
        for each in part.body:
            if isinstance(each, Function):
                self.function(each, named=True)

    def _lambda(self, part: ast.Lambda) -> None:
        self.tokens.append("lambda")
        self._scope(part.args, part.body)

    def _scope(self, given: ast.arguments, body: list[ast.stmt] | ast.expr) -> None:
        """Write the parameters and the body. The defaults of parameters belong to the outer scope."""
        for default in (*given.defaults, *given.kw_defaults):
            self.write(default)
        positional = [*given.posonlyargs, *given.args]
        plain = positional[: len(positional) - len(given.defaults)]
        by_word = [*positional[len(plain) :], *given.kwonlyargs]
        rest = [each for each in (given.vararg, given.kwarg) if each is not None]
        self.scopes.append({})
        self.tokens.append(f"{len(plain)} {len(given.posonlyargs)} {given.vararg is None} {given.kwarg is None}")
        self.tokens.extend(each.arg for each in by_word)  # callers may pass these arguments by name
        self._bind([each.arg for each in (*positional, *given.kwonlyargs, *rest)])
        self._bind(_stored(body) if isinstance(body, list) else ())
        self.write(body)
        self.scopes.pop()

    def _comprehension_(self, part: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        self.tokens.append(type(part).__name__)
        self.scopes.append({})
        self._bind(name.id for each in part.generators for name in ast.walk(each.target) if isinstance(name, ast.Name))
        for each in part.generators:
            self._plain(each)
        for name in ("key", "value", "elt"):
            if hasattr(part, name):
                self.write(getattr(part, name))
        self.scopes.pop()

    _listcomp = _setcomp = _generatorexp = _dictcomp = _comprehension_

    def _bind(self, names: Iterable[str]) -> None:
        for name in names:
            if name not in self.scopes[-1]:
                self.scopes[-1][name] = f"local {self.count}"
                self.count += 1

    def _local(self, name: str) -> str | None:
        return next((scope[name] for scope in reversed(self.scopes) if name in scope), None)

    # Names

    def _name(self, part: ast.Name) -> None:
        found = self._local(part.id) or resolved(self.module, part.id)
        self.tokens.append(found or part.id)

    def _attribute(self, part: ast.Attribute) -> None:
        if isinstance(part.value, ast.Name) and not self._local(part.value.id):
            origin = resolved(self.module, part.value.id)
            target = resolved(module_of(origin), part.attr) if isinstance(origin, str) else None
            if target is not None:
                self.tokens.append(target)
                return
        self.names.add(part.attr)
        self.tokens.append(f".{part.attr}")
        self.write(part.value)

    def _excepthandler(self, part: ast.ExceptHandler) -> None:
        self.tokens.append("except")
        self.write(part.type)
        self.write(part.body)

    def _annassign(self, part: ast.AnnAssign) -> None:
        if part.value is not None:
            self._plain(ast.Assign([part.target], part.value))

    def _importfrom(self, part: ast.AST) -> None:
        """Write nothing, because names are resolved where they are used."""

    _import = _importfrom

    # Messages

    def _raise(self, part: ast.Raise) -> None:
        """Write the name of the exception, without its arguments and its message."""
        named = part.exc.func if isinstance(part.exc, ast.Call) else part.exc
        self.tokens.append(f"raise {ast.unparse(named) if named is not None else ''}")

    def _assert(self, part: ast.Assert) -> None:
        self.tokens.append("assert")
        self.write(part.test)

    def _call(self, part: ast.Call) -> None:
        self.tokens.append("call")
        self.write(part.func)
        function = called(part)
        if function == "warn":
            return
        places = PROSE.get(function, ())
        if function == "where" and not _is_text(part.args[:1]):
            places = ()  # this is the function `where` of jax.numpy
        for number, each in enumerate(part.args):
            if number in places:
                self.tokens.append("words")
            else:
                self.write(each)
        for each in part.keywords:
            if each.arg not in places:
                self.tokens.append(f"{each.arg}=")
                self.write(each.value)

    def _constant(self, part: ast.Constant) -> None:
        value = part.value
        if isinstance(value, str):
            if " " in value.strip() and "->" not in value:
                self.tokens.append(Words(value))
                return
            if value.isidentifier():
                self.names.add(value)
        self.tokens.append(f"{type(value).__name__} {value!r}")

    def _joinedstr(self, part: ast.JoinedStr) -> None:
        """Write only the values, which are evaluated. The words between the values do not change the meaning."""
        prose = any(isinstance(each, ast.Constant) and " " in str(each.value) for each in part.values)
        self.tokens.append("text")
        for each in part.values:
            if not (prose and isinstance(each, ast.Constant)):
                self.write(each)


@functools.cache
def _writing(kind: type[ast.AST]) -> Callable[[_Writer, Any], None]:
    """The method of `_Writer` that writes a kind of code."""
    return getattr(_Writer, f"_{kind.__name__.lower()}", _Writer._plain)


_NAMING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)


def _is_text(arguments: list[ast.expr]) -> bool:
    first = arguments[0] if arguments else None
    return isinstance(first, ast.JoinedStr) or (isinstance(first, ast.Constant) and isinstance(first.value, str))


def _is_docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_words(statement: ast.stmt) -> bool:
    """Whether a statement of a claim's class assigns words that no trial reads."""
    if isinstance(statement, ast.Assign):
        named = [each.id for each in statement.targets if isinstance(each, ast.Name)]
        told = isinstance(statement.value, ast.Constant) and isinstance(statement.value.value, str)
        return len(named) == 1 and (named[0] in WORDS or (named[0] == "trivial" and told))
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id in WORDS
    return False


def _stored(body: list[ast.stmt]) -> Iterator[str]:
    """The names that a function itself binds, in order. Names in inner functions and comprehensions are left out."""
    outer, found = set[str](), list[str]()
    waiting: list[ast.AST] = [*reversed(body)]  # the next part is the last of this list
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name):
            found += [part.id] * isinstance(part.ctx, ast.Store)
            continue
        if isinstance(part, (ast.Global, ast.Nonlocal)):
            outer |= set(part.names)
        elif isinstance(part, _NAMING) and part.name:
            found.append(part.name)
        if not isinstance(part, (*_SCOPES, ast.ClassDef)):
            waiting += reversed([*ast.iter_child_nodes(part)])
    return (name for name in found if name not in outer)
