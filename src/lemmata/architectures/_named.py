"""Usual activation functions whose kernels have no closed form. Their kernels are computed by quadrature.

Relative errors of E[phi phi] and E[phi' phi'] are below 1e-10 at every standard deviation of the preactivation from 0
to 1000 and at every correlation. In float32, they are about 1e-6. `Elementwise` describes the method and `degree`.
"""

import jax
import jax.numpy as jnp

from ._quadrature import Elementwise


def tanh(degree: int = 128) -> Elementwise:
    """The hyperbolic tangent."""
    return Elementwise(jnp.tanh, degree)


def sigmoid(degree: int = 128) -> Elementwise:
    """The logistic function 1 / (1 + exp(-u))."""
    return Elementwise(jax.nn.sigmoid, degree)


def silu(degree: int = 128) -> Elementwise:
    """The function u / (1 + exp(-u)), also called swish."""
    return Elementwise(jax.nn.silu, degree)


def softplus(degree: int = 128) -> Elementwise:
    """The smooth rectifier log(1 + exp(u))."""
    return Elementwise(jax.nn.softplus, degree)
