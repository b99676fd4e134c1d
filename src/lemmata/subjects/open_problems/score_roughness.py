"""Third problem: in which space are score functions, as the noise falls? Their seminorm diverges at a known rate.

A partial result: for data at two points the fitted score of any method that is accurate near the data has a squared
Sobolev seminorm that grows like sigma^(-6), so that no ball of a fixed space holds the scores of all noise levels. It
leaves open what replaces the fixed space.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Rate, Source
from lemmata.engine.problems._two_point_scores import TwoPointScore, TwoPointScores

_seminorm = eqx.filter_jit(TwoPointScore.fitted_seminorm)


class FittedScoreRoughness(Claim[TwoPointScore]):
    """For data at m and -m with probability 1/2 each and noise of standard deviation sigma, the score is
    s(z) = -z/sigma² + (m/sigma²) tanh(m z/sigma²). Fitted by denoising score matching in the space of a Gaussian kernel
    at one width for all noise levels, the squared seminorm, the integral over |z| <= m + 2 sigma of the squared
    derivative of s(z) + z/sigma², grows like

        sigma^(-6),

    as (4/3) (m/sigma²)³, that of the score itself, does. Rungs are in units of m.
    """

    title = "The seminorm of a fitted score diverges as the noise falls"
    source = Source("foundation2025", "Section 7.3", note="a probe: two points, one kernel for all noise levels")
    population = TwoPointScores()
    relation = Rate("sigma", (0.8, 0.7, 0.6, 0.5), margin=0.15, resolution=0.1)
    control = Control("sigma^(-11/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the squared Sobolev seminorm of fitted scores"
    unexplained = "finite samples; a theory of spaces that change with the noise"
    traced = False  # several decompositions of 120 rows in one compiled batch can wait for each other on a CPU
    trials = 8

    def predict(self, problem: TwoPointScore) -> Array:
        return jnp.asarray(-6.0)

    def measure_at(self, problem: TwoPointScore, key: Key[Array, ""], sigma: float) -> Array:
        return _seminorm(problem, sigma * problem.m)
