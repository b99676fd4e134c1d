"""The posterior probability that a noisy row comes from each row of a sample, which determines the sample's score."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial.distance import cdist

from lemmata.errors import DataError

NOISES = 2
_BUDGET, _FEWEST_PROBES = 6_000_000, 40
_NEAREST = 1e-18  # the smallest distance of rows whose square is a number of single precision


@dataclasses.dataclass(frozen=True, eq=False)
class Probes:
    """Probes, which are rows to which noise is added, and the quantities for their posterior weights by Bayes' rule.

    Args:
        rows: the different rows of the sample, centred and scaled to mean variance 1.
        counts: the number of copies of each of these rows in the sample.
        scale: the number by which the rows were divided, so that their mean variance is 1.
        which: the index of each probe among the different rows.
        squares: the squared distances from each probe to all different rows.
        products: the inner products of each noise with the differences of rows and probes.
        names: the index of each given row among the different rows.
    """

    rows: Float[np.ndarray, "n d"]
    counts: Float[np.ndarray, " n"]
    scale: float
    which: Int[np.ndarray, " p"]
    squares: Float[np.ndarray, "p n"]
    products: Float[np.ndarray, "p k n"]
    names: Int[np.ndarray, " all"]

    def sums(self, sigma: float, groups: Float[np.ndarray, "n g"]) -> Float[np.ndarray, "p k g"]:
        """Return sums of posterior weights over groups of rows, relative to the weight of one copy of the probe. The
        function uses each noise with both signs.

        Args:
            sigma: the standard deviation of the noise.
            groups: the weight of each row in each group.
        """
        near = self.squares[:, None, :] * np.float32(-1 / (2 * sigma**2))
        tilt = self.products * np.float32(1 / sigma)
        groups = groups.astype(np.float32)
        # Completing the square shows that an exponent is at most half the square of a normal number: no overflow.
        both = [np.exp(own) @ groups for own in (near + tilt, near - tilt)]
        return np.concatenate(both, axis=1).astype(float)


def probes_of(given: Float[np.ndarray, "n d"], probes: int, seed: int) -> Probes:
    """Choose probes among the rows of a sample, and draw noise for them.

    Args:
        given: the rows, in a unit in which squares do not overflow.
        probes: the largest number of probes.
        seed: the random seed of the choice and of the noise.

    Raises:
        DataError: if there are too many rows, if more than half of the rows are equal, or if different rows are too
            close for single precision.
    """
    rows, names, counts = np.unique(given, axis=0, return_inverse=True, return_counts=True)
    names = names.ravel()
    if counts.max() > len(given) / 2:
        found = f"{counts.max()} of {len(given)} rows that are equal"
        raise DataError("x", found=found, rule="at most half of the rows equal", remedy="leave out repeated rows")
    n = len(rows)
    most = _BUDGET // (NOISES * n)
    if most < _FEWEST_PROBES:
        largest = _BUDGET // (NOISES * _FEWEST_PROBES)
        raise DataError("x", found=f"{n} different rows", rule=f"at most {largest}", remedy="pass a random sample")
    scale = float(np.sqrt(given.var(axis=0).mean()))
    rows = (rows - given.mean(axis=0)) / scale
    rng = np.random.default_rng(seed)
    which = names[rng.permutation(len(given))[: min(probes, most)]]
    noise = rng.normal(size=(len(which), NOISES, rows.shape[1]))
    products = noise @ rows.T - np.einsum("pkd,pd->pk", noise, rows[which])[:, :, None]
    squares = cdist(rows[which], rows, "sqeuclidean")
    near = float(np.where(squares > 0, squares, np.inf).min())
    hidden = int((squares == 0).sum()) > len(which)
    if hidden or near < _NEAREST**2:
        found = "different rows whose distance is below 1e-18 times the standard deviation of all rows"
        raise DataError("x", found=found, rule="distances that single precision can square",
                        remedy="leave out rows that are far from all others, or round the rows")  # fmt: skip
    return Probes(
        rows, counts.astype(float), scale, which, squares.astype(np.float32), products.astype(np.float32), names
    )


def time_of(sigma: Any) -> Any:
    """Return the time t at which x_t = e^-t (x + sigma z) has the noise e^-t sigma = sqrt(1 - e^-2t)."""
    return 0.5 * np.log1p(np.square(sigma))


def noise_at(t: Any) -> Any:
    """Return the noise sigma of x_t = e^-t (x + sigma z) at time t, where e^-t sigma = sqrt(1 - e^-2t)."""
    with np.errstate(over="ignore"):  # at very large t, sigma is infinite
        return np.sqrt(np.expm1(2 * np.asarray(t)))
