"""Floor 2: how stable a user's own way of fitting is: rows replaced one at a time, training sets drawn anew."""

from ._bias_variance import BiasVariance as BiasVariance
from ._bias_variance import bias_variance as bias_variance
from ._replace_one import ReplaceOne as ReplaceOne
from ._replace_one import replace_one as replace_one
from ._stability import Stability as Stability
from ._stability import stability as stability
