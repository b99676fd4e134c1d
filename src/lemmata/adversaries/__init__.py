"""Floor 3: attacks on functions of the inputs, tangent kernels under them, poisoned distilled data."""

from ._cell_training import CellTable as CellTable
from ._cell_training import run_cells as run_cells
from ._cells import Cell as Cell
from ._cells import CellError as CellError
from ._cells import cell_grid as cell_grid
from ._mixed_kernels import MixedKernels as MixedKernels
from ._mixed_kernels import label_energy as label_energy
from ._mixed_kernels import mixed_kernels as mixed_kernels
from ._projected_gradient import projected_gradient as projected_gradient
from ._rank_correlation import RankCorrelation as RankCorrelation
from ._rank_correlation import rank_correlation as rank_correlation
from ._row_times import RowTimes as RowTimes
from ._row_times import learn_row_times as learn_row_times
