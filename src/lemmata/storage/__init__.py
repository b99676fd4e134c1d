"""Save kernels, networks, transformers and fitted estimators to files that contain only numbers and names."""

from lemmata.core import read_arguments as _read_arguments

from ._file import load as load
from ._file import save as save
from ._registry import storable as storable
from ._transformers import load_layers as load_layers
from ._transformers import load_transformer as load_transformer
from ._transformers import save_transformer as save_transformer

_read_arguments(__name__)
