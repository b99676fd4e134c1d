"""Langevin dynamics, alone and Metropolis-adjusted."""

from ._langevin import Chains as Chains
from ._langevin import LogDensity as LogDensity
from ._langevin import langevin as langevin
from ._langevin import mala as mala
