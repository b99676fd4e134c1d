"""Double descent along rows: more data hurt until there are as many rows as features, and help beyond.

This theory controls the sign of the change of the held-out error of the least squares fit of smallest norm as rows are
added. It assumes isotropic inputs, a linear target and, on the rising side, no more signal than noise; it leaves
unexplained how far a ridge removes the peak.
"""

import math
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Hypothesis, Integer, Order, Real, Source, Space
from lemmata.kernels import Linear
from lemmata.problems import Regression

from .ridgeless import draw_design, isotropy

_THEOREM = Source("hastie2022ridgeless", "Section 3", note="the limiting risk for isotropic features")
_RISE = (0.2, 0.5, 0.7, 0.85)
_FALL = (1.15, 1.5, 2.0, 4.0)
_DRAWS = 2


@partial(jax.jit, static_argnames=("rows", "draws"))
def held_out_risk(problem: Regression, rows: int, draws: int, key: Key[Array, ""]) -> Float[Array, ""]:
    """The mean squared held-out error (first output) of ridgeless fits to `rows` random rows, over `draws` draws.

    The fit is pinv(X) y on the inputs themselves; the kernel of the problem is not used.
    """
    columns = problem.x.shape[1]

    def one(draw: Key[Array, ""]) -> Array:
        kept = jax.random.permutation(draw, problem.x.shape[0])[:rows]
        fit = jnp.linalg.pinv(problem.x[kept].reshape(rows, columns)) @ problem.y[kept, 0]
        return jnp.mean((problem.x_test @ fit - problem.y_test[:, 0]) ** 2)

    return jnp.mean(jax.lax.map(one, jax.random.split(key, draws)))


def signal_to_noise(x: Float[Array, "n d"], y: Float[Array, " n"]) -> Float[Array, ""]:
    """|beta|²/sigma² from a least squares fit with n > d + 1 rows, without the fit's own share of noise.

    |b|² exceeds |beta|² by sigma² d/(n - d - 1) on average over standard normal inputs, and the residual variance
    with n - d degrees of freedom estimates sigma².
    """
    rows, columns = x.shape
    fit = jnp.linalg.lstsq(x, y)[0]
    noise = jnp.sum((y - x @ fit) ** 2) / (rows - columns)
    return fit @ fit / noise - columns / (rows - columns - 1)


def _sample(setting: dict, key: Key[Array, ""]) -> Regression:
    """Normal inputs and noise of variance 1: 4 d rows to train on, and as many held out."""
    columns = setting["d"]
    n = math.ceil(_FALL[-1] * columns)
    drawn = draw_design(2 * n, columns, 1, setting["signal"], 1.0, key)
    y = drawn.y[:, None]
    return Regression(drawn.x[:n], y[:n], drawn.x[n:], y[n:], Linear(), jnp.asarray(0.0), drawn.noise)


def _ladder(problem: Regression, rungs: tuple[float, ...], key: Key[Array, ""]) -> Array:
    """The held-out error with rung * d rows each, or with all rows where there are fewer."""
    available, columns = problem.x.shape
    sizes = [min(available, max(1, round(rung * columns))) for rung in rungs]
    keys = jax.random.split(key, len(sizes))
    return jnp.stack([held_out_risk(problem, size, _DRAWS, own) for size, own in zip(sizes, keys, strict=True)])


def _enough_rows(problem: Regression, rung: float) -> Hypothesis:
    rows, columns = problem.x.shape
    return Hypothesis(f"at least {rung:g} d rows", rows, ">=", round(rung * columns), "the ladder has to be drawn")


def _enough_columns(problem: Regression, rungs: tuple[float, ...]) -> Hypothesis:
    # With normal inputs the error's mean has the denominator |n - d| - 1, its variance also |n - d| - 3. Rungs further
    # than 3 rows from d (d >= 24) are also different numbers of rows.
    columns = problem.x.shape[1]
    nearest = min(abs(round(rung * columns) - columns) for rung in rungs)
    why = "up to 1 row from d the mean error is infinite, up to 3 its variance, and rungs fall together"
    return Hypothesis("d is large enough (rows between d and the nearest rung)", nearest, ">", 3, why)


def _linear() -> Hypothesis:
    return Hypothesis.unchecked("the target is linear up to noise", "a residual does not tell noise from what is bent")


_SETTINGS = {"d": Integer(40, 40, 100, "features"), "signal": Real(0.5, 0.1, 0.7, "norm of the coefficients")}


class MoreDataHurt(Claim[Regression]):
    """Below n = d, with isotropic inputs and |beta| <= sigma, the error of the least squares fit of smallest norm,

        sigma² + |beta|² (1 - n/d) + sigma² n/(d - n - 1)    on average,

    rises as rows are added, though the fit sees more.
    """

    title = "Double descent: the rise to the interpolation threshold"
    source = _THEOREM
    relation = Order(along="rows / features", rungs=_RISE)
    label = "tight"
    controls = "whether rows help or hurt a fit that interpolates"
    unexplained = "fits with a ridge, early stopping, or inputs with a decaying spectrum"
    problem = Regression
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU, from d = 72 on
    trials = 64

    def settings(self) -> Space:
        """Features and the norm of the coefficients; the noise is 1."""
        return Space(**_SETTINGS)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Regression:
        """Normal inputs, a linear target, noise 1."""
        return _sample(setting, key)

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        """Enough columns and rows, isotropic inputs, no more signal than noise."""
        rows, columns = problem.x.shape
        name, why = "no more signal than noise", "with more signal the lost bias outweighs the variance at first"
        if rows > columns + 1:
            # |b|²/sigma² of n - d degrees of freedom is known to about this (normal inputs, ratio up to 1).
            error = math.sqrt(4 / (rows - columns) + 2 * columns / (rows - columns) ** 2 + 2 / (rows - columns))
            value = signal_to_noise(problem.x, problem.y[:, 0])
            signal = Hypothesis(name, value, "<=", 1 + 4 * error, why)
        else:
            signal = Hypothesis.unchecked(name, "a fit with as many coefficients as rows has no residual")
        enough = [_enough_columns(problem, _RISE), _enough_rows(problem, _RISE[-1])]
        return [*enough, *isotropy(problem.x), signal, _linear()]

    def predict(self, problem: Regression) -> Array:
        """Up."""
        return jnp.ones(())

    def measure(self, problem: Regression, key: Key[Array, ""]) -> Array:
        """Held-out errors along the ladder."""
        return _ladder(problem, _RISE, key)

    def control(self) -> Control:
        """What one would expect of data."""
        return Control("the error falls with rows below n = d", lambda sign, problem: -sign)


class DescentBeyondThreshold(Claim[Regression]):
    """Above n = d, with isotropic inputs, the error of least squares,

        sigma² + sigma² d/(n - d - 1)    on average,

    falls from its peak as rows are added.
    """

    title = "Double descent: the descent beyond the interpolation threshold"
    source = _THEOREM
    relation = Order(along="rows / features", rungs=_FALL)
    label = "tight"
    controls = "how fast rows pay off past the interpolation threshold"
    unexplained = "fits with a ridge, early stopping, or inputs with a decaying spectrum"
    problem = Regression
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU, from d = 72 on
    trials = 64

    def settings(self) -> Space:
        """Features and the norm of the coefficients; the noise is 1."""
        return Space(**_SETTINGS)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Regression:
        """Normal inputs, a linear target, noise 1."""
        return _sample(setting, key)

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        """Enough columns and rows, isotropic inputs."""
        enough = [_enough_columns(problem, _FALL), _enough_rows(problem, _FALL[-1])]
        return [*enough, *isotropy(problem.x), _linear()]

    def predict(self, problem: Regression) -> Array:
        """Down."""
        return -jnp.ones(())

    def measure(self, problem: Regression, key: Key[Array, ""]) -> Array:
        """Held-out errors along the ladder."""
        return _ladder(problem, _FALL, key)

    def control(self) -> Control:
        """As on the other side."""
        return Control("the error goes on rising beyond n = d", lambda sign, problem: -sign)
