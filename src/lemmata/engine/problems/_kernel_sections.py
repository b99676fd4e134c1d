"""Sections of kernels that functions are made of, and labels of points on an interval."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._margin_rows import generator_of


class SectionFit(eqx.Module):
    """Rows with targets, more points, and a ridge, for the kernel exp(-|x - x'|).

    Args:
        rows, targets, ridge: of the regression.
        others: points at which further sections of the kernel may be used.
    """

    rows: Float[np.ndarray, "n d"]
    targets: Float[np.ndarray, " n"]
    others: Float[np.ndarray, "m d"]
    ridge: float = eqx.field(static=True)

    def kernel(self, x: Float[np.ndarray, "p d"], y: Float[np.ndarray, "q d"]) -> Float[np.ndarray, "p q"]:
        """exp(-|x - y|)."""
        return np.exp(-np.linalg.norm(x[:, None] - y, axis=2))


class SectionFits(Population[SectionFit]):
    """Normal points and targets."""

    def settings(self) -> Space:
        """Rows, further points, dimension."""
        return Space(
            n=Integer(8, 2, 60, "rows"), others=Integer(6, 1, 60, "further points"), d=Integer(2, 1, 10, "dimension")
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SectionFit:
        """Ridges of 0.05 to 1."""
        rng, d = generator_of(key), setting["d"]
        rows, others = rng.standard_normal((setting["n"], d)), rng.standard_normal((setting["others"], d))
        return SectionFit(rows, rng.standard_normal(len(rows)), others, float(rng.uniform(0.05, 1.0)))

    def hypotheses(self, problem: SectionFit) -> list[Hypothesis]:
        """A ridge, and points that differ."""
        points = np.concatenate([problem.rows, problem.others])
        apart = np.linalg.norm(points[:, None] - points, axis=2)[np.triu_indices(len(points), 1)].min()
        return [
            Hypothesis("ridge", problem.ridge, ">", 0.0, "the minimiser is unique"),
            Hypothesis("least distance of two points", apart, ">", 0.0, "sections are linearly independent"),
        ]


class Nodes(eqx.Module):
    """Sorted nodes in (0, 1], for the kernel min(x, x') on [0, 1]."""

    places: Float[np.ndarray, " m"]


class NearlyEvenNodes(Population[Nodes]):
    """Nodes at 3i/(3m + 1), each moved by at most a share of the distance between them."""

    def settings(self) -> Space:
        """Nodes."""
        return Space(
            nodes=Integer(4, 1, 200, "nodes", corners=(2, 8)), moved=Real(0.3, 0.0, 0.45, "share of the distance")
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Nodes:
        """Uniform moves."""
        rng, m = generator_of(key), setting["nodes"]
        step = 3 / (3 * m + 1)
        moved = rng.uniform() * setting["moved"] * rng.uniform(-1, 1, m)
        return Nodes(np.minimum(step * (np.arange(1, m + 1) + moved), 1.0))

    def hypotheses(self, problem: Nodes) -> list[Hypothesis]:
        """Different nodes."""
        least = np.diff(np.concatenate([[0.0], problem.places])).min()
        return [Hypothesis("least distance of nodes", least, ">", 0.0, "they are different, and in (0, 1]")]


class NoisyInterval(eqx.Module):
    """Classes of uniform points on [0, 1]: 1 with probability 1/2 + size/2 sin(2 pi (turns x + phase)).

    Args:
        size: how sure the class can be.
        turns: how often the likelier class changes, divided by 2.
        phase: where it does.
        rows: how many points have their class told.
    """

    size: float = eqx.field(static=True)
    turns: float = eqx.field(static=True)
    phase: float = eqx.field(static=True)
    rows: int = eqx.field(static=True)

    def chance(self, x: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The probability of class 1."""
        return (1 + self.size * np.sin(2 * np.pi * (self.turns * x + self.phase))) / 2


class NoisyIntervals(Population[NoisyInterval]):
    """One to two turns, classes that are sure to 0.5 to 0.95 at most."""

    def settings(self) -> Space:
        """Rows."""
        return Space(rows=Integer(4000, 1000, 100_000, "rows"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyInterval:
        """Uniform sizes, turns and phases."""
        size, turns, phase = generator_of(key).uniform([0.5, 1.0, 0.0], [0.95, 2.0, 1.0])
        return NoisyInterval(float(size), float(turns), float(phase), setting["rows"])

    def hypotheses(self, problem: NoisyInterval) -> list[Hypothesis]:
        """Enough rows for neighbours to be near."""
        change = problem.size * np.pi * problem.turns / problem.rows
        return [Hypothesis("change of the probability between neighbours", change, "<=", 0.01, "the bound is a limit")]
