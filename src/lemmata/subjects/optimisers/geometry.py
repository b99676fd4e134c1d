"""Which of many solutions a method ends at: the metric decides, and coordinate-wise scales may decide badly.

This theory controls the end of training linear models with more weights than rows. It assumes a metric that does not
change, or rows on which coordinate-wise methods move along one ray; it leaves unexplained networks.
"""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.engine.problems._metric_flows import (
    MarginalClasses,
    MarginalClassifications,
    MetricFlows,
    MetricLeastSquares,
)

_WHOLE = -1
_STEPS = 60


def _least_norm(problem: MetricLeastSquares, metric: Float[Array, "p p"]) -> Float[Array, " p"]:
    return metric @ problem.x.T @ jnp.linalg.solve(problem.x @ metric @ problem.x.T, problem.y)


class MetricChoosesInterpolant(Claim[MetricLeastSquares]):
    """The flow w' = -P X'(X w - y) from 0 with a constant positive definite metric P on n independent rows X of p > n
    coordinates ends at

        P X'(X P X')^-1 y,

    of all w with X w = y the one for which w' P^-1 w is least. Descent with steps of the size 1/lambda_max(X P X') ends
    there as well, and is what is measured.
    """

    title = "A constant metric chooses the interpolant of least norm in its inverse"
    source = Source("gunasekar2018", note="quadratic potentials")
    population = MetricFlows()
    relation = Equal(block=_WHOLE)
    control = Control("the metric is P²", lambda value, problem: _least_norm(problem, problem.metric @ problem.metric))
    controls = "which interpolant is found"
    unexplained = "metrics that change while the rows are fitted, as all adaptive ones"

    def predict(self, problem: MetricLeastSquares) -> Array:
        return _least_norm(problem, problem.metric)

    def measure(self, problem: MetricLeastSquares, key: Key[Array, ""]) -> Array:
        step = 1 / jnp.linalg.norm(problem.x @ problem.metric @ problem.x.T, ord=2)
        one = lambda _, w: w - step * problem.metric @ (problem.x.T @ (problem.x @ w - problem.y))
        return jax.lax.fori_loop(0, problem.steps, one, jnp.zeros(problem.x.shape[1]))

    def condition(self, problem: MetricLeastSquares) -> Array:
        """A residual is rounded in every step and forgotten in kappa of them; the solve has kappa itself."""
        values = jnp.linalg.eigvalsh(problem.x @ problem.metric @ problem.x.T)
        return problem.x.shape[1] * values[-1] / values[0]


class AdaptiveStepsMissTheClass(Claim[MarginalClasses]):
    """Rows x = (y, 1, 1, private coordinates) with classes y = +-1, most of them +1; of five private coordinates a row
    the first is 1 where y = 1, and all are where y = -1. Least squares on such rows from 0 by AdaGrad, RMSProp and Adam
    stays on the ray of sign(X'y), since X sign(X'y) = 4 y, fits all rows, and then calls every new row +1. Descent ends
    at the interpolant of least norm and makes no mistake:

        test errors: the share of class -1 for the three, 0 for descent.
    """

    title = "Adaptive methods fit the rows and miss the class"
    source = Source("wilson2017", "Lemma 3.1", note="and the example after it")
    population = MarginalClassifications()
    relation = Equal()
    control = Control("descent and the adaptive methods change places", lambda errors, problem: errors[0] - errors)
    controls = "errors on new rows after the training rows are fitted"
    unexplained = "how common such rows are"

    def predict(self, problem: MarginalClasses) -> Array:
        minority = (problem.y_new < 0).mean()
        return jnp.stack([minority, minority, minority, jnp.zeros(())])

    def measure(self, problem: MarginalClasses, key: Key[Array, ""]) -> Array:
        """Errors on new rows; 2 where a training row has the wrong sign."""
        x, y = problem.x, problem.y
        slope = lambda w: x.T @ (x @ w - y)

        def error(method: optax.GradientTransformation, steps: int) -> Array:
            def one(_, carry):
                w, state = carry
                update, state = method.update(slope(w), state)
                return w + update, state

            start = jnp.zeros(x.shape[1])
            w = jax.lax.fori_loop(0, steps, one, (start, method.init(start)))[0]
            wrong = jnp.mean(jnp.sign(problem.x_new @ w) != problem.y_new)
            return jnp.where((jnp.sign(x @ w) == y).all(), wrong, 2.0)

        rate = optax.exponential_decay(0.02, 10, 0.7)
        adaptive = (optax.adagrad(0.05, eps=1e-12), optax.rmsprop(rate, eps=1e-12), optax.adam(rate, eps=1e-12))
        descent = optax.sgd(1 / jnp.linalg.norm(x, ord=2) ** 2)
        return jnp.stack([*(error(method, _STEPS) for method in adaptive), error(descent, 20 * _STEPS)])
