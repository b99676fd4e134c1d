"""The expected generalisation gap of an algorithm equals its sensitivity to the replacement of one row.

This theory gives the expected difference between risk and empirical risk, for any algorithm. For least squares, it
gives an exact formula. It assumes independent rows with the same distribution. It does not explain how far a single
sample is from the expectation.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve
from jaxtyping import Array, Float, Key
from sklearn.tree import DecisionTreeRegressor

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension, rows
from lemmata.subjects.stability import replace_one

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}


class SampledLaw(eqx.Module):
    """A sample of y = tanh(2 coefficients'x) ± noise on standard normal inputs, and rows that are not in it.

    Args:
        x, y: the inputs and targets of the sample.
        pool_x, pool_y: other rows of the same distribution.
        coefficients: the coefficients of the distribution.
        noise: the size of the noise, whose two signs are equally likely.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    pool_x: Float[Array, "m d"]
    pool_y: Float[Array, " m"]
    coefficients: Float[Array, " d"]
    noise: Float[Array, ""]

    def draw(self, key: Key[Array, ""], rows: int) -> tuple[Float[np.ndarray, "rows d"], Float[np.ndarray, " rows"]]:
        """Draw this number of new rows."""
        return _rows(generator_of(key), rows, np.asarray(self.coefficients), float(self.noise))


def _rows(drawn: np.random.Generator, rows: int, coefficients: np.ndarray, noise: float) -> tuple:
    x = drawn.normal(size=(rows, len(coefficients)))
    return x, np.tanh(2 * x @ coefficients) + noise * drawn.choice((-1.0, 1.0), rows)


class SampledLaws(Population[SampledLaw]):
    """Samples with coefficients of norm 1 in a random direction, and eight further rows that may replace their rows."""

    settings = Space(
        n=Integer(16, 8, 200, "rows per sample", corners=(12, 24)),
        d=Integer(4, 1, 20, "inputs"),
        noise=Real(0.6, 0.1, 5.0, "standard deviation of the noise"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SampledLaw:
        """Draw a distribution and its rows with NumPy.

        The fitting algorithms do not use JAX, which would compile each shape again.
        """
        drawn, noise = generator_of(key), float(setting["noise"])
        direction = drawn.normal(size=setting["d"])
        direction = direction / np.linalg.norm(direction)
        sample, pool = (_rows(drawn, rows, direction, noise) for rows in (setting["n"], 8))
        return SampledLaw(*(jnp.asarray(part) for part in (*sample, *pool, direction, noise)))

    def hypotheses(self, problem: SampledLaw) -> list[Hypothesis]:
        """Require noise. The other hypothesis, that all rows have one distribution, holds by construction."""
        return [
            Hypothesis("targets are noisy", problem.noise, ">", 0.0, "gaps are measured in units of the noise variance")
        ]


class GaussianSample(eqx.Module):
    """Least squares on standard normal inputs: the numbers of rows and inputs, and the noise level."""

    noise: Float[Array, ""]
    n: int = eqx.field(static=True)
    p: int = eqx.field(static=True)


def _enough_rows(problem: GaussianSample) -> Hypothesis:
    spare = problem.n - problem.p
    return Hypothesis("rows exceed inputs by more than 5 (n - p)", spare, ">", 5, "then the risk has a finite variance")


_SAMPLES = Drawn(
    GaussianSample,
    _enough_rows,
    rules={"n is above p + 5": lambda setting: setting["n"] > setting["p"] + 5},
    noise=log_uniform(0.3, 3.0),
    n=rows(30, 12, 400, corners=(24, 60)),
    p=dimension(8, corners=(4, 10)),
)


_FRESH = 200
_DRAWS = 24
_MEANS = 512


def _ridge(x: np.ndarray, y: np.ndarray):
    kernel = lambda inputs: np.exp(-np.sum((inputs[:, None] - x) ** 2, axis=2) / 4)
    coefficients = np.linalg.solve(kernel(x) + 0.3 * np.eye(len(x)), y)
    return lambda inputs: kernel(inputs) @ coefficients


def _neighbour(x: np.ndarray, y: np.ndarray):
    return lambda inputs: y[np.sum((inputs[:, None] - x) ** 2, axis=2).argmin(axis=1)]


# Each fit comes with the approximate size of its gap in units of the noise variance. A fit that reproduces a row's
# noise has twice this variance and the change of the target.
_ALGORITHMS = (
    (_ridge, 1.3),
    (lambda x, y: DecisionTreeRegressor(min_samples_leaf=2, random_state=0).fit(x, y), 2.6),
    (_neighbour, 2.9),
)


def _squares(predicted: np.ndarray, y: np.ndarray) -> np.ndarray:
    return (predicted - y) ** 2


def _units(problem: SampledLaw) -> list[tuple]:
    return [(fit, size * float(problem.noise) ** 2) for fit, size in _ALGORITHMS]


class GapIsInstability(Claim[SampledLaw]):
    """Let S be a sample of independent rows z_1, .., z_N of one distribution, and let S^(i) be the sample with z_i
    replaced by another row of this distribution. Let R be the risk and R_S the mean loss over the sample. Let A(S) be
    the output of an algorithm A on S. For any algorithm A and any loss l,

        E[R(A(S)) - R_S(A(S))] = E[l(A(S^(i)), z_i) - l(A(S), z_i)].

    So the expected generalisation gap is the mean change of the loss at a row when this row is replaced.

    The test uses the squared loss with kernel ridge regression, a regression tree and the nearest neighbour. It divides
    each gap by a multiple of sigma², where sigma² is the variance of the noise. For each algorithm, the multiple is
    chosen so that the quotient is about 1.
    """

    title = "The expected generalisation gap equals the expected change of the loss at a row when this row is replaced"
    source = Source("bousquet2002", "Lemma 7", note="for any algorithm, as in Shalev-Shwartz et al. (2010)")
    population = SampledLaws()
    relation = EqualInMean(relative=False, resolution=0.2, over="problems")
    control = Control("the gap is half of the mean change", lambda change, problem: change / 2)
    controls = "the expected generalisation gap of any algorithm"
    unexplained = "how far the gap of a single sample is from its expectation"
    traced = False  # trees
    trials = 256

    def predict(self, problem: SampledLaw) -> Array:
        """The mean change of the loss when each row is replaced, for each algorithm."""
        x, y, pool_x, pool_y = (np.asarray(rows) for rows in (problem.x, problem.y, problem.pool_x, problem.pool_y))
        changes = [
            replace_one(fit, (x, y), (pool_x, pool_y), len(y), _squares, np.random.default_rng(0)).changes.mean() / unit
            for fit, unit in _units(problem)
        ]
        return jnp.asarray(changes)

    def measure(self, problem: SampledLaw, key: Key[Array, ""]) -> Array:
        """The mean loss at 200 new rows minus the mean loss at the training rows, for each algorithm."""
        x, y = np.asarray(problem.x), np.asarray(problem.y)
        fresh_x, fresh_y = problem.draw(key, _FRESH)
        gaps = []
        for fit, unit in _units(problem):
            model = fit(x, y)
            predict = getattr(model, "predict", model)
            gaps.append((_squares(predict(fresh_x), fresh_y).mean() - _squares(predict(x), y).mean()) / unit)
        return jnp.asarray(gaps)


class LeastSquaresGap(Claim[GaussianSample]):
    """Fit least squares to n rows with p < n - 1 standard normal inputs and a linear target, where sigma² is the
    variance of the noise. The expected squared loss on a new row minus the expected squared loss on the training rows
    is exactly

        sigma² [ (1 + p/(n - p - 1)) - (1 - p/n) ] = sigma² [ p/(n - p - 1) + p/n ].

    Mallows' formula 2 sigma² p/n is the gap if the test uses the training inputs with new noise.
    """

    title = "The expected generalisation gap of least squares is exactly sigma² (p/(n - p - 1) + p/n)"
    source = Source("emergence2026", "Figure 8.2", note="the gap, exactly, of normal inputs")
    population = _SAMPLES
    relation = EqualInMean(resolution=0.05)
    control = Control("the gap is 2 sigma² p/n", lambda gap, problem: 2 * problem.noise**2 * problem.p / problem.n)
    controls = "the expected generalisation gap of least squares"
    unexplained = "inputs that are not normal; p near n, where the gap has no finite variance"
    trials = 128

    def predict(self, problem: GaussianSample) -> Array:
        n, p = problem.n, problem.p
        return problem.noise**2 * ((1 + p / (n - p - 1)) - (1 - p / n))

    def measure(self, problem: GaussianSample, key: Key[Array, ""]) -> Array:
        """The gap of fits b to 24 samples. The true coefficients are 0, so the risk of b is sigma² + |b|²."""
        keys = jax.random.split(key)
        x = jax.random.normal(keys[0], (_DRAWS, problem.n, problem.p))
        y = problem.noise * jax.random.normal(keys[1], (_DRAWS, problem.n))

        def gap(x: Array, y: Array) -> Array:
            weights = solve(x.T @ x, x.T @ y, assume_a="pos")
            return problem.noise**2 + weights @ weights - jnp.mean((x @ weights - y) ** 2)

        return jnp.mean(jax.vmap(gap)(x, y))


class MeanGap(Claim[GaussianSample]):
    """Predict a new number by the mean of N independent numbers with the same distribution, whose variance is sigma².
    The expected squared loss at the new number minus the mean squared loss at the N numbers is exactly 2 sigma²/N,
    whatever the distribution.
    """

    title = "The expected generalisation gap of predicting by the mean of N numbers is exactly 2 sigma²/N"
    source = Source("emergence2026", "Figure 8.2", note="the gap, exactly, of the simplest algorithm")
    population = _SAMPLES
    relation = EqualInMean(resolution=0.1)
    control = Control("the gap is sigma²/N, the part that comes from the risk alone", lambda gap, problem: gap / 2)
    controls = "the expected generalisation gap of a mean"
    unexplained = "distributions without a variance"
    trials = 128

    def predict(self, problem: GaussianSample) -> Array:
        return 2 * problem.noise**2 / problem.n

    def measure(self, problem: GaussianSample, key: Key[Array, ""]) -> Array:
        """The gap on samples of a centred, skewed distribution of two values; predicting m has risk sigma² + m²."""
        seen = problem.noise * (jax.random.bernoulli(key, 0.3, (_MEANS, problem.n)) - 0.3) / 0.21**0.5
        mean = seen.mean(axis=1, keepdims=True)
        return problem.noise**2 + jnp.mean(mean**2) - jnp.mean((seen - mean) ** 2)
