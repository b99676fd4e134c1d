"""Floor 3: kernels, networks and what estimators have learnt, in files of numbers and names."""

from ._file import load as load
from ._file import save as save
from ._registry import storable as storable
