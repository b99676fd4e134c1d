"""Statistical queries (averages over the data): which parts of a target gradients can detect, and which parts they
cannot detect.
"""

from lemmata.core import read_arguments as _read_arguments

from ._filtered_pca import FilteredPCA as FilteredPCA
from ._filtered_pca import FilterResult as FilterResult
from ._filtered_pca import filtered_pca as filtered_pca
from ._gradient_signal import GradientSignal as GradientSignal
from ._gradient_signal import gradient_signal as gradient_signal
from ._link_exponent import InformationExponent as InformationExponent
from ._link_exponent import information_exponent as information_exponent

_read_arguments(__name__)
