"""Gradient descent on least squares: how fast each direction of the residual dies.

This theory controls the training residual, exactly and at every step, through the eigenvalues of the Gram matrix. It
assumes that the features do not move (linear models, kernels, networks in the lazy regime); it leaves unexplained
what happens when they do, and says nothing about new data.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Equal, Hypothesis, Integer, Rate, Real, Source, Space, Status
from lemmata.kernels import gram
from lemmata.problems import Regression
from lemmata.problems._sampled import DEFINITE_KERNEL, KERNEL, sampled_regression
from lemmata.problems._singular import singular_cause

from ._descent import LeastSquares as LeastSquares
from ._descent import gradient_descent as gradient_descent
from ._descent import iterations_to_fit as iterations_to_fit
from ._descent import kernel_features as kernel_features
from ._descent import kernel_least_squares as kernel_least_squares
from ._descent import shift_to_condition_number as shift_to_condition_number
from ._descent import stable_step as stable_step

_CONDITION_NUMBERS = (8.0, 16.0, 32.0, 64.0, 128.0, 256.0)
_ROWS = (8, 16, 32, 64)
_NOISE = Real(0.5, 0.01, 100.0, "standard deviation of the noise in the targets")


def _pose(problem: object, steps: int = 100) -> LeastSquares | None:
    if isinstance(problem, LeastSquares):
        return problem
    return kernel_least_squares(problem, steps) if isinstance(problem, Regression) else None


def _definite(smallest: Float[Array, ""], largest: Float[Array, ""], rows: int) -> Hypothesis:
    floor = 16 * rows * jnp.finfo(largest.dtype).eps * largest
    why = "below the rounding floor the condition number is infinite: duplicate rows, or more rows than features"
    return Hypothesis("the Gram matrix is positive definite (smallest eigenvalue)", smallest, ">", floor, why)


def _spread(matrix: Float[Array, "n n"]) -> Hypothesis:
    values = jnp.linalg.eigvalsh(matrix)
    least = (1 + 1e-8) * values[0]
    return Hypothesis("the eigenvalues differ (largest against smallest)", values[-1], ">", least, "K + s I is not s I")


class ResidualsFollowGram(Claim[LeastSquares]):
    """After t steps of size eta from w = 0 on 1/2 |Phi w - y|², the training residual is exactly

        y - Phi w_t = (I - eta K)^t y,   K = Phi Phi',

    so that along the eigenvector u_i of K it is (1 - eta lambda_i)^t <u_i, y>.
    """

    title = "Residuals of gradient descent follow the Gram matrix"
    source = Source("yao2007", "Section 2", note="the iteration in a reproducing kernel Hilbert space")
    relation = Equal()
    label = "identity"
    controls = "the training residual at every step"
    unexplained = "training of features; the error on new data"
    problem = LeastSquares
    trials = 128

    def settings(self) -> Space:
        """Rows, steps, noise, kernel."""
        steps = Integer(100, 1, 10_000, "steps of gradient descent")
        return Space(n=Integer(30, 2, 400, "training rows"), steps=steps, noise=_NOISE, kernel=KERNEL)

    def sample(self, setting: dict, key: Key[Array, ""]) -> LeastSquares:
        """The features of a kernel on random rows, and a step between 0.1 and 1.9 over lambda_max."""
        rows_key, step_key = jax.random.split(key)
        n, noise = setting["n"], setting["noise"]
        rows = sampled_regression(rows_key, n=n, t=1, d=5, kernel=setting["kernel"], noise=noise)
        features = kernel_features(rows.gram)
        step = jax.random.uniform(step_key, minval=0.1, maxval=1.9) * stable_step(features)
        return LeastSquares(features, rows.y, jnp.zeros_like(rows.y), step, setting["steps"])

    def pose(self, problem: object) -> LeastSquares | None:
        """The kernel's own features on the training rows, 100 steps of size 1 / lambda_max."""
        return _pose(problem)

    def hypotheses(self, problem: LeastSquares) -> list[Hypothesis]:
        """A stable step, a start at zero."""
        largest = jnp.linalg.norm(problem.features, ord=2) ** 2
        return [
            Hypothesis("the step is at most 2 / lambda_max", problem.step, "<=", 2 / largest, "residuals stay bounded"),
            Hypothesis("training starts at zero", jnp.abs(problem.start).max(), "<=", 0.0, "the first residual is y"),
        ]

    def predict(self, problem: LeastSquares) -> Array:
        """(I - eta K)^t y through the eigensystem of K."""
        values, vectors = jnp.linalg.eigh(problem.features @ problem.features.T)
        return vectors @ (((1 - problem.step * values) ** problem.steps)[:, None] * (vectors.T @ problem.y))

    def measure(self, problem: LeastSquares, key: Key[Array, ""]) -> Array:
        """y - Phi w after the steps have been taken."""
        weights = gradient_descent(problem.features, problem.y, problem.start, problem.step, problem.steps)
        return problem.y - problem.features @ weights

    def condition(self, problem: LeastSquares) -> Array:
        """Each step rounds a residual made of Phi w and y, of size |Phi| |w| + |y|, and no later step amplifies it."""
        values, vectors = jnp.linalg.eigh(problem.features @ problem.features.T)
        decay = ((1 - problem.step * values) ** problem.steps)[:, None] * (vectors.T @ problem.y)
        floor = len(values) * jnp.finfo(values.dtype).eps * values[-1]
        weights = (vectors.T @ problem.y - decay) / jnp.sqrt(jnp.maximum(values, floor))[:, None]
        size = jnp.sqrt(values[-1]) * jnp.linalg.norm(weights) + jnp.linalg.norm(problem.y)
        return problem.steps * size / jnp.abs(vectors @ decay).max()

    def control(self) -> Control:
        """Gradient flow instead of gradient descent."""

        def flow(residual, problem):
            values, vectors = jnp.linalg.eigh(problem.features @ problem.features.T)
            return vectors @ (jnp.exp(-problem.step * problem.steps * values)[:, None] * (vectors.T @ problem.y))

        return Control("the residual is that of gradient flow, exp(-eta K t) y", flow)


class ConditionNumberIterations(Claim[LeastSquares]):
    """With the step 1 / lambda_max, gradient descent on 1/2 |Phi w - y|² brings the training residual below eps times
    the first one within

        ceil( kappa log(1/eps) ),   kappa = lambda_max / lambda_min of K = Phi Phi',

    iterations, because (1 - 1/kappa)^t <= exp(-t / kappa).
    """

    title = "Condition number times log(1/eps) iterations fit the training rows"
    source = Source("foundation2025", "Theorem 2", note="with the step 1 / lambda_max")
    relation = AtMost()
    controls = "the number of iterations until the training residual is small"
    unexplained = "why targets along large eigenvalues are fitted far sooner; moving features; new data"
    problem = LeastSquares
    corrects = "optimisation.least_squares.printed_step_iterations"
    trials = 128

    def settings(self) -> Space:
        """Rows, noise, kernel."""
        return Space(n=Integer(20, 2, 200, "training rows"), noise=_NOISE, kernel=DEFINITE_KERNEL)

    def sample(self, setting: dict, key: Key[Array, ""]) -> LeastSquares:
        """The features of a kernel on random rows."""
        n, noise = setting["n"], setting["noise"]
        return kernel_least_squares(sampled_regression(key, n=n, t=1, d=5, kernel=setting["kernel"], noise=noise))

    def pose(self, problem: object) -> LeastSquares | None:
        """The kernel's own features on the training rows, fitted to a thousandth of the first residual."""
        return _pose(problem)

    def hypotheses(self, problem: LeastSquares) -> list[Hypothesis]:
        """A positive definite Gram matrix, the step 1 / lambda_max."""
        values = jnp.linalg.eigvalsh(problem.features @ problem.features.T)
        scaled = problem.step * values[-1]
        step = Hypothesis("the step is 1 / lambda_max", scaled, "==", 1.0, "the rate is 1 - 1/kappa", 1e-10)
        return [_definite(values[0], values[-1], len(values)), step]

    def culprit(self, problem: LeastSquares) -> str | None:
        """Why the Gram matrix is singular, where it is."""
        return singular_cause(problem.features @ problem.features.T, problem.inputs)

    def predict(self, problem: LeastSquares) -> Array:
        """ceil(kappa log(1/eps)) from the eigenvalues; infinite for a singular matrix."""
        values = jnp.linalg.eigvalsh(problem.features @ problem.features.T)
        return jnp.ceil(values[-1] / jnp.maximum(values[0], 0.0) * jnp.log(1 / problem.accuracy))

    def measure(self, problem: LeastSquares, key: Key[Array, ""]) -> Array:
        """The iterations of the residual that it takes."""
        matrix = problem.features @ problem.features.T
        return iterations_to_fit(matrix, problem.y, problem.step, problem.accuracy)

    def control(self) -> Control:
        """The count of accelerated methods."""

        def accelerated(count, problem):
            return jnp.sqrt(count * jnp.log(1 / problem.accuracy))

        return Control("sqrt(kappa) log(1/eps) iterations are enough, as for conjugate gradients", accelerated)


class ConditionNumberGrowth(Claim[Regression]):
    """The dependence on the condition number cannot be improved: for a target along the eigenvector of the smallest
    eigenvalue the iterations of gradient descent with the step 1 / lambda_max grow as kappa^1.

    The count is log(eps) / log(1 - 1/kappa) = (kappa - 1/2 - O(1/kappa)) log(1/eps), rounded up. The matrices are
    K + s I, with s such that the condition number is the rung.
    """

    title = "Iterations in the worst case are proportional to the condition number"
    source = Source("foundation2025", "Theorem 2", note="the order in kappa")
    # The slope of kappa - 1/2 between 8 and 256 exceeds 1 by about log(16/15) / log(32) = 0.019 at most.
    relation = Rate(along="kappa", rungs=_CONDITION_NUMBERS, margin=0.02, resolution=0.02)
    label = "rate"
    controls = "the order in kappa of the number of iterations"
    unexplained = "typical targets, which lie along large eigenvalues"
    problem = Regression
    trials = 64

    def settings(self) -> Space:
        """Rows, kernel."""
        return Space(n=Integer(20, 2, 200, "training rows"), kernel=KERNEL)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Regression:
        """Random rows with a kernel."""
        return sampled_regression(key, n=setting["n"], t=1, d=5, kernel=setting["kernel"])

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        """A Gram matrix that can be shaped."""
        return [_spread(problem.gram)]

    def predict(self, problem: Regression) -> Array:
        """The exponent 1."""
        return jnp.ones(())

    def measure(self, problem: Regression, key: Key[Array, ""]) -> Array:
        """Iterations to a thousandth of a residual along the last eigenvector, by running them, at each rung."""
        values, vectors = jnp.linalg.eigh(problem.gram)

        def count(kappa):
            shift = shift_to_condition_number(values, kappa)
            matrix, largest = problem.gram + shift * jnp.eye(len(values)), values[-1] + shift
            one = lambda state: (state[0] - matrix @ state[0] / largest, state[1] + 1.0)
            going = lambda state: (jnp.linalg.norm(state[0]) > 1e-3) & (state[1] < 1e5)
            return jax.lax.while_loop(going, one, (vectors[:, 0], jnp.zeros(())))[1]

        return jax.lax.map(count, jnp.asarray(_CONDITION_NUMBERS))

    def control(self) -> Control:
        """The order of accelerated methods."""
        return Control("iterations grow as sqrt(kappa)", lambda exponent, problem: exponent / 2)


class PrintedStepIterations(Claim[Regression]):
    """As printed: with learning rate eta = c / (n lambda_max) gradient descent fits the n training rows in
    O(kappa log(1/eps)) iterations, so that at fixed kappa and eps the count does not grow with n.

    Read with lambda_max and kappa from the n x n kernel matrix, c = 1, and the loss summed over rows (under the mean
    over rows each step is n times shorter again), the step is n times too short and the count n kappa log(1/eps). Only
    where lambda_max is that of the kernel matrix divided by n is the step the right one. Zero loss is reached by
    neither; fitted means a residual of eps times the first.
    """

    title = "The step c/(n lambda_max) fits in O(kappa log(1/eps)) iterations, as printed"
    source = Source("foundation2025", "Theorem 2", note="as printed")
    relation = Rate(along="n", rungs=tuple(map(float, _ROWS)), upper=True)
    label = "rate"
    controls = "the number of iterations until the training residual is small"
    unexplained = "which matrix lambda_max belongs to, and which loss is meant"
    problem = Regression
    expected = Status.REFUTED
    trials = 64

    def settings(self) -> Space:
        """Noise, kernel."""
        return Space(noise=_NOISE, kernel=KERNEL)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Regression:
        """Random rows with a kernel, as many as the last rung."""
        return sampled_regression(key, n=64, t=1, d=5, kernel=setting["kernel"], noise=setting["noise"])

    def pose(self, problem: object) -> Regression | None:
        """A regression with at least 64 training rows."""
        return problem if isinstance(problem, Regression) and len(problem.x) >= 64 else None

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        """The first rung's Gram matrix can be shaped."""
        return [_spread(gram(problem.kernel, problem.x[:8]))]

    def predict(self, problem: Regression) -> Array:
        """The exponent 0: no growth with n."""
        return jnp.zeros(())

    def measure(self, problem: Regression, key: Key[Array, ""]) -> Array:
        """Iterations to a hundredth of the first residual on the first n rows, for K + s I of condition number 4."""

        def count(n: int):
            matrix = gram(problem.kernel, problem.x[:n])
            values = jnp.linalg.eigvalsh(matrix)
            shift = shift_to_condition_number(values, 4.0)
            step = 1 / (n * (values[-1] + shift))
            return iterations_to_fit(matrix + shift * jnp.eye(n), problem.y[:n], step, 1e-2)

        return jnp.stack([count(n) for n in _ROWS])

    def control(self) -> Control:
        """A stronger statement still."""
        return Control("the count falls as 1 / sqrt(n)", lambda exponent, problem: exponent - 0.5)
