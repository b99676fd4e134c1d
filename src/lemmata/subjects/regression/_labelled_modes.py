"""Labels +-1 for kernels with known eigenvectors: min(x, x') on an interval, and a tangent kernel on a circle."""

import functools

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

DECAY = 2.0
"""The decay beta of both kernels: the eigenvalues of K/n, in descending order i, fall like i^-beta."""
_MOST, _REFERENCE = 0.9, 1024  # the largest |2 eta - 1| on a grid, and the number of points of this grid


@functools.lru_cache(maxsize=8)
def interval_modes(n: int) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    """Return eigenvalues and eigenvectors of min(x_j, x_k)/n at x_j = j / (n + 1/2), in closed form.

    The inverse of the matrix is the second-difference matrix with a free right end. So the eigenvectors are sin((i -
    1/2) pi x_j), and the eigenvalues are 1 / (4 n (n + 1/2) sin²((i - 1/2) pi / (2 n + 1))).
    """
    index, x = np.arange(1, n + 1) - 0.5, np.arange(1, n + 1) / (n + 0.5)
    values = 1 / (4 * n * (n + 0.5) * np.sin(index * np.pi / (2 * n + 1)) ** 2)
    return values, np.sqrt(2 / (n + 0.5)) * np.sin(np.pi * x[:, None] * index)


class LabelledModes(eqx.Module):
    """A target 2 eta - 1 = a sum_i sign_i i^(-(s beta + 1)/2) e_i on n points.

    Here eta is the probability of the label +1.

    The modes e_i are eigenvectors of a kernel matrix whose eigenvalues fall like i^-beta with beta = 2, and a is a
    factor that makes the target smaller than 1.

    Args:
        signs: the signs of the modes, as many as the largest grid has.
        s: the interpolation smoothness, as in the exponent above.
        n: the number of points.
        depth: the number of hidden layers, if the kernel belongs to a network.
    """

    signs: Float[np.ndarray, " most"]
    s: float
    n: int = eqx.field(static=True)
    depth: int = eqx.field(static=True, default=1)

    def at_size(self, n: int) -> Float[np.ndarray, " n"]:
        """Return the target on n points of the interval. The factor a is such that the largest absolute value on 1024
        points is 0.9.
        """
        return _MOST * self._series(n) / np.abs(self._series(_REFERENCE)).max()

    def _series(self, n: int) -> Float[np.ndarray, " n"]:
        coefficients = self.signs[:n] * np.arange(1.0, n + 1) ** (-(self.s * DECAY + 1) / 2)
        return np.sqrt(n) * interval_modes(n)[1] @ coefficients


def labels_of(f: Float[np.ndarray, "*shape n"], rng: np.random.Generator) -> Float[np.ndarray, "*shape n"]:
    """Draw labels +-1 for a target f: the label is +1 with probability (1 + f)/2."""
    return np.where(rng.uniform(size=f.shape) < (1 + f) / 2, 1.0, -1.0)


class IntervalTargets(Population[LabelledModes]):
    """Targets on the interval with random signs of all modes, and smoothness s from 0.5 to 1.2."""

    n: int = 2400

    def settings(self) -> Space:
        return Space(
            n=Integer(self.n, 200, 4096, "points", corners=(1600, 3200)),
            s=Real(0.6, 0.5, 1.2, "interpolation smoothness", corners=(0.5, 0.75)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledModes:
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        return LabelledModes(rng.choice([-1.0, 1.0], size=4096), setting["s"], setting["n"])

    def hypotheses(self, problem: LabelledModes) -> list[Hypothesis]:
        largest = np.abs(problem.at_size(600)).max()
        return [Hypothesis("|2 eta - 1| is at most 1", largest, "<=", 1.0, "eta is a probability")]


class CosineLabels(eqx.Module):
    """The target cos 2 pi x on n grid points of [0, 1]. For the kernel min(x, x'), its smoothness s is 1/2."""

    n: int = eqx.field(static=True)

    @property
    def target(self) -> Float[np.ndarray, " n"]:
        """The values of the target at the points."""
        return np.cos(2 * np.pi * np.arange(1, self.n + 1) / (self.n + 0.5))


class CosineTargets(Population[CosineLabels]):
    """The one target `CosineLabels`, from which labels are drawn."""

    settings = Space(n=Integer(5000, 5000, 5000, "number of points, as in the source"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> CosineLabels:
        return CosineLabels(setting["n"])

    def hypotheses(self, problem: CosineLabels) -> list[Hypothesis]:
        return [Hypothesis("points", problem.n, ">=", 100, "the line is fitted over 100 indices")]


class CircleTargets(Population[LabelledModes]):
    """Targets on the circle for the tangent kernel of a ReLU network with biases."""

    settings = Space(
        depth=Integer(2, 1, 3, "hidden layers", corners=(1, 3)),
        s=Real(0.6, 0.5, 1.2, "interpolation smoothness", corners=(0.5, 0.75)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledModes:
        rng = np.random.default_rng(np.asarray(jax.random.key_data(key)))
        return LabelledModes(rng.choice([-1.0, 1.0], size=4096), setting["s"], 1024, setting["depth"])

    def hypotheses(self, problem: LabelledModes) -> list[Hypothesis]:
        return [Hypothesis("hidden layers", problem.depth, ">=", 1, "otherwise the kernel is linear")]


class Bumps(eqx.Module):
    """Targets +-h on equal pieces of [0, 1], with signs drawn from a seed.

    The function h is a bump of order r. So the targets have smoothness s = 1 with respect to the Sobolev space H^r. The
    eigenvalues of its kernel fall like i^-beta with beta = 2 r.
    """

    seed: Float[np.ndarray, " two"]
    r: int = eqx.field(static=True)

    def height(self, n: int) -> float:
        """Return the height n^(-r / (2r + 1)) of a bump. With n^(1/(2r+1)) pieces, the norm of the target in H^r stays
        bounded as n grows.
        """
        return float(n) ** (-self.r / (2 * self.r + 1))

    def shape(self, t: Float[np.ndarray, "*k"]) -> Float[np.ndarray, "*k"]:
        """Return the bump (4 t (1 - t))^r of height 1, for t in [0, 1]."""
        return (4 * t * (1 - t)) ** self.r


class BumpTargets(Population[Bumps]):
    """Bumps with random signs. The bumps are so low that n labels cannot determine the signs with certainty."""

    settings = Space(r=Integer(1, 1, 3, "Sobolev order", corners=(1, 3)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Bumps:
        return Bumps(np.asarray(jax.random.key_data(key), float), setting["r"])

    def hypotheses(self, problem: Bumps) -> list[Hypothesis]:
        """Check that r is at least 1. All functions in H^r are then continuous."""
        return [
            Hypothesis(
                "r is at least 1", problem.r, ">=", 1, "for r > 1/2, H^r on the line is the function space of a kernel"
            )
        ]
