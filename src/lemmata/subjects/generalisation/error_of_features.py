"""The error of random features in the proof of Theorem 1, and the power of log|N_epsilon|/n with which it falls.

This theory is about epsilon_dis = C_F (sqrt(epsilon) + sqrt(log|N_epsilon|/n)). Theorem 1, Lemma 1 and the equations
(30) and (100) are those of li2025incontext. The number epsilon_dis is the error with which n random features represent
a class with Barron parameter C_F and a cover of |N_epsilon| pairs at radius epsilon. The theory assumes that epsilon
and log|N_epsilon|/n are below 1. It does not explain the error that the best coefficients leave.

The text below (100) has the power 1/3 of log|N_epsilon|/n, whereas (30) and Lemma 1 have the power 1/2. The text uses
only that the error is at most of the order of C_F, and this holds for both powers. The proof of Theorem 1 uses the
square of the error, with (30).
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Real, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform

ABOUT = {"tool": "approximation theory", "architecture": "random features", "object": "function class"}


class ErrorParts(eqx.Module):
    """The two parts of the error epsilon_dis of n random features: the radius epsilon of a cover, and log|N_epsilon| /
    n.
    """

    cover: Float[Array, ""]
    share: Float[Array, ""]


def _parts(least: float) -> Drawn:
    """Return a population in which both parts are log-uniform from `least` to 1."""
    return Drawn(
        ErrorParts,
        lambda parts: Hypothesis("epsilon is at most 1", parts.cover, "<=", 1.0, "the cover is finer than the class"),
        lambda parts: Hypothesis("log|N| is at most n", parts.share, "<=", 1.0, "there are enough features"),
        least=Real(least, 1e-12, 0.5, "the smallest epsilon and log|N|/n"),
        cover=log_uniform("least", 1.0),
        share=log_uniform("least", 1.0),
    )


_PLACE = "Section A.3, exponent of the features' error"
_ERROR, _CONSTANTS = "the error of random features in the proof of Theorem 1", "the error of the best coefficients"


class SquareOfTheError(Claim[ErrorParts]):
    """Let C_F be the Barron parameter of a class, and let |N| be the number of pairs in a cover of the class at radius
    epsilon. Let epsilon_dis = C_F (sqrt(epsilon) + sqrt(log|N|/n)) be the error of n random features, as in equation
    (30) of the source. Then

        epsilon_dis² <= 2 C_F² (epsilon + log|N|/n).

    The bound follows from the inequality (a + b)² <= 2 (a² + b²). Equality holds if epsilon = log|N|/n.
    """

    title = "The Barron parameter and the size of a cover bound the squared error of n random features"
    source = Source("li2025incontext", _PLACE, note="with the power 1/2 as in (30)")
    population = _parts(1e-6)
    relation = AtMost()
    control = Control("the constant is 1 instead of 2", lambda bound, problem: bound / 2)
    controls = _ERROR
    unexplained = _CONSTANTS
    trivial = "if its terms are unknown, the square of a sum is unbounded"

    def predict(self, problem: ErrorParts) -> Array:
        return 2 * (problem.cover + problem.share)

    def measure(self, problem: ErrorParts, key: Key[Array, ""]) -> Array:
        return (jnp.sqrt(problem.cover) + jnp.sqrt(problem.share)) ** 2


class ErrorIsOfTheOrderOfTheClass(Claim[ErrorParts]):
    """Let C_F be the Barron parameter of a class. Let n be the number of features, and let |N| <= exp(n) be the number
    of pairs in a cover of the class at a radius epsilon <= 1. Then the error of random features, the left side of this
    inequality, satisfies

        C_F (sqrt(epsilon) + (log|N|/n)^(1/3)) <= 2 C_F.

    For the power of log|N|/n, the source prints 1/3 below equation (100) and 1/2 in equation (30). The bound holds with
    either power. The text below equation (100) uses only this bound.
    """

    title = "The error of random features is at most of the order of the Barron parameter C_F of the class"
    source = Source("li2025incontext", _PLACE, note="the part of it that the proof uses")
    population = _parts(0.01)
    relation = AtMost()
    control = Control("the constant is 1 instead of 2", lambda bound, problem: bound / 2)
    controls = _ERROR
    unexplained = _CONSTANTS
    trivial = "the error is compared with the size of the class"
    predict = 2.0

    def measure(self, problem: ErrorParts, key: Key[Array, ""]) -> Array:
        return jnp.sqrt(problem.cover) + jnp.cbrt(problem.share)
