"""Networks of logistic units: their spectrum lies on the lines through the weight vectors a_j, and its first moment is
|a_j|/4 for each unit.

This theory gives the Barron parameter of networks with given units and bounded coefficients in closed form. It assumes
the logistic activation, whose derivative is positive definite. It does not explain other activations, or which units
to choose.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space
from lemmata.engine.problems.drawn import Drawn, normal, uniform
from lemmata.engine.problems.sampled import draws
from lemmata.functions import LogisticNetworks

ABOUT = {"tool": "Fourier analysis", "architecture": "dense network", "object": "function class"}


class Frequencies(eqx.Module):
    """Real numbers omega at which spectra are compared."""

    omega: Float[Array, " m"]


class LogisticUnits(eqx.Module):
    """A network sum_j r_j sigma(<a_j, x>) of a class, and a point x of the unit ball. The r_j are coefficients, and
    sigma is the logistic function.
    """

    functions: LogisticNetworks
    coefficients: Float[Array, " m"]
    x: Float[Array, " d"]


class LogisticUnitNetworks(Population[LogisticUnits]):
    """Networks whose weight vectors have lengths from 0.7 to 2.5. The last two vectors have opposite directions."""

    settings = Space(d=Integer(3, 2, 20, "dimension"), m=Integer(4, 2, 16, "units"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LogisticUnits:
        """Draw uniform lengths, and lognormal bounds for the coefficients."""
        m, d = setting["m"], setting["d"]
        ways, lengths, sizes, x = draws(key, (m, d), (m,), (2, m), (d,))
        ways = jnp.concatenate([ways[:-1], -ways[-2:-1]])
        ways = ways / jnp.linalg.norm(ways, axis=1, keepdims=True)
        atoms = (0.7 + 1.8 * jax.scipy.stats.norm.cdf(lengths))[:, None] * ways
        functions = LogisticNetworks(atoms, jnp.exp(sizes[0]))
        return LogisticUnits(functions, jnp.exp(sizes[0]) * jnp.tanh(sizes[1]), x / (1 + jnp.linalg.norm(x)))

    def hypotheses(self, problem: LogisticUnits) -> list[Hypothesis]:
        lengths = jnp.linalg.norm(problem.functions.atoms, axis=1)
        outside = (jnp.abs(problem.coefficients) / problem.functions.sizes).max()
        return [
            Hypothesis("|a_j| is at least 0.7", lengths.min(), ">=", 0.7, "the quadrature covers this range"),
            Hypothesis("|a_j| is at most 2.5", lengths.max(), "<=", 2.5, "the quadrature covers this range"),
            Hypothesis("|r_j| is at most its bound", outside, "<=", 1.0, "the network belongs to the class"),
        ]


class LogisticSpectrum(Claim[Frequencies]):
    """The derivative of the logistic function, at the frequency omega, has the Fourier transform

        (1/2 pi) integral of e^-x (1 + e^-x)^-2 e^(-i omega x) dx = omega / (2 sinh(pi omega)),

    which is positive. The integral of this transform is the largest slope of the logistic function, 1/4.
    """

    title = "The Fourier spectrum of the derivative of the logistic function is positive"
    source = Source("li2025incontext", "(134)", note="proof of (132)")
    population = Drawn(
        Frequencies,
        lambda own: Hypothesis(
            "every frequency differs from 0",
            jnp.abs(own.omega).min(),
            ">",
            0.0,
            "the formula is 0/0 at the frequency 0",
        ),
        omega=normal(16),
    )
    relation = Equal()
    control = Control("22/7 replaces pi", lambda value, problem: problem.omega / (2 * jnp.sinh(22 / 7 * problem.omega)))
    controls = "the spectrum of a logistic unit"
    unexplained = "other activations"

    def predict(self, problem: Frequencies) -> Array:
        return problem.omega / (2 * jnp.sinh(jnp.pi * problem.omega))

    def measure(self, problem: Frequencies, key: Key[Array, ""]) -> Array:
        """Apply the trapezoidal rule; the error is exp(-2 pi² / step), by analyticity in a strip of half width pi."""
        step = 0.25
        x = step * jnp.arange(-180, 181)
        slope = jax.nn.sigmoid(x) * jax.nn.sigmoid(-x)
        return step / (2 * jnp.pi) * jnp.cos(problem.omega[:, None] * x) @ slope

    def condition(self, problem: Frequencies) -> Array:
        """Bound the rounding errors. The terms of the sum are as large as the sum at omega = 0, which is 1/(2 pi), even
        if the sum is small.
        """
        value = problem.omega / (2 * jnp.sinh(jnp.pi * problem.omega))
        return (2 + jnp.abs(problem.omega)) / (2 * jnp.pi * value)


class NetworkSpectrum(Claim[LogisticUnits]):
    """Let sum_j r_j sigma(<a_j, x>) be a network with the logistic function sigma, weight vectors a_j and coefficients
    r_j. The spectrum of the gradient of this network lies on the lines through the a_j. For every x, the gradient at x
    is given by

        gradient = sum_j r_j (a_j/|a_j|) integral of (s/|a_j|) / (2 sinh(pi s/|a_j|)) exp(i s <a_j/|a_j|, x>) ds.

    So on the line through a_j, unit j contributes r_j (a_j/|a_j|) (s/|a_j|) / (2 sinh(pi s/|a_j|)) to the spectrum, at
    the frequency s a_j/|a_j|. Off these lines, the spectrum is 0.
    """

    title = "The Fourier spectrum of a logistic network's gradient lies on the lines through the hidden weight vectors"
    source = Source("li2025incontext", "(132)", "(133)")
    population = LogisticUnitNetworks()
    relation = Equal()
    control = Control("1.001 times the coefficients", lambda gradient, problem: 1.001 * gradient)
    controls = "the spectrum of a network of logistic units"
    unexplained = "networks with other activations"

    def predict(self, problem: LogisticUnits) -> Array:
        """Compute the integrals by the trapezoidal rule with shifted nodes, which leaves out 0."""
        step = 0.125
        s = step * (jnp.arange(-256, 256) + 0.5)
        lengths = jnp.linalg.norm(problem.functions.atoms, axis=1)
        ways = problem.functions.atoms / lengths[:, None]
        scaled = s / lengths[:, None]
        spectra = scaled / (2 * jnp.sinh(jnp.pi * scaled))
        along = step * jnp.sum(spectra * jnp.cos(s * (ways @ problem.x)[:, None]), axis=1)
        return (problem.coefficients * along) @ ways

    def measure(self, problem: LogisticUnits, key: Key[Array, ""]) -> Array:
        """Return the gradient of the network at x, by automatic differentiation."""
        network = lambda x: jax.nn.sigmoid(problem.functions.atoms @ x) @ problem.coefficients
        return jax.grad(network)(problem.x)

    def condition(self, problem: LogisticUnits) -> Array:
        """Bound the rounding errors. Units may cancel in each entry of the gradient separately."""
        size = jnp.abs(problem.coefficients) @ jnp.abs(problem.functions.atoms)
        return 4 * size / jnp.abs(self.measure(problem, jax.random.key(0)))


class LogisticParameter(Claim[LogisticUnits]):
    """Consider the networks f(x) = sum_j r_j sigma(<a_j, x>) with the logistic function sigma, given weight vectors
    a_j, and any coefficients r_j with |r_j| <= rho_j. Let F_{grad f} be the spectrum of the gradient of f, and let sup
    be the supremum over these networks. The Barron parameter of this class of networks is

        sup |f(0)| + integral of sup |F_{grad f}| = (1/4) sum_j rho_j (|a_j| + 2).

    The source states the right side as an upper bound. Equality holds, even if several weight vectors a_j lie on one
    line, since the signs of the r_j are free.
    """

    title = "The Barron parameter of networks of logistic units has a closed form"
    source = Source("li2025incontext", "Section 2.3, two-layer networks")
    population = LogisticUnitNetworks()
    relation = Equal()
    control = Control("1.99 replaces 2", lambda value, problem: value - 0.01 * problem.functions.sizes.sum() / 4)
    controls = "the spectrum of a network of logistic units"
    unexplained = "networks with other activations"
    condition = 4.0  # sums of hundreds of terms

    def predict(self, problem: LogisticUnits) -> Array:
        return problem.functions.sizes @ (jnp.linalg.norm(problem.functions.atoms, axis=1) + 2) / 4

    def measure(self, problem: LogisticUnits, key: Key[Array, ""]) -> Array:
        """Integrate the spectra by the trapezoidal rule. The largest coefficients give sup |f(0)|."""
        x, omega = 0.1 * jnp.arange(-600, 601), 0.125 * jnp.arange(-240, 241)
        lengths = jnp.linalg.norm(problem.functions.atoms, axis=1)
        units = jax.nn.sigmoid(lengths[:, None] * x)
        slopes = lengths[:, None] * units * (1 - units)
        spectra = 0.1 / (2 * jnp.pi) * slopes @ jnp.cos(x[:, None] * omega)
        origin = problem.functions.sizes @ jax.nn.sigmoid(problem.functions.atoms @ jnp.zeros_like(problem.x))
        return origin + 0.125 * jnp.sum(problem.functions.sizes[:, None] * jnp.abs(spectra))


class LogisticMoment(Claim[Frequencies]):
    """The integral of omega / sinh(pi omega) over omega > 0 equals 2 sum over n >= 0 of 1/((2n+1)² pi²), which is 1/4.
    Let a be the weight vector of a logistic unit. Then the first moment of the unit's spectrum, the integral of
    (omega/|a|) / sinh(pi omega/|a|) over omega > 0, is |a|/4.
    """

    title = "The first moment of the Fourier spectrum of a logistic unit is |a|/4, where a is its weight vector"
    source = Source("li2025incontext", "Appendix B, integral for two-layer networks")
    population = Drawn(
        Frequencies,
        lambda own: Hypothesis(
            "|a| is at least 0.5", own.omega.min(), ">=", 0.5, "the quadrature step is then small enough"
        ),
        omega=uniform(0.5, 4.0, 8),
    )
    relation = Equal()
    control = Control(
        "the first three terms of the series", lambda value, problem: 8 * value * (1 + 1 / 9 + 1 / 25) / jnp.pi**2
    )
    controls = "the first moment of the spectrum of a logistic unit"
    unexplained = "other activations"
    condition = 8.0  # a sum of 800 terms

    def predict(self, problem: Frequencies) -> Array:
        return problem.omega / 4

    def measure(self, problem: Frequencies, key: Key[Array, ""]) -> Array:
        """Apply the trapezoidal rule with shifted nodes to omega > 0, since the integrand is even."""
        step = 0.0625
        scaled = step * (jnp.arange(800) + 0.5) / problem.omega[:, None]
        return step * jnp.sum(scaled / jnp.sinh(jnp.pi * scaled), axis=1)
