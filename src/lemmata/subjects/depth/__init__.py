"""Depth: sparse networks from wide ones, functions that need depth, and the worst case of gradient descent."""

from lemmata.core import read_arguments as _read_arguments

from ._sparsify import Sparsified as Sparsified
from ._sparsify import sparsify as sparsify
from ._worst_case import WorstCase as WorstCase
from ._worst_case import worst_case as worst_case

_read_arguments(__name__)
