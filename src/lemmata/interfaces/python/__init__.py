"""`lemmata.study`, `lemmata.study_model` and `lemmata.compare`: the jobs as functions in Python."""

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
