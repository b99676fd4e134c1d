"""How well sums of ramps, and functions in the space of a kernel, approximate other functions, and at which cost.

A ramp is the function phi(tau (z - t)) of slope tau, where phi(s) = min(max(s + 1/2, 0), 1). Constants that a source
hides in O and Omega are set to 1, and the claim says this. Other claims test exponents.
"""

from lemmata.core import read_arguments as _read_arguments

from ._hinges import Hinges as Hinges
from ._hinges import hinges as hinges
from ._intrinsic_dimension import IntrinsicDimension as IntrinsicDimension
from ._intrinsic_dimension import intrinsic_dimension as intrinsic_dimension
from ._kinks import Kinks as Kinks
from ._kinks import kinks as kinks

_read_arguments(__name__)
