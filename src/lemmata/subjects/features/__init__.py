"""Features in superposition: how many directions a space holds, and what can be read from them."""

from lemmata.core import read_arguments as _read_arguments

from ._patching import PatchingReport as PatchingReport
from ._patching import patching_report as patching_report
from ._readable import Readability as Readability
from ._readable import Readout as Readout
from ._readable import readable as readable
from ._significance import FeatureSignificance as FeatureSignificance
from ._significance import feature_significance as feature_significance
from ._superposition import Superposition as Superposition
from ._superposition import superposition as superposition

_read_arguments(__name__)
