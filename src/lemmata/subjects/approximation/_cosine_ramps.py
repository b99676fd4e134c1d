"""Functions with finitely many frequencies, for which integrals over frequencies are sums."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.gauss_legendre import pieces
from lemmata.engine.problems.sampled import draws, points_in_ball
from lemmata.functions import Cosines, CosineSum, ramp, step_density


class CosineRamps(eqx.Module):
    """A function f with finitely many frequencies omega, and its class. Integrals over omega are therefore sums.

    Args:
        functions: the class of the function.
        function: the function f.
        sharpness: the slope tau of the ramps.
        x: points of the unit ball.
    """

    functions: Cosines
    function: CosineSum
    sharpness: Float[Array, ""]
    x: Float[Array, "m d"]

    def spectrum(self) -> tuple[Float[Array, "s d"], Float[Array, " s"], Float[Array, " s"]]:
        """Return the frequencies omega, the masses |omega| F_sup(omega), and the phases of f. Here F_sup(omega) is the
        largest modulus of the class's spectra.
        """
        omega = jnp.concatenate([self.functions.atoms, -self.functions.atoms])
        masses = jnp.tile(self.functions.sizes, 2) / 2 * jnp.linalg.norm(omega, axis=1)
        return omega, masses, jnp.angle(self.function.ratio(omega))

    def integral(self, sharpness: float | Array) -> Float[Array, " m"]:
        """Return f_approx(x) at each x: the integral of rho_f(t, omega) phi(tau (<omega/|omega|, x> - t)), equation
        (71) in li2025incontext. The integral over the threshold t is computed by quadrature, and the integral over
        omega exactly.

        Args:
            sharpness: the slope tau of the ramps.
        """
        omega, masses, theta = self.spectrum()
        lengths = jnp.linalg.norm(omega, axis=1)
        weights = masses * jnp.abs(self.function.ratio(omega))

        def along(z: Array, length: Array, phase: Array) -> Array:
            kinks = jnp.clip(z + jnp.array([-0.5, 0.5]) / sharpness, -2.0, 1.0)
            below = -1 - jnp.abs(jnp.cos(phase - length) - jnp.cos(phase)) / length
            ends = jnp.concatenate([jnp.array([-2.0, -1.0, 1.0]), below[None], kinks])
            t, steps = pieces(ends, 32)
            return steps @ (step_density(t, length, phase) * ramp(sharpness * (z - t)))

        z = self.x @ (omega / lengths[:, None]).T
        return jax.vmap(lambda row: weights @ jax.vmap(along)(row, lengths, theta))(z)

    def mean_coefficient(self) -> Float[Array, ""]:
        """Integrate the coefficients |rho_f(t, omega)| of f over t by quadrature and over omega exactly."""
        omega, masses, theta = self.spectrum()

        def weight(length: Array, phase: Array) -> Array:
            below = -1 - jnp.abs(jnp.cos(phase - length) - jnp.cos(phase)) / length
            t, steps = pieces(jnp.concatenate([jnp.array([-2.0, -1.0, 1.0]), below[None]]), 64)
            return steps @ jnp.abs(step_density(t, length, phase))

        return masses * jnp.abs(self.function.ratio(omega)) @ jax.vmap(weight)(jnp.linalg.norm(omega, axis=1), theta)

    def increments(self) -> Float[Array, " m"]:
        """The differences f(x) - f(0)."""
        return self.function(self.x) - self.function(jnp.zeros_like(self.x[:1]))


class CosineClasses(Population[CosineRamps]):
    """Random sums of cosines with the largest amplitudes that their class allows, at 16 points.

    Attributes:
        longest: the length of the longest frequencies; None means 7 times the slope tau of the ramps.
        radius: the radius of the ball from which points are drawn.
    """

    free = ("x",)
    longest: float | None = None
    radius: float = 1.0
    settings = Space(
        d=Integer(2, 1, 20, "dimension"), m=Integer(1, 1, 8, "frequencies"), tau=Real(8.0, 2.1, 8.0, "sharpness")
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CosineRamps:
        """Draw frequencies of uniform lengths, lognormal amplitudes, and uniform points in the ball."""
        m, d, tau = setting["m"], setting["d"], setting["tau"]
        ways, lengths, sizes, phases, x = draws(key, (m, d), (m, 1), (m,), (m,), (16, d + 1))
        ways = ways / jnp.linalg.norm(ways, axis=1, keepdims=True)
        longest = 7 * tau if self.longest is None else self.longest
        functions = Cosines(longest * jax.scipy.stats.norm.cdf(lengths) * ways, jnp.exp(sizes / 2))
        phases = 2 * jnp.pi * jax.scipy.stats.norm.cdf(phases)
        function = CosineSum(functions.atoms, functions.sizes, functions.sizes, phases)
        return CosineRamps(functions, function, jnp.asarray(tau), self.radius * points_in_ball(x))

    def hypotheses(self, problem: CosineRamps) -> list[Hypothesis]:
        sharp = Hypothesis(
            "tau is more than 2", problem.sharpness, ">", 2.0, "delta_tau equals 1/tau only under this condition"
        )
        return [sharp, in_unit_ball(problem.x, "points")]
