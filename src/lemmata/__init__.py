"""Deep-learning theory that you can call."""

from typing import Any

__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """`lemmata.study`, `study_model`, `compare` and what they return, which import JAX when first asked for."""
    if name in ("study", "Study", "study_model", "ModelStudy", "compare", "Comparison"):
        from lemmata.interfaces import report

        return getattr(report, name)
    raise AttributeError(f"module 'lemmata' has no attribute {name!r}")
