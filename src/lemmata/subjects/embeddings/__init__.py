"""Kernel embeddings: conditional distributions as operators, and regression under a shift of the distribution."""

from lemmata.core import read_arguments as _read_arguments

from ._alignment import AlignedRegression as AlignedRegression
from ._alignment import Term as Term
from ._alignment import aligned_regression as aligned_regression
from ._conditional import ConditionalDiscrepancy as ConditionalDiscrepancy
from ._conditional import conditional_covariance_distance as conditional_covariance_distance
from ._conditional import conditional_discrepancy as conditional_discrepancy
from ._conditional import conditional_mean_distance as conditional_mean_distance

_read_arguments(__name__)
