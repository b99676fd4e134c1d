"""Matrices of independent entries: random draws, the edges of the limiting spectrum, and checks of data."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.regression import Regression

# Mean of the Tracy-Widom distribution of order 1 (real matrices).
_TRACY_WIDOM_MEAN = -1.2065
STANDARD_ERRORS = 5.0
"""The largest allowed distance of a statistic from its value under the hypothesis, in standard errors."""


class Design(eqx.Module):
    """A matrix of inputs, one row for each observation."""

    x: Float[Array, "n d"]


def marchenko_pastur_edges(ratio: float) -> tuple[float, float]:
    """Return (1 ∓ sqrt(ratio))², the ends of the nonzero limiting spectrum of X'X/n, where ratio = d/n.

    >>> marchenko_pastur_edges(0.25)
    (0.25, 2.25)
    """
    return (1 - math.sqrt(ratio)) ** 2, (1 + math.sqrt(ratio)) ** 2


def tracy_widom_scales(rows: int, columns: int) -> tuple[float, float]:
    """Return the scales on which the smallest nonzero and the largest eigenvalue of X'X/n vary around the edges.

    The two scales are |sqrt(n) ∓ sqrt(d)| |1/sqrt(d) ∓ 1/sqrt(n)|^(1/3) / n, which is of order n^(-2/3). For Gaussian
    entries, the largest eigenvalue is the upper edge plus the upper scale times a Tracy-Widom variable. This variable
    has mean -1.2065 and standard deviation 1.268 (johnstone2001, Theorem 1.1).

    >>> round(tracy_widom_scales(200, 100)[1], 4)
    0.067
    """
    n, d = math.sqrt(rows), math.sqrt(columns)
    lower = abs(n - d) * abs(1 / d - 1 / n) ** (1 / 3) / rows
    return lower, (n + d) * (1 / d + 1 / n) ** (1 / 3) / rows


def mean_square_correlation(x: Float[Array, "n d"]) -> Float[Array, ""]:
    """Return the mean of n r² over pairs of columns, for n rows and the uncentred correlation r of a pair.

    For independent columns of mean 0, this mean is near 1.
    """
    rows, columns = x.shape
    inner = x.T @ x
    squares = rows * inner**2 / jnp.outer(jnp.diagonal(inner), jnp.diagonal(inner))
    return (squares.sum() - jnp.trace(squares)) / max(columns * (columns - 1), 1)


def isotropy(x: Float[Array, "n d"]) -> list[Hypothesis]:
    """Return hypotheses that inputs are independent standard normals. The checks use the ends of the spectrum of the
    covariance and the kurtosis.

    With few entries, the checks cannot exclude any distribution. Therefore there must be enough entries to distinguish
    the kurtosis 3 of a normal distribution from the kurtosis 1.8 of the uniform distribution.
    """
    rows, columns = x.shape
    lower, upper = marchenko_pastur_edges(columns / rows)
    below, above = tracy_widom_scales(rows, columns)
    narrow = x if rows >= columns else x.T
    squares = jnp.linalg.eigvalsh(narrow.T @ narrow)[::-1] / rows
    kurtosis = jnp.mean(x**4) / jnp.mean(x**2) ** 2
    why = "for isotropic inputs the spectrum of X'X/n ends where the Marchenko-Pastur distribution ends"
    fewest = 24 * (STANDARD_ERRORS / (3 - 1.8)) ** 2
    return [
        Hypothesis(
            "enough entries to recognise a normal distribution",
            rows * columns,
            ">=",
            fewest,
            "otherwise the checks below have no power",
        ),
        Hypothesis("no direction has too much variance", squares[0], "<=", upper + STANDARD_ERRORS * above, why),
        Hypothesis("no direction has too little variance", squares[-1], ">=", lower - STANDARD_ERRORS * below, why),
        Hypothesis(
            "entries have the kurtosis 3 of a normal distribution",
            jnp.abs(kurtosis - 3),
            "<=",
            STANDARD_ERRORS * (24 / (rows * columns)) ** 0.5,
            "then the finite-size terms are those of normal inputs",
        ),
    ]


class RandomMatrices(Population[Design]):
    """Matrices of independent entries of mean 0 and variance 1.

    Args:
        margin: the largest allowed distance of the mean of the largest eigenvalue below the edge at finite size, as a
            share of the edge.
    """

    margin: float = 0.04
    settings = Space(
        n=Integer(200, 200, 1000, "rows"),
        gamma=Real(0.5, 0.25, 2.0, "columns per row"),
        entries=Choice("normal", ("normal", "rademacher", "uniform"), "distribution of the entries"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Design:
        shape = (setting["n"], round(setting["gamma"] * setting["n"]))
        if setting["entries"] == "normal":
            return Design(jax.random.normal(key, shape))
        if setting["entries"] == "rademacher":
            return Design(jax.random.rademacher(key, shape, float))
        return Design(jax.random.uniform(key, shape, minval=-math.sqrt(3), maxval=math.sqrt(3)))

    def pose(self, problem: object) -> Design | None:
        """Return the training inputs of a regression."""
        return Design(problem.x) if isinstance(problem, Regression) else None

    def hypotheses(self, problem: Design) -> list[Hypothesis]:
        """Require mean 0, variance 1, uncorrelated columns, and a size that is large enough for the limit."""
        x, (rows, columns) = problem.x, problem.x.shape
        square, fourth = jnp.mean(x**2), jnp.mean(x**4)
        gap = -_TRACY_WIDOM_MEAN * tracy_widom_scales(rows, columns)[1] / marchenko_pastur_edges(columns / rows)[1]
        # For independent columns, n r² has mean 1 and variance 2, and pairs are uncorrelated. Therefore the mean over
        # d(d-1)/2 pairs has standard deviation 2/sqrt(d(d-1)).
        spread = 2 / math.sqrt(max(columns * (columns - 1), 1))
        error = jnp.sqrt((fourth - square**2) / (rows * columns))
        return [
            Hypothesis(
                "entries have mean 0",
                jnp.abs(x.mean()),
                "<=",
                STANDARD_ERRORS * jnp.sqrt(square / x.size),
                "a common mean of all entries adds an eigenvalue of order d mean²",
            ),
            Hypothesis(
                "entries have variance 1",
                jnp.abs(square - 1),
                "<=",
                STANDARD_ERRORS * error + 1e-9,
                "the edge scales with the variance",
            ),
            Hypothesis(
                "columns are uncorrelated",
                mean_square_correlation(x),
                "<=",
                1 + STANDARD_ERRORS * spread,
                "correlated columns move the largest eigenvalue beyond the edge",
            ),
            Hypothesis(
                "the size is large enough for the limit",
                gap,
                "<=",
                self.margin,
                "the value is the Tracy-Widom shift divided by the edge",
            ),
            Hypothesis.unchecked("rows are independent", "a table of data does not show how it was drawn"),
        ]
