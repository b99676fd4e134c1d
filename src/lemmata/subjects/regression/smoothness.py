"""Estimate the smoothness of 2 eta - 1 by a line through the powers of labels, with or without a noise floor.

Here eta is the probability of the label +1. Let K be the kernel matrix of n points, and let u_i be the eigenvectors
(modes) of K/n, whose eigenvalues fall like i^-beta. The power of labels y in mode i is <u_i, y>²/n, and its mean is
f_i² + v/n, where v/n is the noise floor. Here f_i is the coefficient of f = 2 eta - 1 in this mode, and v is the mean
of 1 - f². The smoothness s is defined by f_i² ~ i^-(s beta + 1). This theory describes this exponent. It does not cover
targets whose powers do not follow a power law, for which s is undefined.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Source
from lemmata.spectra import Spectrum, smoothness
from lemmata.subjects.regression._labelled_modes import (
    DECAY,
    CosineLabels,
    CosineTargets,
    IntervalTargets,
    LabelledModes,
    interval_modes,
    labels_of,
)

ABOUT = {"tool": "spectral theory", "architecture": "kernel method", "object": "estimator"}

_KEY = "lai2024optimality"
_TRUNCATION = 100


@functools.lru_cache(maxsize=4)
def interval_spectrum(n: int) -> Spectrum:
    """Return the eigensystem of min(x_j, x_k)/n on the grid, in closed form."""
    values, vectors = interval_modes(n)
    return Spectrum(jnp.asarray(values), jnp.asarray(vectors), jnp.zeros(()), jnp.asarray(values[-1]))


def drawn_labels(problem: LabelledModes, key: Key[Array, ""]) -> Array:
    """Draw labels +-1 for the target of the problem at its points."""
    rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
    return jnp.asarray(labels_of(problem.at_size(problem.n), rng))


class LineAtFiveThousand(Claim[CosineLabels]):
    """Let labels y = +-1 have E y_j = cos(2 pi x_j) at n = 5000 points of [0, 1]. Let u_i be the eigenvectors of the
    Gram matrix of the kernel min(x, x'), whose eigenvalues fall like i^-2. A target has smoothness s if its squared
    coefficients in the u_i fall like i^-(2 s + 1). Fit a line through

        log (<u_i, y>²/n)  against  log i,    i <= 100.

    From the slope of this line, estimate the smoothness by (-slope - 1)/2. The mean of the estimate is within 0.1 of
    the true smoothness. The true smoothness is 1/2, since the squared coefficients of cos(2 pi x) fall like i^-2.
    """

    title = "A log-log line through 100 of 5000 kernel modes of the labels estimates the smoothness of a cosine"
    source = Source(_KEY, "Abstract, estimator", note="for the sizes of the paper's simulation")
    population = CosineTargets()
    relation = EqualInMean(margin=0.1, resolution=0.1, relative=False)
    traced = False
    control = Control("the estimate is larger by 1/beta, as if 1 were not subtracted", lambda s, problem: s + 1 / DECAY)
    controls = "the estimate of s"
    unexplained = "fewer labels, whose noise adds a floor to the powers: with 2400 labels, the mean estimate is 0.32"
    reading = "5000 points, 100 indices, min(x, x') and cos 2 pi x, as in the paper's simulation; beta = 2"
    trials = 32
    predict = 0.5

    def measure(self, problem: CosineLabels, key: Key[Array, ""]) -> np.ndarray:
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        labels = jnp.asarray(labels_of(problem.target, rng))
        spectrum = interval_spectrum(problem.n)
        return np.asarray(
            smoothness(spectrum, labels, decay=DECAY, truncation=_TRUNCATION, remove_floor=False).estimate
        )


class SmoothnessAboveFloor(Claim[LabelledModes]):
    """Let labels y = +-1 have E y_j = f(x_j) at n points with the kernel matrix K. Let u_i be the eigenvectors of K/n,
    whose eigenvalues fall like i^-beta. Let the coefficients f_i of f in these eigenvectors have f_i² ~ i^-(s beta +
    1). Fit a power law plus a noise floor to the squared coefficients <u_i, y>²/n of the labels,

        E <u_i, y>²/n = A i^-(s beta + 1) + floor

    where the floor is the mean of these squares over i > n/2. The mean of the fitted s is within 0.1 of the true s.
    """

    title = "A power-law fit with a noise floor to kernel modes estimates a target's smoothness from labels"
    source = Source(_KEY, "Abstract, estimator", note="with the noise floor of the labels subtracted")
    population = IntervalTargets()
    relation = EqualInMean(margin=0.1, resolution=0.1, relative=False)
    traced = False
    control = Control("the estimate is larger by 1/beta, as if 1 were not subtracted", lambda s, problem: s + 1 / DECAY)
    controls = "the estimate of s"
    unexplained = "the standard deviation of the estimate, about 0.2 at these sizes"
    trials = 48

    def predict(self, problem: LabelledModes) -> np.ndarray:
        return np.asarray(problem.s)

    def measure(self, problem: LabelledModes, key: Key[Array, ""]) -> np.ndarray:
        return np.asarray(smoothness(interval_spectrum(problem.n), drawn_labels(problem, key), decay=DECAY).estimate)


class SmoothnessWithFittedDecay(Claim[LabelledModes]):
    """Let labels y = +-1 have E y_j = f(x_j) at n points with the kernel matrix K. Let u_i be the eigenvectors of K/n,
    whose eigenvalues fall like i^-beta for an unknown beta. Let the coefficients f_i of f in these eigenvectors have
    f_i² ~ i^-(s beta + 1). Estimate -beta by the slope of log eigenvalue against log index over sqrt(n) <= i <= n/4.
    With this beta, fit a power law plus a noise floor to the squared coefficients <u_i, y>²/n of the labels. The mean
    of the fitted s is within 0.1 of the true s.

    The fit of beta leaves out the first indices, although these contain the signal. For the kernel min(x, x') of the
    test, the eigenvalues are proportional to (i - 1/2)^-2. Over the first ten indices, the slope of log eigenvalue
    would therefore be near -2.5 instead of -2.
    """

    title = "A target's smoothness can be estimated from labels even if the kernel eigenvalues' decay is fitted, too"
    source = Source(
        _KEY, "Abstract, estimator", note="with the noise floor subtracted, and the decay fitted to the eigenvalues"
    )
    population = IntervalTargets()
    relation = EqualInMean(margin=0.1, resolution=0.1, relative=False)
    traced = False
    control = Control("the estimate is larger by 1/beta, as if 1 were not subtracted", lambda s, problem: s + 1 / DECAY)
    controls = "the estimate of s"
    unexplained = "the standard deviation of the estimate, about 0.2 at these sizes"
    reading = "min(x, x') on [0, 1]; tests cover random points and other kernels, and find a decay of 4.2 if it is 4"
    trials = 48

    def predict(self, problem: LabelledModes) -> float:
        return problem.s

    def measure(self, problem: LabelledModes, key: Key[Array, ""]) -> float:
        return smoothness(interval_spectrum(problem.n), drawn_labels(problem, key)).estimate
