"""Proximal gradient for the Lasso converges linearly after it has found the support of the minimiser.

This theory bounds the distance to the minimiser by the curvature on the minimiser's support S alone. The number of
features does not matter, and there may be more features than examples. The theory assumes that every slope off the
support is smaller than the penalty. It does not explain how many steps find the support, because its bound on this
number of steps is loose.
"""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import (
    AtMost,
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
from lemmata.engine.problems.prompts import bounded
from lemmata.engine.problems.sparse_ramps import SparseTargets
from lemmata.solvers import lasso_objective, proximal_gradient

ABOUT = {"tool": "convex optimisation", "architecture": "linear model", "object": "training"}

# the end of a path, which is the last iterate whose distance from the minimum, relative to the start, exceeds this
_LATE = 1e-5


class LassoPath(eqx.Module):
    """A path from 0 of proximal gradient on mean (y - Phi rho)² + lambda |rho|_1, and the minimum.

    The step is eta = 1/(2 p).

    Args:
        features: the matrix Phi of p features at the N examples.
        y: the targets of the examples.
        penalty: the penalty lambda on the l_1 norm.
        path: the iterates rho_0, ..., rho_T.
        minimum: the minimiser rho^ of the objective.
    """

    features: Float[Array, "N p"]
    y: Float[Array, " N"]
    penalty: Float[Array, ""]
    path: Float[Array, "T1 p"]
    minimum: Float[Array, " p"]

    @property
    def step(self) -> float:
        """The step size eta = 1/(2 p)."""
        return 1 / (2 * self.features.shape[1])

    @property
    def curvature(self) -> Float[Array, "p p"]:
        """The matrix H = (2/N) Phi^T Phi of second derivatives of the squared error."""
        return 2 * self.features.T @ self.features / len(self.y)

    @property
    def least(self) -> Float[Array, ""]:
        """The least curvature mu = lambda_min(H_SS) on the support S of the minimum."""
        found = self.minimum != 0
        return jnp.linalg.eigvalsh(_block(self.curvature, found, 2.0 * len(found)))[0]

    @property
    def kappa(self) -> Float[Array, ""]:
        """How far the penalty lambda is above the largest slope |(2/N) Phi^T (y - Phi rho^)| off the support."""
        slopes = jnp.abs(2 * (self.y - self.features @ self.minimum) @ self.features / len(self.y))
        return self.penalty - jnp.where(self.minimum != 0, 0.0, slopes).max()

    @property
    def distances(self) -> Float[Array, " T1"]:
        """The distance |rho_t - rho^| of each iterate from the minimiser."""
        return jnp.linalg.norm(self.path - self.minimum, axis=1)

    @property
    def end(self) -> Int[Array, ""]:
        """The last t with |rho_t - rho^| > 1e-5 |rho^|."""
        return _last(self.distances > _LATE * self.distances[0])

    @property
    def halving(self) -> Int[Array, ""]:
        """The least K with (1 - eta mu)^K <= 1/2, or 0 if mu is not positive."""
        steps = jnp.ceil(jnp.log(2.0) / -jnp.log1p(-self.step * jnp.maximum(self.least, 1e-6)))
        return jnp.where(self.least > 0, steps, 0).astype(int)

    @property
    def last_off(self) -> Int[Array, ""]:
        """The last t for which rho_t has a nonzero entry off the support, or 0 if there is none."""
        return _last(((self.path != 0) & (self.minimum == 0)).any(axis=1))

    @property
    def last_signs(self) -> Int[Array, ""]:
        """The last t for which rho_t and rho^ differ in a sign, or 0 if there is none."""
        return _last((jnp.sign(self.path) != jnp.sign(self.minimum)).any(axis=1))


def _last(true: Array) -> Array:
    """Return the last index at which the array is true, or 0 if there is none."""
    return jnp.where(true.any(), len(true) - 1 - jnp.argmax(true[::-1]), 0)


def _block(matrix: Array, kept: Array, diagonal: float) -> Array:
    """Keep the block of some rows and columns, and replace the rest of the matrix by a multiple of the identity."""
    return jnp.where(kept[:, None] & kept[None], matrix, diagonal * jnp.eye(len(matrix)))


def minimum_on(features: Array, y: Array, penalty: Array, signs: Float[Array, " p"]) -> Float[Array, " p"]:
    """Solve H_SS rho = (2/N) Phi_S^T y - lambda sign on the support S of the signs; off S, rho is 0.

    Args:
        features: the matrix Phi of features at the N examples.
        y: the targets of the examples.
        penalty: the penalty lambda on the l_1 norm.
        signs: the signs of the minimum; 0 off its support.
    """
    kept = signs != 0
    block = _block(2 * features.T @ features / len(y), kept, 1.0)
    return jnp.where(kept, jnp.linalg.solve(block, jnp.where(kept, 2 * y @ features / len(y) - penalty * signs, 0)), 0)


class IdentifiedPaths(Population[LassoPath]):
    """Paths of 4000 proximal gradient steps, on examples of a function of two ramps.

    The examples have eight ramps as features. The support is found before the last K steps, where K is the least number
    with (1 - eta mu)^K at most 1/2. The minimum comes from the normal equations on the support of the last iterate. The
    hypotheses check this minimum.
    """

    settings = Space(
        N=Integer(128, 32, 1024, "examples"),
        sigma=Real(0.05, 0.0, 10.0, "standard deviation of the noise"),
        level=Real(0.1, 0.001, 0.999, "lambda divided by the largest slope at 0"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LassoPath:
        given = SparseTargets(d=4, s=2)
        sizes = {**given.settings().default, "N": setting["N"], "sigma": setting["sigma"]}
        drawn = given.sample(sizes, key)
        features, y = drawn.features, drawn.y
        penalty = setting["level"] * jnp.abs(2 * y @ features / len(y)).max()
        path = proximal_gradient(features, y, penalty, 1 / (2 * features.shape[1]), 4000)
        return LassoPath(features, y, penalty, path, minimum_on(features, y, penalty, jnp.sign(path[-1])))

    def hypotheses(self, problem: LassoPath) -> list[Hypothesis]:
        agree = jnp.all(jnp.sign(problem.minimum) == jnp.sign(problem.path[-1]))
        return [
            bounded(problem.features),
            Hypothesis("rho^ has the signs of the last iterate", agree, "==", 1.0, "rho^ is the minimum"),
            Hypothesis(
                "kappa is positive",
                problem.kappa,
                ">",
                0.0,
                "then rho^ is the minimum, and every slope off the support is below lambda",
            ),
            Hypothesis("H_SS is positive definite", problem.least, ">", 0.0, "the rate is 1 - eta mu"),
            Hypothesis(
                "the support is found a halving before the end", problem.last_off, "<", problem.end - problem.halving
            ),
        ]


_LATE_STEPS, _WHEN = (
    "the distance to the Lasso minimiser late on the path",
    "how many steps it takes to find the support",
)


def shrinkage(problem: LassoPath, exponent: Array | float = 1.0) -> Array:
    """Return (1 - eta mu)^(exponent K), where K steps halve the distance.

    Args:
        problem: a path of proximal gradient, which gives eta, mu and K.
        exponent: the number of halvings.
    """
    return (1 - problem.step * problem.least) ** (exponent * problem.halving)


def rounding(problem: LassoPath) -> Array:
    """Bound the rounding errors of differences of iterates, by the condition number of H_SS times |rho^|, divided by
    the distance at the end.
    """
    largest = jnp.linalg.eigvalsh(problem.curvature)[-1]
    return largest / problem.least * jnp.linalg.norm(problem.minimum) / problem.distances[problem.end]


def signs_settle(problem: LassoPath) -> Hypothesis:
    """Check that the iterates have the signs of rho^ from K steps before the end."""
    why = "then soft thresholding is a shift"
    return Hypothesis("signs settle before", problem.last_signs, "<", problem.end - problem.halving, why)


class DistanceShrinks(Claim[LassoPath]):
    """Let Phi hold the p features of N examples, and let y be their targets. Let rho^ be the minimiser of the Lasso
    objective l(rho) = mean (y - Phi rho)² + lambda |rho|_1, with support S. Let H = (2/N) Phi^T Phi, let H_SS be its
    block on S, and let mu = lambda_min(H_SS) > 0. Let rho_0, rho_1, ... be proximal gradient steps rho <- ST(rho - eta
    grad) with eta <= 1/lambda_max(H). Here ST is soft thresholding at the level eta lambda, and grad is the gradient of
    mean (y - Phi rho)² at rho. If the iterates rho_T, ..., rho_{T+K} vanish off S, then

        |rho_{T+K} - rho^| <= (1 - eta mu)^K |rho_T - rho^|.

    Proof: ST does not increase distances, and a step from rho^ returns rho^. Compare the steps from rho_t and from
    rho^. Before ST, their difference on S is (I - eta H_SS)(rho_t - rho^). The eigenvalues of I - eta H_SS lie in [0,
    1 - eta mu].

    The test uses eta = 1/(2 p) and the last K steps, where K is chosen such that (1 - eta mu)^K is near 1/2. In these
    steps, nearly all of the remaining distance lies along the slowest direction.
    """

    title = "Proximal gradient for the Lasso converges linearly once it has found the support"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="after the support is found, which is not in the source")
    stated = Kind.OWN
    population = IdentifiedPaths()
    relation = AtMost()
    control = Control("twice the exponent", lambda bound, problem: shrinkage(problem, 2.0))
    controls = _LATE_STEPS
    unexplained = _WHEN
    trivial = 1.0  # no step goes away from the minimum

    def predict(self, problem: LassoPath) -> Array:
        return shrinkage(problem)

    def measure(self, problem: LassoPath, key: Key[Array, ""]) -> Array:
        return problem.distances[problem.end] / problem.distances[problem.end - problem.halving]

    def condition(self, problem: LassoPath) -> Array:
        return rounding(problem)


class ObjectiveShrinks(Claim[LassoPath]):
    """Let Phi hold the p features of N examples, and let y be their targets. Let rho^ be the minimiser of the Lasso
    objective l(rho) = mean (y - Phi rho)² + lambda |rho|_1, with support S. Let H = (2/N) Phi^T Phi, let H_SS be its
    block on S, and let mu = lambda_min(H_SS) > 0. Let rho_0, rho_1, ... be the iterates of proximal gradient with a
    step eta <= 1/lambda_max(H). If rho_T, ..., rho_{T+K} have the signs of rho^ (and so vanish off S), then

        l(rho_{T+K}) - l(rho^) <= (1 - eta mu)^(2 K) (l(rho_T) - l(rho^)).

    Proof: let e_t = rho_t - rho^ for these iterates. Then l(rho_t) - l(rho^) = e_t^T H e_t/2. On S, e_{T+K} = (I - eta
    H_SS)^K e_T, and (I - eta H_SS)^K commutes with H_SS.

    The test uses eta = 1/(2 p) and the last K steps, where K is chosen such that (1 - eta mu)^K is near 1/2.
    """

    title = "The Lasso objective converges at twice the rate of the distance to the minimiser"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="after the support is found, which is not in the source")
    stated = Kind.OWN
    population = IdentifiedPaths()
    relation = AtMost()
    control = Control("the exponent is 3 K instead of 2 K", lambda bound, problem: shrinkage(problem, 3.0))
    controls = "the objective of the Lasso late on a path"
    unexplained = _WHEN
    trivial = 1.0  # no step raises the objective

    def predict(self, problem: LassoPath) -> Array:
        return shrinkage(problem, 2.0)

    def hypotheses(self, problem: LassoPath) -> list[Hypothesis]:
        return [signs_settle(problem)]

    def measure(self, problem: LassoPath, key: Key[Array, ""]) -> Array:
        gaps = self._gaps(problem)
        return gaps[1] / gaps[0]

    def condition(self, problem: LassoPath) -> Array:
        """Return the condition number of the difference of two objectives, relative to the minimum."""
        size = lasso_objective(problem.features, problem.y, problem.penalty, problem.minimum)
        return rounding(problem) + size / self._gaps(problem)[1]

    def _gaps(self, problem: LassoPath) -> Array:
        """Return the excess of the objective over the minimum, K steps before the end and at the end."""
        found = jnp.stack([problem.minimum, *(problem.path[problem.end - k] for k in (problem.halving, 0))])
        values = lasso_objective(problem.features, problem.y, problem.penalty, found)
        return values[1:] - values[0]


class PathIsLinear(Claim[LassoPath]):
    """Let Phi hold the features of N examples, and let y be their targets. Let rho^ be the minimiser of the Lasso
    objective mean (y - Phi rho)² + lambda |rho|_1, with support S. Let H = (2/N) Phi^T Phi, and let H_SS be its block
    on S. Suppose that the iterates rho_t of proximal gradient with step eta have the signs of rho^ (and so vanish off
    S). Then e_t = rho_t - rho^ obeys

        e_{t+1} = (I - eta H_SS) e_t,     |e_{t+K}|² = sum_i (1 - eta mu_i)^(2 K) <v_i, e_t>²,

    where mu_i and v_i are the eigenvalues and eigenvectors of H_SS. Therefore |e_{t+1}|/|e_t| tends to 1 - eta mu,
    where mu is the smallest mu_i with <v_i, e_t> != 0. If e_t has a component along the eigenvector of the smallest
    eigenvalue, mu is lambda_min(H_SS). The test uses eta = 1/(2 p), where p is the number of features.
    """

    title = "The path of proximal gradient for the Lasso is a linear recursion once the coefficients' signs are found"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="after the support is found, which is not in the source")
    stated = Kind.OWN
    population = IdentifiedPaths()
    relation = Equal()
    control = Control("one step fewer", lambda found, problem: found / (1 - problem.step * problem.least))
    controls = _LATE_STEPS
    unexplained = _WHEN

    def predict(self, problem: LassoPath) -> Array:
        kept = problem.minimum != 0
        values, vectors = jnp.linalg.eigh(jnp.where(kept[:, None] & kept[None], problem.curvature, 0.0))
        before = vectors.T @ (problem.path[problem.end - problem.halving] - problem.minimum)
        return jnp.linalg.norm((1 - problem.step * values) ** problem.halving * before)

    def hypotheses(self, problem: LassoPath) -> list[Hypothesis]:
        return [signs_settle(problem)]

    def measure(self, problem: LassoPath, key: Key[Array, ""]) -> Array:
        return problem.distances[problem.end]

    def condition(self, problem: LassoPath) -> Array:
        return rounding(problem)


class StepsToTheSupport(Claim[LassoPath]):
    """Let Phi hold the p features of N examples, and let y be their targets. Let rho^ be the minimiser of the Lasso
    objective mean (y - Phi rho)² + lambda |rho|_1, with support S. Let H = (2/N) Phi^T Phi, and suppose that m =
    lambda_min(H) > 0. Suppose further that kappa = lambda - max off S of |(2/N) Phi^T (y - Phi rho^)| > 0. Let rho_0 =
    0, rho_1, ... be the iterates of proximal gradient with a step eta <= 1/lambda_max(H). All entries of the iterates
    off S are 0 after

        log(|rho^| / (eta kappa)) / (-log(1 - eta m))     steps.

    Proof: take a gradient step from rho^. Before soft thresholding at the level eta lambda, the entries of the result
    off S are below this level by at least eta kappa in size. Suppose that the step to rho_t leaves a nonzero entry off
    S. Before thresholding, this entry then differs from the same entry of the step from rho^ by more than eta kappa.
    But the difference between the two steps is at most (1 - eta m)^t |rho^|.

    The test uses eta = 1/(2 p).
    """

    title = "An upper bound on the number of steps until the support of the Lasso is found"
    source = Source("li2025incontext", "Lemma 3", "(41)", note="until the support is found, which is not in the source")
    stated = Kind.OWN
    population = IdentifiedPaths()
    relation = AtMost()
    control = Control(
        "a fiftieth of the steps is enough",
        lambda bound, problem: bound / 50,
        loose="the last entries off S vanish long before the distance along the slowest direction of H is that short",
    )
    controls = "the number of steps until the support is found"
    unexplained = "why the support is found much earlier than the bound says"
    trivial = "without kappa, no bound on the number of steps is known"

    def predict(self, problem: LassoPath) -> Array:
        least = problem.step * jnp.linalg.eigvalsh(problem.curvature)[0]
        known = jnp.linalg.norm(problem.minimum) / (problem.step * problem.kappa)
        return jnp.maximum(jnp.log(known), 0.0) / -jnp.log1p(-least)

    def hypotheses(self, problem: LassoPath) -> list[Hypothesis]:
        least = jnp.linalg.eigvalsh(problem.curvature)[0]
        return [Hypothesis("H is positive definite", least, ">", 0.0, "then every step is a contraction")]

    def measure(self, problem: LassoPath, key: Key[Array, ""]) -> Array:
        return problem.last_off * 1.0
