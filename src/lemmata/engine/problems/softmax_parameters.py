"""The parameters of the theory of softmax networks: bounds on logits, step size, radius, width and number of steps.

The parameters are formulas in five quantities: the number n of rows, the number k of outputs, the standard deviation
sigma of the weights, the failure probability delta, and lambda. Here lambda is the smallest eigenvalue of H (Definition
3.6 of gu2024softmax) at initialisation. In the source, inputs and outputs have the same dimension d, so nd in the
source is n k, the size of H. Theorem, lemma and definition numbers are those of gu2024softmax. If the source needs a
large enough constant C above 10, the infimum 10 is used. Hidden constants of Omega are 1. These readings make the
statements strongest. Widths and numbers of steps beyond double precision are infinite.
"""

import math

import jax.numpy as jnp
from jaxtyping import Array, Float

CONSTANT = 10.0
Number = float | Float[Array, ""]


def growth(exponent: float) -> float:
    """The exponential of a number; infinite above 709.78, where double precision ends.

    Args:
        exponent: the number, a multiple of the bound B on the logits.
    """
    try:
        return math.exp(exponent)
    except OverflowError:
        return math.inf


def logit_bound(n: int, k: int, sigma: float, delta: float, constant: float = CONSTANT) -> float:
    """The bound B = max(C sigma sqrt(log(n k / delta)), 1) of Definition 4.1.

    >>> from lemmata.engine.problems.softmax_parameters import logit_bound
    >>> round(logit_bound(n=10, k=1, sigma=1.0, delta=0.1), 2), logit_bound(n=10, k=1, sigma=0.01, delta=0.1)
    (21.46, 1.0)

    Args:
        n: the number of rows.
        k: the number of outputs.
        sigma: standard deviation of the hidden weights.
        delta: the failure probability, below 1.
        constant: the constant C.
    """
    return max(constant * sigma * math.sqrt(math.log(n * k / delta)), 1.0)


def step_size(smallest: Number, m: int, n: int, k: int, bound: float) -> Number:
    """The step size eta = lambda / (10 m n² k² exp(16 B)) of Theorem 4.2.

    Args:
        smallest: lambda, the smallest eigenvalue of H at initialisation.
        m: the width of the network.
        n: the number of rows.
        k: the number of outputs.
        bound: the bound B on the logits (`logit_bound`).
    """
    return 0.1 * smallest / (m * n**2 * k**2 * growth(16 * bound))


def radius(smallest: Number, n: int, k: int, bound: float) -> Number:
    """The radius R = lambda / (2 n k exp(10 B)), within which weights may move (Lemma E.2, condition 4)."""
    return smallest / (2 * n * k * growth(10 * bound))


def displacement(smallest: Number, m: int, n: int, k: int, bound: float, residual: Number) -> Number:
    """The bound D = 4 exp(3 B) sqrt(n k) |F(0) - Y| / (m lambda) on the distance that weights move (Definition A.2).

    Args:
        smallest: lambda, the smallest eigenvalue of H at initialisation.
        m: the width of the network.
        n: the number of rows.
        k: the number of outputs.
        bound: the bound B on the logits (`logit_bound`).
        residual: the Frobenius norm of F(0) - Y, for the outputs F(0) at initialisation and the targets Y.
    """
    return 4 / (m * smallest) * growth(3 * bound) * math.sqrt(n * k) * residual


def required_width(smallest: Number, n: int, k: int, bound: float, delta: float) -> Number:
    """The width m = n² k² exp(18 B) log²(n k / delta) / lambda² of Theorem 4.2, with hidden constant 1."""
    return n**2 * k**2 * growth(18 * bound) * math.log(n * k / delta) ** 2 / smallest**2


def required_steps(smallest: Number, n: int, k: int, bound: float, error: float) -> Number:
    """The number T of steps in Theorem 4.2, which is 20 n² k² exp(16 B) log(n k / error) / lambda².

    In terms of the step size eta and the width m, T = 2 log(n k / error) / (m eta lambda). The factor 2 comes from the
    proof: n k (1 - m eta lambda / 2)^T <= error.

    Args:
        smallest: lambda, the smallest eigenvalue of H at initialisation.
        n: the number of rows.
        k: the number of outputs.
        bound: the bound B on the logits (`logit_bound`).
        error: the required squared Frobenius norm of F - Y, for the outputs F after the last step and the targets Y.
    """
    return 20 * n**2 * k**2 * growth(16 * bound) * jnp.log(n * k / error) / smallest**2
