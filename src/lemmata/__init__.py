"""Deep-learning theory that you can call."""

from typing import Any

from .version import __version__ as __version__

_JOBS = ("study", "Study", "study_model", "ModelStudy", "compare", "Comparison")


def __getattr__(name: str) -> Any:
    """`lemmata.study`, `study_model`, `compare` and what they return, which import JAX when first asked for."""
    if name in _JOBS:
        from lemmata.interfaces import python

        return getattr(python, name)
    raise AttributeError(f"module 'lemmata' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_JOBS])
