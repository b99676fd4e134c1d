"""Implicit regularisation: which interpolant or which margin an optimiser chooses."""

from lemmata.core import read_arguments as _read_arguments

from ._interpolants import Interpolant as Interpolant
from ._interpolants import Interpolants as Interpolants
from ._interpolants import interpolants as interpolants
from ._margins import Margins as Margins
from ._margins import margins as margins

_read_arguments(__name__)
