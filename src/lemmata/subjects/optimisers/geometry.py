"""Which of many solutions a method finds: the metric decides, and scales of coordinates can lead to a bad solution.

This theory gives the limit of training for linear models with more weights than rows. It assumes a metric that does not
change, or rows for which the weights of coordinate-wise methods move along one ray. It does not explain networks.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Source, Space

ABOUT = {"tool": "linear algebra", "architecture": "linear model", "object": "training"}


class MetricLeastSquares(eqx.Module):
    """The loss 1/2 |x w - y|² with fewer rows than weights, and descent from 0 along -metric times the gradient."""

    x: Float[Array, "n p"]
    y: Float[Array, " n"]
    metric: Float[Array, "p p"]
    steps: int = eqx.field(static=True)


class MetricFlows(Population[MetricLeastSquares]):
    """Normal rows, and a metric with eigenvalues between 1/2 and 2."""

    settings = Space(
        n=Integer(4, 1, 30, "rows"),
        ratio=Integer(8, 6, 30, "weights per row", corners=(6, 12)),
        steps=Integer(2000, 500, 100_000, "steps", corners=(2000, 3000)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> MetricLeastSquares:
        keys = jax.random.split(key, 4)
        n, p = setting["n"], setting["n"] * setting["ratio"]
        basis = jnp.linalg.qr(jax.random.normal(keys[0], (p, p)))[0]
        values = 0.5 * 4 ** jax.random.uniform(keys[1], (p,))
        x, y = jax.random.normal(keys[2], (n, p)), jax.random.normal(keys[3], (n,))
        return MetricLeastSquares(x, y, (basis * values) @ basis.T, setting["steps"])

    def hypotheses(self, problem: MetricLeastSquares) -> list[Hypothesis]:
        values = jnp.linalg.eigvalsh(problem.x @ problem.metric @ problem.x.T)
        needed = 36.7 * values[-1] / values[0]
        return [
            Hypothesis(
                "the number of steps is large enough",
                problem.steps,
                ">=",
                needed,
                "then the limit is reached up to rounding",
            )
        ]


class MarginalClasses(eqx.Module):
    """Classes +-1 of training and new rows; a row contains its class, two ones, and five coordinates of its own."""

    y: Float[Array, " n"]
    y_new: Float[Array, " m"]

    @property
    def x(self) -> Float[Array, "n p"]:
        """The training rows (y, 1, 1, ..). Of the five coordinates of its own, a row with y = 1 has 1 in the first,
        and a row with y = -1 has 1 in all five.
        """
        n = len(self.y)
        five = jnp.where(self.y[:, None] > 0, jnp.eye(1, 5), jnp.ones((1, 5)))
        private = (jnp.eye(n)[:, :, None] * five[:, None, :]).reshape(n, 5 * n)
        return jnp.concatenate([self.y[:, None], jnp.ones((n, 2)), private], axis=1)

    @property
    def x_new(self) -> Float[Array, "m p"]:
        """The new rows. Their own coordinates are left out, because no training row uses these coordinates, so their
        weights are still 0.
        """
        m, n = len(self.y_new), len(self.y)
        return jnp.concatenate([self.y_new[:, None], jnp.ones((m, 2)), jnp.zeros((m, 5 * n))], axis=1)


class MarginalClassifications(Population[MarginalClasses]):
    """Class +1 has a probability between 0.6 and 0.8, and most of the training rows."""

    drops = 0.2
    settings = Space(n=Integer(24, 8, 100, "training rows", corners=(16, 40)), new=Integer(50, 10, 1000, "new rows"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> MarginalClasses:
        """Draw independent classes, and new rows with at least one row of each class."""
        one, two, three = jax.random.split(key, 3)
        rate = 0.6 + 0.2 * jax.random.uniform(one)
        draw = lambda k, size: jnp.where(jax.random.bernoulli(k, rate, (size,)), 1.0, -1.0)
        return MarginalClasses(draw(two, setting["n"]), draw(three, setting["new"]).at[:2].set(jnp.array([1.0, -1.0])))

    def hypotheses(self, problem: MarginalClasses) -> list[Hypothesis]:
        """Check that most training rows have class +1 and some have class -1, so that descent is right on new rows of
        both classes.
        """
        share = (problem.y > 0).mean()
        return [
            Hypothesis(
                "most training rows have class +1",
                share,
                ">",
                0.5,
                "the majority fixes the sign of the weights of the constant coordinates",
            ),
            Hypothesis("some training rows have class -1", share, "<", 1.0, "otherwise the class is constant"),
        ]


_WHOLE = -1
_STEPS = 60


def _least_norm(problem: MetricLeastSquares, metric: Float[Array, "p p"]) -> Float[Array, " p"]:
    return metric @ problem.x.T @ jnp.linalg.solve(problem.x @ metric @ problem.x.T, problem.y)


class MetricChoosesInterpolant(Claim[MetricLeastSquares]):
    """Let the matrix X have n linearly independent rows with p > n coordinates, and let y be their targets. Let P be a
    constant positive definite metric. Started at 0, the flow w' = -P X'(X w - y) ends at

        P X'(X P X')^-1 y.

    Among all w with X w = y, this interpolant has the smallest value of w' P^-1 w. The trials replace the flow by
    descent with steps of size 1/lambda_max(X P X'), which ends at the same point.
    """

    title = "Descent in a constant metric ends at the interpolant of least norm in the inverse metric"
    source = Source("gunasekar2018", note="quadratic potentials")
    population = MetricFlows()
    relation = Equal(block=_WHOLE)
    control = Control("the metric is P²", lambda value, problem: _least_norm(problem, problem.metric @ problem.metric))
    controls = "the interpolant that is found"
    unexplained = "metrics that change during training, as those of all adaptive methods"

    def predict(self, problem: MetricLeastSquares) -> Array:
        return _least_norm(problem, problem.metric)

    def measure(self, problem: MetricLeastSquares, key: Key[Array, ""]) -> Array:
        step = 1 / jnp.linalg.norm(problem.x @ problem.metric @ problem.x.T, ord=2)
        one = lambda _, w: w - step * problem.metric @ (problem.x.T @ (problem.x @ w - problem.y))
        return jax.lax.fori_loop(0, problem.steps, one, jnp.zeros(problem.x.shape[1]))

    def condition(self, problem: MetricLeastSquares) -> Array:
        """Bound the errors: a rounding error of the residual decays over about kappa steps. Here kappa is the
        condition number of X P X', which also bounds the error of the linear solve.
        """
        values = jnp.linalg.eigvalsh(problem.x @ problem.metric @ problem.x.T)
        return problem.x.shape[1] * values[-1] / values[0]


class AdaptiveStepsMissTheClass(Claim[MarginalClasses]):
    """Let the rows be x = (y, 1, 1, private coordinates) with classes y = +-1, and let most classes be +1. Each row has
    five coordinates that no other row uses. If y = 1, only the first of these five is 1. If y = -1, all five are 1.
    Train least squares on these rows from 0. The weights of AdaGrad, RMSProp and Adam stay nonnegative multiples of
    sign(X'y), because X sign(X'y) = 4 y. So these methods fit all rows and then predict +1 for every new row. Gradient
    descent ends at the interpolant of least norm and classifies every new row correctly:

        test errors: the share of class -1 for the three adaptive methods, 0 for gradient descent.
    """

    title = "In an example, adaptive methods (AdaGrad, RMSProp, Adam) fit all rows but misclassify the rarer class"
    source = Source("wilson2017", "Lemma 3.1", note="with the example after it")
    population = MarginalClassifications()
    relation = Equal()
    control = Control("descent and the adaptive methods change roles", lambda errors, problem: errors[0] - errors)
    controls = "errors on new rows after the training rows are fitted"
    unexplained = "how common such rows are"

    def predict(self, problem: MarginalClasses) -> Array:
        minority = (problem.y_new < 0).mean()
        return jnp.stack([minority, minority, minority, jnp.zeros(())])

    def measure(self, problem: MarginalClasses, key: Key[Array, ""]) -> Array:
        """Return the share of errors on new rows, or 2 if a training row has the wrong sign."""
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
