"""The forward process, which adds noise to data, and the distribution of the noised data.

This theory gives the distribution of x(t) in dx = -g x/2 dt + sqrt(g) dB, where g(t) is the noise schedule and B is a
Brownian motion. Given x(0), it is normal with mean alpha x(0) and variance 1 - alpha². Here alpha = exp(-G/2), and G is
the integral of g. The theory assumes nothing about the data. It does not explain the denoiser E[x(0) | x(t)], which is
all that has to be learned (`diffusion.denoisers`).
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.engine.problems.schedules import SchedulePoint, Schedules

ABOUT = {"tool": "dynamical systems", "architecture": "diffusion model", "object": "sampler"}


class ForwardVariance(Claim[SchedulePoint]):
    """Let dx = -g x/2 dt + sqrt(g) dB be the forward process, where g(t) > 0 is its rate and B is a Brownian motion. In
    each coordinate, the noise in the explicit solution of this process has the variance

        exp(-G(t)) integral_0^t exp(G(s)) g(s) ds = 1 - exp(-G(t)),   G(t) = integral_0^t g.

    So a distribution with unit variance keeps this variance, at every time and for every g.
    """

    title = "The variance of the noise in the forward diffusion process is 1 - exp(-integral of the rate)"
    source = Source("gu2024softmax", "Section 6.1, explicit solution")
    population = Schedules()
    relation = Equal()
    control = Control("the variance is 1 - exp(-G/2)", lambda variance, problem: 1 - jnp.sqrt(1 - variance))
    controls = "the variance of x(t) given x(0)"
    unexplained = "nothing: x(t) given x(0) is normal"

    def predict(self, problem: SchedulePoint) -> Array:
        return problem.schedule.variance(problem.t)

    def measure(self, problem: SchedulePoint, key: Key[Array, ""]) -> Array:
        """Use Itô's isometry and Gauss-Legendre quadrature of g, with 2 inner and 40 outer nodes."""
        inner, inner_weights = (jnp.asarray(a) for a in np.polynomial.legendre.leggauss(2))
        outer, outer_weights = (jnp.asarray(a) for a in np.polynomial.legendre.leggauss(40))
        s = problem.t * (outer + 1) / 2
        gap = (problem.t - s) / 2
        rest = gap * (problem.schedule.rate(s[:, None] + gap[:, None] * (inner + 1)) @ inner_weights)
        return problem.t / 2 * outer_weights @ (jnp.exp(-rest) * problem.schedule.rate(s))

    def condition(self, problem: SchedulePoint) -> Array:
        """Allow for the rounding of a sum of 40 terms, each with the relative rounding error of its exponent."""
        return 8 * (1 + problem.schedule.integral(problem.t))
