"""Deep kernel machines: learned Gram matrices between layers of infinite width, dense and convolutional."""

from lemmata.core import read_arguments as _read_arguments

from ._conv_grams import ConvolutionalGrams as ConvolutionalGrams
from ._conv_grams import patch_grams as patch_grams
from ._conv_layers import Norm as Norm
from ._conv_layers import convolve_grams as convolve_grams
from ._conv_layers import normalise_grams as normalise_grams
from ._conv_layers import rectify_grams as rectify_grams
from ._conv_layers import replace_gram as replace_gram
from ._conv_machine import ConvolutionalMachine as ConvolutionalMachine
from ._conv_machine import initial_machine as initial_machine
from ._conv_machine import machine_objective as machine_objective
from ._conv_machine import train_machine as train_machine
from ._conv_top import InducedPosterior as InducedPosterior
from ._conv_top import PooledGrams as PooledGrams
from ._conv_top import induced_posterior as induced_posterior
from ._conv_top import pool_grams as pool_grams
from ._dense import DenseMachine as DenseMachine
from ._dense import deep_kernel_machine as deep_kernel_machine
from ._divergence import gaussian_divergence as gaussian_divergence
from ._layers import GramMap as GramMap
from ._linear import linear_deep_kernel_machine as linear_deep_kernel_machine
from ._rectify import rectify as rectify
from ._sparse import SparseMachine as SparseMachine
from ._sparse import train_sparse_machine as train_sparse_machine

_read_arguments(__name__)
