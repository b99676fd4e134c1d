"""Gradient descent on least squares: how fast each direction of the residual decays.

This theory gives the training residual exactly, at every step, through the eigenvalues of the Gram matrix. It assumes
that the features do not change (linear models, kernels, networks in the lazy regime). It does not explain what happens
if features change, and it does not apply to new data.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Rate, Source
from lemmata.engine.problems.kernel_regressions import KernelRegressions
from lemmata.engine.problems.regression import Regression
from lemmata.subjects.optimisation._least_squares import DefiniteDescents, KernelDescents, LeastSquares

from ._descent import gradient_descent, iterations_to_fit, shift_to_condition_number

ABOUT = {"tool": "spectral theory", "architecture": "linear model", "object": "training"}


def _spread(matrix: Float[Array, "n n"]) -> Hypothesis:
    values = jnp.linalg.eigvalsh(matrix)
    least = (1 + 1e-8) * values[0]
    return Hypothesis(
        "the eigenvalues differ (largest divided by smallest)",
        values[-1],
        ">",
        least,
        "then K + s I is not a multiple of I",
    )


def _flow(residual: Array, problem: LeastSquares) -> Array:
    values, vectors = jnp.linalg.eigh(problem.features @ problem.features.T)
    return vectors @ (jnp.exp(-problem.step * problem.steps * values)[:, None] * (vectors.T @ problem.y))


class ResidualsFollowGram(Claim[LeastSquares]):
    """Let Phi be the n x p matrix of features, and let y be the targets. Run gradient descent with steps of size eta
    from w = 0 on 1/2 |Phi w - y|². After t steps, the training residual is exactly

        y - Phi w_t = (I - eta K)^t y,   where K = Phi Phi'.

    Let u_i be an eigenvector of K with eigenvalue lambda_i. Along u_i, the residual is (1 - eta lambda_i)^t <u_i, y>.
    """

    title = (
        "With the Gram matrix K, the training residual after t descent steps of size eta is (I - eta K)^t "
        "times the targets"
    )
    source = Source("yao2007", "Section 2", note="the iteration in a reproducing kernel Hilbert space")
    population = KernelDescents()
    # rounding in one row reaches all others, so an accidentally small residual has the error of the largest one
    relation = Equal(block=2)
    control = Control("the residual is that of gradient flow, exp(-eta K t) y", _flow)
    controls = "the training residual at every step"
    unexplained = "training in which features change; the error on new data"

    def predict(self, problem: LeastSquares) -> Array:
        values, vectors = jnp.linalg.eigh(problem.features @ problem.features.T)
        return vectors @ (((1 - problem.step * values) ** problem.steps)[:, None] * (vectors.T @ problem.y))

    def measure(self, problem: LeastSquares, key: Key[Array, ""]) -> Array:
        weights = gradient_descent(problem.features, problem.y, problem.start, problem.step, problem.steps)
        return problem.y - problem.features @ weights

    def condition(self, problem: LeastSquares) -> Array:
        """Bound the errors: each step rounds a residual of size |Phi| |w| + |y|, which later steps do not amplify."""
        values, vectors = jnp.linalg.eigh(problem.features @ problem.features.T)
        decay = ((1 - problem.step * values) ** problem.steps)[:, None] * (vectors.T @ problem.y)
        floor = len(values) * jnp.finfo(values.dtype).eps * values[-1]
        weights = (vectors.T @ problem.y - decay) / jnp.sqrt(jnp.maximum(values, floor))[:, None]
        size = jnp.sqrt(values[-1]) * jnp.linalg.norm(weights) + jnp.linalg.norm(problem.y)
        return problem.steps * size / jnp.abs(vectors @ decay).max()


class ConditionNumberGrowth(Claim[Regression]):
    """Let K be the Gram matrix of the training rows, and let the targets lie along the eigenvector of its smallest
    eigenvalue. Run gradient descent on least squares with the step 1 / lambda_max. The number of iterations grows in
    proportion to kappa, where kappa = lambda_max / lambda_min is the condition number. So a bound on the iterations has
    to grow at least in proportion to kappa.

    The residual reaches eps times its initial size after log(eps) / log(1 - 1/kappa) = (kappa - 1/2 - O(1/kappa))
    log(1/eps) iterations, rounded up. The test uses the matrices K + s I, where s is chosen to give each condition
    number.
    """

    title = "In the worst case, the iterations of descent on least squares grow in proportion to the condition number"
    source = Source("foundation2025", "Theorem 2", note="the order in kappa")
    population = KernelRegressions(Integer(20, 2, 200, "training rows"))
    # The slope of kappa - 1/2 between 8 and 256 exceeds 1 by about log(16/15) / log(32) = 0.019 at most.
    relation = Rate(along="kappa", rungs=(8.0, 16.0, 32.0, 64.0, 128.0, 256.0), margin=0.02, resolution=0.02)
    control = Control("iterations grow as sqrt(kappa)", lambda exponent, problem: exponent / 2)
    controls = "the order in kappa of the number of iterations"
    unexplained = "typical targets, which lie along large eigenvalues"
    trials = 64
    predict = 1.0

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        return [_spread(problem.gram)]

    def measure(self, problem: Regression, key: Key[Array, ""]) -> Array:
        """Run the iterations at each size until a residual along the last eigenvector falls to a thousandth."""
        values, vectors = jnp.linalg.eigh(problem.gram)

        def count(kappa):
            shift = shift_to_condition_number(values, kappa)
            matrix, largest = problem.gram + shift * jnp.eye(len(values)), values[-1] + shift
            one = lambda state: (state[0] - matrix @ state[0] / largest, state[1] + 1.0)
            going = lambda state: (jnp.linalg.norm(state[0]) > 1e-3) & (state[1] < 1e5)
            return jax.lax.while_loop(going, one, (vectors[:, 0], jnp.zeros(())))[1]

        return jax.lax.map(count, jnp.asarray(self.relation.rungs))


class ConditionNumberIterations(Claim[LeastSquares]):
    """Let Phi be the features of the training rows, and let y be their targets. Let kappa = lambda_max / lambda_min be
    the condition number of the Gram matrix Phi Phi'. Run gradient descent from 0 on 1/2 |Phi w - y|² with the step 1 /
    lambda_max. The training residual falls below eps times its initial size within

        ceil( kappa log(1/eps) )

    iterations, because (1 - 1/kappa)^t <= exp(-t / kappa). The test uses eps = 1/1000.
    """

    title = "Gradient descent reaches the relative residual eps within (condition number) log(1/eps) iterations"
    source = Source("foundation2025", "Theorem 2", note="with the step 1 / lambda_max")
    population = DefiniteDescents()
    relation = AtMost()
    control = Control("half as many iterations are enough", lambda count, problem: count / 2)
    controls = "the number of iterations until the training residual is small"
    unexplained = "why targets along large eigenvalues are fitted far sooner; features that change; new data"
    trivial = "the number of iterations has no trivial bound"

    def predict(self, problem: LeastSquares) -> Array:
        """Compute the number from the eigenvalues; it is infinite for a singular matrix."""
        values = jnp.linalg.eigvalsh(problem.features @ problem.features.T)
        return jnp.ceil(values[-1] / jnp.maximum(values[0], 0.0) * jnp.log(1 / problem.accuracy))

    def measure(self, problem: LeastSquares, key: Key[Array, ""]) -> Array:
        """Run the iterations, and return the number of iterations."""
        matrix = problem.features @ problem.features.T
        return iterations_to_fit(matrix, problem.y, problem.step, problem.accuracy)
