"""Stability: how far one row moves what is learned, what follows for errors on new rows, and when more data hurt."""

from lemmata.core import read_arguments as _read_arguments

from ._bias_variance import BiasVariance as BiasVariance
from ._bias_variance import bias_variance as bias_variance
from ._replace_one import ReplaceOne as ReplaceOne
from ._replace_one import replace_one as replace_one
from ._stability import Stability as Stability
from ._stability import stability as stability

_read_arguments(__name__)
