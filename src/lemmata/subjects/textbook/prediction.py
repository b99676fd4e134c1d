"""Prediction and kernels: the error of the nearest neighbour, and why kernel sections k(., x_i) at the rows x_i
suffice.

Other sections treat bias and variance (`stability.decomposition`) and leaving one out (`generalisation.leave_one_out`).
The theory here is about errors in the limit of many rows, and about functions of least norm in the space of a kernel.
It does not say which kernel to choose.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, normal, positive, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {
    "tool": "reproducing kernels",
    "architecture": "kernel method",
    "object": "estimator",
    "NearestNeighbourErrsTwice": {"tool": "statistics", "architecture": "any", "object": "generalisation"},
}


class SectionFit(eqx.Module):
    """Rows with targets, further points, and a ridge, for regression with the kernel exp(-|x - x'|).

    Args:
        rows, targets, ridge: the rows, targets and ridge of the regression.
        others: further points z whose sections k(., z) of the kernel may be used.
    """

    rows: Float[np.ndarray, "n d"] = eqx.field(converter=np.asarray)
    targets: Float[np.ndarray, " n"] = eqx.field(converter=np.asarray)
    others: Float[np.ndarray, "m d"] = eqx.field(converter=np.asarray)
    ridge: float = eqx.field(static=True, converter=float)

    def kernel(self, x: Float[np.ndarray, "p d"], y: Float[np.ndarray, "q d"]) -> Float[np.ndarray, "p q"]:
        """Return the kernel exp(-|x - y|) for all pairs of a row of x and a row of y."""
        return np.exp(-np.linalg.norm(x[:, None] - y, axis=2))


def _apart(problem: SectionFit) -> Hypothesis:
    points = np.concatenate([problem.rows, problem.others])
    least = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(len(points), 1)].min()
    return Hypothesis("least distance of two points", least, ">", 0.0, "sections are linearly independent")


class Nodes(eqx.Module):
    """Sorted nodes in (0, 1], for the kernel min(x, x') on [0, 1]."""

    places: Float[np.ndarray, " m"]


class NearlyEvenNodes(Population[Nodes]):
    """Nodes at 3i/(3m + 1), each moved by at most a share of the distance between neighbours."""

    settings = Space(
        nodes=Integer(4, 1, 200, "nodes", corners=(2, 8)),
        moved=Real(0.3, 0.0, 0.45, "largest move of a node, as a share of the distance between nodes"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Nodes:
        rng, m = generator_of(key), setting["nodes"]
        step = 3 / (3 * m + 1)
        moved = rng.uniform() * setting["moved"] * rng.uniform(-1, 1, m)
        return Nodes(np.minimum(step * (np.arange(1, m + 1) + moved), 1.0))

    def hypotheses(self, problem: Nodes) -> list[Hypothesis]:
        least = np.diff(np.concatenate([[0.0], problem.places])).min()
        return [Hypothesis("least distance of nodes", least, ">", 0.0, "the nodes are distinct and in (0, 1]")]


class NoisyInterval(eqx.Module):
    """Uniform points on [0, 1], whose class is 1 with probability 1/2 + size/2 sin(2 pi (turns x + phase)).

    Args:
        size: how certain the class is: 1 if it is certain at some x, 0 if it is random.
        turns: half the number of changes of the likelier class.
        phase: the place of these changes.
        rows: the number of points whose class is known (the training rows).
    """

    size: float = eqx.field(static=True, converter=float)
    turns: float = eqx.field(static=True, converter=float)
    phase: float = eqx.field(static=True, converter=float)
    rows: int = eqx.field(static=True)

    def chance(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Return the probability of class 1 at each point x."""
        return (1 + self.size * np.sin(2 * np.pi * (self.turns * x + self.phase))) / 2


def _slow(problem: NoisyInterval) -> Hypothesis:
    change = problem.size * np.pi * problem.turns / problem.rows
    return Hypothesis(
        "change of the probability between neighbours", change, "<=", 0.01, "the bound is for the limit of many rows"
    )


_KEY = "younes2024introduction"
_TESTED = 20_000


class NearestNeighbourErrsTwice(Claim[NoisyInterval]):
    """Let R be the smallest error rate that a classification rule can have. In the limit of many rows, the class of the
    nearest neighbour is wrong with probability at most

        2 R (1 - R),

    as Cover and Hart showed. The test uses at least 1000 rows on an interval. It measures the error rate on new points
    and subtracts four standard errors.
    """

    title = "The error rate of the nearest neighbour is at most twice the least possible error rate"
    source = Source(_KEY, "Abstract, statistical prediction", note="for the nearest neighbour")
    population = Drawn(
        NoisyInterval,
        _slow,
        size=uniform(0.5, 0.95),
        turns=uniform(1.0, 2.0),
        phase=uniform(0.0, 1.0),
        rows=rows(4000, 1000, 100_000),
    )
    relation = AtMost()
    control = Control(
        "the nearest neighbour errs as often as the best rule", lambda bound, problem: (1 - jnp.sqrt(1 - 2 * bound)) / 2
    )
    controls = "the error of the nearest neighbour rule"
    unexplained = "how many rows are needed in many dimensions"
    traced = False
    trivial = 0.5  # guessing

    def predict(self, problem: NoisyInterval) -> Array:
        chance = problem.chance((np.arange(10_000) + 0.5) / 10_000)
        least = np.minimum(chance, 1 - chance).mean()
        return jnp.asarray(2 * least * (1 - least))

    def measure(self, problem: NoisyInterval, key: Key[Array, ""]) -> Array:
        """The error rate on 20,000 new points, minus four standard errors."""
        rng = generator_of(key)
        rows, new = np.sort(rng.uniform(size=problem.rows)), rng.uniform(size=_TESTED)
        told, truth = (rng.uniform(size=len(x)) < problem.chance(x) for x in (rows, new))
        nearest = np.searchsorted((rows[1:] + rows[:-1]) / 2, new)
        error = (told[nearest] != truth).mean()
        return jnp.asarray(error - 4 * np.sqrt(error * (1 - error) / _TESTED))


class RowsRepresentTheMinimiser(Claim[SectionFit]):
    """Let x_i be rows with targets y_i, and let K be the matrix of a kernel k at the rows. Let |f| be the norm of f in
    the reproducing kernel Hilbert space of k. Consider all functions f that are linear combinations of sections k(.,
    z), where z is a row or any further point. Among these functions, a linear combination of sections at the rows alone
    minimises the objective

        sum over i of (f(x_i) - y_i)² + ridge |f|².

    The smallest value of this objective is ridge y'(K + ridge I)^-1 y.
    """

    title = "The representer theorem: kernel sections at the rows suffice for ridge regression"
    source = Source(_KEY, "Abstract, reproducing kernels")
    population = Drawn(
        SectionFit,
        _apart,
        positive("ridge", "the minimiser is unique"),
        n=rows(8, 2),
        m=Integer(6, 1, 60, "further points"),
        d=dimension(2),
        rows=normal("n", "d"),
        targets=normal("n"),
        others=normal("m", "d"),
        ridge=uniform(0.05, 1.0),
    )
    relation = Equal()
    control = Control("further sections lower the value by 1/10", lambda value, problem: 0.9 * value)
    controls = "where the minimiser over a whole function space lies"
    unexplained = "objectives that depend on derivatives or integrals of f"
    traced = False

    def predict(self, problem: SectionFit) -> Array:
        gram = problem.kernel(problem.rows, problem.rows)
        inverse = np.linalg.solve(gram + problem.ridge * np.eye(len(gram)), problem.targets)
        return jnp.asarray(problem.ridge * problem.targets @ inverse)

    def measure(self, problem: SectionFit, key: Key[Array, ""]) -> Array:
        """The least value of the objective, by least squares over the span of all sections."""
        system = _system(problem)
        target = np.append(problem.targets, np.zeros(system.shape[1]))
        return jnp.asarray(np.sum((system @ np.linalg.lstsq(system, target)[0] - target) ** 2))

    def condition(self, problem: SectionFit) -> Array:
        """Return the condition number of the system of all sections, times the relative size of the value's terms."""
        size = np.sum(problem.targets**2) * (1 + len(problem.rows) / problem.ridge)
        return jnp.asarray(np.linalg.cond(_system(problem)) * size / self.predict(problem))


def _system(problem: SectionFit) -> Float[np.ndarray, "rows p"]:
    points = np.concatenate([problem.rows, problem.others])
    gram = problem.kernel(points, points)
    root = np.linalg.cholesky(gram + 1e-14 * np.eye(len(gram))).T
    return np.concatenate([gram[: len(problem.rows)], np.sqrt(problem.ridge) * root])


class NoSectionsBeatEigenfunctions(Claim[Nodes]):
    """Let k be the kernel min(x, x') on [0, 1], whose eigenvalues are 1/((j - 1/2) pi)². Let Z be a set of m nodes, and
    K_Z the matrix of k at these nodes. The mean error of the kernel sections k(., z) at the nodes z is the integral
    over x of k(x, x) - k(x, Z) K_Z^-1 k(Z, x). For all positions of the nodes, this mean error is at least the mean
    error of the first m eigenfunctions,

        sum over j > m of 1/((j - 1/2) pi)².
    """

    title = "No m kernel sections approximate min(x, x') better than m eigenfunctions"
    source = Source(_KEY, "Abstract, reproducing kernels", note="for Brownian motion")
    population = NearlyEvenNodes()
    relation = AtLeast()
    control = Control("twice the bound", lambda bound, problem: 2 * bound)
    controls = "the mean error of a kernel's approximation by m of its sections"
    unexplained = "why equally spaced nodes leave 1.5 times the error of the eigenfunctions"
    traced = False
    trivial = 0.0  # nothing

    def predict(self, problem: Nodes) -> Array:
        first = np.arange(len(problem.places)) + 0.5
        return jnp.asarray(0.5 - np.sum(1 / (first * np.pi) ** 2))

    def measure(self, problem: Nodes, key: Key[Array, ""]) -> Array:
        """The mean error of the sections, by Simpson's rule between nodes. There k(x, x) - k(x, Z) K_Z^-1 k(Z, x) is
        quadratic in x, so the rule is exact.
        """
        z = problem.places
        ends = np.concatenate([[0.0], z, [1.0]])
        x = np.stack([ends[:-1], (ends[:-1] + ends[1:]) / 2, ends[1:]])
        across = np.minimum(x[..., None], z)
        weights = np.linalg.solve(np.minimum(z[:, None], z), np.moveaxis(across, 2, 0).reshape(len(z), -1))
        left = x - np.sum(across * np.moveaxis(weights.reshape(len(z), *x.shape), 0, 2), axis=2)
        return jnp.asarray(np.diff(ends) @ (left[0] + 4 * left[1] + left[2]) / 6)

    def condition(self, problem: Nodes) -> Array:
        """Return a bound on the rounding errors. The remainder has the size 1/m, and the inverse of the system has
        entries 1/(least distance).
        """
        m = len(problem.places)
        return jnp.asarray(m**2 / np.diff(np.concatenate([[0.0], problem.places])).min())
