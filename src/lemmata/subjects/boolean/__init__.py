"""Functions on the cube {-1, 1}^d: their Fourier coefficients, their sensitivity to noise, and how to learn them."""

from lemmata.core import read_arguments as _read_arguments

from ._expansion import BooleanSpectrum as BooleanSpectrum
from ._expansion import LowDegreePlan as LowDegreePlan
from ._fourier import boolean_fourier as boolean_fourier
from ._low_degree import LowDegreeClassifier as LowDegreeClassifier
from ._low_degree import LowDegreeFit as LowDegreeFit
from ._parity import Parity as Parity
from ._parity import solve_parity as solve_parity
from ._sensitivity import NoiseSensitivity as NoiseSensitivity
from ._sensitivity import noise_sensitivity as noise_sensitivity

_read_arguments(__name__)
