"""Neural operators: super-resolution of images as a map between function spaces."""

from lemmata.core import read_arguments as _read_arguments

from ._affine import Affine as Affine
from ._galerkin import GalerkinAttention as GalerkinAttention
from ._galerkin import galerkin_attention as galerkin_attention
from ._galerkin import galerkin_weights as galerkin_weights
from ._interpolation import bilinear as bilinear
from ._interpolation import peak_signal_to_noise as peak_signal_to_noise
from ._interpolation import pixel_centres as pixel_centres
from ._interpolation import resize as resize
from ._operator import KernelBlock as KernelBlock
from ._operator import SuperResolutionOperator as SuperResolutionOperator
from ._operator import super_resolve as super_resolve
from ._photographs import photographs as photographs
from ._training import train_super_resolution as train_super_resolution

_read_arguments(__name__)
