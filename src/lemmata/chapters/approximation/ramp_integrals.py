"""Functions as integrals of ramps over thresholds and frequencies: the limit of infinitely many features.

This theory controls how far a function of a class is from such an integral, and how large its coefficients are. It
assumes a finite Barron parameter, which is all that it uses of the class; it leaves unexplained how many features stand
for the integral.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Integer, Rate, Real, Source, Space
from lemmata.functions import Cosines, CosineSum, ramp, representing_coefficients, sample_features, step_density
from lemmata.problems._sampled import draws, points_in_ball

from ._gauss_legendre import pieces

_SHARPNESSES = (8.0, 16.0, 32.0, 64.0)


class CosineRamps(eqx.Module):
    """A function with finitely many frequencies, for which integrals over omega are sums.

    Args:
        functions: its class.
        function: f.
        sharpness: tau.
        x: points of the unit ball.
    """

    functions: Cosines
    function: CosineSum
    sharpness: Float[Array, ""]
    x: Float[Array, "m d"]

    def spectrum(self) -> tuple[Float[Array, "s d"], Float[Array, " s"], Float[Array, " s"]]:
        """Frequencies, the class's masses |omega| F_sup there, and the phases of f."""
        omega = jnp.concatenate([self.functions.atoms, -self.functions.atoms])
        masses = jnp.tile(self.functions.sizes, 2) / 2 * jnp.linalg.norm(omega, axis=1)
        return omega, masses, jnp.angle(self.function.ratio(omega))

    def integral(self, sharpness: float | Array) -> Float[Array, " m"]:
        """f_approx at each x (li2025incontext, 71): the integral over t by quadrature, the one over omega exactly."""
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

    def increments(self) -> Float[Array, " m"]:
        """f(x) - f(0)."""
        return self.function(self.x) - self.function(jnp.zeros_like(self.x[:1]))


class AbstractCosineRampsClaim(Claim[CosineRamps]):
    """Statements about integrals of ramps, for functions with finitely many frequencies."""

    relation = AtMost()
    controls = "the distance of a function from an integral of ramps drawn for its class"
    unexplained = "better weights than those that are exact for steps"
    problem = CosineRamps
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes and sharpness."""
        return Space(
            d=Integer(2, 1, 20, "dimension"), m=Integer(1, 1, 8, "frequencies"), tau=Real(8.0, 2.1, 8.0, "sharpness")
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CosineRamps:
        """Frequencies up to 7 tau long, the largest amplitudes of the class, 16 points."""
        m, d, tau = setting["m"], setting["d"], setting["tau"]
        ways, lengths, sizes, phases, x = draws(key, (m, d), (m, 1), (m,), (m,), (16, d + 1))
        ways = ways / jnp.linalg.norm(ways, axis=1, keepdims=True)
        functions = Cosines(7 * tau * jax.scipy.stats.norm.cdf(lengths) * ways, jnp.exp(sizes / 2))
        phases = 2 * jnp.pi * jax.scipy.stats.norm.cdf(phases)
        function = CosineSum(functions.atoms, functions.sizes, functions.sizes, phases)
        return CosineRamps(functions, function, jnp.asarray(tau), points_in_ball(x))

    def hypotheses(self, problem: CosineRamps) -> list[Hypothesis]:
        """tau > 2, points in the ball."""
        return [
            Hypothesis("tau is more than 2", problem.sharpness, ">", 2.0, "delta_tau is 1/tau"),
            Hypothesis("points lie in the ball", jnp.linalg.norm(problem.x, axis=1).max(), "<=", 1.0),
        ]


class IntegralOfRamps(AbstractCosineRampsClaim):
    """For every function of the class, on the unit ball and for tau > 2,

        |f(x) - f(0) - f_approx(x)| <= (C_F - sup |f(0)|) / (4 tau) <= 3 C_F delta_tau,

    f_approx the integral of rho_f(t, omega) phi(tau (<omega/|omega|, x> - t)) over t and omega.
    """

    title = "A function as an integral of ramps"
    source = Source("li2025incontext", "Lemma 5", "(70)", note="with 1/4 in place of 3")

    def predict(self, problem: CosineRamps) -> Array:
        """The smaller bound."""
        return problem.functions.moment() / (4 * problem.sharpness)

    def measure(self, problem: CosineRamps, key: Key[Array, ""]) -> Array:
        """The largest distance over the points."""
        return jnp.abs(problem.increments() - problem.integral(problem.sharpness)).max()

    def control(self) -> Control:
        """One wave of length 2 pi tau has 1/(2 pi)."""
        return Control("half of it", lambda bound, problem: bound / 2)


class CoefficientBound(AbstractCosineRampsClaim):
    """The coefficients of that integral, against the law of the features (t, omega), are bounded by

        |rho_f(t, omega)| <= 3 (C_F - sup |f(0)|)   and   E |rho_f(t, omega)| <= 3 (C_F - sup |f(0)|),

    the first of which is attained.
    """

    title = "The coefficients of the integral"
    source = Source("li2025incontext", "Lemma 5", "(72)")
    controls = "the coefficients of universal features"

    def predict(self, problem: CosineRamps) -> Array:
        """3 (C_F - sup |f(0)|), twice."""
        return jnp.full(2, 3 * problem.functions.moment())

    def measure(self, problem: CosineRamps, key: Key[Array, ""]) -> Array:
        """The largest of n rho* over 64 features; the mean, a sum over omega of integrals over t by quadrature."""
        features = sample_features(key, problem.functions, 64, problem.sharpness)
        drawn = 64 * representing_coefficients(problem.functions, features, problem.function)[:-1]
        omega, masses, theta = problem.spectrum()

        def weight(length: Array, phase: Array) -> Array:
            below = -1 - jnp.abs(jnp.cos(phase - length) - jnp.cos(phase)) / length
            t, steps = pieces(jnp.concatenate([jnp.array([-2.0, -1.0, 1.0]), below[None]]), 64)
            return steps @ jnp.abs(step_density(t, length, phase))

        mean = masses * jnp.abs(problem.function.ratio(omega)) @ jax.vmap(weight)(jnp.linalg.norm(omega, axis=1), theta)
        return jnp.stack([jnp.abs(drawn).max(), mean])

    def control(self) -> Control:
        """The first is attained."""
        return Control("nine tenths of it", lambda bound, problem: 0.9 * bound)


class RampBias(AbstractCosineRampsClaim):
    """For a fixed function, away from the boundary, what ramps leave falls faster than the bound 1/tau:

        |f(x) - f(0) - f_approx(x)| ~ |integral of |omega|² cos(<omega, x> + theta) |F_f|| / (24 tau²).

    The ramp differs from the step by an odd function of width 1/tau and first moment 1/(24 tau²).
    """

    title = "Ramps and a fixed function"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="the order in tau for a fixed function")
    relation = Rate("tau", _SHARPNESSES)
    label = "rate"
    unexplained = "functions with frequencies beyond tau, for which the order is 1/tau"
    trials = 64
    batch = 64

    def sample(self, setting: dict, key: Key[Array, ""]) -> CosineRamps:
        """Frequencies up to 3 long, points within 0.9 of the centre."""
        problem = super().sample({**setting, "tau": 3 / 7}, key)
        return CosineRamps(problem.functions, problem.function, jnp.asarray(_SHARPNESSES[0]), 0.9 * problem.x)

    def predict(self, problem: CosineRamps) -> Array:
        """The exponent."""
        return jnp.asarray(-2.0)

    def measure(self, problem: CosineRamps, key: Key[Array, ""]) -> Array:
        """Root mean squares over the points."""
        left = [problem.increments() - problem.integral(tau) for tau in _SHARPNESSES]
        return jnp.sqrt(jnp.mean(jnp.stack(left) ** 2, axis=1))

    def control(self) -> Control:
        """The order of the bound."""
        return Control("like 1/tau", lambda exponent, problem: exponent + 1)
