"""Deep-learning theory that you can call."""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`lemmata.study`, `lemmata.compare` and what they return, which import JAX when they are first asked for."""
    if name in ("study", "Study", "compare", "Comparison"):
        from lemmata import report

        return getattr(report, name)
    raise AttributeError(f"module 'lemmata' has no attribute {name!r}")
