"""Stein's identity: the mean of a function times a Hermite polynomial of a Gaussian is the mean of a derivative.

This theory replaces the mean derivatives of a function by correlations of the function with Hermite polynomials. It
assumes a Gaussian input and functions that grow slowly. It does not explain other inputs, for which the correction is
not a polynomial.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, signs

ABOUT = {"tool": "statistics", "architecture": "any", "object": "inequality"}

_END = 12.0  # the normal density is below 1e-31 beyond


class Units(eqx.Module):
    """sum_i output_i unit(sides_i slopes_i x + bias_i) on the line."""

    slopes: Float[Array, " m"]
    sides: Float[Array, " m"]
    bias: Float[Array, " m"]
    output: Float[Array, " m"]

    def values(self, x: Float[Array, "..."], unit) -> Float[Array, "..."]:
        """Return the values at points x, with the given activation."""
        return unit(x[..., None] * self.slopes * self.sides + self.bias) @ self.output


_UNITS = Drawn(
    Units, m=Integer(4, 1, 12, "units"), slopes=log_uniform(0.3, 3.0, "m"), sides=signs("m"), bias=normal("m"),
    output=normal("m"),
)  # fmt: skip


class SteinForSmoothFunctions(Claim[Units]):
    """Let X ~ N(0, 1), and let g be a smooth function that grows slowly. Then

        E[g(X) X] = E[g'(X)]   and   E[g(X)(X² - 1)] = E[g''(X)].

    The trials use sums of tanh units.
    """

    title = "Stein's identity: E[g'(X)] = E[g(X) X] and E[g''(X)] = E[g(X)(X² - 1)] for standard normal X"
    source = Source("emergence2026", "Lemma 11.18")
    population = _UNITS
    relation = Equal()
    control = Control("twice the derivatives", lambda value, problem: 2 * value)
    controls = "expectations of derivatives under a Gaussian distribution"
    unexplained = "inputs that are not Gaussian"

    def predict(self, problem: Units) -> Array:
        """Return E[g'(X)] and E[g''(X)], with derivatives by automatic differentiation."""
        grid = jnp.linspace(-_END, _END, 2001)
        first = jax.grad(lambda x: problem.values(x, jnp.tanh))
        return jnp.stack([_mean(jax.vmap(first)(grid), grid), _mean(jax.vmap(jax.grad(first))(grid), grid)])

    def measure(self, problem: Units, key: Key[Array, ""]) -> Array:
        grid = jnp.linspace(-_END, _END, 3001)
        values = problem.values(grid, jnp.tanh)
        return jnp.stack([_mean(values * grid, grid), _mean(values * (grid**2 - 1), grid)])

    def condition(self, problem: Units) -> Array:
        """Bound the rounding errors. The terms, which are as large as the second derivatives of the units, cancel in
        part.
        """
        terms = jnp.abs(problem.output) @ (1 + problem.slopes**2)
        return 4 * terms / jnp.abs(self.predict(problem))


def _mean(values: Float[Array, " n"], grid: Float[Array, " n"]) -> Float[Array, ""]:
    """Return the mean under a normal distribution by the trapezoidal rule, exact to rounding for smooth functions."""
    return jnp.trapezoid(values * norm.pdf(grid), grid)


class SteinCountsKinks(Claim[Units]):
    """Let X ~ N(0, 1), and let g(x) = sum_i a_i max(w_i x + b_i, 0). The second derivative of g is zero except at the
    kinks -b_i/w_i, but

        E[g(X)(X² - 1)] = sum_i a_i |w_i| phi(b_i/w_i),

    where phi is the normal density. That is, each kink counts as a point mass of the second derivative. If g is the
    single unit max(x, 0), the sum is phi(0) = 0.3989.
    """

    title = "In Stein's identity for ReLU units, the kinks count as point masses of the second derivative"
    source = Source("emergence2026", "Lemma 11.18", note="for functions with kinks")
    stated = Kind.OWN
    population = _UNITS
    relation = Equal()
    control = Control(
        "the expectation is zero, as is the second derivative wherever it exists", lambda value, problem: 0.0 * value
    )
    controls = "correlations of piecewise linear functions with the second Hermite polynomial"
    unexplained = "how fast the correlations fall with the degree"

    def predict(self, problem: Units) -> Array:
        return jnp.sum(problem.output * problem.slopes * norm.pdf(problem.bias / problem.slopes))

    def measure(self, problem: Units, key: Key[Array, ""]) -> Array:
        """Return E[g(X)(X² - 1)], by Gauss-Legendre quadrature between the kinks."""
        kinks = jnp.clip(-problem.bias / (problem.slopes * problem.sides), -_END, _END)
        ends = jnp.concatenate([jnp.asarray([-_END]), jnp.sort(kinks), jnp.asarray([_END])])
        nodes, weights = np.polynomial.legendre.leggauss(120)
        half, middle = jnp.diff(ends) / 2, (ends[1:] + ends[:-1]) / 2
        x = middle[:, None] + half[:, None] * nodes
        terms = problem.values(x, jax.nn.relu) * (x**2 - 1) * norm.pdf(x)
        return jnp.sum(half[:, None] * weights * terms)

    def condition(self, problem: Units) -> Array:
        """Bound the rounding errors. Terms of both signs cancel."""
        terms = jnp.sum(jnp.abs(problem.output) * (problem.slopes + jnp.abs(problem.bias)))
        return 8 * terms / jnp.abs(self.predict(problem))
