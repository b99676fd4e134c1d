"""How close a learned distribution comes to the data in Wasserstein distance, if only the mean has to be learned.

This theory gives the least mean distance between a normal distribution and its estimate from n draws if only the mean
is unknown. The distance is of order n^(-1/2), however smooth the density is. This distance is a lower bound for all
larger classes. The theory assumes exact sampling. It does not explain how much larger the error is in many dimensions.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Integer, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive

ABOUT = {"tool": "statistics", "architecture": "diffusion model", "object": "estimator"}


class ShiftedNormal(eqx.Module):
    """The normal distribution N(shift, sigma²), with known sigma. The shift is learned from n draws."""

    shift: Float[Array, ""]
    sigma: Float[Array, ""]
    n: int = eqx.field(static=True)

    def fitted(self, key: Key[Array, ""], n: int, repeats: int) -> Float[Array, " r"]:
        """Return `repeats` estimates of the shift. Each is the mean of n draws, which is the best estimate."""
        return self.shift + self.sigma * jax.random.normal(key, (repeats, n)).mean(axis=1)

    def quantiles(self, shift: Float[Array, ""], count: int) -> Float[Array, " q"]:
        """Return quantiles of the distribution with that shift, at the middles of `count` equal shares of probability.

        Args:
            shift: the shift of the distribution, for example an estimated one.
            count: the number of quantiles.
        """
        return shift + self.sigma * jax.scipy.stats.norm.ppf((jnp.arange(count) + 0.5) / count)


_NORMALS = Drawn(
    ShiftedNormal,
    positive("sigma", "the distribution has a density"),
    shift=normal(times=3.0),
    sigma=log_uniform(0.5, 2.0),
    n=Integer(64, 2, 1024, "draws"),
)


_REPEATS = 256
_QUANTILES = 64


def _distances(problem: ShiftedNormal, key: Key[Array, ""], n: int) -> Float[Array, " 2"]:
    """Return mean W1 and mean squared W2 between the estimated and the true distribution, over samples of n draws. On
    the line, optimal transport matches quantiles.
    """
    own = problem.quantiles(problem.shift, _QUANTILES)
    gaps = jax.vmap(lambda shift: problem.quantiles(shift, _QUANTILES))(problem.fitted(key, n, _REPEATS)) - own
    return jnp.stack([jnp.abs(gaps).mean(), jnp.mean(gaps**2)])


class WassersteinOfLocation(Claim[ShiftedNormal]):
    """Let N(theta, sigma²) be a normal distribution in which only theta is unknown, and estimate theta by the mean of n
    draws. The Wasserstein distances between the estimated and the true distribution have the means

        E W1 = sigma sqrt(2 / (pi n)),   E W2² = sigma² / n.

    No estimate has a smaller mean distance in the worst case over theta. So n^(-1/2) is a lower bound for the distance
    in every class of distributions that contains the shifts of a normal distribution, however smooth the class is. For
    a normal distribution with unknown mean, the best rate of the squared distance is 1/n.
    """

    title = "The mean Wasserstein distance of a normal distribution from its fit to n draws is of order n^(-1/2)"
    source = Source(
        "foundation2025",
        "(11)",
        "Section 1, contribution 2",
        "Theorem 1, part 3",
        "Section 4.3, diffusion",
        note="1/n for the squared distance, and the square root of 1/n for the distance",
    )
    stated = Kind.OWN
    population = _NORMALS
    relation = EqualInMean(margin=0.0, resolution=0.04)
    control = Control(
        "E W1 is sqrt(E W2²), and E W2² is (E W1)²",
        lambda means, problem: jnp.stack([jnp.sqrt(means[1]), means[0] ** 2]),
    )
    controls = "the distance between the learned distribution and the distribution of the data"
    unexplained = "the rate in many dimensions, which is slower"
    trials = 128

    def predict(self, problem: ShiftedNormal) -> Array:
        variance = problem.sigma**2 / problem.n
        return jnp.stack([jnp.sqrt(2 * variance / jnp.pi), variance])

    def measure(self, problem: ShiftedNormal, key: Key[Array, ""]) -> Array:
        """Compute both distances by matching quantiles, over 256 samples."""
        return _distances(problem, key, problem.n)
