"""Concentration: how far the error on a held-out sample is from the error on all data.

This theory controls one predictor fixed before the held-out rows are looked at. It assumes independent rows and a
bounded loss; it leaves unexplained why the predictor is good.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.engine.problems._held_out_losses import HeldOutLosses, ZeroOneLosses


def hoeffding_radius(size: int, bound: Float[Array, ""] | float, delta: float) -> Float[Array, ""]:
    """The radius bound sqrt(log(2/delta) / (2 size)).

    The mean of `size` independent values in [0, bound] is further from its expectation with probability <= delta.
    """
    return bound * jnp.sqrt(jnp.log(2 / delta) / (2 * size))


class HoeffdingHeldOut(Claim[HeldOutLosses]):
    """The error of a predictor on m independent held-out rows, with losses in [0, b], differs from the true error by at
    most

        b sqrt(log(2/delta) / (2 m))

    with probability at least 1 - delta. Here delta = 0.05.
    """

    title = "Hoeffding's inequality for the held-out error"
    source = Source("hoeffding1963", "Theorem 2")
    population = ZeroOneLosses()
    relation = AtMost(delta=0.05)
    control = Control("a third of the radius suffices", lambda radius, problem: radius / 3)
    controls = "the difference between held-out error and true error of one fixed predictor"
    unexplained = "why the predictor has a small error; predictors chosen by looking at the held-out rows"
    trials = 512  # three standard deviations are exceeded now and then

    def predict(self, problem: HeldOutLosses) -> Array:
        return hoeffding_radius(problem.size, problem.bound, problem.delta)

    def measure(self, problem: HeldOutLosses, key: Key[Array, ""]) -> Array:
        """|held-out mean - population mean| for m independent draws."""
        drawn = jax.random.choice(key, problem.population, (problem.size,))
        return jnp.abs(drawn.mean() - problem.population.mean())

    def trivial(self, problem: HeldOutLosses) -> Array:
        """The smaller of b, by which two means of values in [0, b] differ at most, and the error of a constant.

        A radius beyond the error of predicting a constant does not tell the predictor from that constant.
        """
        return problem.bound if problem.baseline is None else jnp.minimum(problem.bound, problem.baseline)
