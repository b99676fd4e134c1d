"""Plausible bugs of a function, each as a change of its text: what one might have written in the place of what stands.

mutmut and cosmic-ray change operators and constants. Here arguments, axes, terms, defaults and loops are changed, too,
since these are the bugs that reviews of this code have found.

What nobody can observe is no bug, and is left alone by rule:

* words: messages, docstrings, annotations, and the arguments that name an encoding, a title or a help text;
* looks: whether a terminal colours numbers (`highlight`), and the white space of JSON (`indent`);
* statements about the code that hold anyway: `assert`, and `strict=` of `zip`;
* the numbers that tell random keys apart, where all of them are as good; dropping them is a bug;
* whether a threshold that has a name (`_LARGE`) belongs to the one side or the other: it was set by judgement;
* one more or less where a number is large: it is doubled or halved.
"""

import ast
import itertools
import random
from collections.abc import Iterator
from typing import NamedTuple

Function = ast.FunctionDef | ast.AsyncFunctionDef


class Bug(NamedTuple):
    """A change of a file.

    Args:
        kind: what sort of mistake it is.
        start: offset in the file, in bytes, at which the changed text begins.
        end: where it ends.
        text: what stands there with the bug.
    """

    kind: str
    start: int
    end: int
    text: str

    def applied(self, source: bytes) -> bytes:
        """The file with the bug."""
        return source[: self.start] + self.text.encode() + source[self.end :]


_COMPARED: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">="), ast.LtE: ("<", ">"), ast.Gt: (">=", "<="), ast.GtE: (">", "<"), ast.Eq: ("!=",),
    ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",), ast.In: ("not in",), ast.NotIn: ("in",),
}  # fmt: skip
_OTHER: dict[type[ast.operator], str] = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*", ast.FloorDiv: "/", ast.Mod: "//", ast.Pow: "*",
    ast.BitAnd: "|", ast.BitOr: "&",
}  # fmt: skip
_DROPPED = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd)
_PAIRS = (
    ("min", "max"), ("minimum", "maximum"), ("any", "all"), ("argmin", "argmax"), ("sum", "mean"), ("floor", "ceil"),
    ("nanmin", "nanmax"), ("median", "mean"), ("zeros", "ones"), ("sin", "cos"), ("startswith", "endswith"),
    ("upper", "lower"), ("first", "last"), ("left", "right"), ("append", "insert"),
)  # fmt: skip
_NAMES = {a: b for pair in _PAIRS[:-1] for a, b in (pair, pair[::-1])}
_AXES = {0: 1, 1: 0, -1: 0, -2: -1, 2: 1}
_EITHER_WAY = ("min", "max", "minimum", "maximum", "hypot", "gcd", "isclose", "allclose", "logical_and", "logical_or")
_WORDS = (ast.JoinedStr, ast.Raise, ast.Import, ast.ImportFrom, ast.Assert)
_SAID = ("strict", "encoding", "title", "help", "highlight", "indent")
"""Arguments that are words or looks, or say what holds anyway."""
_KEYS = ("fold_in", "key", "PRNGKey", "default_rng", "SeedSequence")
"""Functions whose arguments tell random keys apart."""
_LARGE = 10
"""Integers from which one more is no slip that one makes."""


def functions(tree: ast.Module) -> Iterator[tuple[str, Function]]:
    """Functions and methods of a module, by their qualified names; what is inside of them belongs to them."""
    for statement in tree.body:
        if isinstance(statement, Function):
            yield statement.name, statement
        elif isinstance(statement, ast.ClassDef):
            for part in statement.body:
                if isinstance(part, Function):
                    yield f"{statement.name}.{part.name}", part


def bugs(source: bytes, function: Function) -> list[Bug]:
    """All that may be wrong in a function, one thing at a time."""
    found = list(_Places(source).of(function))
    return sorted({each for each in found if each.applied(source) != source and _compiles(each.applied(source))})


def drawn(found: list[Bug], chance: random.Random) -> Bug:
    """One of them: first its kind, then its place, as kinds that stand everywhere would leave no room for others."""
    kind = chance.choice(sorted({each.kind for each in found}))
    return chance.choice([each for each in found if each.kind == kind])


def _compiles(source: bytes) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _labels(node: ast.AST) -> list[ast.expr]:
    """The arguments of a call that tell random keys apart: all of a seed's, and of `fold_in` those behind the key."""
    if not isinstance(node, ast.Call):
        return []
    called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if called not in _KEYS:
        return []
    return node.args[1:] if called == "fold_in" else list(node.args)


def _varies(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Name | ast.Attribute) for part in ast.walk(node))


def _is_threshold(node: ast.expr) -> bool:
    """Whether a side of a comparison is a constant with a name, alone or as a factor."""
    names = [part.id for part in ast.walk(node) if isinstance(part, ast.Name)]
    return any(name.isupper() and len(name) > 2 for name in names)


class _Places:
    """The places of a file, by the lines and columns of its syntax tree."""

    def __init__(self, source: bytes):
        self.source = source
        self.lines = [0]
        for line in source.splitlines(keepends=True):
            self.lines.append(self.lines[-1] + len(line))

    def start(self, node) -> int:
        return self.lines[node.lineno - 1] + node.col_offset

    def end(self, node) -> int:
        return self.lines[node.end_lineno - 1] + node.end_col_offset

    def text(self, node) -> str:
        return self.source[self.start(node) : self.end(node)].decode()

    def put(self, kind: str, node, text: str) -> Bug:
        return Bug(kind, self.start(node), self.end(node), text)

    def of(self, function: Function) -> Iterator[Bug]:
        given = function.args
        for default in (*given.defaults, *(each for each in given.kw_defaults if each is not None)):
            for each in self.constant(default):
                yield each._replace(kind="another default")
        waiting: list[ast.AST] = [
            each for each in function.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant))
        ]
        while waiting:
            node = waiting.pop()
            if isinstance(node, _WORDS):
                continue
            if isinstance(node, ast.keyword) and node.arg in _SAID:
                continue
            yield from self.at(node)
            labels = _labels(node)
            for name, value in ast.iter_fields(node):
                if name in ("annotation", "returns", "decorator_list", "msg"):
                    continue
                if labels and name == "args":
                    yield from (each for label in labels for each in self.of_label(label))
                    value = [each for each in node.args if each not in labels]  # pyright: ignore
                waiting.extend(each for each in (value if isinstance(value, list) else [value])
                               if isinstance(each, ast.AST))  # fmt: skip

    def of_label(self, label: ast.expr) -> Iterator[Bug]:
        """A label without one of its parts: what it told apart has the same key then."""
        for node in ast.walk(label):
            if isinstance(node, ast.BinOp):
                yield from (bug for bug in self._binop(node) if bug.kind == "a dropped term" and _varies(node.right))

    def at(self, node: ast.AST) -> Iterator[Bug]:
        own = getattr(self, f"_{type(node).__name__.lower()}", None)
        if own is not None:
            yield from own(node)

    def between(self, left, right, text: str, kind: str) -> Iterator[Bug]:
        """Another operator between two parts."""
        start, end = self.end(left), self.start(right)
        gap = self.source[start:end].decode()
        if "#" in gap or "\n" in gap.strip():
            return
        closing = gap[: len(gap) - len(gap.lstrip(") \n"))]
        opening = gap[len(gap.rstrip("( \n")) :]
        yield Bug(kind, start, end, f"{closing.rstrip(' ')} {text} {opening.lstrip(' ')}")

    def constant(self, node: ast.expr, kind: str = "another number") -> Iterator[Bug]:
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, bool):
            yield self.put("the opposite", node, str(not value))
        elif isinstance(value, int) and value >= _LARGE:
            yield self.put(kind, node, str(2 * value))
            yield self.put(kind, node, str(value // 2))
        elif isinstance(value, int):
            yield self.put(kind, node, str(value + 1))
            if value > 0:
                yield self.put(kind, node, str(value - 1))
        elif isinstance(value, float) and value:
            yield self.put(kind, node, repr(2 * value))
            yield self.put(kind, node, repr(value / 2))

    def _constant(self, node: ast.Constant) -> Iterator[Bug]:
        yield from self.constant(node)

    def _compare(self, node: ast.Compare) -> Iterator[Bug]:
        for left, op, right in zip((node.left, *node.comparators), node.ops, node.comparators, strict=False):
            others = _COMPARED[type(op)]
            for other in others[-1:] if _is_threshold(left) or _is_threshold(right) else others:
                yield from self.between(left, right, other, "another comparison")

    def _binop(self, node: ast.BinOp) -> Iterator[Bug]:
        words = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp)
        for part in (node.left, node.right):
            if isinstance(part, words) or (isinstance(part, ast.Constant) and isinstance(part.value, str)):
                return
        if type(node.op) in _OTHER:
            yield from self.between(node.left, node.right, _OTHER[type(node.op)], "another operator")
        if isinstance(node.op, _DROPPED):
            yield self.put("a dropped term", node, f"({self.text(node.left)})")

    def _boolop(self, node: ast.BoolOp) -> Iterator[Bug]:
        other = "or" if isinstance(node.op, ast.And) else "and"
        yield from self.between(node.values[0], node.values[1], other, "another operator")
        for place in range(len(node.values)):
            rest = [f"({self.text(each)})" for number, each in enumerate(node.values) if number != place]
            word = " and " if isinstance(node.op, ast.And) else " or "
            yield self.put("a dropped condition", node, f"({word.join(rest)})")

    def _unaryop(self, node: ast.UnaryOp) -> Iterator[Bug]:
        if isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
            yield self.put("a dropped sign", node, f"({self.text(node.operand)})")

    def _call(self, node: ast.Call) -> Iterator[Bug]:
        given = node.args
        if isinstance(node.func, ast.Name) and node.func.id in ("isinstance", "getattr", "hasattr", "print", "cast"):
            return
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for first, second in itertools.pairwise(given if called not in _EITHER_WAY else ()):
            if not isinstance(first, ast.Starred) and not isinstance(second, ast.Starred):
                between = self.source[self.end(first) : self.start(second)].decode()
                if "#" not in between:
                    text = self.text(second) + between + self.text(first)
                    yield Bug("exchanged arguments", self.start(first), self.end(second), text)
        for each in node.keywords:
            if each.arg == "axis" and isinstance(each.value, ast.Constant) and each.value.value in _AXES:
                yield self.put("another axis", each.value, str(_AXES[each.value.value]))
            elif each.arg is not None and each.arg not in ("axis", *_SAID):
                start, end = self.start(each), self.end(each)
                while self.source[end : end + 1] in (b",", b" "):
                    end += 1
                yield Bug("a dropped keyword", start, end, "")
        yield from self.named(node.func)

    def named(self, function: ast.expr) -> Iterator[Bug]:
        """Another function of the same use."""
        if isinstance(function, ast.Name) and function.id in ("min", "max", "any", "all"):
            yield self.put("another function", function, _NAMES[function.id])
        elif isinstance(function, ast.Attribute) and function.attr in _NAMES:
            end = self.end(function)
            yield Bug("another function", end - len(function.attr), end, _NAMES[function.attr])

    def _for(self, node: ast.For) -> Iterator[Bug]:
        yield self.put("only the first of several", node.iter, f"list({self.text(node.iter)})[:1]")

    def _comprehension(self, node: ast.comprehension) -> Iterator[Bug]:
        yield self.put("only the first of several", node.iter, f"list({self.text(node.iter)})[:1]")
        for each in node.ifs:
            yield self.put("another condition", each, "True")

    def _if(self, node: ast.If | ast.IfExp) -> Iterator[Bug]:
        yield self.put("another condition", node.test, f"(not ({self.text(node.test)}))")
        yield self.put("another condition", node.test, "False")

    def _ifexp(self, node: ast.IfExp) -> Iterator[Bug]:
        yield self.put("another condition", node.test, f"(not ({self.text(node.test)}))")

    def _while(self, node: ast.While) -> Iterator[Bug]:
        yield self.put("another condition", node.test, "False")

    def _expr(self, node: ast.Expr) -> Iterator[Bug]:
        if isinstance(node.value, ast.Call):
            yield self.put("a dropped statement", node, "pass")

    def _augassign(self, node: ast.AugAssign) -> Iterator[Bug]:
        yield self.put("a dropped statement", node, "pass")

    def _subscript(self, node: ast.Subscript) -> Iterator[Bug]:
        for part in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
            for end in (part.lower, part.upper) if isinstance(part, ast.Slice) else (part,):
                if isinstance(end, ast.UnaryOp) and isinstance(end.op, ast.USub):
                    yield self.put("the other end", end, "0")
