"""Floor 0: positive semidefinite kernels K(x, x'), their algebra, and Gram matrices."""

from ._base import AbstractKernel as AbstractKernel
from ._base import gram as gram
