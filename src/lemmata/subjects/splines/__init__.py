"""Packages of polyharmonic splines on shared points, and compositions of packages trained in function space."""

from lemmata.core import read_arguments as _read_arguments

from ._cascade import Cascade as Cascade
from ._cascade import initial_cascade as initial_cascade
from ._constellations import AbstractConstellation as AbstractConstellation
from ._constellations import Hyperoctahedron as Hyperoctahedron
from ._constellations import Scattered as Scattered
from ._covariance import SplineCovariance as SplineCovariance
from ._package import Package as Package

_read_arguments(__name__)
