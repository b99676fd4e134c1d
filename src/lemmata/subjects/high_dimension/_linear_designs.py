"""Linear models with isotropic inputs and with fresh inputs for tests, and tables for fits to some of the rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.regression import Regression
from lemmata.kernels import Linear
from lemmata.subjects.high_dimension._random_matrices import STANDARD_ERRORS, isotropy

_FRESH = 512


class LinearDesign(eqx.Module):
    """A linear model y = x'beta + noise, and fresh inputs on which a fit is tested.

    Args:
        x: the training inputs, one row each.
        y: training targets.
        x_test: fresh inputs of the same population.
        coefficients: the coefficients beta of the linear model.
        noise: the standard deviation of the noise.
        known: True if beta and the noise are known, and False if they are estimated from data.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    x_test: Float[Array, "t d"]
    coefficients: Float[Array, " d"]
    noise: Float[Array, ""]
    known: bool = eqx.field(static=True, default=True)

    @property
    def gamma(self) -> float:
        """The number of columns divided by the number of training rows."""
        return self.x.shape[1] / self.x.shape[0]


def draw_design(rows: int, columns: int, fresh: int, signal: float, noise: float, key: Key[Array, ""]) -> LinearDesign:
    """Draw standard normal inputs, coefficients of norm `signal` in a random direction, and normal noise."""
    keys = jax.random.split(key, 4)
    x = jax.random.normal(keys[0], (rows, columns))
    direction = jax.random.normal(keys[1], (columns,))
    beta = signal * direction / jnp.linalg.norm(direction)
    y = x @ beta + noise * jax.random.normal(keys[2], (rows,))
    return LinearDesign(x, y, jax.random.normal(keys[3], (fresh, columns)), beta, jnp.asarray(noise, x.dtype))


def pose_design(problem: object, rows: int | None = None) -> LinearDesign | None:
    """Return the linear model of a regression's inputs and first output, with least squares coefficients.

    If the problem has a finite noise, the model has this noise. Otherwise the noise is the standard deviation of the
    residuals, and a nonlinear part of the target counts as noise. If `rows` is given, the model contains only the first
    `rows` training rows. If the problem is not a regression, return None.
    """
    if not isinstance(problem, Regression):
        return None
    x, y = jnp.concatenate([problem.x, problem.x_test]), jnp.concatenate([problem.y, problem.y_test])[:, 0]
    beta, _, rank, _ = jnp.linalg.lstsq(x, y)
    freedom = jnp.maximum(x.shape[0] - rank, 1)
    estimate = jnp.sqrt(jnp.sum((y - x @ beta) ** 2) / freedom)
    known = bool(jnp.isfinite(problem.noise))
    noise = problem.noise if known else estimate
    return LinearDesign(problem.x[:rows], problem.y[:rows, 0], problem.x_test, beta, noise, known)


def linearity(problem: LinearDesign) -> Hypothesis:
    """Return the hypothesis that the residual of the linear fit is not larger than the known noise.

    The check needs more rows than columns, because it fits least squares.
    """
    name, freedom = "the target is linear up to the noise", problem.x.shape[0] - problem.x.shape[1]
    if freedom < 1:
        return Hypothesis.unchecked(name, "a fit with as many coefficients as rows has no residual")
    if not problem.known:
        return Hypothesis.unchecked(name, "the noise is estimated from the residual of the linear fit itself")
    beta = jnp.linalg.lstsq(problem.x, problem.y)[0]
    residual = jnp.sum((problem.y - problem.x @ beta) ** 2) / freedom
    # With normal noise, the residual variance is sigma² chi²/freedom. Its standard deviation is sigma² sqrt(2/freedom).
    allowed = problem.noise**2 * (1 + STANDARD_ERRORS * (2 / freedom) ** 0.5)
    return Hypothesis(name, residual, "<=", allowed, "a nonlinear part acts as additional noise")


class LinearDesigns(Population[LinearDesign]):
    """Standard normal inputs, coefficients of norm 1 in a random direction, and normal noise of standard deviation 1/2.

    Args:
        rows: the range of the number n of rows.
        gamma: the range of d/n for d columns. All values are below 1, or all values are above 1.
    """

    rows: Integer = eqx.field(static=True)
    gamma: Real = eqx.field(static=True)

    def settings(self) -> Space:
        return Space(n=self.rows, gamma=self.gamma)

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearDesign:
        return draw_design(setting["n"], round(setting["gamma"] * setting["n"]), _FRESH, 1.0, 0.5, key)

    def pose(self, problem: object) -> LinearDesign | None:
        """Return the linear model of a regression's inputs. For gamma > 1, use at most d/2 of the training rows."""
        if self.gamma.low < 1 or not isinstance(problem, Regression):
            return pose_design(problem)
        return pose_design(problem, min(problem.x.shape[0], max(1, problem.x.shape[1] // 2)))

    def hypotheses(self, problem: LinearDesign) -> list[Hypothesis]:
        fewer = Hypothesis("fewer columns than rows", problem.gamma, "<", 1.0, "gamma = d/n")
        more = Hypothesis("more columns than rows", problem.gamma, ">", 1.0, "gamma = d/n")
        side = fewer if self.gamma.low < 1 else more
        return [side, *isotropy(jnp.concatenate([problem.x, problem.x_test])), linearity(problem)]


class TablesOfRows(Population[Regression]):
    """Standard normal inputs in d columns, a linear target, and noise of variance 1. There are 4 d training and 4 d
    held-out rows.

    Args:
        rungs: the numbers of rows of the fits, divided by d.
    """

    rungs: tuple[float, ...] = eqx.field(static=True)
    # The noise has variance 1.
    settings = Space(
        d=Integer(40, 40, 100, "features", corners=(40, 60)),
        signal=Real(0.5, 0.1, 0.7, "norm of the coefficients"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Regression:
        columns = setting["d"]
        n = 4 * columns
        drawn = draw_design(2 * n, columns, 1, setting["signal"], 1.0, key)
        y = drawn.y[:, None]
        return Regression(drawn.x[:n], y[:n], drawn.x[n:], y[n:], Linear(), jnp.asarray(0.0), drawn.noise)

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        rows, columns = problem.x.shape
        # With normal inputs, the mean error has the denominator |n - d| - 1, and its variance also |n - d| - 3. If all
        # rungs are more than 3 rows from d (d >= 24), they are different numbers of rows.
        nearest = min(abs(round(rung * columns) - columns) for rung in self.rungs)
        last = self.rungs[-1]
        why = "within 1 row of d the mean error is infinite, within 3 rows its variance is; two sizes may also coincide"
        return [
            Hypothesis("d is large enough (least distance of a number of rows from d)", nearest, ">", 3, why),
            Hypothesis(
                f"at least {last:g} d rows",
                rows,
                ">=",
                round(last * columns),
                "the largest size needs this number of rows",
            ),
            *isotropy(problem.x),
            Hypothesis.unchecked(
                "the target is linear up to noise", "a residual does not separate noise from a nonlinear part"
            ),
        ]
