"""The house: which part may import which, no circles, private files, sizes, and what no file may contain."""

import ast
import collections
import functools
import pathlib
import re

import pytest

from lemmata.engine.catalogue import part_of

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "lemmata"
ORDER = (
    ("errors", "signatures", "version"),
    (
        "answers",
        "bundled",
        "code_files",
        "directories",
        "facts",
        "files",
        "interruption",
        "intervals",
        "limits",
        "moves",
        "offsets",
        "pictures",
        "printable",
    ),
    ("results", "stored"),
    ("options",),
    ("core",),
    ("workers",),
    ("kernels", "functions"),
    ("architectures", "spectra"),
    ("solvers", "networks"),
    ("engine",),
    ("subjects",),
    ("storage",),
    ("estimators",),
    ("workflows",),
    ("interfaces",),
)
"""Parts from low to high: each imports from those before it, and within a group as its own order says."""
WITHIN = {
    "engine": ("catalogue", "claims", "problems", "refutations", "ledger", "sources"),
    "workflows": ("records", "studies", "comparisons", "examinations"),
    "interfaces": ("report", "search", "python", "site", "cli"),
}
NEIGHBOURS = {("networks", "solvers")}
FILES = sorted(SOURCE.rglob("*.py"))
LEVEL = {name: level for level, names in enumerate(ORDER) for name in names}


def module_of(path: pathlib.Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


@functools.cache
def modules() -> dict[str, pathlib.Path]:
    return {module_of(path): path for path in FILES}


@functools.cache
def imports(path: pathlib.Path) -> frozenset[str]:
    """The modules of the package that a file imports, in functions and for the types alone, too."""
    own, found = module_of(path), set[str]()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = own.split(".")
                parts = parts[: len(parts) - node.level + (path.name == "__init__.py")]
                base = ".".join([*parts, *([node.module] if node.module else [])])
            wanted = [f"{base}.{alias.name}" for alias in node.names]
            found |= {name if name in modules() else base for name in wanted if base in modules()}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names if alias.name in modules()}
    return frozenset(found - {own})


def rooms(path: pathlib.Path) -> set[str]:
    """The parts that a file imports from."""
    return {part_of(name) for name in imports(path)} - {""}


def test_every_part_has_its_place():
    assert {path.stem for path in SOURCE.iterdir() if path.name[0] != "_" and path.suffix in ("", ".py")} == set(LEVEL)
    for group, order in WITHIN.items():
        assert {path.name for path in (SOURCE / group).iterdir() if path.is_dir()} - {"__pycache__"} == set(order)
    assert len(FILES) > 500


def _below(part: str, other: str) -> bool:
    own, its = part.partition("."), other.partition(".")
    if own[0] != its[0]:
        return LEVEL[its[0]] < LEVEL.get(own[0], 99) or (part, other) in NEIGHBOURS
    order = WITHIN.get(own[0])
    return order is None or own[2] == "" or order.index(its[2]) < order.index(own[2])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path):
    part = part_of(module_of(path))
    for other in rooms(path) - {part}:
        assert _below(part, other), f"{part} imports {other}"


def test_no_file_imports_itself_by_way_of_others():
    """Strongly connected parts of the graph of files: Kosaraju's two passes."""
    graph = {name: imports(path) for name, path in modules().items()}
    back = collections.defaultdict(set)
    for name, others in graph.items():
        for other in others:
            back[other].add(name)
    order, seen = [], set()

    def visit(start, edges, found):
        waiting = [(start, iter(sorted(edges.get(start, ()))))]
        seen.add(start)
        while waiting:
            name, rest = waiting[-1]
            following = next((other for other in rest if other not in seen), None)
            if following is None:
                waiting.pop()
                found.append(name)
            else:
                seen.add(following)
                waiting.append((following, iter(sorted(edges.get(following, ())))))

    for name in sorted(graph):
        if name not in seen:
            visit(name, graph, order)
    seen.clear()
    circles = []
    for name in reversed(order):
        if name not in seen:
            circle: list[str] = []
            visit(name, back, circle)
            circles += [sorted(circle)] * (len(circle) > 1)
    assert circles == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_private_files_are_private(path):
    """A file whose name begins with an underscore is imported by files of its own subpackage alone."""
    own = part_of(module_of(path))
    for name in imports(path):
        private = any(word.startswith("_") for word in name.split("."))
        assert not private or part_of(name) == own, f"{own} imports {name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_name_of_a_higher_part_stands_in_a_string(path):
    """What the code above is called is not known below: neither its modules nor its claims."""
    own = module_of(path).split(".")[1:2]
    for node in ast.walk(ast.parse(path.read_text())):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and re.fullmatch(r"lemmata(\.\w+)+", node.value)
        ):
            above = node.value.split(".")[1]
            if above in LEVEL and own and own[0] in LEVEL:
                assert LEVEL[above] <= LEVEL[own[0]], f"{path}: {node.value}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_files_fit_in_the_head(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 400
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            first = node.body[0]
            documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
            assert node.end_lineno - (first.end_lineno if documented else node.lineno) <= 60, node.name
    assert not re.search(r"jax\._src|jax\.core|jax\.interpreters|allow_pickle\s*=\s*True|\bpickle\b", text)
