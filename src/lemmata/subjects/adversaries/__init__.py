"""Adversaries: tangent kernels of attacked training, robust architectures, backdoors in distilled data."""

from lemmata.core import read_arguments as _read_arguments

from ._backdoor_bound import BackdoorLoss as BackdoorLoss
from ._backdoor_bound import OptimisedTrigger as OptimisedTrigger
from ._backdoor_bound import conflict_loss as conflict_loss
from ._backdoor_bound import optimise_trigger as optimise_trigger
from ._backdoor_bound import projection_loss as projection_loss
from ._cell_training import CellTable as CellTable
from ._cell_training import run_cells as run_cells
from ._cells import Cell as Cell
from ._cells import CellError as CellError
from ._cells import cell_grid as cell_grid
from ._distil import Distilled as Distilled
from ._distil import distil as distil
from ._distil import inducing_outputs as inducing_outputs
from ._mixed_kernels import MixedKernels as MixedKernels
from ._mixed_kernels import label_energy as label_energy
from ._mixed_kernels import mixed_kernels as mixed_kernels
from ._projected_gradient import projected_gradient as projected_gradient
from ._rank_correlation import RankCorrelation as RankCorrelation
from ._rank_correlation import rank_correlation as rank_correlation
from ._row_times import RowTimes as RowTimes
from ._row_times import learn_row_times as learn_row_times
from ._triggers import Poisoned as Poisoned
from ._triggers import Trigger as Trigger
from ._triggers import attack_success as attack_success
from ._triggers import poison as poison
from ._triggers import poison_rows as poison_rows
from ._triggers import square_trigger as square_trigger

_read_arguments(__name__)
