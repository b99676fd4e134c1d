"""Implicit regularisation: which interpolant or which margin an optimiser chooses."""

from ._interpolants import Interpolant as Interpolant
from ._interpolants import Interpolants as Interpolants
from ._interpolants import interpolants as interpolants
from ._margins import Margins as Margins
from ._margins import margins as margins
