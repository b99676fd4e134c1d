"""Samplers by Langevin dynamics, unadjusted and Metropolis-adjusted."""

from lemmata.core import read_arguments as _read_arguments

from ._langevin import Chains as Chains
from ._langevin import LogDensity as LogDensity
from ._langevin import langevin as langevin
from ._langevin import mala as mala

_read_arguments(__name__)
