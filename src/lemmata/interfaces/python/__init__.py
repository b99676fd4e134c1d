"""`lemmata.study`, `lemmata.study_model` and `lemmata.compare`: the jobs as functions in Python."""

import importlib
from typing import TYPE_CHECKING, Any

from ._model_file import write_model as write_model
from ._study import Given as Given
from ._study import Study as Study
from ._study import load as load
from ._study import study as study
from ._versions import show_versions as show_versions

if TYPE_CHECKING:
    from ._compare import Comparison as Comparison
    from ._compare import compare as compare
    from ._examined import ModelStudy as ModelStudy
    from ._examined import study_model as study_model

_LATER = {"Comparison": "_compare", "compare": "_compare", "ModelStudy": "_examined", "study_model": "_examined"}


def __getattr__(name: str) -> Any:
    """Load the other two jobs when they are used, because a study of a table does not need their code."""
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
