"""Differential privacy: the exact Gaussian privacy curve, the budget spent by noisy steps, and audits of training."""

from lemmata.core import read_arguments as _read_arguments

from ._attack import ThresholdAttack as ThresholdAttack
from ._attack import threshold_attack as threshold_attack
from ._audit import PrivacyAudit as PrivacyAudit
from ._audit import privacy_audit as privacy_audit
from ._gaussian import gaussian_delta as gaussian_delta
from ._gaussian import gaussian_eps as gaussian_eps
from ._gaussian import gaussian_sigma as gaussian_sigma
from ._noise_for import NoiseFor as NoiseFor
from ._noise_for import noise_for as noise_for
from ._spent import PrivacySpent as PrivacySpent
from ._spent import privacy_spent as privacy_spent

_read_arguments(__name__)
