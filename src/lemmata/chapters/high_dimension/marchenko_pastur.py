"""Marchenko and Pastur: the spectrum of a sample covariance when columns are not few compared with rows.

This theory controls the eigenvalues of X'X/n for an n x d matrix of independent entries of variance 1: they fill
[(1 - sqrt(d/n))², (1 + sqrt(d/n))²] although the population covariance is the identity. It assumes that entries are
independent with a finite fourth moment; it leaves unexplained data whose columns are correlated, which real data are,
but tells how much of their spectrum sampling alone would make.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Choice, Claim, Control, EqualInMean, Hypothesis, Integer, Real, Source, Space
from lemmata.problems import Regression

# Mean of the Tracy-Widom distribution of order 1 (real matrices).
_TRACY_WIDOM_MEAN = -1.2065
_STANDARD_ERRORS = 5.0
# At finite size the mean of the largest eigenvalue is below the edge by 1.2065 Tracy-Widom scales. Within the settings
# that is most at n = 200, gamma = 1/4, where it is 0.034 of the edge; 0.006 remain for terms of order 1/n.
_MARGIN = 0.04


class Design(eqx.Module):
    """A matrix of inputs, one row an observation.

    Args:
        x: the inputs.
    """

    x: Float[Array, "n d"]


def marchenko_pastur_edges(ratio: float) -> tuple[float, float]:
    """(1 - sqrt(ratio))² and (1 + sqrt(ratio))²: the ends of the nonzero limiting spectrum of X'X/n, ratio = d/n.

    >>> marchenko_pastur_edges(0.25)
    (0.25, 2.25)
    """
    return (1 - math.sqrt(ratio)) ** 2, (1 + math.sqrt(ratio)) ** 2


def tracy_widom_scales(rows: int, columns: int) -> tuple[float, float]:
    """Sizes of the fluctuations of the smallest nonzero and the largest eigenvalue of X'X/n about the edges.

    |sqrt(n) ∓ sqrt(d)| |1/sqrt(d) ∓ 1/sqrt(n)|^(1/3) / n, which is of order n^(-2/3): for Gaussian entries the largest
    eigenvalue is the upper edge plus the upper scale times a Tracy-Widom variable of order 1, of mean -1.2065 and
    standard deviation 1.268 (johnstone2001, Theorem 1.1).

    >>> round(tracy_widom_scales(200, 100)[1], 4)
    0.067
    """
    n, d = math.sqrt(rows), math.sqrt(columns)
    lower = abs(n - d) * abs(1 / d - 1 / n) ** (1 / 3) / rows
    return lower, (n + d) * (1 / d + 1 / n) ** (1 / 3) / rows


def mean_square_correlation(x: Float[Array, "n d"]) -> Float[Array, ""]:
    """The mean over pairs of columns of n r², r their uncentred correlation: 1 on average for independent columns."""
    rows, columns = x.shape
    inner = x.T @ x
    squares = rows * inner**2 / jnp.outer(jnp.diagonal(inner), jnp.diagonal(inner))
    return (squares.sum() - jnp.trace(squares)) / max(columns * (columns - 1), 1)


class MarchenkoPasturEdge(Claim[Design]):
    """The largest eigenvalue of X'X/n tends to

        (1 + sqrt(gamma))²,    gamma = lim d/n,

    for n x d matrices X of independent entries with mean 0, variance 1 and a finite fourth moment.
    """

    title = "The largest eigenvalue of a sample covariance"
    source = Source("yin1988", "main theorem")
    relation = EqualInMean(margin=_MARGIN, resolution=0.01)
    label = "tight"
    controls = "the spread of the sample spectrum that sampling alone makes"
    unexplained = "the spectrum of correlated columns; eigenvectors"
    problem = Design
    trials = 64
    batch = 32

    def settings(self) -> Space:
        """Rows, columns per row, and the law of the entries."""
        return Space(
            n=Integer(200, 200, 1000, "rows"),
            gamma=Real(0.5, 0.25, 2.0, "columns per row"),
            entries=Choice("normal", ("normal", "rademacher", "uniform"), "law of the entries"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Design:
        """A matrix of independent entries of mean 0 and variance 1."""
        shape = (setting["n"], round(setting["gamma"] * setting["n"]))
        if setting["entries"] == "normal":
            return Design(jax.random.normal(key, shape))
        if setting["entries"] == "rademacher":
            return Design(jax.random.rademacher(key, shape, float))
        return Design(jax.random.uniform(key, shape, minval=-math.sqrt(3), maxval=math.sqrt(3)))

    def pose(self, problem: object) -> Design | None:
        """The training inputs of a regression."""
        if isinstance(problem, Regression):
            return Design(problem.x)
        return problem if isinstance(problem, Design) else None

    def hypotheses(self, problem: Design) -> list[Hypothesis]:
        """Mean 0, variance 1, uncorrelated columns, a size at which the limit is near."""
        x, (rows, columns) = problem.x, problem.x.shape
        square, fourth = jnp.mean(x**2), jnp.mean(x**4)
        root = math.sqrt(rows * columns)
        gap = -_TRACY_WIDOM_MEAN * tracy_widom_scales(rows, columns)[1] / marchenko_pastur_edges(columns / rows)[1]
        # n r² has mean 1 and variance 2 for independent columns, and pairs are uncorrelated: the mean of d(d-1)/2 of
        # them has standard deviation 2/sqrt(d(d-1)).
        spread = 2 / math.sqrt(max(columns * (columns - 1), 1))
        error = jnp.sqrt((fourth - square**2) / (rows * columns))
        rounding = 1e-9
        return [
            Hypothesis(
                "entries have mean 0",
                jnp.abs(x.mean()),
                "<=",
                _STANDARD_ERRORS * jnp.sqrt(square) / root,
                "a common mean makes an eigenvalue of order d mean²",
            ),
            Hypothesis(
                "entries have variance 1",
                jnp.abs(square - 1),
                "<=",
                _STANDARD_ERRORS * error + rounding,
                "the edge scales with the variance",
            ),
            Hypothesis(
                "columns are uncorrelated",
                mean_square_correlation(x),
                "<=",
                1 + _STANDARD_ERRORS * spread,
                "correlated columns move the largest eigenvalue beyond the edge",
            ),
            Hypothesis("the limit is near at this size", gap, "<=", _MARGIN, "Tracy-Widom shift / edge"),
            Hypothesis.unchecked("rows are independent", "a table of data does not show how it was drawn"),
        ]

    def predict(self, problem: Design) -> Array:
        """The upper edge."""
        rows, columns = problem.x.shape
        return jnp.asarray(marchenko_pastur_edges(columns / rows)[1])

    def measure(self, problem: Design, key: Key[Array, ""]) -> Array:
        """The largest eigenvalue of the smaller of X'X/n and XX'/n."""
        x = problem.x if problem.x.shape[0] >= problem.x.shape[1] else problem.x.T
        return jnp.linalg.eigvalsh(x.T @ x)[-1] / problem.x.shape[0]

    def control(self) -> Control:
        """Without the square of sqrt(gamma)."""
        return Control("the edge is 1 + 2 sqrt(gamma)", _without_square)


def _without_square(edge: Array, problem: Design) -> Array:
    return edge - problem.x.shape[1] / problem.x.shape[0]
