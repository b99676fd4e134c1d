"""Images, inducing patches, and weights between inducing points, with covariances of all pairs of sites.

Sites are positions in images. A machine leaves out the covariances of different sites.
"""

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space

_SIZE = 3


class ImageGrams(eqx.Module):
    """Images and inducing points of a machine with two convolutions.

    Args:
        images: the n images.
        patches: the inducing points of the images.
        mixings: the weights C of the second and of the third convolution.
        learned: a random matrix in place of a learned Gram matrix of the inducing patches.
        seed: the seed of random networks.
    """

    images: Float[np.ndarray, "n h w c"]
    patches: Float[np.ndarray, "p k k c"]
    mixings: Float[np.ndarray, "2 k k p p"]
    learned: Float[np.ndarray, "p p"]
    seed: int = eqx.field(static=True)

    @property
    def site_patches(self) -> Float[np.ndarray, "n h w kkc"]:
        """The patch around each site, with zeros outside of images, in the order of `patches`."""
        around = self.patches.shape[1] // 2
        padded = np.pad(self.images, [(0, 0), (around, around), (around, around), (0, 0)])
        n, h, w, _ = self.images.shape
        size = self.patches.shape[1]
        found = np.empty((n, h, w, *self.patches.shape[1:]))
        for row in range(h):
            for column in range(w):
                found[:, row, column] = padded[:, row : row + size, column : column + size]
        return found.reshape(n, h, w, -1)

    @property
    def points(self) -> Float[np.ndarray, "all kkc"]:
        """The patches of inducing points, then of all sites, divided by the square root of their number of entries."""
        own = self.patches.reshape(len(self.patches), -1)
        return np.concatenate([own, self.site_patches.reshape(-1, own.shape[1])]) / np.sqrt(own.shape[1])

    @property
    def start(self) -> Float[np.ndarray, "all all"]:
        """The covariances of all pairs of inducing points and sites before the first layer."""
        return self.points @ self.points.T

    def places(self, number: int) -> list[Float[np.ndarray, "all all"]]:
        """Return the matrix A_d for each place d in a window.

        The matrix applies C_d to inducing points, and shifts sites by d.

        Args:
            number: the index of the mixing.
        """
        p = len(self.patches)
        n, h, w, _ = self.images.shape
        index = np.full((n, h + 2, w + 2), -1)
        index[:, 1:-1, 1:-1] = np.arange(n * h * w).reshape(n, h, w)
        found = []
        for y in range(_SIZE):
            for x in range(_SIZE):
                moved = index[:, y : y + h, x : x + w].reshape(-1)
                inside = np.flatnonzero(moved >= 0)
                act = np.zeros((p + n * h * w,) * 2)
                act[:p, :p] = self.mixings[number, y, x]
                act[p + inside, p + moved[inside]] = 1.0
                found.append(act)
        return found

    def convolved(self, joint: Float[np.ndarray, "all all"], number: int) -> Float[np.ndarray, "all all"]:
        """Return the covariances after a convolution: the mean of A_d M A_d' over places d, with A_d from `places`.

        Args:
            joint: the covariances M of inducing points and all sites.
            number: the index of the mixing.
        """
        return np.mean([act @ joint @ act.T for act in self.places(number)], axis=0)

    def parts(
        self, joint: Float[np.ndarray, "all all"]
    ) -> tuple[Float[np.ndarray, "p p"], Float[np.ndarray, "n s p"], Float[np.ndarray, "n s"]]:
        """Return the parts that a machine stores: K_ii, K_ti and k_t, with all sites on one axis.

        Args:
            joint: the covariances of inducing points and all sites.
        """
        p, n = len(self.patches), len(self.images)
        return joint[:p, :p], joint[p:, :p].reshape(n, -1, p), np.diagonal(joint)[p:].reshape(n, -1)


def arc_cosine(joint: Float[np.ndarray, "all all"]) -> Float[np.ndarray, "all all"]:
    """Return 2 E max(0, u) max(0, v) for all pairs of normal features u, v; the diagonal does not change.

    Args:
        joint: the covariances, with a positive diagonal.
    """
    size = np.sqrt(np.diagonal(joint))
    angle = np.arccos(np.clip(joint / np.outer(size, size), -1.0, 1.0))
    np.fill_diagonal(angle, 0.0)
    return np.outer(size, size) * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi


class RandomImages(Population[ImageGrams]):
    """Normal images, patches, and weights of convolutions.

    Args:
        channels: the number of channels of the images.
    """

    channels: int = eqx.field(default=2, static=True)
    settings = Space(
        n=Integer(2, 2, 6, "images", corners=(2, 3)),
        side=Integer(3, 3, 8, "sites along each axis", corners=(3, 4)),
        inducing=Integer(4, 2, 8, "inducing points", corners=(3, 4)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ImageGrams:
        """Draw images of different scales, and inducing points that differ from each other."""
        draw = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        n, side, p = setting["n"], setting["side"], setting["inducing"]
        images = draw.normal(size=(n, side, side, self.channels)) * draw.uniform(0.5, 2.0, (n, 1, 1, 1))
        patches = draw.normal(size=(p, _SIZE, _SIZE, self.channels))
        mixings = draw.normal(size=(2, _SIZE, _SIZE, p, p)) / np.sqrt(p)
        factor = draw.normal(size=(p, 2 * p))
        return ImageGrams(images, patches, mixings, factor @ factor.T / (2 * p), int(draw.integers(2**31)))

    def hypotheses(self, problem: ImageGrams) -> list[Hypothesis]:
        values = np.linalg.eigvalsh(problem.start[: len(problem.patches), : len(problem.patches)])
        least = np.diagonal(problem.start).min()
        return [
            Hypothesis("the inducing Gram matrix's least eigenvalue", values[0], ">", 0.0, "it is inverted"),
            Hypothesis("the least variance of a site", least, ">", 0.0, "a feature of variance 0 has no angle"),
        ]
