"""Arbitrary rows in a sample: how far they move a median.

This theory controls the bias of the median of normal rows of which a fraction is replaced. It leaves unexplained many
dimensions, where medians of coordinates add their biases up.
"""

import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Key

from lemmata.claims import Claim, Control, EqualInMean, Source
from lemmata.problems._poisoned_rows import Contaminated, ContaminatedDraws


class MedianBias(Claim[Contaminated]):
    """Of many normal rows of mean mu and deviation sigma a fraction eps < 1/2 is replaced by values beyond all others.
    The median moves by

        sigma Phi^-1( 1 / (2 (1 - eps)) ),

    Phi the standard normal distribution function; no replacement of that fraction moves it farther, while the mean has
    no limit.
    """

    title = "How far arbitrary rows move the median"
    source = Source("emergence2026", "Figure 13.16", note="with the bias of the median")
    population = ContaminatedDraws()
    relation = EqualInMean(resolution=0.03)
    control = Control("it is sigma eps sqrt(pi/2), the first order", lambda value, problem: _first_order(problem))
    controls = "the bias of a median in a poisoned sample"
    unexplained = "several dimensions; contamination that one can recognise"
    trials = 64

    def predict(self, problem: Contaminated) -> Array:
        return problem.deviation * norm.ppf(1 / (2 * (1 - problem.eps)))

    def measure(self, problem: Contaminated, key: Key[Array, ""]) -> Array:
        rows = problem.mean + problem.deviation * jax.random.normal(key, (problem.n,))
        rows = rows.at[: round(problem.eps * problem.n)].set(1e6)
        return jnp.median(rows) - problem.mean


def _first_order(problem: Contaminated) -> Array:
    return problem.deviation * problem.eps * jnp.sqrt(jnp.pi / 2)
