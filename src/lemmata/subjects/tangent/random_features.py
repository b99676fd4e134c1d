"""Random Fourier features: a kernel as the mean of random products.

The mean over m random features of the product of their values at two points approximates a translation-invariant
kernel. This theory is about the error of this approximation. It is of order m^(-1/2) in every dimension, with a known
constant. The theory assumes frequencies drawn from the Fourier transform of the kernel (a normal distribution for the
Gaussian kernel). It does not explain how many features a *prediction* needs.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Rate, Real, Source
from lemmata.engine.problems.drawn import Drawn, normal, positive
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.rows import finite
from lemmata.engine.problems.variables import dimension, rows
from lemmata.kernels import RBF, gram

ABOUT = {"tool": "Fourier analysis", "architecture": "random features", "object": "kernel"}

_POINTS = 64


class FeaturePoints(eqx.Module):
    """Points x, and the lengthscale of the kernel exp(-|x - y|²/(2 lengthscale²)) that features approximate."""

    x: Float[Array, "n d"]
    lengthscale: Float[Array, ""]


def _inputs_of_regression(problem: object) -> FeaturePoints | None:
    """Return the first 64 inputs of a regression, and the lengthscale of its RBF kernel or else the median distance."""
    if not isinstance(problem, Regression):
        return None
    x = problem.x[:_POINTS]
    if isinstance(problem.kernel, RBF):
        length = jnp.asarray(problem.kernel.lengthscale, x.dtype)
        return FeaturePoints(x / length, jnp.ones((), x.dtype)) if length.ndim else FeaturePoints(x, length)
    distances = jnp.linalg.norm(x[:, None] - x[None], axis=2)
    median = jnp.median(distances[jnp.triu_indices(len(x), 1)]) if len(x) > 1 else jnp.asarray(1.0)
    return FeaturePoints(x, jnp.where(median > 0, median, 1.0))


_POINTS_WITH_KERNEL = Drawn(
    FeaturePoints,
    positive("lengthscale", "frequencies are inversely proportional to the lengthscale"),
    finite,
    pose=_inputs_of_regression,
    n=rows(32, 4, 128),
    d=dimension(4),
    lengthscale=Real(1.5, 0.1, 5.0, "lengthscale of the kernel; the points are standard normal"),
    x=normal("n", "d"),
)


_SOURCE = Source("rahimi2007", "Section 3", "Algorithm 1")
_WIDTHS = (32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)


def fourier_features(
    x: Float[Array, "n d"], lengthscale: Float[Array, ""] | float, width: int, key: Key[Array, ""]
) -> Float[Array, "n width"]:
    """Return the features sqrt(2) cos(<w_r, x> + b_r), w_r ~ N(0, I/lengthscale²), b_r uniform on [0, 2 pi).

    The products of a feature's values at two points have the Gaussian kernel K of the two points as their mean.

    Args:
        x: the points.
        lengthscale: the lengthscale of the Gaussian kernel.
        width: the number m of features. If Z is the result, the approximate kernel matrix is Z Z'/m.
        key: the key that draws w_r and b_r.
    """
    frequency_key, phase_key = jax.random.split(key)
    frequencies = jax.random.normal(frequency_key, (x.shape[1], width), x.dtype) / lengthscale
    phases = jax.random.uniform(phase_key, (width,), x.dtype, maxval=2 * math.pi)
    return math.sqrt(2) * jnp.cos(x @ frequencies + phases)


def product_variance(squared_distance: Float[Array, "*s"], lengthscale: Float[Array, ""] | float) -> Float[Array, "*s"]:
    """Return 1 + K⁴/2 - K², the variance of 2 cos(<w, x> + b) cos(<w, y> + b), where K is the kernel at (x, y).

    The variance is 1 for distant points and 1/2 at x = y.
    """
    # The product is cos<w, x - y> + cos(<w, x + y> + 2b). The phase makes the second term uncorrelated with the first.
    # The second has mean 0 and mean square 1/2. The first has mean K and mean square (1 + E cos 2<w, x - y>)/2 = (1 +
    # K⁴)/2.
    kernel = jnp.exp(-squared_distance / (2 * lengthscale**2))
    return 1 + kernel**4 / 2 - kernel**2


@jax.jit
def _errors(problem: FeaturePoints, key: Key[Array, ""]) -> Array:
    exact = gram(RBF(lengthscale=problem.lengthscale), problem.x)
    # One long draw, cut into independent sets of features of the ladder's sizes.
    drawn = fourier_features(problem.x, problem.lengthscale, int(sum(_WIDTHS)), key)
    cuts = [sum(map(int, _WIDTHS[:k])) for k in range(1, len(_WIDTHS))]
    approximate = [features @ features.T / features.shape[1] for features in jnp.split(drawn, cuts, axis=1)]
    return jnp.stack([jnp.sqrt(jnp.mean((kernel - exact) ** 2)) for kernel in approximate])


class RandomFeaturesRate(Claim[FeaturePoints]):
    """Approximate a Gaussian kernel with m random Fourier features. In every dimension, the entries of the approximate
    kernel matrix have a root mean square error of

        C m^(-1/2),

    where C does not depend on m. On your data, the first 64 inputs are used.
    """

    title = "Random Fourier features converge to the Gaussian kernel as m^(-1/2)"
    source = _SOURCE
    population = _POINTS_WITH_KERNEL
    # The mean square is exactly C²/m. The mean slope of the root's logarithm is exact if the error has one distribution
    # at every m. This holds beyond a few features. Trials give an interval of about 0.02.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.01, resolution=0.1)
    control = Control("the error falls as m^(-1)", lambda exponent, problem: 2 * exponent)
    controls = "the entries of an approximate kernel matrix"
    unexplained = "how many features a prediction needs; features that are not drawn independently"
    trials = 192
    predict = -0.5

    def measure(self, problem: FeaturePoints, key: Key[Array, ""]) -> Array:
        return _errors(problem, key)


class RandomFeaturesVariance(Claim[FeaturePoints]):
    """Let K be the Gaussian kernel of two points x and y. Approximate it with m random Fourier features. At every m,
    the mean square error of the approximation, multiplied by m, is

        1 + K⁴/2 - K²,    K = exp(-|x - y|²/(2 lengthscale²)).

    The test compares the means of this quantity over all pairs of points. On your data, the first 64 inputs are used.
    """

    title = "The random Fourier features estimate of a Gaussian kernel K has the variance (1 + K⁴/2 - K²)/m"
    source = _SOURCE
    population = _POINTS_WITH_KERNEL
    relation = EqualInMean(resolution=0.02)
    control = Control("the variance is 1 for all pairs", lambda variance, problem: jnp.ones_like(variance))
    controls = "how many features are needed for a given error of the kernel's entries"
    unexplained = "the largest error over a domain; features that are not drawn independently"
    trials = 128

    def predict(self, problem: FeaturePoints) -> Array:
        squares = jnp.sum((problem.x[:, None] - problem.x[None]) ** 2, axis=2)
        return jnp.mean(product_variance(squares, problem.lengthscale))

    def measure(self, problem: FeaturePoints, key: Key[Array, ""]) -> Array:
        """The variance of the products over a sample of 512 features, averaged over pairs, without using the kernel."""
        features = fourier_features(problem.x, problem.lengthscale, 512, key)
        squares, products = features**2 @ (features**2).T, features @ features.T
        return jnp.mean(squares - products**2 / 512) / 511
