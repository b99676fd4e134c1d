"""The public functions and classes of lemmata that the trials of each claim run.

The code is read, but never run.
"""

import functools

from ._fingerprint import reached
from ._modules import GROUPS, PACKAGE, ROOT, Node, module_of, resolved
from ._read import entries, kept
from ._states import ASKED, ENGINE


@functools.cache
def public() -> dict[str, Node]:
    """The public functions and classes of numerics, estimators, storage and subjects, such as "solvers.kernel_ridge".

    >>> public()["solvers.kernel_ridge"].name
    'kernel_ridge'
    """
    found = {}
    for path in sorted((*ROOT.glob("*/__init__.py"), *ROOT.glob("subjects/*/__init__.py"))):
        place = ".".join(path.parent.relative_to(ROOT).parts)
        module = module_of(f"{PACKAGE}.{place}")
        if place in GROUPS or module is None:
            continue
        for name in (*module.imports, *module.definitions):
            node = resolved(module, name)
            if isinstance(node, Node) and not name.startswith("_") and not name.isupper():
                found[f"{place.removeprefix('subjects.')}.{name}"] = node
    return found


def runs_of(module: str, class_name: str) -> list[str]:
    """The public functions and classes that the code of a claim calls, found by their names.

    Functions of the engine are left out.

    The search follows names in the code. So a function is included even if its name occurs only in code that no trial
    runs.

    Args:
        module: the full name of the claim's module.
        class_name: the name of the claim's class.
    """
    nodes = reached((Node(module, class_name), *_engine_roots()), ASKED) - _engine()
    return sorted(name for name, node in public().items() if node in nodes)


@functools.cache
def all_runs() -> dict[str, list[str]]:
    """The result of `runs_of` for each claim, by the claim's name. These results are computed once and cached."""
    return kept("runs", lambda: {name: runs_of(row["module"], row["class"]) for name, row in entries().items()})


def _engine_roots() -> tuple[Node, ...]:
    return tuple(Node(*root) for root in ENGINE)


@functools.cache
def _engine() -> frozenset[Node]:
    return reached(_engine_roots(), ASKED)
