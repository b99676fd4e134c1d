"""How much data you need, how far you can trust a trained model, and which statements of theory are false."""

import importlib

from .version import __version__ as __version__

TYPE_CHECKING = False  # a `typing.py` of the current folder would run with `python -m lemmata`
if TYPE_CHECKING:
    from typing import Any

_JOBS = ("study", "Study", "study_model", "ModelStudy", "compare", "Comparison", "show_versions")
_PARTS = (
    "architectures", "errors", "estimators", "functions", "kernels", "networks", "solvers", "spectra", "storage",
    "subjects",
)  # fmt: skip


def __getattr__(name: str) -> "Any":
    """Return a job, a result class or a public subpackage. Subpackages import JAX when they are first used."""
    if name in _JOBS:
        from lemmata.interfaces import python

        return getattr(python, name)
    if name in _PARTS:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module 'lemmata' has no attribute {name!r}")


def __dir__() -> list[str]:
    """Return the public names: the jobs, the public subpackages, and the version."""
    return sorted([*_JOBS, *_PARTS, "__version__"])
