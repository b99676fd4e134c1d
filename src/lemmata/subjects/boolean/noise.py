"""Sensitivity to noise: how often a label changes if each coordinate of the input changes its sign with probability eta.

This theory computes the sensitivity from the Fourier coefficients, and it bounds the weight of high degrees by the
sensitivity. It assumes uniform inputs from the cube {-1, 1}^d and independent flips. It does not explain which functions
of practical interest are stable.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Hypothesis, Kind, Population, Rate, Source, Space
from lemmata.engine.problems.variables import dimension
from lemmata.functions import degrees, walsh_hadamard, weights_by_degree
from lemmata.subjects.boolean._cube_functions import (
    NoisyFunction,
    NoisyFunctions,
    changed_by_flips,
    flip_rates,
    noise_rate,
    parity_of_size,
    random_halfspace,
    random_tree,
    two_values,
)

ABOUT = {"tool": "Fourier analysis", "architecture": "any", "object": "function class"}


def _changed_by_spectrum(values: Float[Array, " points"], eta: Float[Array, ""], flips: float = 2.0) -> Array:
    """(1/2) sum_S (1 - (1 - flips eta)^|S|) f^(S)^2, for f^2 = 1."""
    weights = weights_by_degree(walsh_hadamard(values))
    damped = -jnp.expm1(jnp.arange(len(weights)) * jnp.log1p(-jnp.minimum(flips * eta, 1.0 - 1e-15)))
    return damped @ weights / 2


class NoiseFormula(Claim[NoisyFunction]):
    """Let f be a function on {-1, 1}^d with values -1 and 1, and let f^(S) be its Fourier coefficients. Let x be uniform,
    and let y be x with each sign flipped with probability eta <= 1/2, independently. Then

        P(f(x) != f(y)) = 1/2 - (1/2) sum_S (1 - 2 eta)^|S| f^(S)^2.
    """

    title = "A formula for the noise sensitivity in terms of the Fourier coefficients"
    source = Source("emergence2026", "Proposition 10.11", "Figure 10.10")
    population = NoisyFunctions()
    relation = Equal()
    control = Control(
        "noise redraws a sign with probability eta, which gives (1 - eta)^|S|",
        lambda rate, problem: _changed_by_spectrum(problem.values, problem.eta, 1.0),
    )
    controls = "how often noise in the input changes a label"
    unexplained = "inputs that are not uniform, and noise that depends on the input"

    def predict(self, problem: NoisyFunction) -> Array:
        return _changed_by_spectrum(problem.values, problem.eta)

    def measure(self, problem: NoisyFunction, key: Key[Array, ""]) -> Array:
        """The sum over all patterns of flips."""
        patterns = jnp.arange(len(problem.values))
        flipped = degrees(problem.inputs)
        chance = problem.eta**flipped * (1 - problem.eta) ** (problem.inputs - flipped)
        differs = jax.lax.map(lambda z: jnp.mean(problem.values != problem.values[patterns ^ z]), patterns)
        return chance @ differs

    def condition(self, problem: NoisyFunction) -> Array:
        """Powers of up to d factors, and sums of squares of coefficients that have d roundings."""
        return jnp.asarray(4.0 * problem.inputs)
