"""Convolutional deep kernel machines, whose layers store the covariances of sites with inducing points.

A site is a position in an image, and an inducing point represents many sites. A layer with infinitely many channels is
given by the covariances of its features. For n images of S sites, there are (n S)² covariances. A machine stores only
the covariances of p inducing points with each other and with sites, and the variance of each site. This theory says how
layers change these covariances, and how far learned Gram matrices move from their prior. It assumes convolutions, ReLU
layers and Gram layers. It does not explain what the covariances of pairs of sites would add, or whether a machine is
accurate.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Kind, Rate, Source
from lemmata.subjects.machines import (
    ConvolutionalGrams,
    Norm,
    convolve_grams,
    normalise_grams,
    patch_grams,
    rectify_grams,
    replace_gram,
)
from lemmata.subjects.machines._grams_of_images import ImageGrams, RandomImages, arc_cosine

ABOUT = {"tool": "reproducing kernels", "architecture": "convolution", "object": "kernel"}

_KEY = "milsom2024convolutional"
_NETWORKS = 512


def carried(problem: ImageGrams, norm: Norm | None = None) -> ConvolutionalGrams:
    """Apply two convolutions to the patches as a machine does, with a ReLU before each.

    Args:
        problem: images and inducing points.
        norm: the norm for `normalise_grams` before each ReLU; None for no normalisation.
    """
    return _carried(problem.images, problem.patches, problem.mixings, norm)


@functools.partial(jax.jit, static_argnames="norm")
def _carried(images: Array, patches: Array, mixings: Array, norm: Norm | None) -> ConvolutionalGrams:
    grams = patch_grams(images, patches)
    for mixing in mixings:
        grams = grams if norm is None else normalise_grams(grams, norm)
        grams = convolve_grams(rectify_grams(grams), mixing)
    return grams


def in_full(problem: ImageGrams) -> Float[np.ndarray, "all all"]:
    """Apply the two convolutions, with a ReLU before each, to the covariances of all pairs of points.

    Args:
        problem: images and inducing points.
    """
    joint = problem.start
    for number in range(len(problem.mixings)):
        joint = problem.convolved(arc_cosine(joint), number)
    return joint


def _flat(parts: tuple) -> Float[np.ndarray, " entries"]:
    return np.concatenate([np.asarray(part).reshape(-1) for part in parts])


class InterDomainGrams(Claim[ImageGrams]):
    """A convolutional deep kernel machine describes a layer by covariances of features. A site is a position in an
    image, and inducing points are a few points that stand for all sites. Let K_ii be the covariances of inducing
    points, let K_ti be the covariances of site t with inducing points, and let k_t be the variance of site t.

    Let the inducing points after a convolution be patches that are built from the inducing points before the
    convolution. Let C_d be the weights of this construction at position d of the window. After a convolution or a ReLU
    layer, K_ii, K_ti and k_t depend only on their values before the layer. After a convolution, K_ii, K_ti and k_t are

        mean over d of C_d K_ii C_d',   mean over d of K_(t+d)i C_d',   mean over d of k_(t+d),

    with zeros outside of an image. No covariance between two different sites is needed.
    """

    title = "Convolution and ReLU layers of a deep kernel machine need no covariances between two different sites"
    source = Source(_KEY, "Abstract, inducing points")
    population = RandomImages()
    relation = Equal(block=1)
    control = Control("the means are over one place fewer", lambda found, problem: found * (9 / 8) ** 2)
    controls = "covariances of inducing points and sites after convolutions"
    unexplained = "covariances of two sites, which pooling over sites needs"
    reading = "two convolutions with windows of 3 x 3, each after a ReLU"
    traced = False
    # rounding of an angle's cosine causes an equal error of the covariance after a ReLU; sums have 9 terms
    condition = 9.0

    def predict(self, problem: ImageGrams) -> Array:
        return jnp.asarray(_flat(carried(problem)))

    def measure(self, problem: ImageGrams, key: Key[Array, ""]) -> Array:
        """Compute the covariances of all points, including pairs of sites."""
        return jnp.asarray(_flat(problem.parts(in_full(problem))))


class WideConvolutionalNetwork(Claim[ImageGrams]):
    """Take a network of three convolutions with normal weights of variance 1/(entries of a window). Between the
    convolutions, apply ReLU times sqrt(2). The network maps images, and also inducing points, which stand for the many
    sites (positions) of the images. The first convolution maps given patches to the first features of the inducing
    points. For each later convolution, build windows from weighted sums of the previous features of the inducing
    points, with given weights.

    Average products of features over the N channels of the third convolution. Take three kinds of products: products
    between inducing points, products between sites and inducing points, and the product of each site with itself. A
    convolutional deep kernel machine computes the Gram matrices of these features at infinite width. The root mean
    square difference between the averages and these Gram matrices falls like N^(-1/2).
    """

    title = "Wide random convolutional networks have the Gram matrices of a convolutional deep kernel machine"
    source = Source(_KEY, "Abstract, convolutional machines")
    population = RandomImages()
    relation = Rate("channels", (8.0, 32.0, 128.0), margin=0.1, resolution=0.15)
    control = Control("the difference falls like N^-1", lambda exponent, problem: exponent - 0.5)
    controls = "covariances of features in wide convolutional networks at random weights"
    unexplained = "trained networks"
    traced = False
    trials = 24
    predict = -0.5

    def measure_at(self, problem: ImageGrams, key: Key[Array, ""], channels: float) -> Array:
        """Return the root mean square difference from the machine's covariances, over networks and covariances.

        If networks have fewer channels, more networks are drawn, because each network is less accurate.
        """
        draw, expected = np.random.default_rng(problem.seed), _flat(carried(problem))
        places = [problem.places(number) for number in range(len(problem.mixings))]
        gaps = [
            _flat(problem.parts(_network(problem.points, places, int(channels), draw))) - expected
            for _ in range(_NETWORKS // int(channels))
        ]
        return jnp.asarray(np.sqrt(np.mean(np.square(gaps))))


def _network(
    points: Float[np.ndarray, "all kkc"], places: list[list], channels: int, draw: np.random.Generator
) -> Float[np.ndarray, "all all"]:
    """Return the mean products, over channels, of the last features of a random network at all pairs of points."""
    features = points @ draw.normal(size=(points.shape[1], channels))
    for acts in places:
        active = np.sqrt(2.0) * np.maximum(features, 0.0)
        features = np.zeros_like(active)
        for act in acts:
            features += act @ (active @ draw.normal(size=(channels, channels))) / np.sqrt(len(acts) * channels)
    return features @ features.T / channels


class GramLayerKeepsResidual(Claim[ImageGrams]):
    """In a deep kernel machine for images, inducing points stand for all sites (positions) of the images. Let K_ii be
    the Gram matrix of the inducing points. Let K_ti be the covariances of site t with the inducing points, and let k_t
    be the variance of site t. A Gram layer replaces K_ii by a learned matrix G, and changes the sites accordingly:

        G_ti = K_ti K_ii^-1 G,   g_t = k_t - K_ti K_ii^-1 K_it + G_ti G^-1 G_it.

    For every G, the layer does not change the part of a site's variance that the inducing points leave unexplained.
    After the layer, this unexplained variance is g_t - G_ti G^-1 G_it. It is the squared distance of the site's feature
    from the span of the inducing features. So the unexplained variance is never negative, and the layer learns
    representations only within this span.
    """

    title = "A Gram layer of a deep kernel machine changes variances only within the span of the inducing points"
    source = Source(_KEY, "Abstract, inducing points", note="its Gram layer")
    stated = Kind.OWN
    population = RandomImages()
    relation = Equal(block=1)
    control = Control("a tenth more of the variance is left unexplained", lambda left, problem: 1.1 * left)
    controls = "the variance that inducing points leave unexplained"
    unexplained = "how many inducing points are enough"
    traced = False

    def predict(self, problem: ImageGrams) -> Array:
        """Return the squared distances from the span, by a QR factorisation."""
        p = len(problem.patches)
        basis = np.linalg.qr(problem.points[:p].T)[0]
        sites = problem.points[p:]
        return jnp.asarray(np.sum((sites - sites @ basis @ basis.T) ** 2, axis=1))

    def measure(self, problem: ImageGrams, key: Key[Array, ""]) -> Array:
        behind = _replaced(problem.images, problem.patches, problem.learned)
        cross = np.asarray(behind.cross).reshape(-1, len(problem.patches))
        told = np.sum(cross * np.linalg.solve(problem.learned, cross.T).T, axis=1)
        return jnp.asarray(np.asarray(behind.variance).reshape(-1) - told)

    def condition(self, problem: ImageGrams) -> Array:
        """Multiply the condition numbers of K_ii and G by the size of the terms that cancel, relative to the result."""
        p = len(problem.patches)
        prior = problem.start[:p, :p]
        size = np.linalg.norm(problem.learned, 2) / np.linalg.eigvalsh(prior)[0]
        return jnp.asarray(p * np.linalg.cond(prior) * np.linalg.cond(problem.learned) * (1 + size) * 4)


@jax.jit
def _replaced(images: Array, patches: Array, learned: Array) -> ConvolutionalGrams:
    return replace_gram(patch_grams(images, patches), learned)


class ImageNormsAreFactors(Claim[ImageGrams]):
    """Take a convolutional deep kernel machine at its prior, without biases. It describes features of images by their
    covariances at all sites (positions) with a few inducing points. Before every ReLU, normalise the features of each
    image: divide them by the square root of their mean variance over sites. Divide the inducing points by the square
    root of their own mean variance. Pool each image by the mean of its features over sites. Let K_ii be the Gram matrix
    of inducing points. Let row s of m be the mean covariance of the sites of image s with the inducing points. Let Q =
    m K_ii^-1 m', which is the part of the covariances of pooled images that inducing points explain. For two images s
    and t, normalisation multiplies Q_st by two factors: one depends on image s alone, the other on image t alone. So
    the correlations

        Q_st / sqrt(Q_ss Q_tt)

    are equal with and without normalisation. The reason is that ReLU and convolutions preserve such factors.
    """

    title = "Normalising by image leaves the prior correlations of a convolutional deep kernel machine unchanged"
    source = Source(_KEY, "Abstract, normalisation")
    stated = Kind.OWN
    population = RandomImages()
    relation = Equal(block=1)
    control = Control(
        "the correlations are those of the pooled images themselves",
        lambda found, problem: jnp.asarray(_pooled(problem)),
    )
    controls = "what normalisation by images can change"
    unexplained = "norms of sites, biases and learned Gram matrices, for which normalisation is more than a factor"
    reading = "the analogue of batch normalisation with norms of images, one of several that were tried"
    traced = False

    def predict(self, problem: ImageGrams) -> Array:
        """Compute the correlations from the covariances of all points, without normalisation."""
        inducing, cross, _ = problem.parts(in_full(problem))
        pooled = cross.mean(axis=1)
        return jnp.asarray(_correlated(pooled @ np.linalg.solve(inducing, pooled.T)))

    def measure(self, problem: ImageGrams, key: Key[Array, ""]) -> Array:
        grams = carried(problem, "image")
        pooled = np.asarray(grams.cross).mean(axis=(1, 2))
        return jnp.asarray(_correlated(pooled @ np.linalg.solve(np.asarray(grams.inducing), pooled.T)))

    def condition(self, problem: ImageGrams) -> Array:
        p = len(problem.patches)
        return jnp.asarray(9.0 * np.linalg.cond(in_full(problem)[:p, :p]))


def _pooled(problem: ImageGrams) -> Float[np.ndarray, " pairs"]:
    """Return the correlations of images' means over sites, including the part that inducing points do not explain."""
    n, own = len(problem.images), in_full(problem)[len(problem.patches) :, len(problem.patches) :]
    return _correlated(own.reshape(n, -1, n, len(own) // n).mean(axis=(1, 3)))


def _correlated(covariance: Float[np.ndarray, "n n"]) -> Float[np.ndarray, " pairs"]:
    size = np.sqrt(np.diagonal(covariance))
    return (covariance / np.outer(size, size))[np.triu_indices(len(covariance), 1)]
