"""The house: which room may import which, sizes of files and bodies, and what no file may contain."""

import ast
import pathlib
import re

import pytest

SOURCE = pathlib.Path(__file__).parents[1] / "src" / "lemmata"
FLOOR = {
    "errors": -2, "answers": -1, "options": -1, "files": -1, "core": 0, "kernels": 0, "catalogue": 0, "workers": 1,
    "architectures": 1, "functions": 1, "spectra": 1, "systems": 1, "bounds": 2, "certificates": 2, "networks": 2,
    "optimisers": 2, "preferences": 2, "privacy": 2, "scaling": 2, "solvers": 2, "stability": 2, "splines": 2,
    "attention": 2, "decisions": 2, "embeddings": 2, "field_theory": 2, "samplers": 1,
    "storage": 3, "adversaries": 3, "selection": 3, "machines": 3, "dynamics": 3, "phases": 3, "operators": 3,
    "forecasts": 2, "models": 3, "claims": 3, "problems": 4, "refutations": 4, "ledger": 4, "sources": 4, "chapters": 5,
    "estimators": 6, "studies": 7, "comparisons": 7, "examinations": 7, "report": 8, "site": 9, "cli": 10,
}  # fmt: skip
NEIGHBOURS = {
    ("kernels", "core"), ("networks", "solvers"), ("comparisons", "studies"), ("examinations", "studies"),
}  # fmt: skip
PRODUCT = ("estimators", "studies", "comparisons", "report", "storage")
FILES = sorted(SOURCE.rglob("*.py"))


def rooms(path: pathlib.Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        for name in names:
            if name == "lemmata" and isinstance(node, ast.ImportFrom):
                found |= {alias.name for alias in node.names if alias.name in FLOOR}
            elif name and name.startswith("lemmata."):
                found.add(name.split(".")[1])
    return found


def test_every_room_is_on_a_floor():
    assert {path.name for path in SOURCE.iterdir() if path.is_dir() and path.name != "__pycache__"} <= set(FLOOR)
    assert len(FILES) > 50


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_down(path):
    room = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    for other in rooms(path) - {room}:
        allowed = FLOOR[other] < FLOOR.get(room, 99) or (room, other) in NEIGHBOURS
        assert allowed, f"{room} (floor {FLOOR.get(room)}) imports {other} (floor {FLOOR[other]})"


@pytest.mark.parametrize(
    "path", [path for room in PRODUCT for path in sorted((SOURCE / room).rglob("*.py"))], ids=lambda path: path.name
)
def test_product_code_leaves_the_theory_alone(path):
    assert "chapters" not in rooms(path), "what a product needs is a room's, and the chapter takes it from there"
    assert "lemmata.subjects" not in path.read_text()


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
