"""Small labelled tables: two clouds, linear targets, two-valued columns, separable rows, and runs of boosting."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.generators import generator_of


class LabelledTable(eqx.Module):
    """Rows x and their labels y: classes -1 and 1, or numbers."""

    x: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, " n"]

    @property
    def conditioning(self) -> float:
        """The largest singular value of the centred rows divided by the least."""
        values = np.linalg.svd(self.x - self.x.mean(0), compute_uv=False)
        return float(values[0] / values[-1])


class TwoClouds(Population[LabelledTable]):
    """Normal rows with correlated columns around two means. Half of the rows are in each class.

    Args:
        apart: the default distance between the means before the columns are mixed.
    """

    apart: float = eqx.field(default=2.5, static=True)

    def settings(self) -> Space:
        return Space(
            n=Integer(40, 10, 400, "rows", step=2),
            d=Integer(3, 2, 20, "columns", corners=(2, 5)),
            apart=Real(self.apart, 0.5, 6.0, "distance of the means", corners=(0.9 * self.apart, 1.2 * self.apart)),
        ).where("there are more than 2 d + 2 rows for d columns", lambda s: s["n"] > 2 * s["d"] + 2)

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledTable:
        """Draw rows around separated means, then multiply them by a random matrix near the identity."""
        rng, n, d = generator_of(key), setting["n"], setting["d"]
        y = np.where(np.arange(n) % 2, 1.0, -1.0)
        x = rng.standard_normal((n, d))
        x[:, 0] += setting["apart"] * y / 2
        return LabelledTable(x @ (np.eye(d) + 0.2 * rng.standard_normal((d, d))), y)

    def hypotheses(self, problem: LabelledTable) -> list[Hypothesis]:
        return [
            Hypothesis("condition number of the rows", problem.conditioning, "<=", 1e4, "directions are determined"),
            Hypothesis(
                "least share of a class",
                min((problem.y > 0).mean(), (problem.y < 0).mean()),
                ">",
                0.0,
                "there are two classes",
            ),
        ]


class LinearTargets(Population[LabelledTable]):
    """Normal rows, and linear targets with noise."""

    settings = Space(n=Integer(30, 8, 400, "rows"), d=Integer(5, 3, 20, "columns", corners=(4, 7))).where(
        "there are more than twice as many rows as columns", lambda s: s["n"] > 2 * s["d"]
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledTable:
        rng, n, d = generator_of(key), setting["n"], setting["d"]
        x = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d)
        return LabelledTable(x, x @ rng.standard_normal(d) + 0.5 * rng.standard_normal(n))

    def hypotheses(self, problem: LabelledTable) -> list[Hypothesis]:
        return [
            Hypothesis("condition number of the rows", problem.conditioning, "<=", 1e4, "coefficients are determined")
        ]


class TwoValuedTables(Population[LabelledTable]):
    """Tables with columns of 0 and 1. Except for errors, the class is 1 if the first two columns differ, and otherwise
    -1. The third column is weakly correlated with the class.
    """

    settings = Space(
        n=Integer(40, 16, 400, "rows"),
        d=Integer(4, 3, 12, "columns", corners=(3, 6)),
        errors=Real(0.1, 0.0, 0.3, "share of wrong classes"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledTable:
        """Draw columns of fair coins, except the third column, which agrees with the class in about 2/3 of the rows."""
        rng, n = generator_of(key), setting["n"]
        x = rng.integers(2, size=(n, setting["d"])).astype(float)
        wrong = rng.uniform(size=n) < setting["errors"]
        y = (x[:, 0] != x[:, 1]) != wrong
        x[:, 2] = y == (rng.uniform(size=n) < 0.67)
        return LabelledTable(x, np.where(y, 1.0, -1.0))

    def hypotheses(self, problem: LabelledTable) -> list[Hypothesis]:
        values = np.unique(problem.x)
        return [
            Hypothesis(
                "number of different values in the columns",
                len(values),
                "<=",
                2,
                "each column can be split in only one way",
            ),
            Hypothesis(
                "least share of a class",
                min((problem.y > 0).mean(), (problem.y < 0).mean()),
                ">",
                0.0,
                "there are two classes",
            ),
        ]


class NearlyOrthogonalRows(Population[LabelledTable]):
    """Rows that are nearly orthonormal, with random classes. So every labelling can be separated with a margin."""

    settings = Space(
        n=Integer(8, 2, 40, "rows"),
        tilt=Real(0.3, 0.0, 0.5, "size of the random part that is not orthogonal", corners=(0.1, 0.4)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LabelledTable:
        """Draw orthonormal rows in n + 2 dimensions, where n is the number of rows, and add normal numbers of a random
        size.
        """
        rng, n = generator_of(key), setting["n"]
        rows = np.linalg.qr(rng.standard_normal((n + 2, n)))[0].T
        rows = rows + setting["tilt"] * rng.uniform() * rng.standard_normal(rows.shape) / np.sqrt(n + 2)
        return LabelledTable(rows, rng.choice([-1.0, 1.0], n))

    def hypotheses(self, problem: LabelledTable) -> list[Hypothesis]:
        least = np.linalg.svd(problem.x, compute_uv=False)[-1]
        return [Hypothesis("least singular value of the rows", least, ">", 1e-3, "then every labelling has a margin")]


class BoostedRun(eqx.Module):
    """The results of a run of adaptive boosting (AdaBoost), in which each round chooses one rule (a classifier with
    values -1 and 1).

    Args:
        votes: the value of each round's rule at each row, times the class of the row. A vote is 1 if the rule is right,
            and otherwise -1.
        errors: the weighted error of each rule when it was chosen.
    """

    votes: Float[np.ndarray, "rounds n"]
    errors: Float[np.ndarray, " rounds"]

    @property
    def weights(self) -> Float[np.ndarray, " rounds"]:
        """The weights of the rules, log((1 - error)/error)/2."""
        with np.errstate(divide="ignore"):  # a rule that is never wrong has an infinite weight
            return np.log(1 / self.errors - 1) / 2

    @property
    def margins(self) -> Float[np.ndarray, "rounds n"]:
        """The class of each row times the weighted sum of the rules' values, after each round."""
        return np.cumsum(self.weights[:, None] * self.votes, axis=0)


def best_stump(
    x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " n"], float]:
    """Return the values (-1 or 1) of the stump with the least weighted error, and its error.

    A stump is a rule with at most one threshold on one column.

    >>> import numpy as np
    >>> x, y = np.array([[0.0], [1.0], [2.0]]), np.array([-1.0, 1.0, 1.0])
    >>> best_stump(x, y, np.ones(3) / 3)
    (array([-1.,  1.,  1.]), 0.0)
    """
    best, rule = np.inf, y
    for column in x.T:
        cuts = np.concatenate([[-np.inf], np.unique(column)])
        above = np.where(column > cuts[:, None], 1.0, -1.0)
        error = (above != y) @ weights
        error = np.minimum(error, weights.sum() - error), np.where(error <= weights.sum() - error, 1.0, -1.0)
        at = error[0].argmin()
        if error[0][at] < best:
            best, rule = float(error[0][at]), error[1][at] * above[at]
    return rule, best


def adaptive_boosting(x: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"], rounds: int) -> BoostedRun:
    """Run adaptive boosting with stumps. After each rule, rows are reweighted so that the weighted error of this rule
    is 1/2.

    Args:
        x: the rows.
        y: the classes, -1 and 1.
        rounds: the number of rules. A rule with error 0 is repeated in all later rounds.
    """
    weights, votes, errors = np.full(len(y), 1 / len(y)), [], []
    for _ in range(rounds):
        rule, error = best_stump(x, y, weights)
        if error <= 0:
            left = rounds - len(votes)
            return BoostedRun(np.array([*votes, *[rule * y] * left]), np.array([*errors, *[0.0] * left]))
        votes.append(rule * y)
        errors.append(error)
        weights = weights * np.where(rule == y, 0.5 / (1 - error), 0.5 / error)
    return BoostedRun(np.array(votes), np.array(errors))


class BoostedRuns(Population[BoostedRun]):
    """Runs of adaptive boosting. Classes are the sign of a random quadratic function; one tenth of them is flipped."""

    settings = Space(
        n=Integer(50, 20, 400, "rows"),
        d=Integer(3, 2, 10, "columns", corners=(2, 4)),
        rounds=Integer(12, 1, 60, "rounds"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> BoostedRun:
        rng, n, d = generator_of(key), setting["n"], setting["d"]
        x = rng.standard_normal((n, d))
        y = np.where(x @ rng.standard_normal(d) + x**2 @ rng.standard_normal(d) > 0, 1.0, -1.0)
        y = y * np.where(np.arange(n) % 10 == 0, -1.0, 1.0)
        return adaptive_boosting(x, y, setting["rounds"])

    def hypotheses(self, problem: BoostedRun) -> list[Hypothesis]:
        return [
            Hypothesis("largest error of a rule", problem.errors.max(), "<", 0.5, "each rule is better than a coin"),
            Hypothesis(
                "least error of a rule", problem.errors.min(), ">", 0.0, "then the weight of the rule is finite"
            ),
        ]
