"""The least robust error that any classifier can have on given rows.

This theory counts rows of different classes whose balls meet: no function can be right on both balls. It assumes only
the rows, the norm and the radius. It does not explain the error on new rows, or which classifiers a method can find.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy import sparse
from scipy.optimize import linprog
from scipy.sparse.csgraph import maximum_bipartite_matching
from scipy.spatial.distance import cdist

from lemmata.engine.claims import Choice, Claim, Control, Equal, Hypothesis, Population, Real, Source, Space
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "function class"}

_METRICS: dict[str, Any] = {"l2": "euclidean", "linf": "chebyshev", "l1": "cityblock"}


class LabelledCloud(eqx.Module):
    """Rows of two classes and the radius within which an adversary may move them."""

    x: Float[np.ndarray, "n d"]
    y: Int[np.ndarray, " n"]
    radius: float = eqx.field(static=True)
    norm: str = eqx.field(static=True)

    @property
    def distances(self) -> Float[np.ndarray, "a b"]:
        """Distances between the rows of the two classes."""
        return cdist(self.x[self.y == 0], self.x[self.y == 1], _METRICS[self.norm])


class LabelledClouds(Population[LabelledCloud]):
    """Two normal clouds of rows, one for each class, whose centres differ by 0.5 to 2 standard deviations."""

    settings = Space(
        n=rows(80, 20, 300, corners=(50, 120)),
        d=dimension(2, 1, 6, corners=(2, 3)),
        crowding=Real(0.6, 0.2, 1.0, "mean number of rows of the other class that a row is in conflict with"),
        norm=Choice("l2", tuple(_METRICS), "norm of the change"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledCloud:
        generator, n = generator_of(key), setting["n"]
        y = np.arange(n) % 2
        x = generator.normal(size=(n, setting["d"]))
        x[:, 0] += y * generator.uniform(0.5, 2.0)
        gaps = np.sort(cdist(x[y == 0], x[y == 1], _METRICS[setting["norm"]]), axis=None)
        place = int(setting["crowding"] * generator.uniform(0.5, 1.5) * n / 2)
        return LabelledCloud(x, y, float((gaps[place] + gaps[place + 1]) / 4), setting["norm"])

    def hypotheses(self, problem: LabelledCloud) -> list[Hypothesis]:
        least = min((problem.y == 0).sum(), (problem.y == 1).sum())
        return [Hypothesis("rows of the smaller class", least, ">=", 1, "one class alone has no conflicts")]


def _matched(problem: LabelledCloud, reach: float) -> Array:
    conflicts = sparse.csr_array(problem.distances <= reach)
    return jnp.asarray((maximum_bipartite_matching(conflicts) >= 0).sum() / len(problem.y))


class FloorOfRobustError(Claim[LabelledCloud]):
    """Let n rows have two classes, and let an adversary move each row within a ball of radius eps. Two rows of
    different classes are in conflict if their distance is at most 2 eps. Let M be the largest number of disjoint pairs
    of rows in conflict. The robust error of a classifier is the share of rows on whose ball it is not always right.
    Every classifier has a robust error of at least

        M / n

    on these rows. The reason is that the two balls of a pair in conflict have a common point, and the class that a
    classifier gives to this point is wrong for one of the two rows.

    Some classifier attains M/n. By König's theorem, some M rows contain at least one row of every conflict. Leave these
    rows out, and give each input the class of the nearest remaining row. Then no remaining row changes its class within
    eps.
    """

    title = "The smallest robust error on n rows is (the largest number of disjoint pairs of conflicting rows)/n"
    source = Source("bhagoji2019", note="main result, as a matching and with a rule that attains it")
    population = LabelledClouds()
    relation = Equal()
    control = Control(
        "rows at a distance of at most eps are in conflict",
        lambda floor, problem: jnp.tile(_matched(problem, problem.radius), 2),
    )
    controls = "the robust error of every classifier on given rows"
    unexplained = "the robust error on new rows; more than two classes, where the least cover is hard to find"
    traced = False

    def predict(self, problem: LabelledCloud) -> Array:
        return jnp.tile(_matched(problem, 2 * problem.radius), 2)

    def measure(self, problem: LabelledCloud, key: Key[Array, ""]) -> Array:
        """Return the share of rows in the least cover (rows that include one of every conflict), and a rule's error.

        The rule answers the class of the nearest row outside the cover. It errs on a row if it is wrong at the row or
        at the midpoint of one of the row's conflicts.
        """
        first, second = np.nonzero(problem.distances <= 2 * problem.radius)
        pairs = np.stack([np.flatnonzero(problem.y == 0)[first], np.flatnonzero(problem.y == 1)[second]], axis=1)
        n, m = len(problem.y), len(pairs)
        meets = sparse.csr_array((np.ones(2 * m), (np.repeat(np.arange(m), 2), pairs.ravel())), (m, n))
        cover = linprog(np.ones(n), -meets, -np.ones(m), bounds=(0, 1), method="highs-ds").x
        kept = cover < 0.5

        def rule(inputs: Float[np.ndarray, "k d"]) -> Int[np.ndarray, " k"]:
            return problem.y[kept][cdist(inputs, problem.x[kept], _METRICS[problem.norm]).argmin(axis=1)]

        wrong = rule(problem.x) != problem.y
        between = rule(problem.x[pairs].mean(axis=1))
        for column in pairs.T:
            np.logical_or.at(wrong, column, between != problem.y[column])
        return jnp.array([cover.sum() / n, wrong.mean()])

    def condition(self, problem: LabelledCloud) -> Array:
        """Allow for the linear program, which is solved to 1e-7."""
        return jnp.array([1e8, 1.0])
