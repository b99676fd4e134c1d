"""The tests start with what `.[test]` installs: at module level they import no other package."""

import ast
import contextlib
import importlib.metadata
import pathlib
import re
import sys
import tomllib

TESTS = pathlib.Path(__file__).parents[1]
WRITTEN = tomllib.loads((TESTS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = {"lemmata", "tests", "docs", "benchmarks", "packaging"}


def installed() -> set[str]:
    """The names of the distributions that the extra `test` installs: those it asks for, and those they require."""
    extras, found, waiting = WRITTEN["optional-dependencies"], set[str](), [*WRITTEN["dependencies"], "lemmata[test]"]
    while waiting:
        asked = re.match(r"([\w.-]+)(?:\[([\w,-]+)\])?", waiting.pop())
        assert asked
        name = asked[1].lower().replace("_", "-")
        if name == "lemmata":
            waiting += [each for extra in asked[2].split(",") for each in extras[extra]]
        elif name not in found:
            found.add(name)
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):  # one for another system
                waiting += [each for each in importlib.metadata.requires(name) or () if "extra ==" not in each]
    return found


def imported(file: pathlib.Path) -> set[str]:
    """The modules that a file imports when it is imported, without those after `importorskip`."""
    found = set[str]()
    for part in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(part, ast.Import):
            found |= {alias.name for alias in part.names}
        elif isinstance(part, ast.ImportFrom) and not part.level and part.module:
            found |= {part.module, *(f"{part.module}.{alias.name}" for alias in part.names)}
        elif "importorskip" in ast.unparse(part):
            break  # what follows may need the package whose lack skips the file
    return found


def test_module_level_imports_are_installed_by_the_extra_of_tests():
    waiting = {*TESTS.rglob("test_*.py"), *TESTS.rglob("conftest.py")}
    assert len(waiting) > 500
    needed: dict[str, set[str]] = {}
    seen = set[pathlib.Path]()
    while waiting - seen:
        file = (waiting - seen).pop()
        seen.add(file)
        for name in imported(file):
            if name.startswith("tests."):
                own = TESTS.parent.joinpath(*name.split(".")).with_suffix(".py")
                waiting |= {own} if own.is_file() else set()
            elif name.partition(".")[0] not in OURS | sys.stdlib_module_names:
                needed.setdefault(name.partition(".")[0], set()).add(file.relative_to(TESTS).as_posix())
    assert "numpy" in needed
    assert len(seen) > len({*TESTS.rglob("test_*.py")})
    of, asked = importlib.metadata.packages_distributions(), installed()
    assert {"jax", "pytest", "zarr", "pandas"} <= asked
    missing = {name: sorted(files) for name, files in needed.items()
               if not {each.lower().replace("_", "-") for each in of.get(name, [name])} & asked}  # fmt: skip
    assert not missing
