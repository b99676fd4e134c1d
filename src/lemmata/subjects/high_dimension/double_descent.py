"""Double descent in the number of rows: more data hurt if there are fewer rows than features, and help if there are
more rows than features.

This theory gives the sign of the change of the held-out error as rows are added, for the least squares fit of smallest
norm. It assumes isotropic inputs, a linear target and, on the rising side, no more signal than noise. It does not
explain how far a ridge removes the peak.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Order, Source
from lemmata.engine.problems.regression import Regression
from lemmata.subjects.high_dimension._linear_designs import TablesOfRows

ABOUT = {"tool": "random matrices", "architecture": "linear model", "object": "generalisation"}

_THEOREM = Source("hastie2022ridgeless", "Section 3", note="the limiting risk for isotropic features")
_RISE = (0.2, 0.5, 0.7, 0.85)
_FALL = (1.15, 1.5, 2.0, 4.0)
_DRAWS = 2


@partial(jax.jit, static_argnames=("rows", "draws"))
def held_out_risk(problem: Regression, rows: int, draws: int, key: Key[Array, ""]) -> Float[Array, ""]:
    """Return the mean squared held-out error of ridgeless fits to `rows` random rows, averaged over `draws` draws.

    The fit is pinv(X) y for the inputs themselves and the first output; the kernel of the problem is not used.
    """
    columns = problem.x.shape[1]

    def one(draw: Key[Array, ""]) -> Array:
        kept = jax.random.permutation(draw, problem.x.shape[0])[:rows]
        fit = jnp.linalg.pinv(problem.x[kept].reshape(rows, columns)) @ problem.y[kept, 0]
        return jnp.mean((problem.x_test @ fit - problem.y_test[:, 0]) ** 2)

    return jnp.mean(jax.lax.map(one, jax.random.split(key, draws)))


def signal_to_noise(x: Float[Array, "n d"], y: Float[Array, " n"]) -> Float[Array, ""]:
    """Estimate |beta|²/sigma² from a least squares fit b to n > d + 1 rows, and subtract the noise in b.

    On average over standard normal inputs, |b|² exceeds |beta|² by sigma² d/(n - d - 1). The residual variance with n -
    d degrees of freedom estimates sigma².
    """
    rows, columns = x.shape
    fit = jnp.linalg.lstsq(x, y)[0]
    noise = jnp.sum((y - x @ fit) ** 2) / (rows - columns)
    return fit @ fit / noise - columns / (rows - columns - 1)


def _risk_at(problem: Regression, rung: float, key: Key[Array, ""]) -> Array:
    """Return the held-out error of fits to rung * d rows for d columns. If there are fewer rows, all rows are used."""
    available, columns = problem.x.shape
    return held_out_risk(problem, min(available, max(1, round(rung * columns))), _DRAWS, key)


class MoreDataHurt(Claim[Regression]):
    """Let n rows have d isotropic inputs and a linear target, where beta is the vector of coefficients and sigma² is
    the variance of the noise. Assume n < d and sigma² >= |beta|². Fit least squares with the smallest norm. The mean
    squared error of this fit on new rows is on average

        sigma² + |beta|² (1 - n/d) + sigma² n/(d - n - 1).

    This error rises as rows are added, although each added row gives the fit more data.
    """

    title = "Double descent: if noise outweighs signal, more rows hurt as long as there are fewer rows than features"
    source = _THEOREM
    population = TablesOfRows(_RISE)
    relation = Order(along="rows / features", rungs=_RISE)
    control = Control("below n = d the error falls as rows are added", lambda sign, problem: -sign)
    controls = "whether more rows help or hurt a fit that interpolates its training data"
    unexplained = "fits with a ridge, early stopping, or inputs with a decaying spectrum"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU, from d = 72 on
    trials = 64
    predict = 1.0

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        rows, columns = problem.x.shape
        name, why = (
            "no more signal than noise",
            "with more signal, the fall in bias outweighs the rise in variance at first",
        )
        if rows <= columns + 1:
            return [Hypothesis.unchecked(name, "a fit with as many coefficients as rows has no residual")]
        # |b|²/sigma² of n - d degrees of freedom is known to about this (normal inputs, ratio up to 1).
        error = math.sqrt(4 / (rows - columns) + 2 * columns / (rows - columns) ** 2 + 2 / (rows - columns))
        return [Hypothesis(name, signal_to_noise(problem.x, problem.y[:, 0]), "<=", 1 + 4 * error, why)]

    def measure_at(self, problem: Regression, key: Key[Array, ""], rung: float) -> Array:
        return _risk_at(problem, rung, key)


class DescentBeyondThreshold(Claim[Regression]):
    """Let n rows have d isotropic inputs and a linear target, where sigma² is the variance of the noise. Assume n > d.
    The mean squared error of least squares on new rows is on average

        sigma² + sigma² d/(n - d - 1).

    This error falls from its peak near n = d as rows are added.
    """

    title = "Double descent: with more rows than features, further rows lower the test error"
    source = _THEOREM
    population = TablesOfRows(_FALL)
    relation = Order(along="rows / features", rungs=_FALL)
    control = Control("the error keeps rising beyond n = d", lambda sign, problem: -sign)
    controls = "how fast the error falls with more rows beyond the interpolation threshold"
    unexplained = "fits with a ridge, early stopping, or inputs with a decaying spectrum"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU, from d = 72 on
    trials = 64
    predict = -1.0

    def measure_at(self, problem: Regression, key: Key[Array, ""], rung: float) -> Array:
        return _risk_at(problem, rung, key)
