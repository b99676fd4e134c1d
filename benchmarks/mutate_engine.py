"""Change the engine's comparisons, constants and logic one at a time, and see whether a test notices.

    OMP_NUM_THREADS=1 python -m benchmarks.mutate_engine _bounds _judge --minutes 20

Functions get their changed code where they stand, in a copy of this process that runs the tests and ends: nothing is
imported twice, so that a mutant costs its tests alone, a second where they compile nothing. Tests are given as pytest
takes them, the quickest first, since the first that fails ends the run. What survives is printed with its line; give it
to slower tests by `--line`. Constants of modules and defaults of fields stay as they are.
"""

import argparse
import ast
import contextlib
import copy
import functools
import importlib
import inspect
import io
import os
import pathlib
import signal
import time
import types
from collections.abc import Iterator

PACKAGE = "lemmata.engine.claims"
FILES = ("_bounds", "_equalities", "_ladders", "_estimates", "_statistics", "_judge")
HERE = "tests/engine/claims"
TESTS = (
    f"{HERE}/test_comparisons.py", f"{HERE}/test_comparisons_of_ladders.py", f"{HERE}/test_judged.py",
    *(f"{HERE}/test_engine.py::{name}" for name in (
        "test_failure_limits_are_clopper_pearson", "test_holm_rejects_as_by_hand",
        "test_a_bound_says_how_many_violations_it_allows", "test_mean_interval_covers_skewed_means",
    )),
)  # fmt: skip
"""Those that compile nothing: a second or two."""
LIMIT = 240.0
"""Seconds of the clock that the tests of one mutant may take; one that takes longer hangs, which is noticed."""
NOTICED, SURVIVED = 1, 0

COMPARISONS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
LOGIC: dict[type[ast.operator], type[ast.operator]] = {ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
SIGNS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
}


def changes(node: ast.AST, arithmetic: bool) -> list[ast.AST]:
    """What may stand in the place of a node."""
    if isinstance(node, ast.Compare):
        return [
            ast.Compare(node.left, [*node.ops[:place], kind(), *node.ops[place + 1 :]], node.comparators)
            for place, own in enumerate(node.ops)
            for kind in COMPARISONS.get(type(own), ())
        ]
    if isinstance(node, ast.BoolOp):
        return [ast.BoolOp(ast.Or() if isinstance(node.op, ast.And) else ast.And(), node.values)]
    if isinstance(node, ast.BinOp):
        kind = LOGIC.get(type(node.op)) or (SIGNS.get(type(node.op)) if arithmetic else None)
        return [] if kind is None else [ast.BinOp(node.left, kind(), node.right)]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        return [node.operand]
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return [ast.Constant(not node.value)]
    if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
        return [ast.Constant(node.value + 1 if isinstance(node.value, int) else 1.5 * node.value + 0.01)]
    return []


def places(tree: ast.AST, way: tuple = ()) -> Iterator[tuple]:
    """The ways from the root to each node; not into words, annotations, defaults and decorators."""
    yield way
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "args", "decorator_list") and not isinstance(tree, ast.Call):
            continue
        for place, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from places(child, (*way, (name, place)))


def at(tree: ast.AST, way: tuple) -> ast.AST:
    """The node at the end of a way."""
    for name, place in way:
        child = getattr(tree, name)
        tree = child if place is None else child[place]
    return tree


def replaced(tree: ast.Module, way: tuple, other: ast.AST) -> ast.Module:
    """A copy of the tree with another node at the end of a way."""
    tree = copy.deepcopy(tree)
    parent, (name, place) = at(tree, way[:-1]), way[-1]
    other = ast.fix_missing_locations(ast.copy_location(other, at(tree, way)))
    if place is None:
        setattr(parent, name, other)
    else:
        getattr(parent, name)[place] = other
    return tree


def functions(module: types.ModuleType) -> Iterator[tuple[str, types.FunctionType]]:
    """Functions and methods that a module defines, by their qualified names."""
    for owner in (module, *(own for own in vars(module).values() if inspect.isclass(own))):
        for value in vars(owner).values():
            found = value.fget if isinstance(value, property) else inspect.unwrap(value) if callable(value) else None
            if inspect.isfunction(found) and found.__module__ == module.__name__ and "<" not in found.__qualname__:
                yield found.__qualname__, found


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A piece of compiled code and all that is inside of it."""
    yield code
    for own in code.co_consts:
        if isinstance(own, types.CodeType):
            yield from codes(own)


def mutants(module: types.ModuleType, arithmetic: bool) -> Iterator[tuple[str, types.FunctionType, types.CodeType]]:
    """Each change of each function: in words, the function, and its code with the change."""
    path = pathlib.Path(str(module.__file__))
    tree, known, seen = ast.parse(path.read_text(encoding="utf-8")), dict(functions(module)), set()
    for way in places(tree):
        inside = _function_of(tree, way)
        if inside not in known:
            continue
        node = at(tree, way)
        for other in changes(node, arithmetic):
            changed = replaced(tree, way, other)
            told = f"{path.name}:{getattr(node, 'lineno', 0)} {inside}: {ast.unparse(node)} -> {ast.unparse(other)}"
            if (told, way) in seen:
                continue
            seen.add((told, way))
            compiled = compile(ast.fix_missing_locations(changed), str(path), "exec")
            yield told, known[inside], next(own for own in codes(compiled) if own.co_qualname == inside)


def _function_of(tree: ast.AST, way: tuple) -> str:
    """The qualified name of the outermost function around a node; empty outside of all."""
    names = []
    for length in range(1, len(way)):
        node = at(tree, way[:length])
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.append(node.name)
            if isinstance(node, ast.FunctionDef):
                return ".".join(names)
    return ""


def notices(tests: list[str], function: types.FunctionType | None = None, code: types.CodeType | None = None) -> bool:
    """Whether a test fails, where a function has other code, in a process of its own."""
    child = os.fork()
    if child == 0:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(io.StringIO()):
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
            if function is not None and code is not None:
                function.__code__ = code
            os._exit(NOTICED if run(tests) else SURVIVED)
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) != SURVIVED
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return True


def run(tests: list[str]) -> int:
    """The exit code of the tests, which end with the first that fails."""
    import pytest

    plain = ["-o", "addopts=", "-x", "-q", "-n0", "-p", "no:cacheprovider", "--assert=plain", "-m", "every"]
    return int(pytest.main([*plain, *tests]))


def main() -> None:
    """Print what survives, file by file, and how many there were."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=FILES, help=f"of {', '.join(FILES)}")
    parser.add_argument("--tests", nargs="*", default=TESTS)
    parser.add_argument("--arithmetic", action="store_true", help="exchange + and -, * and /, too")
    parser.add_argument("--minutes", type=float, default=25.0, help="begin no mutant after so long")
    parser.add_argument("--line", type=int, nargs="*", help="only changes of these lines")
    given = parser.parse_args()
    began, told = time.monotonic(), functools.partial(print, flush=True)
    importlib.import_module("tests.engine.claims.synthetic")  # which imports what the tests need, before copies
    if notices(list(given.tests)):
        parser.error("the tests fail without a change")
    for name in given.files:
        module = importlib.import_module(f"{PACKAGE}.{name}")
        tried = survived = left = 0
        for words, function, code in mutants(module, given.arithmetic):
            if given.line and int(words.split()[0].partition(":")[2]) not in given.line:
                continue
            if time.monotonic() - began > 60 * given.minutes:
                left += 1
                continue
            tried += 1
            if not notices(list(given.tests), function, code):
                survived += 1
                told(f"survives  {words}")
        told(f"{name}: {tried - survived} of {tried} noticed, {left} left for want of time")


if __name__ == "__main__":
    main()
