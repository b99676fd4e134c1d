"""Coding rates: the meaning of the log determinant of a Gram matrix, and the result of a greedy choice by it.

Let the rows of an n x d matrix Z be feature vectors of dimension d, and let eps be a distortion. The coding rate is

    R(Z, eps) = 1/2 log det(I + d/(n eps²) Z'Z).

A kernel's Gram matrix may replace Z Z'. This theory is about one number of a set of rows: the information that noisy
labels of these rows would give about a random function from the kernel's Gaussian process. It leaves open whether the
kernel fits the labels. So it also leaves open whether a model that is trained on the chosen rows is better than a model
trained on random rows.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Kind, Source
from lemmata.subjects.selection import kernel_coding_rate
from lemmata.subjects.selection._coded_features import CodedFeatures, FeatureClouds

ABOUT = {"tool": "information theory", "architecture": "kernel method", "object": "estimator"}

_KEY = "luo2023kecor"
_BISECTIONS = 100


def least_nats(values: Float[Array, " d"], distortion: Float[Array, ""]) -> Float[Array, ""]:
    """Return the rate-distortion function sum 1/2 log+(value / w), in nats, of a normal vector with these eigenvalues.

    The water level w is the number at which sum min(value, w) equals the distortion (Shannon; Kolmogorov).
    """

    def half(_: Array, ends: tuple) -> tuple:
        middle = (ends[0] + ends[1]) / 2
        below = jnp.sum(jnp.minimum(values, middle)) < distortion
        return jnp.where(below, middle, ends[0]), jnp.where(below, ends[1], middle)

    level = jax.lax.fori_loop(0, _BISECTIONS, half, (jnp.zeros(()), jnp.max(values)))[1]
    return 0.5 * jnp.sum(jnp.log(jnp.maximum(values / level, 1.0)))


def _moments(problem: CodedFeatures) -> Float[Array, " d"]:
    """Return the eigenvalues of Z'Z / n."""
    return jnp.maximum(jnp.linalg.eigvalsh(problem.features.T @ problem.features / len(problem.features)), 0.0)


class CodingRateOfKernel(Claim[CodedFeatures]):
    """Let the rows of Z be n feature vectors of dimension d, and let eps be the distortion. The coding rate of the
    features equals the coding rate of their Gram matrix,

        1/2 log det(I + d/(n eps²) Z'Z) = 1/2 log det(I + d/(n eps²) Z Z').

    So the coding rate can be computed from a kernel matrix, without the features.
    """

    title = "The coding rate of features equals that of their Gram matrix"
    source = Source(_KEY, "Abstract, coding rate")
    population = FeatureClouds()
    relation = Equal()
    control = Control(
        "the distortion is not divided by the dimension",
        lambda rate, problem: problem.rate(problem.eps**2 * len(problem.features)),
    )
    controls = "the coding rate"
    unexplained = "whether the features determine the labels"
    reading = "logarithms are natural, and features are not centred"

    def predict(self, problem: CodedFeatures) -> Array:
        return kernel_coding_rate(problem.gram, problem.eps, dimension=float(problem.features.shape[1]))

    def measure(self, problem: CodedFeatures, key: Key[Array, ""]) -> Array:
        """Compute the coding rate from singular values."""
        return 0.5 * jnp.sum(jnp.log1p(jnp.linalg.svd(problem.features, compute_uv=False) ** 2 / problem.noise))

    def condition(self, problem: CodedFeatures) -> Array:
        return problem.spread / problem.rate(problem.noise)


class CodingRateIsInformation(Claim[CodedFeatures]):
    """Let a function be drawn from the Gaussian process of covariance K. Let the labels of n points be the values of
    the function plus independent normal noise of variance n eps²/d. Here eps is the distortion, and d is the dimension
    of the features. The mutual information between the labels and the function is the coding rate. Let v_i be the
    variance of the function at point i, given the labels of the points before it. The coding rate is a sum over the
    labels,

        1/2 log det(I + d/(n eps²) K) = sum over i of 1/2 log(1 + d v_i / (n eps²)).
    """

    title = "The coding rate is the information that noisy labels give about a function"
    source = Source(_KEY, "Abstract, informative")
    population = FeatureClouds()
    relation = Equal()
    control = Control("the variances v_i are those before any label", lambda rate, problem: _apart(problem))
    controls = "the information of noisy labels"
    unexplained = "labels that are not a function of the features; labels that are classes"
    reading = "'informative' is read as mutual information with a function from the kernel's Gaussian process"

    def predict(self, problem: CodedFeatures) -> Array:
        return kernel_coding_rate(problem.gram, problem.eps, dimension=float(problem.features.shape[1]))

    def measure(self, problem: CodedFeatures, key: Key[Array, ""]) -> Array:
        """Add up the labels' information about w ~ N(0, I). Each label changes the covariance of w by rank one."""

        def label(covariance: Array, z: Array) -> tuple[Array, Array]:
            along = covariance @ z
            variance = z @ along
            return covariance - jnp.outer(along, along) / (problem.noise + variance), jnp.log1p(
                variance / problem.noise
            )

        return 0.5 * jnp.sum(jax.lax.scan(label, jnp.eye(problem.features.shape[1]), problem.features)[1])

    def condition(self, problem: CodedFeatures) -> Array:
        return problem.spread / problem.rate(problem.noise)


def _apart(problem: CodedFeatures) -> Array:
    return 0.5 * jnp.sum(jnp.log1p(jnp.diagonal(problem.gram) / problem.noise))


class CodingRateAboveLeastBits(Claim[CodedFeatures]):
    """Let the rows of Z be n feature vectors of dimension d, and let a_j be the eigenvalues of Z'Z/n. Let t = eps²/d,
    where eps is the distortion. Encode normal vectors with the second moments Z'Z/n, and require the mean squared error

        sum over j of a_j t/(a_j + t),

    which is smaller than eps². The smallest number of nats per vector with which a code reaches this error (the
    rate-distortion function) is at most the coding rate R(Z, eps) = 1/2 sum over j of log(1 + a_j/t).
    """

    title = "The coding rate is at least the rate-distortion function (the fewest bits) at a certain squared error"
    source = Source(_KEY, "Abstract, minimal bits", note="for this squared error")
    population = FeatureClouds()
    relation = AtMost()
    control = Control("nine tenths of the coding rate are enough", lambda rate, problem: 0.9 * rate)
    controls = "the least number of nats for a squared error"
    unexplained = "how far a code of finite length stays above this number"

    def predict(self, problem: CodedFeatures) -> Array:
        return problem.rate(problem.noise)

    def measure(self, problem: CodedFeatures, key: Key[Array, ""]) -> Array:
        """Return the least number of nats (the rate-distortion function), by its water level."""
        values, noise = _moments(problem), problem.noise / len(problem.features)
        return least_nats(values, jnp.sum(values * noise / (values + noise)))

    def trivial(self, problem: CodedFeatures) -> Array:
        """Return a bound that follows from log(1 + a) <= a."""
        return jnp.trace(problem.gram) / problem.noise / 2

    def condition(self, problem: CodedFeatures) -> Array:
        return problem.spread / problem.rate(problem.noise)


class CodingRateOfEvenClouds(Claim[CodedFeatures]):
    """Let the rows of Z be n feature vectors of dimension d with Z'Z/n = a I, and let t = eps²/d, where eps is the
    distortion. Encode normal vectors with the second moments a I, and require the mean squared error

        d a t/(a + t).

    The smallest number of nats per vector with which a code reaches this error (the rate-distortion function) is the
    coding rate R(Z, eps) = 1/2 log det(I + Z'Z/(n t)).
    """

    title = "With equal second moments in all directions, the coding rate is the fewest bits for a given squared error"
    source = Source(_KEY, "Abstract, minimal bits", note="the case in which the bound is attained")
    population = FeatureClouds(even=True)
    relation = Equal()
    control = Control("the least number of nats is a hundredth larger", lambda rate, problem: 1.01 * rate)
    controls = "the least number of nats for a squared error"
    unexplained = "how far a code of finite length stays above this number"

    def predict(self, problem: CodedFeatures) -> Array:
        return problem.rate(problem.noise)

    def measure(self, problem: CodedFeatures, key: Key[Array, ""]) -> Array:
        """Return the least number of nats (the rate-distortion function), by its water level."""
        values, noise = _moments(problem), problem.noise / len(problem.features)
        a = jnp.mean(values)
        return least_nats(values, len(values) * a * noise / (a + noise))

    def condition(self, problem: CodedFeatures) -> Array:
        return problem.spread / problem.rate(problem.noise)


class EntropyIsNoise(Claim[CodedFeatures]):
    """Let K be a kernel matrix of rows, and let s > 0 be the variance of the noise. Let h_i be the entropy of the
    classes at row i, and let D be the diagonal matrix with the entries s (1 + h_i). To choose rows, take the objective
    log det(K_S + D_S) of a set S of rows, where K_S and D_S are the blocks at S. This objective is a sum of two terms.
    The first term is the sum of log(s (1 + h_i)) over S. The second term is twice the information that labels of the
    rows in S give about a function from the Gaussian process with covariance K. The noise of these labels has the
    variances s (1 + h_i). This information is at most the information from labels with noise variance s. For the set of
    all rows, this means

        (1/2) log det(I + D^(-1/2) K D^(-1/2)) <= (1/2) log det(I + K/s).

    So the first term rewards rows of high entropy, but the second term treats the labels of these rows as noisier.
    """

    title = "In a log-determinant objective of row selection, a row's entropy on the diagonal acts as label noise"
    source = Source(_KEY, "Abstract, entropy", note="as its code computes it")
    stated = Kind.OWN
    population = FeatureClouds()
    relation = AtMost()
    control = Control(
        "the information is at most that with the mean entropy at every row",
        lambda rate, problem: problem.rate(jnp.mean(problem.unsure)),
    )
    controls = "the information of labels whose noise rises with the entropy"
    unexplained = "whether the entropy is noise of the labels, or ignorance that a label would remove"
    reading = "the entropy enters as in the published code, on the diagonal of the matrix whose determinant is taken"

    def predict(self, problem: CodedFeatures) -> Array:
        return problem.rate(problem.noise)

    def measure(self, problem: CodedFeatures, key: Key[Array, ""]) -> Array:
        """Divide the rows by the roots of their noise, and compute the information from the singular values."""
        rows = problem.features / jnp.sqrt(problem.unsure)[:, None]
        return 0.5 * jnp.sum(jnp.log1p(jnp.linalg.svd(rows, compute_uv=False) ** 2))

    def trivial(self, problem: CodedFeatures) -> Array:
        """Return a bound that follows from log(1 + a) <= a."""
        return jnp.trace(problem.gram) / problem.noise / 2

    def condition(self, problem: CodedFeatures) -> Array:
        return problem.spread
