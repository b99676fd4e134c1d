"""Whether a fit selects a table of answers or a rule, and when the training pairs force a model to learn the rule.

This theory computes how much of the prediction of a least-norm fit is due to a rule that all examples share. It also
computes the representations that the training pairs of an addition allow. It assumes a linear readout. It does not
explain which rules a network can represent.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, signs

ABOUT = {"tool": "linear algebra", "architecture": "linear model", "object": "generalisation"}

_DOUBLINGS = 22  # descent takes 2^22 steps


class LookupAndRule(eqx.Module):
    """n examples with labels -1 and 1.

    Each example has a private feature of size a, and the shared feature, which is b times the label.
    """

    labels: Float[Array, " n"]
    own: Float[Array, ""]
    shared: Float[Array, ""]


class LookupOrRule(Claim[LookupAndRule]):
    """Let example i have the label y_i in {-1, 1} and two kinds of features. The first kind is a e_i, where e_i is the
    i-th unit vector, so no other example has this feature. The second kind is b y_i, which follows the rule for every
    example. The minimum-norm interpolant of n examples predicts, for every new example,

        b² n/(a² + b² n)

    times the label of this example. A solution that uses only the features e_i has the squared norm n/a², and a
    solution that uses only the rule has the squared norm 1/b². The least squared norm is 1/(b² + a²/n). So the rule
    does not take over at a threshold, but smoothly around n = a²/b² examples, where both solutions have the same norm.

    Derivation: the kernel matrix is a² I + b² y y', with the eigenvector y and the eigenvalue a² + b² n. The prediction
    is b² y'K^(-1) y times the new label, and the squared norm is y'K^(-1) y.
    """

    title = "In the least-norm fit, a rule gradually takes over from memorising as the number of examples grows"
    source = Source("emergence2026", "Proposition 19.9", "Figure 19.15", "Figure 19.6", note="an exactly solvable case")
    stated = Kind.OWN
    population = Drawn(
        LookupAndRule,
        positive("own", "without features of its own an example cannot be looked up"),
        labels=signs("n"),
        own=log_uniform(0.3, 10.0),
        shared=log_uniform(0.1, 1.0),
        n=Integer(20, 2, 200, "examples"),
    )
    relation = Equal()
    control = Control("the formulas contain n² in place of n", lambda told, problem: _told(problem, 2))
    controls = "whether a fit of least norm has stored the examples or found the rule"
    unexplained = "rules that have to be formed in training"
    traced = False

    def predict(self, problem: LookupAndRule) -> Array:
        return _told(problem, 1)

    def measure(self, problem: LookupAndRule, key: Key[Array, ""]) -> Array:
        """Fit with and without the shared feature; the share of the rule is the difference of the two predictions."""
        labels, n = np.asarray(problem.labels), len(problem.labels)

        def fit(shared: float) -> tuple[float, float]:
            features = np.hstack([float(problem.own) * np.eye(n), shared * labels[:, None]])
            weights = features.T @ np.linalg.solve(features @ features.T, labels)
            return float(problem.shared * weights[-1]), float(weights @ weights)

        (share, norm), (null, _) = fit(float(problem.shared)), fit(0.0)
        return jnp.asarray([share - null, norm])

    def condition(self, problem: LookupAndRule) -> Array:
        most = problem.own**2 + problem.shared**2 * len(problem.labels)
        return len(problem.labels) * most / jnp.minimum(problem.own, problem.shared) ** 2


def _told(problem: LookupAndRule, power: int) -> Array:
    many = float(len(problem.labels)) ** power
    rule = problem.shared**2 * many
    return jnp.stack([rule / (problem.own**2 + rule), many / (problem.own**2 + rule)])


class SeenSums(eqx.Module):
    """The unordered pairs (i, j), i <= j < p, whose sums are training examples."""

    seen: Bool[Array, " pairs"]
    p: int = eqx.field(static=True)

    @property
    def pairs(self) -> Int[np.ndarray, "seen 2"]:
        """The seen pairs (i, j), one in each row."""
        return np.stack(np.triu_indices(self.p), axis=1)[np.asarray(self.seen)]


class RandomSums(Population[SeenSums]):
    """Each pair is seen with the same probability, independently of the other pairs."""

    settings = Space(
        p=Integer(10, 5, 20, "numbers", corners=(8, 14)),
        share=Real(0.38, 0.25, 0.6, "probability that a pair is seen"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SeenSums:
        p = setting["p"]
        return SeenSums(jax.random.bernoulli(key, setting["share"], (p * (p + 1) // 2,)), p)

    def hypotheses(self, problem: SeenSums) -> list[Hypothesis]:
        return [Hypothesis("seen pairs", jnp.sum(problem.seen), ">=", 2.0, "one pair alone gives no equation")]


def equations(problem: SeenSums, every: bool) -> Int[np.ndarray, "equations p"]:
    """Return one row e_i + e_j - e_k - e_l for every two seen pairs (i, j) and (k, l) of equal sum.

    If `every` is false, use only two pairs that are neighbours in the list of seen pairs of this sum.
    """
    found, pairs = [], problem.pairs
    unit = np.eye(problem.p, dtype=int)
    for total in range(2 * problem.p - 1):
        same = [unit[i] + unit[j] for i, j in pairs.tolist() if i + j == total]
        ends = [(k, other) for k in range(len(same)) for other in range(k) if every or other == k - 1]
        found += [same[k] - same[other] for k, other in ends]
    return np.array(found, dtype=int).reshape(-1, problem.p)


def nullity(rows: Int[np.ndarray, "equations p"], modulus: int = 2_147_483_647) -> int:
    """Return the dimension of the space of solutions, by elimination modulo a large prime."""
    left, rank = [[int(entry) % modulus for entry in row] for row in rows], 0
    for column in range(rows.shape[1]):
        pivot = next((row for row in left if row[column]), None)
        if pivot is None:
            continue
        left.remove(pivot)
        inverse = pow(pivot[column], -1, modulus)
        left = [
            [(x - row[column] * inverse * y) % modulus for x, y in zip(row, pivot, strict=True)] if row[column] else row
            for row in left
        ]
        rank += 1
    return rows.shape[1] - rank


class ParallelogramsForceALine(Claim[SeenSums]):
    """Represent the numbers 0, ..., p-1 by E_0, ..., E_(p-1), and predict the sum of i and j from E_i + E_j. Let some
    pairs be training pairs. Two training pairs with equal sums i + j = k + l give the equation E_i + E_j = E_k + E_l,
    which makes their outputs equal. Let D be the dimension of the space of solutions of all these equations, for one
    coordinate of the representations. Gradient descent on

        sum over these equations of (E_i + E_j - E_k - E_l)²

    from a start with independent standard normal E_i ends, in each coordinate, at a mean squared distance of D - 2 from
    the representations E_i = r + s i, which lie on a line. So if and only if D = 2, descent ends on a line from every
    start, and the rule holds for all pairs.
    """

    title = (
        "Training pairs of an addition force its representations onto a line iff their equations leave two dimensions "
        "free"
    )
    source = Source("liu2022grokking", note="its effective loss, by the dimension of the solutions")
    population = RandomSums()
    relation = Equal()
    control = Control("D = 3 is enough", lambda free, problem: jnp.maximum(free - 1, 2.0))
    controls = "whether a training set determines the rule"
    unexplained = "readouts that are not functions of E_i + E_j"
    traced = False

    def predict(self, problem: SeenSums) -> Array:
        """Return D, the dimension of the solutions of all equations."""
        return jnp.asarray(float(nullity(equations(problem, every=False))))

    def measure(self, problem: SeenSums, key: Key[Array, ""]) -> Array:
        """Return 2 plus the mean squared distance from the lines.

        For standard normal starts, this mean is the sum of the squared distances for descent from all unit vectors.
        """
        rows, p = equations(problem, every=True).astype(float), problem.p
        curvature = rows.T @ rows
        steps = np.eye(p) - curvature / max(np.abs(curvature).sum(axis=1).max(), 1.0)
        for _ in range(_DOUBLINGS):
            steps = steps @ steps
        line = np.linalg.qr(np.stack([np.ones(p), np.arange(p)], axis=1))[0]
        return jnp.asarray(2 + np.sum((steps - line @ (line.T @ steps)) ** 2))

    def condition(self, problem: SeenSums) -> Array:
        """Return the number of steps, because each step rounds the eigenvalue 1 of the free directions."""
        return jnp.asarray(2.0**_DOUBLINGS)
