"""Features in superposition: how many directions a space holds, and what can be read from them."""

from ._significance import FeatureSignificance as FeatureSignificance
from ._significance import feature_significance as feature_significance
from ._superposition import Superposition as Superposition
from ._superposition import superposition as superposition
