"""Sites of images that are pooled, with all their covariances, and inducing points that know them in part."""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.subjects.machines import ConvolutionalGrams

from ._grams_of_images import arc_cosine


class PooledSites(eqx.Module):
    """Covariances of p inducing points and of S sites of each of n images.

    Args:
        joint: of the inducing points, then of all sites, in full.
        inducing: p.
        images: n.
    """

    joint: Float[np.ndarray, "all all"]
    inducing: int = eqx.field(static=True)
    images: int = eqx.field(static=True)

    @property
    def blocks(self) -> Float[np.ndarray, "n S S"]:
        """Of the sites of each image with each other."""
        own = self.joint[self.inducing :, self.inducing :]
        sites = len(own) // self.images
        return np.array([own[i : i + sites, i : i + sites] for i in range(0, len(own), sites)])

    @property
    def exact(self) -> Float[np.ndarray, " n"]:
        """The variance of each image's mean over sites: the mean over all pairs of them."""
        return self.blocks.mean(axis=(1, 2))

    @property
    def mean_variance(self) -> Float[np.ndarray, " n"]:
        """The mean variance of each image's sites, which the variance of their mean never exceeds."""
        return np.trace(self.blocks, axis1=1, axis2=2) / self.blocks.shape[1]

    @property
    def carried(self) -> ConvolutionalGrams:
        """What a machine keeps of the covariances."""
        p, n = self.inducing, self.images
        cross = self.joint[p:, :p].reshape(n, 1, -1, p)
        variance = np.diagonal(self.joint)[p:].reshape(n, 1, -1)
        return ConvolutionalGrams(*map(jax.numpy.asarray, (self.joint[:p, :p], cross, variance)))

    @property
    def spread(self) -> float:
        """The condition number of the inducing Gram matrix."""
        return float(np.linalg.cond(self.joint[: self.inducing, : self.inducing]))


class Sites(Population[PooledSites]):
    """A third each of spanned sites, of images all of whose sites are equal, and of overlapping patches.

    The features of spanned sites are sums of those of inducing points; the others stand behind a ReLU.
    """

    def settings(self) -> Space:
        """Sizes."""
        return Space(
            n=Integer(2, 1, 6, "images", corners=(2, 3)),
            sites=Integer(6, 2, 30, "sites of an image", corners=(4, 8)),
            inducing=Integer(5, 2, 12, "inducing points", corners=(4, 6)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> PooledSites:
        """Normal features, windows of three where they overlap."""
        draw = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, sites, p = setting["n"], setting["sites"], setting["inducing"]
        kind = draw.integers(3)
        if kind == 0:
            points = np.concatenate([np.eye(p), draw.normal(size=(n * sites, p))])
            return PooledSites(points @ points.T, p, n)
        signals = draw.normal(size=(n, 1 if kind == 1 else sites + 2, 2)) + np.zeros((n, sites + 2, 2))
        windows = np.concatenate([signals[:, i : i + sites] for i in range(3)], axis=2)
        points = np.concatenate([draw.normal(size=(p, 6)), windows.reshape(n * sites, 6)])
        return PooledSites(arc_cosine(points @ points.T / 6), p, n)

    def hypotheses(self, problem: PooledSites) -> list[Hypothesis]:
        """Covariances of inducing points that have an inverse."""
        values = np.linalg.eigvalsh(problem.joint[: problem.inducing, : problem.inducing])
        return [Hypothesis("the inducing Gram matrix's least eigenvalue", values[0], ">", 0.0, "it is inverted")]
