"""Why fits with about as many parameters as rows are bad, and fits with many more parameters are good again."""

from lemmata.core import read_arguments as _read_arguments

from ._ridgeless_risk import RidgelessRisk as RidgelessRisk
from ._ridgeless_risk import ridgeless_risk as ridgeless_risk

_read_arguments(__name__)
