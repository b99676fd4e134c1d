"""Floor 4: what claims speak about: problems, populations of them, conditions. A user's data become a problem too."""

from ._duplicates import duplicate_rows as duplicate_rows
from ._regression import Regression as Regression
from ._wide_inputs import Inputs as Inputs
from ._wide_inputs import WideInputs as WideInputs
