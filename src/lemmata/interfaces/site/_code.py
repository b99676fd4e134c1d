"""Read facts from the code without running it: definitions, docstrings, hypotheses and imports."""

import ast
import dataclasses
import functools
import pathlib
import re
from collections.abc import Iterable, Iterator

from lemmata.engine.catalogue import nested_statements, part_of, tree_of
from lemmata.facts import DOCUMENTS, FACTS

ROOT = pathlib.Path(__file__).parents[2]
_DEPTH = 4  # the largest depth of calls between functions that return hypotheses


@dataclasses.dataclass(frozen=True)
class Definition:
    """A class or function: its file below the package, its syntax tree and the text of the file."""

    file: str
    node: ast.ClassDef | ast.FunctionDef
    text: str

    @functools.cached_property
    def code(self) -> str:
        """The lines of the definition, with its decorators."""
        first = min([self.node.lineno, *(each.lineno for each in self.node.decorator_list)])
        return "\n".join(self.text.splitlines()[first - 1 : self.node.end_lineno])

    @property
    def words(self) -> str:
        """The docstring of the definition."""
        return ast.get_docstring(self.node) or ""


@functools.cache
def definitions(room: str) -> dict[str, Definition]:
    """The classes and functions at the top level of a subpackage's files, by name. The first of equal names counts.

    Args:
        room: a folder of the package, for example "engine/problems".
    """
    found: dict[str, Definition] = {}
    for path in sorted((ROOT / room).rglob("*.py")):
        for name, definition in in_file(path.relative_to(ROOT).as_posix()).items():
            found.setdefault(name, definition)
    return found


@functools.cache
def in_file(file: str) -> dict[str, Definition]:
    """The classes and functions at the top level of a file, by name; empty if there is no such file."""
    path = ROOT / file
    if not path.is_file():
        return {}
    text = path.read_text(encoding="utf-8")
    nodes = [node for node in tree_of(path).body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    return {node.name: Definition(file, node, text) for node in nodes}


def section_file(place: str) -> str:
    """The file of a section, "subjects/tangent/finite_width.py" for "tangent.finite_width"."""
    return f"subjects/{place.replace('.', '/')}.py"


@functools.cache
def module_words(file: str) -> str:
    """The docstring of a file of the package; empty if there is none."""
    path = ROOT / file
    return (ast.get_docstring(tree_of(path)) or "") if path.is_file() else ""


def claim_of(place: str, name: str) -> Definition | None:
    """The class of a claim, or None if its section is not a file of the package."""
    return in_file(section_file(place)).get(name)


def population_of(place: str, name: str) -> Definition | None:
    """The class of a population (a problem generator), found in the section, its subject, or the shared problems."""
    own = in_file(section_file(place)).get(name)
    chapter = definitions(f"subjects/{place.partition('.')[0]}").get(name)
    return own or chapter or definitions("engine/problems").get(name)


@dataclasses.dataclass(frozen=True)
class Condition:
    """A hypothesis of a claim, read from the code.

    Args:
        name: the condition in words; "…" stands for values that the code fills in.
        asked: the relation and the threshold, for example "<= 1"; empty if the condition is not checked, or if only
            the code can say what the threshold is.
        why: the reason for the condition, or why it cannot be checked.
        standing: "checked", "unchecked" or "violated" (known to be false), as the code declares it.
    """

    name: str
    asked: str
    why: str
    standing: str


def hypotheses_of(place: str, claim: str, population: str) -> list[Condition]:
    """The hypotheses that the methods of a population and a claim name, each once. Base classes are included."""
    own = claim_of(place, claim)
    found = [] if own is None else list(_of_expression(own, place))
    for start in (population_of(place, population), own):
        waiting, seen = [start], set()
        while waiting:
            definition = waiting.pop(0)
            if definition is None or definition.node.name in seen:
                continue
            seen.add(definition.node.name)
            if isinstance(definition.node, ast.ClassDef):
                found += _of_methods(definition.node, definition.text, place)
                waiting += [population_of(place, _called(base)) for base in definition.node.bases]
    return list(dict.fromkeys(found))


def _of_expression(claim: Definition, place: str) -> Iterator[Condition]:
    """The conditions of a population that the claim's class, or a file of its subject, assigns by an expression."""
    given = _assigned(getattr(claim.node, "body", []), "population")
    for file in (claim.file, *_siblings(claim.file)):
        if isinstance(given, ast.Name):
            given = _assigned(_body(file), given.id) or given
    if isinstance(given, ast.Call):
        yield from _conditions(given, {}, place, _DEPTH)
        for name in (each.id for each in given.args if isinstance(each, ast.Name)):
            named = population_of(place, name)
            if named and isinstance(named.node, ast.FunctionDef):
                yield from _conditions(named.node, {}, place, _DEPTH)


@functools.cache
def _siblings(file: str) -> tuple[str, ...]:
    """The private files in the folder of a file."""
    folder = pathlib.PurePosixPath(file).parent
    return tuple(f"{folder}/{path.name}" for path in sorted((ROOT / file).parent.glob("_*.py")))


@functools.cache
def _body(file: str) -> list[ast.stmt]:
    """The statements of a file of the package."""
    return tree_of(ROOT / file).body


def _of_methods(node: ast.ClassDef, text: str, place: str) -> Iterator[Condition]:
    for method in node.body:
        if isinstance(method, ast.FunctionDef) and method.name == "hypotheses":
            yield from _conditions(method, {}, place, _DEPTH)


def _conditions(node: ast.AST, bound: dict[str, str], place: str, depth: int) -> Iterator[Condition]:
    """The hypotheses that a function's code names, and those that the functions it calls name."""
    bound = _constants(place) | bound
    bound |= _texts(ast.walk(node) if isinstance(node, ast.FunctionDef) else (), bound)
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        if _called(call.func) == "Hypothesis":
            yield _condition(call, bound, place)
        elif depth and isinstance(call.func, ast.Name):
            called = population_of(place, call.func.id)
            if called and isinstance(called.node, ast.FunctionDef) and "Hypothesis" in called.code:
                yield from _conditions(called.node, _arguments(called.node, call, bound), place, depth - 1)


def _called(node: ast.expr) -> str:
    """The name that is called, such as "Hypothesis" for `Hypothesis(...)` and `Hypothesis.unchecked(...)`."""
    if isinstance(node, ast.Subscript):
        return _called(node.value)
    if isinstance(node, ast.Attribute):
        return _called(node.value) if node.attr in ("unchecked", "violated") else ""
    return node.id if isinstance(node, ast.Name) else ""


def _arguments(function: ast.FunctionDef, call: ast.Call, bound: dict[str, str]) -> dict[str, str]:
    """The source text of each parameter's value in a call of a function: the given argument, or else the default."""
    names = [argument.arg for argument in function.args.args]
    defaults = dict(zip(names[len(names) - len(function.args.defaults) :], function.args.defaults, strict=True))
    given = {**defaults, **dict(zip(names, call.args, strict=False))}
    given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
    return {name: _words(value, bound) for name, value in given.items()}


def _condition(call: ast.Call, bound: dict[str, str], place: str) -> Condition:
    given: dict[str, ast.expr] = {k.arg: k.value for k in call.keywords if k.arg}
    standing = call.func.attr if isinstance(call.func, ast.Attribute) else "checked"
    order = ("name", "value", "relation", "threshold", "why") if standing == "checked" else ("name", "why")
    given |= dict(zip(order, call.args, strict=False))
    said = {name: _words(given[name], bound) if name in given else "" for name in ("name", "why")}
    asked = ""
    relation = _words(given["relation"], bound) if "relation" in given else "…"
    if relation != "…" and "threshold" in given and (threshold := _plain(given["threshold"], place)):
        asked = f"{relation} {threshold}"
    if said["name"] in {fact.given for fact in FACTS.values()} and asked == ">= 1":
        asked = ""  # the fact is given, or it is not
    return Condition(said["name"], asked, _with_options(said["why"]), standing)


def _with_options(why: str) -> str:
    """A reason in which options and arguments are marked as code.

    >>> _with_options("--deploy, or deployed=")
    'pass `--deploy`, or `deployed=`'
    """
    marked = re.sub(r"--[a-z]+(?: 0)?|\b[a-z]+=\d?", r"`\g<0>`", why)
    return f"pass {marked}" if marked.startswith("`") else marked


def _words(node: ast.expr, bound: dict[str, str]) -> str:
    """The text of an expression. "…" stands for values that are known only when the code runs."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Name):
        return bound.get(node.id) or _fact(node) or "…"
    if isinstance(node, ast.JoinedStr):
        return "".join(_words(part, bound) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _words(node.value, bound)
    return _fact(node) or "…"


@functools.cache
def _constants(place: str) -> dict[str, str]:
    """The texts that a section, or a private file of its subject, gives to names."""
    file = section_file(place)
    found: dict[str, str] = {}
    for each in (*reversed(_siblings(file)), file):
        found |= _texts(_body(each), {})
    return found


def _texts(nodes: Iterable[ast.AST], bound: dict[str, str]) -> dict[str, str]:
    """The texts that statements give to names, also to several names at once."""
    found: dict[str, str] = {}
    for node in nodes:
        match node:
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                pairs = list(zip(targets, values, strict=True))
            case ast.Assign([target], value):
                pairs = [(target, value)]
            case _:
                continue
        for target, value in pairs:
            if isinstance(target, ast.Name) and (said := _words(value, bound)) != "…":
                found[target.id] = said
    return found


def _fact(node: ast.expr) -> str:
    """The words of `lemmata.facts` by which a check requires a fact about a model; empty for other code."""
    match node:
        case ast.Attribute(ast.Subscript(ast.Name("FACTS"), ast.Constant(str(name))), "given"):
            return FACTS[name].given
        case ast.Name("DOCUMENTS"):
            return DOCUMENTS
    return ""


def _plain(node: ast.expr, place: str) -> str:
    """A threshold as a number, or as a formula of symbols of at most two letters; empty for other code."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "float":
        node = node.args[0]
    if isinstance(node, ast.Name) and node.id.isupper():
        file = section_file(place)
        files = (file, *_siblings(file))
        node = next(filter(None, (_assigned(_body(each), node.id) for each in files)), node)
    try:
        return f"{float(ast.literal_eval(node)):g}"
    except (ValueError, TypeError):
        text = re.sub(r"\b(jnp|problem|self|np)\.", "", ast.unparse(node)).replace(" ** ", "^")
        return text if all(len(word) <= 2 for word in re.findall(r"[A-Za-z_]\w*", text)) else ""


def is_relative(place: str, claim: str) -> bool:
    """Whether a claim's relation compares by ratio. This is the default unless the code says `relative=False`."""
    file = section_file(place)
    waiting, own = [claim], in_file(file)
    while waiting:
        definition = own.get(waiting.pop(0))
        if definition is None or not isinstance(definition.node, ast.ClassDef):
            continue
        given = _assigned(definition.node.body, "relation")
        if isinstance(given, ast.Name):
            given = _assigned(_body(file), given.id)
        if isinstance(given, ast.Call):
            return not any(k.arg == "relative" and ast.unparse(k.value) == "False" for k in given.keywords)
        waiting += [_called(base) for base in definition.node.bases]
    return True


def _assigned(body: list[ast.stmt], name: str) -> ast.expr | None:
    """The expression that is assigned to a name in the body of a class or function; None if there is none."""
    for node in body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in node.targets):
            return node.value
    return None


@functools.cache
def imports(path: pathlib.Path) -> frozenset[str]:
    """The subpackages of lemmata that a file imports from. Import statements inside strings do not count."""
    found: set[str] = set()
    for node in nested_statements(tree_of(path).body):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            whole = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {part_of(name) for name in whole if name.startswith(f"{ROOT.name}.")}
    return frozenset(found)
