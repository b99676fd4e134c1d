"""`lemmata.study`, `lemmata.study_model` and `lemmata.compare`: the jobs as functions in Python."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._compare import Comparison as Comparison
    from ._compare import compare as compare
    from ._examined import ModelStudy as ModelStudy
    from ._examined import study_model as study_model
    from ._model_file import write_model as write_model
    from ._study import Given as Given
    from ._study import Study as Study
    from ._study import load as load
    from ._study import study as study
    from ._versions import show_versions as show_versions

_FILES = {
    "Comparison": "_compare", "compare": "_compare", "ModelStudy": "_examined", "study_model": "_examined",
    "write_model": "_model_file", "Given": "_study", "Study": "_study", "load": "_study", "study": "_study",
    "show_versions": "_versions",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Load the file of a job when the job is used, because no job needs the code of the others."""
    if name in _FILES:
        return getattr(importlib.import_module(f"{__name__}.{_FILES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
