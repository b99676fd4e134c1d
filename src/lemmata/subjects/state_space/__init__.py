"""Linear state-space models: outputs, discretisation, what they remember, and what they cannot select."""

from lemmata.core import read_arguments as _read_arguments

from ._discretise import METHODS as METHODS
from ._discretise import discretise as discretise
from ._evaluation import convolve as convolve
from ._evaluation import final_states as final_states
from ._evaluation import impulse_response as impulse_response
from ._evaluation import reach as reach
from ._evaluation import run as run
from ._evaluation import scan as scan
from ._gramians import energy as energy
from ._gramians import gramian as gramian
from ._gramians import transposed as transposed
from ._kernel import StateSpaceKernel as StateSpaceKernel
from ._legs import legs as legs
from ._legs import legs_low_rank as legs_low_rank
from ._legs import legs_skew as legs_skew
from ._matrices import AbstractStateMatrix as AbstractStateMatrix
from ._matrices import DenseMatrix as DenseMatrix
from ._matrices import DiagonalMatrix as DiagonalMatrix
from ._matrices import DiagonalPlusLowRank as DiagonalPlusLowRank
from ._resolvent import resolvent_response as resolvent_response
from ._systems import AbstractSystem as AbstractSystem
from ._systems import ContinuousSystem as ContinuousSystem
from ._systems import DiscreteSystem as DiscreteSystem
from ._systems import check_stable as check_stable
from ._systems import oscillators as oscillators

_read_arguments(__name__)
