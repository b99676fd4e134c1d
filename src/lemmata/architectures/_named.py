"""Common activation functions whose kernels have no closed form. Their kernels are computed by quadrature.

Let phi be an activation, and let u and v be Gaussian preactivations. The relative errors of E[phi(u) phi(v)] and
E[phi'(u) phi'(v)] are below 1e-10 at every standard deviation of the preactivation from 0 to 1000 and at every
correlation. In float32, they are about 1e-6. `Elementwise` describes the method and `degree`.
"""

import jax
import jax.numpy as jnp

from ._quadrature import Elementwise


def tanh(degree: int = 128) -> Elementwise:
    """Return the layer of the hyperbolic tangent."""
    return Elementwise(jnp.tanh, degree)


def sigmoid(degree: int = 128) -> Elementwise:
    """Return the layer of the logistic function 1 / (1 + exp(-u))."""
    return Elementwise(jax.nn.sigmoid, degree)


def silu(degree: int = 128) -> Elementwise:
    """Return the layer of the function u / (1 + exp(-u)), also called swish."""
    return Elementwise(jax.nn.silu, degree)


def softplus(degree: int = 128) -> Elementwise:
    """Return the layer of the smooth rectifier log(1 + exp(u))."""
    return Elementwise(jax.nn.softplus, degree)
