"""Functions as integrals of ramps over thresholds and frequencies. This is the limit of infinitely many features.

This theory describes how far a function of a class is from such an integral, and how large the coefficients of the
integral are. Lemmas 1 and 5 are those of li2025incontext. The theory assumes only that the Barron parameter of the
class is finite. It does not explain how many features approximate the integral.
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
    """Let f be a function of a class with the Barron parameter C_F, on the unit ball. Let tau > 2, and let phi(s) =
    min(max(s + 1/2, 0), 1). Let rho_f(t, omega) be the coefficients of Lemma 5 of the source, for thresholds t in [-2,
    1] and frequencies omega. Let f_approx be the integral of rho_f(t, omega) phi(tau (<omega/|omega|, x> - t)) over the
    thresholds and frequencies. Then

        |f(x) - f(0) - f_approx(x)| <= (C_F - sup |f(0)|) / (4 tau) <= 3 C_F delta_tau,     delta_tau = 1/tau.
    """

    title = "Functions with Barron parameter C_F are within C_F/(4 tau) of an integral of ramps of slope tau"
    source = Source("li2025incontext", "Lemma 5", "(70)", note="with 1/4 in place of 3")
    population = CosineClasses()
    relation = AtMost()
    control = Control("half of the bound", lambda bound, problem: bound / 2)  # one wave of length 2 pi tau has 1/(2 pi)
    controls = _DISTANCE
    unexplained = "weights that are better than the ones used here, which are exact for steps"

    def predict(self, problem: CosineRamps) -> Array:
        return problem.functions.moment() / (4 * problem.sharpness)

    def measure(self, problem: CosineRamps, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.increments() - problem.integral(problem.sharpness)).max()

    def trivial(self, problem: CosineRamps) -> Array:
        return best_constant(problem.increments())


class CoefficientBound(Claim[CosineRamps]):
    """Let f be a function of a class with the Barron parameter C_F. Lemma 5 of the source approximates f by an integral
    of ramps over features (t, omega), with coefficients rho_f. Let t be uniform in [-2, 1], and let omega have a
    density proportional to |omega| F_sup(omega), where F_sup is the largest modulus of the class's spectra. With
    respect to this distribution, the coefficients satisfy

        |rho_f(t, omega)| <= 3 (C_F - sup |f(0)|)   and   E |rho_f(t, omega)| <= 3 (C_F - sup |f(0)|).

    The first bound is attained.
    """

    title = (
        "The coefficients with which an integral of ramps approximates a function are at most 3 times its Barron "
        "parameter"
    )
    source = Source("li2025incontext", "Lemma 5", "(72)")
    population = CosineClasses()
    relation = AtMost()
    control = Control(
        "nine tenths of the first bound and a third of the second",
        lambda bounds, problem: bounds * jnp.array([0.9, 1 / 3]),
    )
    controls = "the coefficients of universal features"
    unexplained = "weights that are better than the ones used here, which are exact for steps"
    trivial = "the weights that represent a function have no trivial bound"

    def predict(self, problem: CosineRamps) -> Array:
        return jnp.full(2, 3 * problem.functions.moment())

    def measure(self, problem: CosineRamps, key: Key[Array, ""]) -> Array:
        """Return the largest |rho_f| over 64 features, and the mean of |rho_f|. The mean is a sum over omega of
        integrals over t by quadrature.
        """
        features = sample_features(key, problem.functions, 64, problem.sharpness)
        drawn = 64 * representing_coefficients(problem.functions, features, problem.function)[:-1]
        return jnp.stack([jnp.abs(drawn).max(), problem.mean_coefficient()])


class RampBias(Claim[CosineRamps]):
    """Let f be a fixed function whose Fourier transform is |F_f| e^(i theta) with a phase theta(omega). Lemma 5 of the
    source approximates f(x) - f(0) by an integral f_approx of ramps of slope tau. The source's bound on the error is of
    the order 1/tau. Away from the boundary of the unit ball, the error falls faster:

        |f(x) - f(0) - f_approx(x)| ~ |integral of |omega|² cos(<omega, x> + theta) |F_f|| / (24 tau²).

    The reason is that the difference between the ramp and the step function 1(z > 0) is an odd function of width 1/tau,
    whose first moment has size 1/(24 tau²).
    """

    title = "An integral of ramps of slope tau approximates a fixed function with an error that falls like 1/tau²"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="the order in tau for a fixed function")
    stated = Kind.OWN
    population = CosineClasses(longest=3.0, radius=0.9)
    relation = Rate("tau", (8.0, 16.0, 32.0, 64.0))
    control = Control("like tau^(-3/2)", lambda exponent, problem: exponent + 0.5)
    controls = _DISTANCE
    unexplained = "functions with frequencies above tau, for which the order is 1/tau"
    trials = 64
    predict = -2.0

    def measure_at(self, problem: CosineRamps, key: Key[Array, ""], rung: float) -> Array:
        """Return the root mean square of f(x) - f(0) - f_approx(x) over the points."""
        return jnp.sqrt(jnp.mean((problem.increments() - problem.integral(rung)) ** 2))
