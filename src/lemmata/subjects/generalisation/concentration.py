"""Concentration: the distance between the error on a held-out sample and the error on all data.

This theory is about one predictor that is fixed before the held-out rows are seen. It assumes independent rows and a
bounded loss. It does not explain why the predictor is good.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.regression import Regression

ABOUT = {"tool": "concentration", "architecture": "any", "object": "generalisation"}


class HeldOutLosses(eqx.Module):
    """The losses of a fixed predictor on held-out rows and on the whole population.

    Args:
        population: the loss on every member of the population, in [0, bound].
        size: the number of held-out rows.
        bound: the largest possible loss.
        delta: the probability with which the bound may fail.
        baseline: the mean loss on the population if a constant is predicted; None if it is not known.
    """

    population: Float[Array, " p"]
    size: int = eqx.field(static=True)
    bound: Float[Array, ""]
    delta: float = eqx.field(static=True)
    baseline: Float[Array, ""] | None = None


class ZeroOneLosses(Population[HeldOutLosses]):
    """A predictor with zero-one losses that is wrong on a random part of a population of 4096 members."""

    settings = Space(m=Integer(100, 5, 100_000, "held-out rows"), p=Real(0.3, 0.0, 1.0, "probability of loss 1"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> HeldOutLosses:
        losses = jax.random.bernoulli(key, setting["p"], (4096,)).astype(float)
        return HeldOutLosses(losses, setting["m"], jnp.asarray(1.0), 0.05)

    def pose(self, problem: object) -> HeldOutLosses | None:
        """Return the squared losses, summed over outputs, of kernel ridge regression on the user's held-out rows.

        Predictions are clipped to the range of the training targets, so the loss is at most the sum over outputs of the
        squared range of all targets. The held-out rows play the role of the population, and the same number of rows is
        drawn from them with replacement. So the number m of drawn rows is the number of rows behind the user's own
        held-out error, and the radius applies to this error. The baseline predicts the mean of the training targets.
        """
        if not isinstance(problem, Regression):
            return None
        regularised = problem.gram + problem.ridge * jnp.eye(len(problem.y))
        predictions = problem.cross @ jnp.linalg.solve(regularised, problem.y)
        predictions = jnp.clip(predictions, problem.y.min(axis=0), problem.y.max(axis=0))
        losses = jnp.sum((predictions - problem.y_test) ** 2, axis=1)
        targets = jnp.concatenate([problem.y, problem.y_test])
        bound = jnp.sum((targets.max(axis=0) - targets.min(axis=0)) ** 2)
        baseline = jnp.mean(jnp.sum((problem.y_test - problem.y.mean(axis=0)) ** 2, axis=1))
        return HeldOutLosses(losses, len(losses), bound, 0.05, baseline)

    def hypotheses(self, problem: HeldOutLosses) -> list[Hypothesis]:
        return [
            Hypothesis("losses are at most b", problem.population.max(), "<=", problem.bound, "the loss is bounded"),
            Hypothesis("losses are not negative", problem.population.min(), ">=", 0.0, "the loss is bounded"),
            Hypothesis.unchecked(
                "the predictor was fixed before the held-out rows were drawn",
                "losses do not show how the predictor was chosen; a predictor that was fitted only "
                "to other rows is fixed",
            ),
        ]


def hoeffding_radius(size: int, bound: Float[Array, ""] | float, delta: float) -> Float[Array, ""]:
    """Return the radius bound * sqrt(log(2/delta) / (2 size)).

    With probability at most delta, the mean of `size` independent values in [0, bound] is farther than this radius from
    its expectation.
    """
    return bound * jnp.sqrt(jnp.log(2 / delta) / (2 * size))


class HoeffdingHeldOut(Claim[HeldOutLosses]):
    """Let a predictor be fixed before m independent held-out rows are drawn, and let its losses be in [0, b]. The mean
    loss of the predictor on these rows differs from its expected loss by at most

        b sqrt(log(2/delta) / (2 m))

    with probability at least 1 - delta. The test uses delta = 0.05.
    """

    title = "Hoeffding's inequality bounds the distance between the held-out error and the true error"
    source = Source("hoeffding1963", "Theorem 2")
    population = ZeroOneLosses()
    relation = AtMost(delta=0.05)
    control = Control("a third of the radius is enough", lambda radius, problem: radius / 3)
    controls = "the difference between the held-out error and the true error of one fixed predictor"
    unexplained = "why the predictor has a small error; predictors chosen by looking at the held-out rows"
    trials = 512  # three standard deviations are exceeded in some trials

    def predict(self, problem: HeldOutLosses) -> Array:
        return hoeffding_radius(problem.size, problem.bound, problem.delta)

    def measure(self, problem: HeldOutLosses, key: Key[Array, ""]) -> Array:
        """Return |held-out mean - population mean| for m independent draws."""
        drawn = jax.random.choice(key, problem.population, (problem.size,))
        return jnp.abs(drawn.mean() - problem.population.mean())

    def trivial(self, problem: HeldOutLosses) -> Array:
        """Return the smaller of b and the error of predicting a constant. Two means of values in [0, b] differ by at
        most b.

        If the radius exceeds the error of predicting a constant, the bound cannot tell the predictor from this
        constant.
        """
        return problem.bound if problem.baseline is None else jnp.minimum(problem.bound, problem.baseline)
