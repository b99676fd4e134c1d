"""Calls of the public interface with something else in the place of each array, as users pass by mistake.

The calls are those of the docstrings' examples: each call of a function, class or method of lemmata is made once as it
stands, and then again for every array among its arguments with every substitute in the array's place. A substitute that
says the same (a list, a frame) must give the same answer, and any other must be refused by one of lemmata's errors.
"""

import ast
import contextlib
import copy
import doctest
import importlib
import inspect
import io
import json
import pathlib
import pkgutil
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pandas

from lemmata import subjects
from lemmata.core._places import Place
from lemmata.core._reading import places
from lemmata.errors import LemmataError

SAME = ("list", "tuple", "frame", "object", "swapped", "long")
"""Substitutes that say what the array says."""
WRONG = ("text", "complex", "ragged", "none", "empty", "number", "half", "boolean", "mixed")
"""Substitutes that are refused; those of `_READ` may also be read."""
_READ = ("empty", "number", "half", "boolean")


EXCUSED = {
    ("sparsify(x)", "text"): "inputs of the user's network, which may read texts",
    ("sparsify(x)", "mixed"): "the same",
    ("bias_variance(x)", "text"): "inputs of the user's learner, which may read texts",
    ("bias_variance(x)", "mixed"): "the same",
    ("bias_variance(x)", "boolean"): "the learner of the example fails on constant columns",
    ("stability(x)", "text"): "inputs of the user's learner, which may read texts",
    ("stability(x)", "mixed"): "the same",
    ("stability(x)", "boolean"): "the learner of the example subtracts",
    ("Objective(x)", "text"): "rows of a model, which may be texts",
    ("Objective(x)", "mixed"): "the same",
    ("nearby_rows(x)", "text"): "rows of a model, which may be texts",
    ("nearby_rows(x)", "mixed"): "the same",
    ("effective_support(samples)", "text"): "samples may be texts",
    ("effective_support(samples)", "complex"): "and anything else that can be equal",
    ("effective_support(samples)", "mixed"): "the same",
    ("ContinuousSystem(input)", "complex"): "systems may be complex",
    ("ContinuousSystem(output)", "complex"): "the same",
    ("DiagonalMatrix(poles)", "complex"): "the same",
    ("recover(a)", "frame"): "its columns lie otherwise in memory, so that a descent rounds otherwise",
}
"""Calls that need not be refused, or need not give the same answer, each with the reason."""


class Tried(NamedTuple):
    """One call with one substitute.

    Args:
        what: the function and its argument.
        substitute: its name.
        fault: what is wrong with the outcome; empty where nothing is.
    """

    what: str
    substitute: str
    fault: str


def substitutes(array: np.ndarray) -> Iterator[tuple[str, Any]]:
    """What is put in the place of an array, by name."""
    yield "list", array.tolist()
    if array.ndim:
        yield "tuple", tuple(array.tolist())
    if array.ndim in (1, 2) and array.size:
        yield "frame", pandas.Series(array) if array.ndim == 1 else pandas.DataFrame(array)
    yield "object", array.astype(object)
    yield "swapped", array.astype(array.dtype.newbyteorder())
    if array.dtype.kind == "f":
        yield "long", array.astype(np.longdouble)
    yield "text", np.asarray(array, dtype=str).tolist() if array.ndim else "1"
    yield "complex", array + 1j * (1 + np.abs(array))
    yield "none", None
    yield "ragged", [[1.0], [2.0, 3.0]]
    yield "mixed", np.full(array.shape, "a", dtype=object)
    yield "empty", np.zeros((0, *array.shape[1:]), array.dtype)
    if array.ndim:
        yield "number", 0.5
    yield "half", np.zeros(array.shape, np.float16)
    yield "boolean", np.zeros(array.shape, bool)


def is_array(value: Any, annotation: Any, name: str) -> bool:
    """Whether an argument is an array of real numbers, and its place is not that of a tree or of anything."""
    said = str(annotation)
    if "PyTree" in said or "Callable" in said or "Key" in said or name == "params":
        return False
    if isinstance(value, jax.Array):
        return not jnp.issubdtype(value.dtype, jax.dtypes.prng_key) and value.dtype != np.uint32 and value.size > 0
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiub" and value.size > 0
    if isinstance(value, list) and value and "rray" in said:
        try:
            return np.asarray(value).dtype.kind in "fiub"
        except ValueError:
            return False
    return False


class Recorder:
    """What replaces calls in examples: makes the call, then the same with substitutes, and keeps what came out.

    Args:
        wanted: whether a substitute is tried, by the name of the function, the argument, and the substitute.
        others: what is put in the place of an array, by name.
        fault: of a call, by the name of the substitute, the parameter and the first answer: what is wrong with it.
    """

    def __init__(
        self,
        wanted: Callable[[str, str, str], bool] = lambda *_: True,
        others: Callable[[np.ndarray], Iterator[tuple[str, Any]]] | None = None,
        fault: Callable[[Callable[[], Any], str, inspect.Parameter, Any], str] | None = None,
    ):
        self.wanted, self.tried, self.seen = wanted, list[Tried](), set[tuple[str, str]]()
        self.others, self.fault = others or substitutes, fault or _fault

    def __call__(self, function: Callable[..., Any], *args: Any, **named: Any) -> Any:
        """The call as it stands, after which it is made again with substitutes."""
        answer = function(*args, **named)
        known = _signature(function)
        if known is not None:
            name, signature = known
            try:
                bound = signature.bind(*args, **named)
            except TypeError:
                return answer
            for key, value in bound.arguments.items():
                kind = signature.parameters[key]
                single = kind.kind in (kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY)
                if single and (name, key) not in self.seen and is_array(value, kind.annotation, key):
                    self.seen.add((name, key))
                    self._try(function, name, kind, bound, answer)
        return answer

    def _try(self, function: Any, name: str, kind: inspect.Parameter, bound: inspect.BoundArguments, answer: Any):
        array = np.asarray(bound.arguments[kind.name])
        for substitute, value in self.others(array):
            if not self.wanted(name, kind.name, substitute):
                continue
            again = inspect.BoundArguments(bound.signature, {**bound.arguments, kind.name: value})
            fault = self.fault(
                lambda again=again: _apart(function)(*again.args, **again.kwargs), substitute, kind, answer
            )
            what = f"{name}({kind.name})"
            self.tried.append(Tried(what, substitute, "" if (what, substitute) in EXCUSED else fault))


def _apart(function: Any) -> Any:
    """A method of an estimator as that of a copy, which a failed fit leaves half done."""
    own = getattr(function, "__self__", None)
    return getattr(copy.deepcopy(own), function.__name__) if hasattr(own, "get_params") else function


def _fault(call: Callable[[], Any], substitute: str, kind: inspect.Parameter, answer: Any) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", np.exceptions.ComplexWarning)
            found = call()
            jax.block_until_ready(found)
    except LemmataError as error:
        if substitute in SAME:
            return f"refused: {error}"
        return "" if str(error).strip() else "an empty message"
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
    if substitute in SAME:
        return _difference(answer, found)
    said = str(kind.annotation)
    if kind.name == "y" and substitute in ("text", "mixed", "none"):  # labels
        return ""
    free = "Inexact" in said or "Complex" in said or "Shaped" in said or "Num[" in said
    if substitute in _READ or (substitute == "complex" and free):
        return ""
    if substitute == "none" and (kind.default is None or "None" in said):
        return ""
    return "no error"


def _difference(answer: Any, found: Any) -> str:
    left, right = (jax.tree.leaves(_opened(each)) for each in (answer, found))
    if len(left) != len(right):
        return f"{len(left)} parts became {len(right)}"
    for one, other in zip(left, right, strict=True):
        if isinstance(one, bool | int | float | np.ndarray | np.number | jax.Array):
            a, b = np.asarray(one), np.asarray(other)
            if a.shape != b.shape:
                return f"shape {a.shape} became {b.shape}"
            if a.dtype.kind in "fiubc" and not np.allclose(a, b, rtol=1e-4, atol=1e-6, equal_nan=True):
                return "another answer"
    return ""


def _opened(value: Any) -> Any:
    """The fields of a plain dataclass or object of lemmata, one level deep."""
    named = value._asdict() if hasattr(value, "_asdict") else getattr(value, "__dict__", None)
    if named is None or isinstance(value, list | dict | np.ndarray | jax.Array):
        return value
    plain = {key: part for key, part in named.items() if isinstance(part, float | int | np.ndarray | jax.Array)}
    return {key: part for key, part in plain.items() if "seconds" not in key}


def _signature(function: Any) -> tuple[str, inspect.Signature] | None:
    """The name and signature of what belongs to lemmata's public interface."""
    kind = function if isinstance(function, type) else type(function)
    if isinstance(function, types.MethodType):
        name = f"{type(function.__self__).__name__}.{function.__name__}"
        if isinstance(function.__self__, type):
            name = f"{function.__self__.__name__}.{function.__name__}"
        module = function.__func__.__module__
    elif isinstance(function, type) or inspect.isfunction(function) or hasattr(function, "__wrapped__"):
        name, module = function.__name__, function.__module__
    elif kind.__module__.startswith("lemmata"):
        name, module = f"{kind.__name__}.__call__", kind.__module__
    else:
        return None
    if "<" in getattr(function, "__qualname__", "") or (isinstance(function, type) and issubclass(function, tuple)):
        return None  # made by a function, or a record: an answer, not part of the interface
    if not module.startswith("lemmata") or (name.rsplit(".", 1)[-1].startswith("_") and not name.endswith("__call__")):
        return None
    try:
        return name, inspect.signature(function, eval_str=False)
    except (TypeError, ValueError):
        return None


class _Calls(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        return ast.copy_location(
            ast.Call(ast.Name("__called__", ast.Load()), [node.func, *node.args], node.keywords), node
        )

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return node


def replay(module: str, recorder: Recorder) -> int:
    """Runs the examples of a module with a recorder in the place of every call, and returns how many examples ran."""
    found = importlib.import_module(module)
    ran = 0
    for test in doctest.DocTestFinder(exclude_empty=True).find(found, module):
        if not test.examples:
            continue
        scope = {**test.globs, "__called__": recorder}
        ran += 1
        for example in test.examples:
            tree = ast.fix_missing_locations(_Calls().visit(ast.parse(example.source)))
            exec(compile(tree, f"<{test.name}>", "exec"), scope)
    return ran


COUNTS = pathlib.Path(__file__).with_name("foreign_counts.json")
"""How many arguments the examples of each module put to the test: none may fall away unseen."""


def main() -> None:
    """Every substitute of every argument, for minutes: prints the faults and writes how many arguments there were."""
    jax.config.update("jax_enable_x64", True)
    counts, faults, seen = dict[str, int](), 0, set[tuple[str, str]]()
    for module in public_modules():
        recorder = Recorder()
        with contextlib.redirect_stdout(io.StringIO()):
            replay(module, recorder)
        seen |= recorder.seen
        if recorder.seen:
            counts[module] = len(recorder.seen)
        for each in recorder.tried:
            if each.fault:
                faults += 1
                print(f"{module}: {each.what}, {each.substitute}: {each.fault}", flush=True)
    COUNTS.write_text(json.dumps(counts, indent=1) + "\n", encoding="utf-8")
    print(f"{sum(counts.values())} arguments of {len(counts)} modules, {faults} faults")
    rest = sorted(f"{name}({argument})" for name, argument in set(array_arguments()) - seen)
    print(f"no example passes an array as {len(rest)} more; their reader alone is tested: {', '.join(rest)}")


def array_arguments(packages: Sequence[str] = ()) -> dict[tuple[str, str], tuple[Any, Place]]:
    """Every array argument of a public function, class or method by their names: the function, and how it is read.

    Args:
        packages: where to look; all public ones by default.
    """
    found = dict[tuple[str, str], tuple[Any, Place]]()
    for package in packages or public_packages():
        for name, value in vars(importlib.import_module(package)).items():
            if name.startswith("_") or not str(getattr(value, "__module__", "")).startswith(f"{package}."):
                continue
            functions = {name: value}
            if isinstance(value, type):
                if issubclass(value, tuple | BaseException):  # an answer, not part of the interface
                    continue
                methods = [each for each in dir(value) if each in ("__init__", "__call__") or not each.startswith("_")]
                functions = {f"{name}.{each}": getattr(value, each) for each in methods}
            for own, function in functions.items():
                inside = str(getattr(function, "__module__", "")).startswith("lemmata.")
                if not (inside and callable(function)) or isinstance(function, type):
                    continue
                for _, place in places(function):
                    if isinstance(place, Place):
                        found[own.removesuffix(".__init__"), place.name] = function, place
    return found


def public_packages() -> list[str]:
    """The numerics, estimators, storage, and every subject."""
    rooms = ["kernels", "functions", "architectures", "spectra", "solvers", "networks", "estimators", "storage"]
    packages = [f"lemmata.{room}" for room in rooms]
    return packages + [f"lemmata.subjects.{each.name}" for each in pkgutil.iter_modules(subjects.__path__)]


def public_modules() -> list[str]:
    """The modules that define public functions and classes of the numerics, subjects, estimators and storage."""
    found = set[str]()
    for package in public_packages():
        for name, value in vars(importlib.import_module(package)).items():
            ours = str(getattr(value, "__module__", "")).startswith("lemmata")
            if not name.startswith("_") and callable(value) and ours:
                found.add(value.__module__)
    return sorted(found)


if __name__ == "__main__":
    main()
