"""The registry: modules and claims that packages name in the entry-point group `lemmata.claims`, lemmata's own too."""

import difflib
import functools
import importlib
import importlib.metadata
import importlib.util
import inspect
import pathlib
import pkgutil
import types
from collections.abc import Iterator

from lemmata.errors import ClaimError, UnknownNameError

from ._claim import Claim

ENTRY_POINTS = "lemmata.claims"
_ASKED = ("source", "population", "relation", "control")


def claims_in(module: types.ModuleType) -> list[Claim]:
    """The claims that a module defines, in the order in which it defines them."""
    own = [
        value
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, Claim)
        and value.__module__ == module.__name__
        and not name.startswith(("_", "Abstract"))
    ]
    return [_complete(cls)() for cls in own]


def _complete(cls: type[Claim]) -> type[Claim]:
    """The class, where it says all that a claim must say; ClaimError elsewhere."""
    lacking = [name for name in _ASKED if not hasattr(cls, name)] + sorted(getattr(cls, "__abstractmethods__", ()))
    if cls.measure is None and cls.measure_at is None:
        lacking.append("measure")
    if lacking:
        missing = ", ".join(sorted(lacking))
        raise ClaimError(
            f"claim class {cls.__name__}",
            found=f"no {missing}",
            rule="a claim has a source, a population, a relation and a control, predicts and measures",
            remedy=f"define {missing}, or name the class Abstract... if it is not meant to be executed",
        )
    return cls


@functools.cache
def registry() -> dict[str, Claim]:
    """Every registered claim by name: lemmata's own first, then third parties', all through the same entry points."""
    points = importlib.metadata.entry_points(group=ENTRY_POINTS)
    found: dict[str, Claim] = {}
    for point in sorted(points, key=lambda point: (not point.value.startswith("lemmata."), point.name)):
        for claim in _loaded(point.load()):
            _add(found, claim)
    return found


def _loaded(target: object) -> Iterator[Claim]:
    """The claims of what an entry point names: a claim's class, a module, or a package with all its modules."""
    if not inspect.ismodule(target):
        yield _complete(target)()  # pyright: ignore[reportArgumentType]
        return
    yield from claims_in(target)
    for info in pkgutil.walk_packages(getattr(target, "__path__", ()), target.__name__ + "."):
        yield from claims_in(importlib.import_module(info.name))


def _add(found: dict[str, Claim], claim: Claim) -> None:
    # Names of classes are unique besides, since random keys come from them.
    twins = [name for name, other in found.items() if type(other).__name__ == type(claim).__name__]
    if claim.name in found or twins:
        raise ClaimError(
            f"claim '{claim.name}'",
            found=f"another {type(claim).__name__}, {(twins or [claim.name])[0]}",
            rule="the name of a class belongs to one claim of the catalogue",
            remedy="rename the class",
        )
    found[claim.name] = claim


def load_file(path: str | pathlib.Path) -> dict[str, Claim]:
    """The claims of a Python file of the user's own, by name (`file_stem.claim_name`)."""
    path = pathlib.Path(path)
    if not path.is_file():
        raise UnknownNameError(f"claim file '{path}'", rule="an existing Python file")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ClaimError(f"claim file '{path}'", rule="a Python file that ends in .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise ClaimError(f"claim file '{path}' does not run", found=f"{type(error).__name__}: {error}") from error
    found: dict[str, Claim] = {}
    for claim in claims_in(module):
        _add(found, claim)
    if not found:
        raise ClaimError(
            f"claim file '{path}'", rule="it defines at least one class that derives from lemmata.claims.Claim"
        )
    return found


def find(name: str) -> list[Claim]:
    """The claims that a name means.

    A registered claim, the end of its path, all claims of a chapter or section (`softmax`, `softmax.network`), of a
    statement by its number in whichever source ("Lemma E.4", "(41)"), or of a file (`mine.py` or `mine.py:claim`).

    Raises:
        UnknownNameError: nothing, or more than one claim, has that name; the nearest names are listed.
    """
    path, _, member = name.partition(".py:")
    if name.endswith(".py") or member:
        found = load_file(path + ".py" if member else name)
        if not member:
            return list(found.values())
        name, known = member, found
    else:
        known = registry()
    matches = [claim for full, claim in known.items() if full == name or full.endswith("." + name)]
    exact = [claim for claim in matches if claim.name == name] or matches
    if len(exact) == 1:
        return exact
    section = [claim for full, claim in known.items() if full.startswith(name + ".")]
    if section and not exact:
        return section
    stated = [claim for claim in known.values() if claim.source.states(name)]
    if stated and not exact:
        return stated
    near = [claim.name for claim in exact] or [full for full in known if name and name in full][:5]
    near = near or difflib.get_close_matches(name, known, n=3, cutoff=0.3)
    raise UnknownNameError(
        f"claim '{name}'",
        rule="the name of one claim, chapter or section, or the number of a statement",
        remedy=(f"did you mean {' or '.join(near)}? " if near else "")
        + (f"the file has {', '.join(known)}" if member else "`lemmata list` lists them"),
    )
