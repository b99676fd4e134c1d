"""Generative models: critics, couplings and denoisers, and what they measure."""

from lemmata.core import read_arguments as _read_arguments

from ._bits import Bits as Bits
from ._bits import bits as bits
from ._couple import Coupling as Coupling
from ._couple import couple as couple
from ._guidance import Guidance as Guidance
from ._guidance import guided as guided
from ._memorisation import Memorisation as Memorisation
from ._memorisation import memorisation as memorisation
from ._mixtures import Mixture as Mixture
from ._recover import Recovery as Recovery
from ._recover import recover as recover
from ._speciation import Speciation as Speciation
from ._speciation import speciation as speciation
from ._straightness import Straightness as Straightness
from ._straightness import straightness as straightness
from ._support import EffectiveSupport as EffectiveSupport
from ._support import effective_support as effective_support
from ._wasserstein import Distance as Distance
from ._wasserstein import wasserstein as wasserstein

_read_arguments(__name__)
