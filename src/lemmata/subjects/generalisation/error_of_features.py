"""The error of random features in the proof of Theorem 1: its power of log|N_epsilon|/n.

This theory controls epsilon_dis = C_F (sqrt(epsilon) + sqrt(log|N_epsilon|/n)), the error with which n random features
represent a class of Barron parameter C_F with a cover of |N_epsilon| pairs at the radius epsilon. It assumes both parts
below 1; it leaves unexplained what the best coefficients leave.

The text below (100) has the power 1/3 where (30) and Lemma 1 have 1/2. All that is used there is that the error is at
most of the order of C_F, and that holds for both. The proof of Theorem 1 uses the square of the error, with (30).
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Real, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform

ABOUT = {"tool": "approximation theory", "architecture": "random features", "object": "function class"}


class ErrorParts(eqx.Module):
    """Parts of the error epsilon_dis of n random features: the radius epsilon of a cover, and log|N_epsilon| / n."""

    cover: Float[Array, ""]
    share: Float[Array, ""]


def _parts(least: float) -> Drawn:
    """Both parts log-uniform, from `least` on."""
    return Drawn(
        ErrorParts,
        lambda parts: Hypothesis("epsilon is at most 1", parts.cover, "<=", 1.0, "the cover is finer than the class"),
        lambda parts: Hypothesis("log|N| is at most n", parts.share, "<=", 1.0, "there are features enough"),
        least=Real(least, 1e-12, 0.5, "the smallest epsilon and log|N|/n"),
        cover=log_uniform("least", 1.0),
        share=log_uniform("least", 1.0),
    )


_PLACE = "Section A.3, exponent of the features' error"
_ERROR, _CONSTANTS = "the error of random features in the proof of Theorem 1", "the error of the best coefficients"


class SquareOfTheError(Claim[ErrorParts]):
    """Let epsilon_dis = C_F (sqrt(epsilon) + sqrt(log|N|/n)), as in (30), for n features, the Barron parameter C_F and
    a cover of |N| pairs at the radius epsilon. Then

        epsilon_dis² <= 2 C_F² (epsilon + log|N|/n),

    which is (a + b)² <= 2 (a² + b²), with equality where epsilon = log|N|/n.
    """

    title = "The square of the features' error"
    source = Source("li2025incontext", _PLACE, note="with the power 1/2 of (30)")
    population = _parts(1e-6)
    relation = AtMost()
    control = Control("the constant 1 is enough", lambda bound, problem: bound / 2)
    controls = _ERROR
    unexplained = _CONSTANTS
    trivial = "a square of a sum has no bound but by its terms"

    def predict(self, problem: ErrorParts) -> Array:
        return 2 * (problem.cover + problem.share)

    def measure(self, problem: ErrorParts, key: Key[Array, ""]) -> Array:
        return (jnp.sqrt(problem.cover) + jnp.sqrt(problem.share)) ** 2


class ErrorIsOfTheOrderOfTheClass(Claim[ErrorParts]):
    """For n features and a cover of |N| <= exp(n) pairs at a radius epsilon <= 1,

        C_F (sqrt(epsilon) + (log|N|/n)^(1/3)) <= 2 C_F,

    C_F the Barron parameter of the class: with the power 1/3 printed below (100) as with the 1/2 of (30). It is all
    that is used there.
    """

    title = "The features' error is at most of the order of C_F"
    source = Source("li2025incontext", _PLACE, note="what is used of it")
    population = _parts(0.01)
    relation = AtMost()
    control = Control("the constant 1 is enough", lambda bound, problem: bound / 2)
    controls = _ERROR
    unexplained = _CONSTANTS
    trivial = "the size of the class is what the error is compared with"
    predict = 2.0

    def measure(self, problem: ErrorParts, key: Key[Array, ""]) -> Array:
        return jnp.sqrt(problem.cover) + jnp.cbrt(problem.share)
