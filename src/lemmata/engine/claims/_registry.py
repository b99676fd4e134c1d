"""The registry: claims that packages, including lemmata, name in the entry-point group `lemmata.claims`."""

import difflib
import functools
import importlib
import importlib.metadata
import inspect
import os
import pathlib
import pkgutil
import types
import warnings
import weakref
from collections.abc import Iterator
from typing import Any

from lemmata.code_files import executed
from lemmata.engine.catalogue import spelled
from lemmata.errors import ClaimError, EntryPointWarning, MissingFileError, SettingError, UnknownNameError, line_of

from ._claim import Claim
from ._declared import check_complete, check_declared, defined_twice
from ._places import place_of

ENTRY_POINTS = "lemmata.claims"
_FILES: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()  # files of claims that `load_file` loaded


def claims_in(module: types.ModuleType) -> list[Claim]:
    """The claims that a module defines, in the order in which it defines them."""
    own = [
        value
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and value.__module__ == module.__name__
        and not name.startswith(("_", "Abstract"))
        # this comes first, because issubclass checks all subclasses of Claim before it returns False
        and Claim in value.__mro__
        and issubclass(value, Claim)
    ]
    return [_complete(cls, getattr(module, "__file__", None))() for cls in own]


@functools.cache
def _registered(module: types.ModuleType) -> list[Claim]:
    """The claims of a module. Every call returns the same objects."""
    return claims_in(module)


def _complete(cls: type[Claim], file: str | None = None) -> type[Claim]:
    """Return the class if it has all parts of a claim, or raise ClaimError. Tests check the claims of lemmata."""
    if not cls.__module__.startswith("lemmata."):
        check_declared(cls, file)
        return cls
    check_complete(cls, file)
    return cls


@functools.cache
def registry(chapter: str | None = None) -> dict[str, Claim]:
    """All registered claims by name, with the claims of lemmata first. Other packages can register claims, too.

    An entry point of another package may be impossible to load, or one of its claims may break a rule. In both cases,
    the whole entry point is left out with an `EntryPointWarning`. A claim that two entry points name is registered
    once.

    Args:
        chapter: a subject of lemmata. If it is given, only this subject of lemmata is loaded, which takes a tenth of
            the time. None loads all subjects.

    Raises:
        ClaimError: if the claims of lemmata itself cannot be loaded.
    """
    points = _points()
    if not any(map(_own, points)):
        raise _incomplete(f"no entry point of lemmata in the group {ENTRY_POINTS}")
    found: dict[str, Claim] = {}
    for point in points:
        try:
            alone = _own(point) and chapter is not None
            target = importlib.import_module(f"{point.value}.{chapter}") if alone else point.load()
            found = _with_claims_of(found, target)
        except (Exception, SystemExit) as error:  # a module may raise any error, or end the program
            said = line_of(error)
            if _own(point):
                raise _incomplete(said) from error
            package = point.value if point.dist is None else point.dist.name
            what = f"the claims of package {package} from the entry point '{point.name} = {point.value}' are left out"
            warnings.warn(f"{what}; {said}", EntryPointWarning, stacklevel=2)
    return found


def _points() -> list[Any]:  # Any, because a package may replace Python's entry points by those of importlib_metadata
    """The entry points of claims, lemmata's own first."""
    return sorted(importlib.metadata.entry_points(group=ENTRY_POINTS), key=lambda point: (not _own(point), point.name))


def _own(point: Any) -> bool:
    # The argument has no declared class, because importlib_metadata replaces Python's entry points by its own objects
    # if a package imports it.
    return point.value.startswith("lemmata.") and (point.dist is None or point.dist.name == "lemmata")


def _incomplete(found: str) -> ClaimError:
    remedy = "reinstall lemmata together with its dependencies"
    return ClaimError("the claims of lemmata cannot be loaded", found=found, remedy=remedy)


def _with_claims_of(found: dict[str, Claim], target: object) -> dict[str, Claim]:
    """The given claims, and the claims of one more entry point.

    If one of the new claims is invalid, none of them is added.
    """
    known, together = {type(claim) for claim in found.values()}, dict(found)
    for claim in _loaded(target):
        if type(claim) not in known:
            _add(together, claim)
    return together


def _loaded(target: object) -> Iterator[Claim]:
    """The claims of an entry point: a claim's class, a module, or a package with all its modules."""
    if inspect.isclass(target) and issubclass(target, Claim):
        yield _complete(target)()
        return
    if not inspect.ismodule(target):
        raise ClaimError(
            "entry point", found=f"a {type(target).__name__}", rule="the class of a claim, a module, or a package"
        )
    yield from _registered(target)
    for info in pkgutil.walk_packages(getattr(target, "__path__", ()), target.__name__ + "."):
        yield from _registered(importlib.import_module(info.name))


def _add(found: dict[str, Claim], claim: Claim) -> None:
    # The names of classes must be unique, too, because random keys are made from these names.
    twins = [name for name, other in found.items() if type(other).__name__ == type(claim).__name__]
    if claim.name in found or twins:
        raise ClaimError(
            f"claim '{claim.name}'",
            found=f"another claim with the class {type(claim).__name__}: {(twins or [claim.name])[0]}",
            rule="each claim of the catalogue must have its own class name",
            remedy="rename the class",
        )
    found[claim.name] = claim


def load_file(path: str | pathlib.Path) -> dict[str, Claim]:
    """Load the claims of a user's Python file, by name (`file_stem.claim_name`).

    Raises:
        MissingFileError: if there is no such file.
        ClaimError: if the file cannot be run, or defines no claims.
    """
    path = pathlib.Path(path)
    if not os.path.isfile(path):  # False also for a name that no file can have
        raise MissingFileError(f"claim file '{path}'", rule="an existing Python file", remedy="check the path")
    if path.suffix != ".py":
        raise ClaimError(f"claim file '{path}'", rule="a Python file that ends in .py", remedy="rename it")
    whole = path.resolve()  # the code of the file may change the current folder
    try:
        module = executed(path, path.stem)
        claims = claims_in(module)
        twice = defined_twice(whole.read_bytes())
    except ClaimError:
        raise
    except (Exception, SystemExit) as error:
        needed = error.name if isinstance(error, ModuleNotFoundError) else None
        raise ClaimError(
            f"claim file '{path}' does not run",
            found=line_of(error),
            rule="a Python file that runs without an error",
            remedy=f"install {needed}, or put it into the same folder as the claim file"
            if needed
            else "correct the error in the file",
        ) from error
    found: dict[str, Claim] = {}
    for claim in claims:
        if type(claim).__name__ in twice:
            raise ClaimError(
                f"claim file '{path}'",
                found=f"two classes with the name {type(claim).__name__}",
                rule="each claim must have its own class name: Python keeps only the last of two classes with the "
                "same name",
                remedy="rename one of the classes",
            )
        _add(found, claim)
    if not found:
        raise ClaimError(
            f"claim file '{path}'",
            rule="at least one class that derives from lemmata.engine.claims.Claim",
            remedy="define a claim in the file; see docs/claims.md",
        )
    _FILES.update((type(claim), str(whole)) for claim in claims)
    return found


def file_of(claim: Claim) -> str | None:
    """The file from which `load_file` loaded the claim; None for a claim of a module."""
    return _FILES.get(type(claim))


def _alone(name: str) -> list[Claim]:
    """The claims of lemmata to which a name refers, if one section has them all and other packages have no claims."""
    points = _points()
    if len(points) != 1 or not _own(points[0]):
        return []
    package = points[0].value
    try:
        points[0].load()
        place = place_of(name, package)
        found = [] if place is None else _registered(importlib.import_module(f"{package}.{place}"))
    except (Exception, SystemExit):  # `registry` reports this error
        return []
    if place == name:
        return found
    last = name.rpartition(".")[2]
    return [claim for claim in found if last in (type(claim).__name__, spelled(type(claim).__name__))]


def find(name: str | os.PathLike[str]) -> list[Claim]:
    """The claims to which a name refers.

    The argument may be the name of a registered claim, the end of this name, or the claim's class. A subject or a
    section stands for all its claims (`softmax`, `softmax.network`). The number of a statement in any source stands for
    the claims of this statement ("Lemma E.4", "(41)"). The argument may also be a file, or a claim in a file
    (`mine.py`, `mine.py:claim` or `mine.py:TheClass`).

    Raises:
        MissingFileError: if there is no such file of claims.
        SettingError: if the name is neither text nor a path.
        UnknownNameError: if no claim or more than one claim has this name; the message lists the nearest names.
    """
    if isinstance(name, os.PathLike):
        name = os.fspath(name)
    if not isinstance(name, str):
        remedy = "pass a text, such as find('mine.py')"
        raise SettingError("name of a claim", found=f"a {type(name).__name__}", rule="text or a path", remedy=remedy)
    path, _, member = name.partition(".py:")
    if name.endswith(".py") or member:
        found = load_file(path + ".py" if member else name)
        if not member:
            return list(found.values())
        name, known = member, found
    elif alone := _alone(name):
        return alone
    else:
        known = registry()
    matches = [claim for full, claim in known.items() if full == name or full.endswith("." + name)]
    exact = [claim for claim in matches if claim.name == name] or matches
    exact = exact or [claim for claim in known.values() if type(claim).__name__ == name]
    section = [claim for full, claim in known.items() if full.startswith(name + ".")]
    if section and not any(claim.name == name for claim in exact):  # a subject has priority over the end of a name
        return section
    if len(exact) == 1:
        return exact
    stated = [claim for claim in known.values() if claim.source.states(name)]
    if stated and not exact:
        return stated
    near = [claim.name for claim in exact] or [full for full in known if name and name in full][:5]
    near = near or difflib.get_close_matches(name, known, n=3, cutoff=0.3)
    raise UnknownNameError(
        f"claim '{name}'",
        rule="the name of a claim, subject or section, or the number of a statement",
        remedy=(f"did you mean {' or '.join(near)}? " if near else "")
        + (f"choose one of {', '.join(known)}" if member else "run `lemmata list` to see all names"),
    )
