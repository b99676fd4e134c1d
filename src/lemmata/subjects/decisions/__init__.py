"""Decision processes: how complex the model (transitions and rewards) is, and how complex its best values are."""

from lemmata.core import read_arguments as _read_arguments

from ._bit_processes import BitProcess as BitProcess
from ._bit_processes import majority_process as majority_process
from ._bit_processes import optimal_values as optimal_values
from ._bit_processes import parity_process as parity_process
from ._bit_processes import scrambled_process as scrambled_process
from ._control import CONTROLS as CONTROLS
from ._control import ControlProblem as ControlProblem
from ._control import grid_values as grid_values
from ._cube_functions import essential_terms as essential_terms
from ._cube_functions import prime_implicants as prime_implicants
from ._cube_functions import total_influence as total_influence
from ._cube_functions import walsh_coefficients as walsh_coefficients
from ._cube_functions import weight_by_degree as weight_by_degree

_read_arguments(__name__)
