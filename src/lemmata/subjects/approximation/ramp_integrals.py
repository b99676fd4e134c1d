"""Functions as integrals of ramps over thresholds and frequencies: the limit of infinitely many features.

This theory controls how far a function of a class is from such an integral, and how large its coefficients are. It
assumes a finite Barron parameter, which is all that it uses of the class; it leaves unexplained how many features stand
for the integral.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Kind, Rate, Source
from lemmata.functions import representing_coefficients, sample_features
from lemmata.subjects.approximation._cosine_ramps import CosineClasses, CosineRamps

from .ramps import best_constant

ABOUT = {"tool": "approximation theory", "architecture": "random features", "object": "function class"}

_DISTANCE = "the distance of a function from an integral of ramps drawn for its class"


class IntegralOfRamps(Claim[CosineRamps]):
    """Every function f of a class with the Barron parameter C_F has, on the unit ball and for tau > 2,

        |f(x) - f(0) - f_approx(x)| <= (C_F - sup |f(0)|) / (4 tau) <= 3 C_F delta_tau,     delta_tau = 1/tau,

    f_approx the integral of rho_f(t, omega) phi(tau (<omega/|omega|, x> - t)) over thresholds t in [-2, 1] and
    frequencies omega, phi(s) = min(max(s + 1/2, 0), 1), rho_f the coefficients of Lemma 5.
    """

    title = "A function as an integral of ramps"
    source = Source("li2025incontext", "Lemma 5", "(70)", note="with 1/4 in place of 3")
    population = CosineClasses()
    relation = AtMost()
    control = Control("half of it", lambda bound, problem: bound / 2)  # one wave of length 2 pi tau has 1/(2 pi)
    controls = _DISTANCE
    unexplained = "better weights than those that are exact for steps"

    def predict(self, problem: CosineRamps) -> Array:
        return problem.functions.moment() / (4 * problem.sharpness)

    def measure(self, problem: CosineRamps, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.increments() - problem.integral(problem.sharpness)).max()

    def trivial(self, problem: CosineRamps) -> Array:
        return best_constant(problem.increments())


class CoefficientBound(Claim[CosineRamps]):
    """The coefficients rho_f of the integral of ramps for a function f of a class of Barron parameter C_F, against the
    law of the features (t, omega), t uniform in [-2, 1] and omega from |omega| F_sup, are bounded by

        |rho_f(t, omega)| <= 3 (C_F - sup |f(0)|)   and   E |rho_f(t, omega)| <= 3 (C_F - sup |f(0)|),

    the first of which is attained.
    """

    title = "The coefficients of the integral"
    source = Source("li2025incontext", "Lemma 5", "(72)")
    population = CosineClasses()
    relation = AtMost()
    control = Control("nine tenths and a third of them", lambda bounds, problem: bounds * jnp.array([0.9, 1 / 3]))
    controls = "the coefficients of universal features"
    unexplained = "better weights than those that are exact for steps"
    trivial = "weights that represent a function have no bound of their own"

    def predict(self, problem: CosineRamps) -> Array:
        return jnp.full(2, 3 * problem.functions.moment())

    def measure(self, problem: CosineRamps, key: Key[Array, ""]) -> Array:
        """The largest of n rho* over 64 features; the mean, a sum over omega of integrals over t by quadrature."""
        features = sample_features(key, problem.functions, 64, problem.sharpness)
        drawn = 64 * representing_coefficients(problem.functions, features, problem.function)[:-1]
        return jnp.stack([jnp.abs(drawn).max(), problem.mean_coefficient()])


class RampBias(Claim[CosineRamps]):
    """For a fixed function f with the Fourier transform |F_f| e^(i theta), away from the boundary of the unit ball,
    what ramps of slope tau leave falls faster than the bound 1/tau:

        |f(x) - f(0) - f_approx(x)| ~ |integral of |omega|² cos(<omega, x> + theta) |F_f|| / (24 tau²),

    f_approx the integral of ramps of Lemma 5. The ramp differs from the step by an odd function of width 1/tau and
    first moment 1/(24 tau²).
    """

    title = "Ramps and a fixed function"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="the order in tau for a fixed function")
    stated = Kind.OWN
    population = CosineClasses(longest=3.0, radius=0.9)
    relation = Rate("tau", (8.0, 16.0, 32.0, 64.0))
    control = Control("like tau^(-3/2)", lambda exponent, problem: exponent + 0.5)
    controls = _DISTANCE
    unexplained = "functions with frequencies beyond tau, for which the order is 1/tau"
    trials = 64
    predict = -2.0

    def measure_at(self, problem: CosineRamps, key: Key[Array, ""], rung: float) -> Array:
        """Root mean square over the points."""
        return jnp.sqrt(jnp.mean((problem.increments() - problem.integral(rung)) ** 2))
