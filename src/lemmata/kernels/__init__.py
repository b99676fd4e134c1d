"""Positive semidefinite kernels K(x, x'), their algebra, and Gram matrices."""

from lemmata.core import read_arguments as _read_arguments

from ._base import AbstractKernel as AbstractKernel
from ._base import Compose as Compose
from ._base import Power as Power
from ._base import Product as Product
from ._base import Scale as Scale
from ._base import Sum as Sum
from ._disk import gram_on_disk as gram_on_disk
from ._distance import squared_distances as squared_distances
from ._dot_product import ExponentialDotProduct as ExponentialDotProduct
from ._dot_product import Linear as Linear
from ._dot_product import Polynomial as Polynomial
from ._gram import gram as gram
from ._numpy_gram import numpy_gram as numpy_gram
from ._numpy_gram import takes_numpy as takes_numpy
from ._odd_even import OddEvenKernel as OddEvenKernel
from ._open_gram import open_gram as open_gram
from ._plan import GramPlan as GramPlan
from ._plan import gram_plan as gram_plan
from ._polyharmonic import PolyharmonicCovariance as PolyharmonicCovariance
from ._polyharmonic import squares_logarithm as squares_logarithm
from ._problem_digest import problem_digest as problem_digest
from ._softmax import SoftmaxTangent as SoftmaxTangent
from ._stationary import RBF as RBF
from ._stationary import Laplace as Laplace
from ._stationary import Matern as Matern
from ._torus import Periodic as Periodic
from ._torus import TorusSobolev as TorusSobolev
from ._writable import writable_gram as writable_gram

_read_arguments(__name__)
