"""Which tests reach a function, by reading their code: nothing is run or imported.

Commands are started by their names, and processes by their programs. A text in a test that is the name of a command
reaches the command, where the test reaches the command line; one that is a program reaches what it imports. Where the
cases of a test are the entries of a TOML file beside it, those of each command are a test of their own.
"""

import ast
import collections
import functools
import pathlib
import re
import tomllib
from collections.abc import Iterator
from typing import NamedTuple

from lemmata.engine.catalogue import ROOTS
from lemmata.engine.catalogue._fingerprint import reached
from lemmata.engine.catalogue._meaning import meaning
from lemmata.engine.catalogue._modules import Node, module_of, resolved, statements_of
from tests import budget

_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_LAW_OF_EXAMPLES = "tests/laws/test_examples.py::test_the_examples_of_the_docstrings_are_right"
_FEW = 6
"""Files that have a name up to which it says that they are about it."""


class Test(NamedTuple):
    """A test function.

    Args:
        node: its name for pytest; one that ends in `*]` has the cases whose names begin so.
        cost: about how many seconds its cases take.
        rests: the pieces of code that it reaches.
    """

    __test__ = False

    node: str
    cost: float
    rests: frozenset[Node]


class Reach:
    """Reads test files as they are asked for, those near to the code first.

    Args:
        root: of the checkout.
    """

    def __init__(self, root: pathlib.Path):
        self.root = root
        ROOTS.setdefault("tests", root / "tests")
        self.files = sorted((root / "tests").rglob("test_*.py"))
        self.read: dict[pathlib.Path, list[Test]] = {}
        self.texts: dict[pathlib.Path, str] = {}

    def tests_of(self, file: str, function: str, limit: float) -> list[Test]:
        """Tests of a function, for about so many seconds: those of its folder that reach it, then others that do.

        The examples in the docstrings of its file come first. Files that name the function are read next, wherever
        they are, then files whose names have a word of the function's file, and no more than it takes. Tests that reach
        little and take little come first.

        Args:
            file: below `src/lemmata`.
            function: its qualified name.
            limit: seconds that they may take together.
        """
        module = ".".join(("lemmata", *pathlib.PurePath(file).with_suffix("").parts))
        node = Node(module, *function.split("."))
        taken, others = self._examples(file, node), list[Test]()
        alone = len(taken)
        shared = lambda test: budget.costs().get(test.node.partition("::")[0], 0.0)  # the first of a file makes it
        by_effort = lambda test: len(test.rests) ** 0.5 * (0.2 + test.cost + shared(test))
        spent = lambda: sum(test.cost for test in taken[alone:])
        for place, folder in enumerate([self._naming(function), *self._folders(file)]):
            found = list[Test]()
            for group in self._together(folder, file, place):
                own = [test for path in group for test in self._tests(path) if test not in taken]
                for test in sorted((test for test in own if node in test.rests), key=by_effort):
                    if spent() + test.cost <= limit or len(taken) == alone:
                        taken.append(test)
                        found.append(test)
                if spent() > 0.7 * limit:
                    break
                others += [test for test in own if node not in test.rests] if place == 1 else []
            if place:  # those that name the function stay in front
                taken = [*taken[: len(taken) - len(found)], *sorted(found, key=by_effort)]
            if spent() > 0.7 * limit:
                return taken
            if place == 2:  # commands are started by their names, and processes by their words: no reading finds that
                for test in others:
                    if spent() + test.cost <= limit:
                        taken.append(test)
        return taken

    def _examples(self, file: str, node: Node) -> list[Test]:
        """The case of the law of docstrings that runs the examples of a file, if it has any."""
        tree = ast.parse((self.root / "src" / "lemmata" / file).read_text(encoding="utf-8"))
        parts = (part for part in ast.walk(tree) if isinstance(part, _DOCUMENTED))
        if not any(">>> " in (ast.get_docstring(part) or "") for part in parts):
            return []
        return [Test(f"{_LAW_OF_EXAMPLES}[{node.module}]", budget.cost(_LAW_OF_EXAMPLES), frozenset({node}))]

    @staticmethod
    def _together(folder: list[pathlib.Path], file: str, place: int) -> Iterator[list[pathlib.Path]]:
        """Test files whose tests are compared by what they take: those of the own folder at once, others one by one."""
        near = sorted(folder, key=lambda path: _apart(path.name, file))
        if place == 1:
            yield [path for path in near if not _apart(path.name, file)]
            yield [path for path in near if _apart(path.name, file)]
        else:
            yield from ([path] for path in near)

    def _naming(self, function: str) -> list[pathlib.Path]:
        """Test files whose text has the name of a function, or of its class if it is special; none if many have it."""
        *above, name = function.split(".")
        word = above[-1] if above and name.startswith("__") else name
        named = re.compile(rf"\b{re.escape(word)}\b")
        found = [path for path in self.files if named.search(self._text(path))]
        return found if len(found) <= _FEW else []

    def _text(self, path: pathlib.Path) -> str:
        if path not in self.texts:
            self.texts[path] = path.read_text(encoding="utf-8")
        return self.texts[path]

    def _folders(self, file: str) -> list[list[pathlib.Path]]:
        """Test files by their distance: of the same folder, of laws and oracles, of the same subpackage, all others."""
        own = self.root / "tests" / pathlib.PurePath(file).with_suffix("")
        while not own.is_dir():
            own = own.parent
        groups, seen = list[list[pathlib.Path]](), set[pathlib.Path]()
        tests = self.root / "tests"
        for tops in ([own] if own != tests else [], [tests / "laws", tests / "oracles"], [own.parent], [tests]):
            found = [path for path in self.files if path not in seen and any(top in path.parents for top in tops)]
            seen.update(found)
            groups.append(found)
        return groups

    def _tests(self, path: pathlib.Path) -> list[Test]:
        if path not in self.read:
            name = ".".join(path.relative_to(self.root).with_suffix("").parts)
            module = module_of(name)
            assert module is not None, path
            place = path.relative_to(self.root).as_posix()
            own = self.read[path] = list[Test]()
            for test, statements in module.definitions.items():
                if test.startswith("test_") and isinstance(statements[0], ast.FunctionDef):
                    node = f"{place}::{test}"
                    rests = reached([Node(name, test), *_fixtures(name, statements)])
                    whole = Test(node, _cost(node, statements[0]), _by_words(rests))
                    own += _of_entries(path, node, statements[0], rests) or [whole]
        return self.read[path]


@functools.cache
def commands() -> dict[str, Node]:
    """The functions of the command line, by the names of their commands."""
    module = module_of("lemmata.interfaces.cli")
    assert module is not None
    found = {}
    for part in ast.walk(module.definitions["commands"][0]):
        if isinstance(part, ast.Dict):
            for name, value in zip(part.keys, part.values, strict=True):
                node = resolved(module, value.id) if isinstance(value, ast.Name) else None
                if isinstance(name, ast.Constant) and isinstance(node, Node):
                    found[name.value] = node
    return found


_CLI = "lemmata.interfaces.cli"


def _of_entries(path: pathlib.Path, node: str, function: ast.FunctionDef, rests: frozenset[Node]) -> list[Test]:
    """The entries of a TOML file of the test's own name, by the command that they run, if the test is about them.

    An entry's case begins with the name of its command and a colon.
    """
    file = path.with_name(f"{path.stem.removeprefix('test_')}.toml")
    if "entry" not in [each.arg for each in function.args.args] or not file.exists():
        return []
    (entries,) = tomllib.loads(file.read_text(encoding="utf-8")).values()
    counts = collections.Counter(entry["command"][0] for entry in entries if entry["command"])
    return [
        Test(f"{node}[{command}: *]", budget.cost(node) * count, _by_words(rests, (command,)))
        for command, count in counts.items()
        if command in commands()
    ]


def _by_words(rests: frozenset[Node], more: tuple[str, ...] = ()) -> frozenset[Node]:
    """What a test reaches, with what its texts and others name: the command line alone would be all commands."""
    own = {node for node in rests if node.module.split(".")[0] == "tests"}
    runs, found = Node(_CLI, "commands") in rests, set[Node]()
    named = set[Node]()
    for text in {text for node in own for text in _texts(node)} | set(more):
        if "import " in text:
            found |= _imported(text)
        words = text.split()[:2]
        if words[:1] == ["lemmata"] or (runs and words):
            named |= {commands()[word] for word in words[words[0] == "lemmata" :][:1] if word in commands()}
    if runs and named:
        told = [meaning(node) for node in own]
        direct = {node for part in told for node in part.links if node not in own and node.module != _CLI}
        rests = reached(direct, {name for part in told for name in part.names}) | own
    return rests | reached(found | named)


@functools.cache
def _texts(node: Node) -> frozenset[str]:
    """The texts that a piece of code holds."""
    return frozenset(
        part.value for statement in statements_of(node) for part in ast.walk(statement)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )  # fmt: skip


@functools.cache
def _imported(text: str) -> frozenset[Node]:
    """What a program imports by name from lemmata; nothing where the text is none."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return frozenset()
    found = set[Node]()
    for part in ast.walk(tree):
        if isinstance(part, ast.ImportFrom) and (part.module or "").split(".")[0] == "lemmata":
            found |= {
                node
                for alias in part.names
                if isinstance(node := resolved(module_of(part.module or ""), alias.name), Node)
            }
    return frozenset(found)


def _cost(node: str, function: ast.FunctionDef) -> float:
    many = any("parametrize" in ast.unparse(each) for each in function.decorator_list)
    return budget.cost(node) * (4 if many else 1) + 0.05


def _fixtures(module: str, statements: list[ast.stmt]) -> list[Node]:
    """The fixtures that a function asks for by the names of its arguments, and those that they ask for."""
    parts = module.split(".")
    places = [module, *(".".join((*parts[:k], "conftest")) for k in range(len(parts) - 1, 0, -1))]
    found, waiting = list[Node](), list(statements)
    while waiting:
        part = waiting.pop()
        names = [each.arg for each in part.args.args] if isinstance(part, ast.FunctionDef) else []
        for name in names:
            for place in places:
                known = module_of(place)
                if known is not None and name in known.definitions:
                    if Node(place, name) not in found:
                        found.append(Node(place, name))
                        waiting += known.definitions[name]
                    break
    return found


def _apart(name: str, file: str) -> int:
    """0 where the name of a test file has a word of a file's name."""
    own = pathlib.PurePath(file).stem.strip("_").split("_")
    words = pathlib.PurePath(name).stem.removeprefix("test_").split("_")
    return int(not any(a.startswith(b[:5]) for a in words for b in own))
