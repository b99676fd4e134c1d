"""Arbitrary rows in a sample: how far they move a median, and the mean of the rows that a spectral filter keeps.

This theory describes the bias of estimates of the mean of normal rows, if a fraction of the rows is replaced. The
biases of coordinatewise medians add up over the coordinates. A filter that uses the direction of largest variance
avoids this sum. The theory assumes that the covariance of the rows that are not replaced is known.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Rate, Real, Source
from lemmata.engine.problems.drawn import Drawn, normal, uniform
from lemmata.engine.problems.variables import rows
from lemmata.subjects.robustness._poisoned_rows import SHIFTED_ROWS, Contaminated, ShiftedRows, minority

ABOUT = {"tool": "statistics", "architecture": "any", "object": "estimator"}

_LENGTHS = (1.5, 3.0)


class MedianBias(Claim[Contaminated]):
    """Let many numbers be normal with mean mu and standard deviation sigma. Replace a fraction eps < 1/2 of them by
    values beyond all other numbers. The median moves by

        sigma Phi^-1( 1 / (2 (1 - eps)) ),

    where Phi is the standard normal distribution function. No other replacement of this fraction moves the median
    farther, but the mean can move without limit.
    """

    title = "Replacing a share eps of normal numbers moves the median by at most sigma Phi^-1(1/(2 (1 - eps)))"
    source = Source("emergence2026", "Figure 13.16", note="with the bias of the median")
    population = Drawn(
        Contaminated,
        minority,
        mean=normal(),
        deviation=uniform(0.5, 2.0),
        eps=Real(0.15, 0.01, 0.45, "fraction of arbitrary rows", corners=(0.1, 0.25)),
        n=rows(20_000, 1000, 100_000, corners=(16_000, 24_000)),
    )
    relation = EqualInMean(resolution=0.03)
    control = Control(
        "the median moves by sigma eps sqrt(pi/2), the first order in eps", lambda value, problem: _first_order(problem)
    )
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


def _shifted(problem: ShiftedRows, key: Key[Array, ""], n: int, d: int, length: float) -> tuple[np.ndarray, int]:
    """Return n rows, and the number of shifted rows. The first rows are shifted by a vector of equal coordinates and of
    the given length.
    """
    generator = np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
    rows, count = generator.standard_normal((n, d)), round(problem.eps * n)
    rows[:count] += length / d**0.5
    return rows, count


class MediansAddUp(Claim[ShiftedRows]):
    """Take standard normal rows in d dimensions, and shift a fraction eps of them by 3/2 in every coordinate. Estimate
    the mean by the vector of the medians of the coordinates. The Euclidean error of this estimate grows like d^(1/2).
    """

    title = "The error of coordinatewise medians of contaminated rows grows like the square root of the dimension"
    source = Source("diakonikolas2016", note="the estimate on which the main result improves")
    population = SHIFTED_ROWS
    relation = Rate("d", (8.0, 32.0, 128.0), margin=0.03, resolution=0.05)
    control = Control("the error does not depend on the dimension", lambda exponent, problem: exponent - 0.5)
    controls = "the bias of medians in a poisoned sample"
    unexplained = "the constant, which is the constant for one coordinate"
    traced = False  # medians of large tables are NumPy's
    trials = 24
    predict = 0.5

    def measure_at(self, problem: ShiftedRows, key: Key[Array, ""], d: float) -> Array:
        rows, _ = _shifted(problem, key, 100 * problem.per_dimension, int(d), 1.5 * d**0.5)
        return jnp.asarray(np.linalg.norm(np.median(rows, axis=0)))


def _filtered_mean(rows: Float[np.ndarray, "n d"], eps: float) -> Float[np.ndarray, " d"]:
    """Return the mean of the rows that a spectral filter keeps. All rows but a fraction eps have the covariance I.

    There are up to eight rounds. Each round removes a share eps/4 of the rows: the rows farthest from the mean along
    the direction of largest variance.
    """
    kept, batch = rows, max(1, int(eps * len(rows) / 4))
    for _ in range(8):
        moved = kept - kept.mean(axis=0)
        values, vectors = np.linalg.eigh(moved.T @ moved / len(kept))
        edge = (1 + (rows.shape[1] / len(kept)) ** 0.5) ** 2
        if values[-1] <= edge * (1 + eps * np.log(1 / eps)):
            break
        kept = kept[np.argsort(np.abs(moved @ vectors[:, -1]))[:-batch]]
    return kept.mean(axis=0)


class FilterFreeOfDimension(Claim[ShiftedRows]):
    """Take n standard normal rows in d dimensions, with d/n fixed, and shift a fraction eps of them by one vector. A
    spectral filter removes rows that are far from the mean along the direction of largest variance. The filter repeats
    this step until the largest variance is plausible for standard normal rows. Take the distance between the mean of
    the remaining rows and the mean of the rows that were not shifted. The largest of these distances, for shifts of
    length 3/2, 3 and (3/2) d^(1/2), does not grow with d: it is O(d^0).
    """

    title = "The error of a spectral filter for the mean of contaminated rows does not grow with the dimension"
    source = Source("emergence2026", "Theorem 13.18", "Figure 13.16", note="for the mean, its order in the dimension")
    population = SHIFTED_ROWS
    relation = Rate("d", (6.0, 24.0, 96.0), upper=True, margin=0.1)
    control = Control("the distance falls like d^(-1/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the error of a mean in a poisoned sample"
    unexplained = "covariances that are not known; the order in eps; shifts of several kinds at once"
    traced = False  # decompositions in one compiled batch can wait for each other on a CPU
    trials = 24
    predict = 0.0

    def measure_at(self, problem: ShiftedRows, key: Key[Array, ""], d: float) -> Array:
        found = []
        for length in (*_LENGTHS, 1.5 * d**0.5):
            rows, count = _shifted(problem, key, problem.per_dimension * int(d), int(d), length)
            found.append(np.linalg.norm(_filtered_mean(rows, problem.eps) - rows[count:].mean(axis=0)))
        return jnp.asarray(max(found))
