"""Floor 3: attacks on functions of the inputs, tangent kernels under them, poisoned distilled data."""

from ._backdoor_bound import BackdoorLoss as BackdoorLoss
from ._backdoor_bound import OptimisedTrigger as OptimisedTrigger
from ._backdoor_bound import conflict_loss as conflict_loss
from ._backdoor_bound import optimise_trigger as optimise_trigger
from ._backdoor_bound import projection_loss as projection_loss
from ._distil import Distilled as Distilled
from ._distil import distil as distil
from ._distil import inducing_outputs as inducing_outputs
from ._triggers import Poisoned as Poisoned
from ._triggers import Trigger as Trigger
from ._triggers import attack_success as attack_success
from ._triggers import poison as poison
from ._triggers import square_trigger as square_trigger
