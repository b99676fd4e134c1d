"""Mixtures of normal distributions: log densities and scores with noise, posterior probabilities, and draws."""

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import special

from lemmata.core import numbers_of
from lemmata.errors import DataError, ShapeError

_LARGEST = 1e3


@dataclasses.dataclass(frozen=True, eq=False, init=False)
class Mixture:
    """A mixture of normal distributions.

    Args:
        means: an array (k, d), one row for each component, or a single row (d,) for one component.
        covariances: one variance for all components, a variance for each component (k,), or covariance matrices (k, d,
            d). A variance stands for a multiple of the identity.
        weights: positive weights (k,), which need not sum to 1, or None for equal weights.

    Raises:
        ShapeError, DataError: if the numbers do not define a mixture.

    >>> Mixture([[0.0, 0.0], [3.0, 0.0]], 1.0).weights.tolist()
    [0.5, 0.5]
    """

    means: Float[np.ndarray, "k d"]
    values: Float[np.ndarray, "k d"]
    vectors: Float[np.ndarray, "k d d"]
    weights: Float[np.ndarray, " k"]

    def __init__(self, means: Any, covariances: Any = 1.0, weights: Any = None):
        centres = numbers_of("means", means).astype(float)
        if centres.ndim == 0:
            centres = centres[None]
        if centres.ndim == 1:
            centres = centres[None]
        if centres.ndim != 2:
            raise ShapeError("means", found=f"shape {centres.shape}", rule="shape (k, d), one row for each component")
        k, d = centres.shape
        shares = np.ones(k) if weights is None else numbers_of("weights", weights).astype(float)
        if shares.shape != (k,):
            raise ShapeError("weights", found=f"shape {shares.shape}", rule=f"shape ({k},), one for each component")
        if not (shares > 0).all():
            raise DataError("weights", found=f"{shares.min():g}", rule="positive weights")
        values, vectors = np.linalg.eigh(_matrices(covariances, k, d))
        if not (values[:, 0] > 1e-12 * values[:, -1]).all():
            raise DataError(
                "covariances", found=f"an eigenvalue of {values.min():.3g}", rule="symmetric matrices with positive "
                "eigenvalues", remedy="add a small multiple of the identity",
            )  # fmt: skip
        largest = max(np.abs(centres).max(), np.sqrt(values.max()), 1 / np.sqrt(values.min()))
        if largest > _LARGEST:
            raise DataError("means and covariances", found=f"a scale of {largest:.3g}",
                            rule=f"means and deviations between {1 / _LARGEST:g} and {_LARGEST:g}",
                            remedy="change the unit, because the noise of the sampler has variance 1")  # fmt: skip
        shares = shares / shares.max()
        fields = {"means": centres, "values": values, "vectors": vectors, "weights": shares / shares.sum()}
        for name, own in fields.items():
            object.__setattr__(self, name, own)

    def __repr__(self) -> str:
        k, d = self.means.shape
        return f"Mixture of {k} component{'' if k == 1 else 's'} in {d} dimension{'' if d == 1 else 's'}"

    @property
    def covariances(self) -> Float[np.ndarray, "k d d"]:
        """The covariance of each component."""
        return np.einsum("kij,kj,klj->kil", self.vectors, self.values, self.vectors)

    @property
    def covariance(self) -> Float[np.ndarray, "d d"]:
        """The covariance of the mixture."""
        centred = self.means - self.mean
        return np.tensordot(self.weights, self.covariances, 1) + (centred.T * self.weights) @ centred

    @property
    def mean(self) -> Float[np.ndarray, " d"]:
        """The mean of the mixture."""
        return self.weights @ self.means

    def noisy(self, x: Float[np.ndarray, "n d"], a: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the log density of a y + (1 - a²)^(1/2) z at points x, and its gradient. The vector y is a draw of the
        mixture, and z is standard normal.

        Args:
            x: the points at which the log density and its gradient are evaluated.
            a: the factor of the draw y, which is 1 without noise.
        """
        logs, slopes = [], []
        for mean, values, vectors, weight in zip(self.means, self.values, self.vectors, self.weights, strict=True):
            spread = a**2 * values + (1 - a**2)
            scores = (x - a * mean) @ vectors
            logs.append(np.log(weight) - 0.5 * (np.log(2 * np.pi * spread) + scores**2 / spread).sum(axis=1))
            slopes.append(-(scores / spread) @ vectors.T)
        stacked = np.stack(logs)
        total = np.logaddexp.reduce(stacked, axis=0)
        return total, np.einsum("kn,knd->nd", np.exp(stacked - total), np.stack(slopes))

    def components(self, x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " k"]:
        """Return the posterior probability of each component, averaged over the points x."""
        logs = np.stack([
            np.log(weight) - 0.5 * (np.log(values) + ((x - mean) @ vectors) ** 2 / values).sum(axis=1)
            for mean, values, vectors, weight in zip(self.means, self.values, self.vectors, self.weights, strict=True)
        ])  # fmt: skip
        return special.softmax(logs, axis=0).mean(axis=1)

    def draw(self, count: int, rng: np.random.Generator) -> Float[np.ndarray, "n d"]:
        """Draw independent rows.

        Args:
            count: the number of draws.
            rng: the random generator of the draws.
        """
        which = rng.choice(len(self.weights), count, p=self.weights)
        z = rng.normal(size=(count, self.means.shape[1])) * np.sqrt(self.values[which])
        return self.means[which] + np.einsum("nij,nj->ni", self.vectors[which], z)


def _matrices(covariances: Any, k: int, d: int) -> np.ndarray:
    given = numbers_of("covariances", covariances).astype(float)
    if given.shape in ((), (k,)):
        return np.broadcast_to(given, (k,))[:, None, None] * np.eye(d)
    if given.shape == (d, d) and k == 1:
        given = given[None]
    if given.shape != (k, d, d):
        rule = f"a number, shape ({k},), or shape ({k}, {d}, {d})"
        raise ShapeError("covariances", found=f"shape {given.shape}", rule=rule)
    if np.abs(given - given.transpose(0, 2, 1)).max() > 1e-9 * np.abs(given).max():
        raise DataError("covariances", found="a matrix that is not symmetric", rule="symmetric matrices")
    return (given + given.transpose(0, 2, 1)) / 2
