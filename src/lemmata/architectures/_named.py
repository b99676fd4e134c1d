"""Usual activation functions without a closed form, as quadratures.

Their singularities lie off the real line, at distance pi / 2 (tanh) or pi (the others), so the error falls
geometrically in the degree, slower the larger the variance of the preactivation. The accuracies below are relative
errors of E[phi phi] and E[phi' phi'], the worst of correlations -0.7, 0.3, 0.9 and 1, against a two-dimensional
trapezoidal rule; `degree` can be raised to 160.
"""

import jax
import jax.numpy as jnp

from ._quadrature import Elementwise


def tanh(degree: int = 128) -> Elementwise:
    """The hyperbolic tangent; errors 1e-13 at variance 1/2, 2e-11 at 1, 2e-7 at 2, 6e-5 at 4."""
    return Elementwise(jnp.tanh, degree)


def sigmoid(degree: int = 128) -> Elementwise:
    """The logistic function 1 / (1 + exp(-u)); errors 1e-13 up to variance 2, 2e-11 at 4, 5e-7 at 9."""
    return Elementwise(jax.nn.sigmoid, degree)


def silu(degree: int = 128) -> Elementwise:
    """The function u / (1 + exp(-u)), or swish; errors 1e-13 up to variance 2, 2e-11 at 4, 2e-7 at 9."""
    return Elementwise(jax.nn.silu, degree)


def softplus(degree: int = 128) -> Elementwise:
    """The smooth rectifier log(1 + exp(u)); errors 1e-13 up to variance 4, 3e-9 at 9."""
    return Elementwise(jax.nn.softplus, degree)
