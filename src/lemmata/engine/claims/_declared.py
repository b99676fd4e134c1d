"""Check the declarations of a claim before any trial: types, signatures, ranges and the bibliography entry."""

import ast
import inspect
import math
import numbers
import re
from typing import Any, NoReturn

from lemmata.errors import ClaimError, LemmataError, shortened, words_of

from ._advice import MOST_TRIALS
from ._claim import Claim, Control, Status
from ._kind import Kind
from ._passage import Passage, Reading
from ._population import Population
from ._relations import Relation
from ._settings import Choice, Integer, Real, Space
from ._source import Source

_ASKED = ("source", "population", "relation", "control")
_METHODS = {
    "predict": ("problem",), "measure": ("problem", "key"), "measure_at": ("problem", "key", "rung"),
    "hypotheses": ("problem",), "condition": ("problem",), "trivial": ("problem",),
}  # fmt: skip
_TYPES: tuple[tuple[str, type, str], ...] = (
    ("source", Source, 'Source("key", "Theorem 1", entry="@article{key, ...}")'),
    ("population", Population, "an instance of the population's class"),
    ("relation", Relation, "an instance of a relation, such as AtMost()"),
    ("control", Control, 'Control("a false statement", lambda predicted, problem: ...)'),
)


class _Declared:
    """A claim's class, and the name of the claim in error messages."""

    def __init__(self, cls: type[Claim], file: str | None):
        self.cls = cls
        self.name = f"claim {cls.__name__}" + (f" in {file}" if file else "")

    def refuse(self, attribute: str, found: object, rule: str, remedy: str | None = None) -> NoReturn:
        """Raise a ClaimError about an attribute."""
        raise ClaimError(f"{self.name}, {attribute}", found=shortened(str(found), 200), rule=rule, remedy=remedy)


def check_declared(cls: type[Claim], file: str | None = None) -> None:
    """Check the declarations of a claim's class, without running any of its methods on a problem.

    Args:
        cls: the class.
        file: the file of the claim, for error messages.

    Raises:
        ClaimError: for the first attribute that is missing or wrong. The message names this attribute.
    """
    check_complete(cls, file)
    own = _Declared(cls, file)
    _check_words(own)
    for name, kind, example in _TYPES:
        value = getattr(cls, name)
        if isinstance(value, type) and issubclass(value, kind):
            own.refuse(name, f"the class {value.__name__}", "an instance", f"write {name} = {value.__name__}()")
        if not isinstance(value, kind):
            own.refuse(name, _shown(value), f"a {kind.__name__}", f"write {name} = {example}")
    _check_source(own, cls.source)
    _check_control(own, cls.control)
    _check_relation(own, cls.relation)
    _check_methods(own)
    _check_options(own)
    _check_population(own, cls.population)


def check_complete(cls: Any, file: str | None = None) -> None:
    """Check that a claim's class has all parts that a claim needs. Otherwise, raise ClaimError.

    Args:
        cls: the class.
        file: the file of the claim, for error messages.
    """
    lacking = [name for name in _ASKED if not hasattr(cls, name)] + sorted(getattr(cls, "__abstractmethods__", ()))
    if cls.predict is None:
        lacking.append("predict")
    if cls.measure is None and cls.measure_at is None:
        lacking.append("measure")
    if lacking:
        missing = ", ".join(sorted(lacking))
        raise ClaimError(
            f"claim class {cls.__name__}" + (f" in {file}" if file else ""),
            found=f"no {missing}",
            rule="a claim must define a source, a population, a relation, a control, a prediction and a measurement",
            remedy=f"define {missing}; if the class is only a base class, let its name begin with Abstract",
        )


def _check_words(own: _Declared) -> None:
    for name in ("title", "controls", "unexplained", "reading"):
        if not isinstance(getattr(own.cls, name), str):
            own.refuse(name, _shown(getattr(own.cls, name)), "text")
    if not own.cls.title.strip():
        own.refuse("title", "no title", "a short name in words")
    words = (own.cls.__doc__ or "").strip()
    if not words or words.startswith(f"{own.cls.__name__}("):  # `dataclasses` writes this if there is no docstring
        own.refuse("docstring", "no docstring", "a docstring that states the claim", "write the statement under class")


def _check_source(own: _Declared, source: Source) -> None:
    for name, value in (("key", source.key), ("note", source.note), ("entry", source.entry or "")):
        if not isinstance(value, str):
            own.refuse(f"source ({name})", _shown(value), "text")
    if not all(isinstance(locator, str) for locator in source.locators):
        own.refuse("source (locators)", _shown(source.locators), "texts, such as 'Theorem 2'")
    if source.entry is None:
        try:
            _ = source.reference
        except ClaimError as error:
            own.refuse(f"source {source.key!r}", f"{error.found}", f"{error.rule}", f"{error.remedy}")
    else:
        rule = "one BibTeX entry with this key, balanced braces, and a comma between its fields"
        remedy = 'pass Source(..., entry="@article{key, author={A. Name}, title={Title}, year={2020}}")'
        if not _balanced(source.entry):  # pybtex would silently read only a part of the entry
            own.refuse(f"source {source.key!r}", "BibTeX with braces that are not balanced", rule, remedy)
        try:
            _ = source.text, str(source)
        except Exception as error:  # pybtex and the LaTeX in a field raise errors of several classes
            found = error.found if isinstance(error, LemmataError) else words_of(error)
            own.refuse(f"source {source.key!r}", f"{found or type(error).__name__}", rule, remedy)


def _balanced(entry: str) -> bool:
    depth = 0
    for brace in re.findall(r"[{}]", re.sub(r"\\.", "", entry)):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            return False
    return depth == 0


def _check_control(own: _Declared, control: Control) -> None:
    for name in ("statement", "loose"):
        if not isinstance(getattr(control, name), str):
            own.refuse(f"control ({name})", _shown(getattr(control, name)), "text")
    if not callable(control.predict):
        own.refuse(
            "control (predict)", _shown(control.predict), "a function of the claim's prediction and the problem",
            'write Control("a false statement", lambda predicted, problem: ...)',
        )  # fmt: skip
    _check_arguments(own, "control (predict)", control.predict, ("predicted", "problem"))


def _check_relation(own: _Declared, relation: Relation) -> None:
    for name, value in vars(relation).items():
        if isinstance(value, numbers.Real) and not isinstance(value, bool) and math.isnan(value):
            own.refuse(f"relation ({name})", "NaN", "a number")
    for name, least, most in (("delta", 0.0, 1.0), ("resolution", 0.0, math.inf), ("margin", 0.0, math.inf)):
        value = getattr(relation, name, least)
        if not _is_number(value) or not (least <= value < most or value == least):
            own.refuse(f"relation ({name})", _shown(value), f"a number from {least:g}" + " below 1" * (most == 1.0))
    if getattr(relation, "resolution", 1.0) == 0:
        own.refuse("relation (resolution)", 0, "a number above 0")
    rungs = relation.rungs
    if not isinstance(rungs, tuple) or not all(_is_number(rung) and math.isfinite(rung) for rung in rungs):
        own.refuse("relation (rungs)", _shown(rungs), "a tuple of finite numbers, the sizes")
    if len(set(rungs)) < len(rungs):
        own.refuse("relation (rungs)", _shown(rungs), "sizes that differ")
    needed = relation.budget(1e-7) or 0
    if needed > MOST_TRIALS:
        own.refuse(
            "relation", (
                f"the relation {relation}, for which a verdict of support takes at least {needed:,} trials"
            ), f"at most {MOST_TRIALS:,} trials",
            "ask for a coarser resolution, or allow more violations",
        )  # fmt: skip


def _check_methods(own: _Declared) -> None:
    cls: Any = own.cls
    if cls.measure is not None and cls.measure_at is not None:
        own.refuse("measure", "both measure and measure_at", "exactly one of them")
    if cls.measure is None and not cls.relation.rungs:
        found = f"the relation {type(cls.relation).__name__}, which is not measured at several sizes"
        remedy = "define measure, or use a relation with rungs"
        own.refuse("measure_at", found, "a relation that is measured at several sizes", remedy)
    for name, arguments in _METHODS.items():
        value = getattr(cls, name)
        if value is None or (name == "trivial" and isinstance(value, str)):
            continue
        if not callable(value):
            words = " or a text that gives the reason why there is none" if name == "trivial" else ""
            own.refuse(name, _shown(value), f"a method {name}(self, {', '.join(arguments)}){words}")
        _check_arguments(own, name, value, ("self", *arguments))


def _check_arguments(own: _Declared, name: str, function: Any, arguments: tuple[str, ...]) -> None:
    """Check that a function takes the given arguments, and that it is neither a coroutine nor a generator."""
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        own.refuse(name, "a coroutine or a generator", "a function that returns its answer")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # for example, the function is written in C
        return
    try:
        signature.bind(*arguments)
    except TypeError:
        own.refuse(name, f"the arguments {signature}", f"the arguments ({', '.join(arguments)})")


def _check_options(own: _Declared) -> None:
    cls: Any = own.cls
    if cls.trials is not None and not (_is_whole(cls.trials) and 1 <= cls.trials <= MOST_TRIALS):
        own.refuse("trials", _shown(cls.trials), f"a whole number from 1 to {MOST_TRIALS:,}, or None",
                   "leave out `trials` to run exactly as many trials as a verdict of support needs")  # fmt: skip
    for name in ("traced", "of_data"):
        if not isinstance(getattr(cls, name), bool):
            own.refuse(name, _shown(getattr(cls, name)), "True or False")
    if not isinstance(cls.expected, Status):
        own.refuse("expected", _shown(cls.expected), "a Status, such as Status.REFUTED")
    for name, kind in (("stated", Kind), ("passage", Passage)):
        if getattr(cls, name) is not None and not isinstance(getattr(cls, name), kind):
            own.refuse(name, _shown(getattr(cls, name)), f"a {kind.__name__}, or None")
    if not isinstance(cls.readings, tuple) or not all(isinstance(one, Reading) for one in cls.readings):
        own.refuse("readings", _shown(cls.readings), "a tuple of Reading")
    if cls.corrects is not None and not (isinstance(cls.corrects, type) and issubclass(cls.corrects, Claim)):
        own.refuse("corrects", _shown(cls.corrects), "the class of a claim, or None")


def _check_population(own: _Declared, population: Population) -> None:
    kind = type(population).__name__
    if not (_is_number(population.drops) and 0 <= population.drops <= 1):
        own.refuse(f"population {kind}, drops", _shown(population.drops), "a share from 0 to 1")
    for name, arguments in (("sample", ("setting", "key")), ("hypotheses", ("problem",))):
        value = getattr(population, name)
        if not callable(value):
            own.refuse(f"population {kind}, {name}", _shown(value), f"a method {name}(self, {', '.join(arguments)})")
        _check_arguments(own, f"population {kind}, {name}", value, arguments)
    settings = getattr(population, "settings", None)
    if not callable(settings):
        own.refuse(f"population {kind}, settings", _shown(settings), "settings = Space(n=Integer(...), ...)")
    space = settings()
    if not isinstance(space, Space):
        own.refuse(f"population {kind}, settings", _shown(space), "a Space")
    for name, variable in space.variables.items():
        wrong = misdeclared(variable)
        if wrong is not None:
            own.refuse(f"population {kind}, setting {name}", *wrong)
    for rule, holds in space.rules.items():
        if not isinstance(rule, str) or not callable(holds):
            own.refuse(f"population {kind}, settings", f"the rule {_shown(rule)}", "where(words, function)")
    try:
        space.resolve(None)
    except LemmataError as error:
        own.refuse(
            f"population {kind}, settings", f"the default {error.what}", error.rule or "a default within its bounds"
        )


def misdeclared(variable: object) -> tuple[object, str] | None:
    """The fault in the range of a setting, and the rule that the range breaks; None if there is no fault.

    >>> misdeclared(Integer(5, 10, 1))
    ('from 10 to 1', 'a lower end that is not above the upper end')
    """
    if isinstance(variable, Choice):
        options = variable.options
        if not isinstance(options, tuple) or not options or not all(isinstance(own, str) for own in options):
            return _shown(options), "a tuple of texts as options"
        if variable.default not in options:
            return f"the default {variable.default!r}", f"one of {', '.join(options)}"
        strange = [own for own in variable.corners if own not in options]
        return (f"corners with {strange[0]!r}", f"corners from {', '.join(options)}") if strange else None
    if not isinstance(variable, Integer | Real):
        return _shown(variable), "an Integer, a Real or a Choice"
    return _misranged(variable)


def _misranged(variable: Integer | Real) -> tuple[object, str] | None:
    fits, words = (_is_whole, "whole numbers") if isinstance(variable, Integer) else (_is_number, "numbers")
    low, high, corners = variable.low, variable.high, variable.corners
    if corners is not None and not (isinstance(corners, tuple | list) and len(corners) == 2):
        return f"corners {_shown(corners)}", "two numbers as corners, or None"
    for value in (variable.default, low, high, *(corners or ())):
        if not fits(value) or not math.isfinite(value):
            return _shown(value), f"finite {words} as default, ends and corners"
    if low > high:
        return f"from {low} to {high}", "a lower end that is at most the upper end"
    if not low <= variable.default <= high:
        return f"the default {variable.default}", f"a default from {low} to {high}"
    if corners is not None and not low <= corners[0] <= corners[1] <= high:
        return f"corners {tuple(corners)}", f"two numbers in increasing order from {low} to {high}"
    if isinstance(variable, Integer) and not (_is_whole(variable.step) and variable.step >= 1):
        return f"a step of {_shown(variable.step)}", "a whole number of at least 1 as step"
    if isinstance(variable, Integer) and variable.default % variable.step:
        return f"the default {variable.default}", f"a multiple of the step {variable.step}"
    return None


def _is_number(value: object) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _is_whole(value: object) -> bool:
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return f"{type(value).__name__} {value!r}" if not isinstance(value, type) else f"the class {value.__name__}"


def defined_twice(source: str | bytes) -> set[str]:
    r"""The names of classes that a file defines more than once; Python only keeps the last definition.

    >>> defined_twice("class A: pass\nclass B: pass\nclass A: pass")
    {'A'}
    """
    names = [node.name for node in ast.parse(source).body if isinstance(node, ast.ClassDef)]
    return {name for name in names if names.count(name) > 1}
