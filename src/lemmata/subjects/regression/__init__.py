"""Regression with kernels: rates in Sobolev spaces, random functions, splines and cascades, charge radii."""

from lemmata.core import read_arguments as _read_arguments

from ._charge_radii import isospin_radii as isospin_radii
from ._charge_radii import measured_radii as measured_radii

_read_arguments(__name__)
