"""How losses fall with model size and data, and what more attempts gain: power laws, use of budgets, and votes."""

from lemmata.answers import Condition as Condition
from lemmata.core import read_arguments as _read_arguments

from ._allocate import AttemptPlan as AttemptPlan
from ._allocate import allocate as allocate
from ._attempts import PassAtK as PassAtK
from ._attempts import pass_at_k as pass_at_k
from ._measured_losses import extrapolation_interval as extrapolation_interval
from ._measured_losses import fit_scaling_law as fit_scaling_law
from ._records import AbstractFinding as AbstractFinding
from ._records import stated as stated
from ._scaling_law import Allocation as Allocation
from ._scaling_law import Extrapolation as Extrapolation
from ._scaling_law import ScalingLaw as ScalingLaw
from ._shares import Share as Share
from ._votes import Ceiling as Ceiling
from ._votes import Votes as Votes
from ._votes import plurality_error as plurality_error
from ._votes import verifier_ceiling as verifier_ceiling
from ._votes import votes_needed as votes_needed

_read_arguments(__name__)
