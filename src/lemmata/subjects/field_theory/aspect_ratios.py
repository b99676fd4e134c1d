"""Aspect ratios (depth over width): the information that outputs for one input share, and the maximum of an estimate of
this information.

Outputs of a deep and wide critical network share a random scale, so one output has information about another.
Take k1 and k2 outputs, with k = k1 + k2, and let v be the relative variance of the scale. Expanded in v, the
information is k1 k2/8 (v² - (20 + 3 k) v³/6). This is a cubic with its maximum at v = 4/(20 + 3 k). Replace v by nu r,
where r is depth over width and nu is the growth of the vertex. The maximum is then the estimate of an optimal ratio.
But v is in fact e^(nu r) - 1. So the first two terms in s = nu r are k1 k2/8 (s² - (14 + 3 k) s³/6), which has its
maximum at s = 4/(14 + 3 k). The information itself has its maximum at neither place. This theory gives the information
at random weights. It does not say how the information is related to the predictions of a trained network.
"""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Key
from scipy import integrate, special

from lemmata.architectures import LeakyRelu
from lemmata.engine.claims import AtLeast, Claim, Control, Hypothesis, Integer, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, uniform
from lemmata.subjects.field_theory import optimal_aspect_ratio, shared_information, vertex_growth

ABOUT = {"tool": "information theory", "architecture": "dense network", "object": "construction"}


class AspectRatio(eqx.Module):
    """Two groups of outputs of a deep and wide critical network, whose activation has slope `slope` below 0 and 1
    above.

    Args:
        slope: the slope of the activation below 0.
        factor: the number above 1 by which a second ratio of depth to width exceeds the estimated optimal ratio.
        first: the number of outputs in one group.
        second: the number of outputs in the other group.
    """

    slope: float = eqx.field(converter=float)
    factor: float = eqx.field(converter=float)
    first: int = eqx.field(static=True)
    second: int = eqx.field(static=True)

    @property
    def growth(self) -> float:
        """The growth nu of the vertex per layer."""
        return vertex_growth(LeakyRelu(self.slope))

    @property
    def estimate(self) -> float:
        """The ratio of depth to width at which the cubic has its maximum."""
        return optimal_aspect_ratio(self.growth, self.first + self.second)


_RATIOS = Drawn(
    AspectRatio,
    lambda own: Hypothesis(
        "the ratio of depth to width, divided by the estimate",
        own.factor,
        ">",
        1.0,
        "the statement is about larger ratios",
    ),
    slope=uniform(0.0, 1.0),
    factor=log_uniform(1.1, 4.0),
    first=Integer(2, 1, 100, "outputs of one group", corners=(1, 6)),
    second=Integer(3, 1, 100, "outputs of the other group", corners=(1, 6)),
)


_KEY = "roberts2022principles"


def radial_information(log_variance: float, first: int, second: int) -> float:
    """Compute the information from the densities of the lengths of both groups, which are sums over the scale.

    The information is E[log p(x, y)/(p(x) p(y))], where x and y are the logarithms of the squared lengths of the
    groups, which contain all information about the scale. The densities p are sums over a grid of the scale's
    logarithm.
    """
    step = 0.06 * np.sqrt(log_variance)
    scale = np.arange(-100, 101) * step
    weights = np.exp(-0.5 * scale**2 / log_variance)
    weights, scale = weights / weights.sum(), scale - log_variance / 2.0
    grids, densities = [], []
    for size in (first, second):
        low = -60.0 / size - 6.0 * np.sqrt(log_variance) - log_variance
        x = np.linspace(low, np.log(30.0 + 4.0 * size) + 6.0 * np.sqrt(log_variance), 301)
        u = x[:, None] - scale - np.log(2.0)
        grids.append(x[1] - x[0])
        densities.append(np.exp(0.5 * size * u - np.exp(u) - special.gammaln(0.5 * size)))
    joint = densities[0] * weights @ densities[1].T
    apart = np.outer(*(density @ weights for density in densities))
    ratio = np.where(joint > 1e-290, joint / np.maximum(apart, 1e-300), 1.0)
    inner = integrate.trapezoid(joint * np.log(ratio), dx=grids[1], axis=1)
    return float(integrate.trapezoid(inner, dx=grids[0]))


def _at_estimate(problem: AspectRatio) -> np.ndarray:
    log_variance = problem.growth * problem.estimate
    return np.asarray(shared_information(log_variance, problem.first, problem.second))


def _beyond(problem: AspectRatio) -> np.ndarray:
    log_variance = problem.growth * problem.estimate * problem.factor
    return np.asarray(radial_information(log_variance, problem.first, problem.second))


class InformationRises(Claim[AspectRatio]):
    """Let a critical network have activations of slope a below 0 and 1 above 0, and let r be the ratio of its depth to
    its width. If depth and width are large, the outputs for one input are sqrt(G) times independent normal variables.
    Here log G is normal with variance v r, where v = 6 (1 + a⁴)/(1 + a²)² - 1. Take two groups of outputs that together
    contain k outputs. An estimate of the ratio at which the mutual information of the two groups is largest is 4/((20 +
    3 k) v). At ratios from 1.1 to 4 times this estimate, the mutual information is at least as large as at the
    estimate.

    The estimate maximises a cubic approximation of the information, not the information itself. This cubic consists of
    the first two terms of the expansion in powers of e^(v r) - 1. In the cubic, v r then replaces e^(v r) - 1. In
    contrast, the first two terms of the expansion in powers of v r have their maximum at 4/((14 + 3 k) v).
    """

    title = (
        "At 1.1 to 4 times the estimated best aspect ratio, outputs share at least as much information as at the "
        "estimate"
    )
    source = Source(_KEY, "Abstract, optimal aspect ratio", note="for the whole information")
    population = _RATIOS
    relation = AtLeast()
    traced = False
    trivial = "the information is known to be at least 0, but the claim is about its growth"
    control = Control("the information is at least 5/2 times as large", lambda found, problem: 2.5 * found)
    controls = "how much information outputs carry about each other"
    unexplained = "which aspect ratio is best for a trained network"

    def predict(self, problem: AspectRatio) -> np.ndarray:
        return _at_estimate(problem)

    def measure(self, problem: AspectRatio, key: Key[Array, ""]) -> np.ndarray:
        return _beyond(problem)
