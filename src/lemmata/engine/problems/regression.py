"""Regression with a kernel. A table of data is converted to this problem."""

import equinox as eqx
from jaxtyping import Array, Float

from lemmata.kernels import AbstractKernel, gram


class Regression(eqx.Module):
    """Training and held-out points with targets, and the kernel and the ridge of kernel ridge regression.

    Kernel ridge regression predicts K(x_test, x) (K(x, x) + ridge I)^{-1} y.

    Args:
        x: training inputs.
        y: training targets, one column for each output (one-hot and centred for classes).
        x_test: held-out inputs.
        y_test: held-out targets.
        kernel: the kernel K.
        ridge: the ridge added to the diagonal of the Gram matrix (not divided by n).
        noise: the standard deviation of the noise in each target if it is known (in synthetic problems), else nan.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n k"]
    x_test: Float[Array, "t d"]
    y_test: Float[Array, "t k"]
    kernel: AbstractKernel
    ridge: Float[Array, ""]
    noise: Float[Array, ""]

    @property
    def gram(self) -> Float[Array, "n n"]:
        """The Gram matrix of the training points."""
        return gram(self.kernel, self.x)

    @property
    def cross(self) -> Float[Array, "t n"]:
        """The kernel matrix between held-out and training points."""
        return gram(self.kernel, self.x_test, self.x)
