"""Samples of a law in one or several inputs, with rows to replace theirs, for algorithms that are only called."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class SampledLaw(eqx.Module):
    """y = tanh(2 coefficients'x) +- noise on standard normal inputs: a sample, and rows that are not in it.

    Args:
        x, y: the sample.
        pool_x, pool_y: other rows of the law.
        coefficients: of the law.
        noise: its standard deviation; either sign is as likely.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    pool_x: Float[Array, "m d"]
    pool_y: Float[Array, " m"]
    coefficients: Float[Array, " d"]
    noise: Float[Array, ""]

    def draw(self, key: Key[Array, ""], rows: int) -> tuple[Float[np.ndarray, "rows d"], Float[np.ndarray, " rows"]]:
        """So many new rows."""
        return _rows(_generator(key), rows, np.asarray(self.coefficients), float(self.noise))


def _generator(key: Key[Array, ""]) -> np.random.Generator:
    return np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))


def _rows(drawn: np.random.Generator, rows: int, coefficients: np.ndarray, noise: float) -> tuple:
    x = drawn.normal(size=(rows, len(coefficients)))
    return x, np.tanh(2 * x @ coefficients) + noise * drawn.choice((-1.0, 1.0), rows)


class SampledLaws(Population[SampledLaw]):
    """Coefficients in a random direction, of norm 1; eight rows that may replace others."""

    def settings(self) -> Space:
        """Rows, inputs, noise."""
        return Space(
            n=Integer(16, 8, 200, "rows of a sample", corners=(12, 24)),
            d=Integer(4, 1, 20, "inputs"),
            noise=Real(0.6, 0.1, 5.0, "standard deviation of the noise"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SampledLaw:
        """A law and its rows, by NumPy: the algorithms are not JAX's, and each shape would be compiled anew."""
        drawn, noise = _generator(key), float(setting["noise"])
        direction = drawn.normal(size=setting["d"])
        direction = direction / np.linalg.norm(direction)
        sample, pool = (_rows(drawn, rows, direction, noise) for rows in (setting["n"], 8))
        return SampledLaw(*(jnp.asarray(part) for part in (*sample, *pool, direction, noise)))

    def hypotheses(self, problem: SampledLaw) -> list[Hypothesis]:
        """Nothing but rows of one law, and something that cannot be learned."""
        return [Hypothesis("targets are noisy", problem.noise, ">", 0.0, "gaps are in units of the noise")]


class GaussianSample(eqx.Module):
    """Least squares on standard normal inputs: rows, inputs, the standard deviation of the noise."""

    noise: Float[Array, ""]
    n: int = eqx.field(static=True)
    p: int = eqx.field(static=True)


class GaussianSamples(Population[GaussianSample]):
    """Noise over an order of magnitude."""

    def settings(self) -> Space:
        """Rows and inputs."""
        space = Space(n=Integer(30, 12, 400, "rows", corners=(24, 60)), p=Integer(8, 1, 100, "inputs", corners=(4, 10)))
        return space.where("n is above p + 5", lambda setting: setting["n"] > setting["p"] + 5)

    def sample(self, setting: dict, key: Key[Array, ""]) -> GaussianSample:
        """A noise between 0.3 and 3."""
        return GaussianSample(0.3 * 10 ** jax.random.uniform(key), setting["n"], setting["p"])

    def hypotheses(self, problem: GaussianSample) -> list[Hypothesis]:
        """Enough rows for means and variances to exist."""
        spare = problem.n - problem.p
        return [Hypothesis("rows exceed inputs by more than 5 (n - p)", spare, ">", 5, "the risk then has a variance")]
