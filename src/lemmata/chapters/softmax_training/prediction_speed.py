"""The speed of predictions in training, of a softmax network and of the regression with its first kernel.

This theory controls how fast a prediction changes under gradient flow: by the residuals of the training points, seen
through the tangent kernel, that of the moment for the network and that of the initialisation for the regression. It
assumes nothing but differentiability; it leaves unexplained what the difference of the two adds up to, which is the
subject of `coupling`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Equal, Hypothesis, Integer, Real, Source, Space

from ._initialised import Initialised, initialised, stack, tangent_matrix
from .kernel_regression import features, gamma_descent
from .network import naive_outputs

_STEPS = 5


class Underway(eqx.Module):
    """A network and the regression with its first kernel, some way along their training.

    Args:
        start: the network at initialisation.
        weight: W(tau).
        gamma: m gamma(tau).
    """

    start: Initialised
    weight: Float[Array, "d m"]
    gamma: Float[Array, " r"]


class AbstractDerivative(Claim[Underway]):
    """The speed of a prediction at points that are not trained on, after 5 steps of descent."""

    relation = Equal()
    label = "identity"
    controls = "the speed at which predictions change in training"
    problem = Underway
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes and the standard deviation of the weights."""
        sigma = Real(0.8, 0.1, 1.0, "standard deviation of the weights")
        return Space(n=Integer(3, 1, 12, "training rows"), k=Integer(2, 1, 4, "outputs"), sigma=sigma)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Underway:
        """Unit inputs in 6 dimensions, targets of length 1, width 64, 4 test points; steps of 1 / (4 trace H*)."""
        n, k = setting["n"], setting["k"]
        start = initialised(jax.random.normal(key, (32 + n + 4, 6 + k)), n, k, 64, setting["sigma"])
        tangent = start.tangent
        rate = 0.25 / jnp.trace(tangent)
        slope = lambda weight: start.network.gradient(start.params(weight), start.x, start.y) / start.network.width
        weight = jax.lax.fori_loop(0, _STEPS, lambda _, w: w - rate * slope(w), start.weight)
        return Underway(start, weight, gamma_descent(tangent, stack(start.y), rate, _STEPS))

    def hypotheses(self, problem: Underway) -> list[Hypothesis]:
        """Any weights, any data."""
        return []

    def condition(self, problem: Underway) -> Array:
        """Sums over m units round as sqrt(m), and terms of size 4 (m max S)² cancel in the kernel between points."""
        shares = problem.start.network.shares(problem.start.params(problem.weight), problem.start.x)
        size = (problem.start.network.width * shares.max()) ** 2
        return problem.start.network.width**0.5 * size / jnp.abs(self.predict(problem)).min()


class RegressionDerivative(AbstractDerivative):
    """Under the flow d beta/d tau = -grad 1/2 sum_i |sqrt(m) phi(x_i) beta - y_i|² the regression's predictions move as

        d F_ntk(x_te)_l / d tau = -m vec(K*_l,te)' vec(F_ntk(X) - Y),

    with the kernel at initialisation, at every beta.
    """

    title = "The speed of the regression's predictions"
    source = Source("gu2024softmax", "(26)", note="proof of Theorem F.2")
    unexplained = "the network's own speed"

    def predict(self, problem: Underway) -> Array:
        """The closed form, over m, with F_ntk = m H* gamma."""
        start = problem.start
        return -start.cross @ (start.tangent @ problem.gamma - stack(start.y))

    def measure(self, problem: Underway, key: Key[Array, ""]) -> Array:
        """The derivative of explicit features along the gradient of the loss, automatically, over m."""
        start, m = problem.start, problem.start.network.width
        rows, tests = (m**0.5 * features(start, x) for x in (start.x, start.x_test))
        beta = rows.T @ problem.gamma / m
        pull = jax.grad(lambda beta: 0.5 * jnp.sum((rows @ beta - stack(start.y)) ** 2))(beta)
        return jax.jvp(lambda beta: tests @ beta, (beta,), (-pull,))[1] / m

    def control(self) -> Control:
        """The loss as the source prints it for beta."""
        return Control("it is twice as large, for a loss without the half", lambda speed, problem: 2 * speed)


class NetworkDerivative(AbstractDerivative):
    """Under the flow dW/d tau = -grad 1/2 |F_nn(X) - Y|_F² the network's predictions move as

        d F_nn(x_te)_l / d tau = -m vec(K_l,te(tau))' vec(F_nn(X) - Y),

    with the kernel of the weights at that time.
    """

    title = "The speed of the network's predictions"
    source = Source("gu2024softmax", "(27)", note="proof of Theorem F.2")
    unexplained = "how far the kernel has moved"

    def predict(self, problem: Underway) -> Array:
        """The closed form, over m."""
        return self._speed(problem, problem.weight)

    def _speed(self, problem: Underway, weight: Float[Array, "d m"]) -> Array:
        start = problem.start
        kernel = tangent_matrix(start.network, start.params(weight), start.x_test, start.x)
        return -kernel @ stack(start.network.predict(start.params(problem.weight), start.x) - start.y)

    def measure(self, problem: Underway, key: Key[Array, ""]) -> Array:
        """The derivative of equation (1) along the gradient of the loss, automatically, over m."""
        start = problem.start
        outputs = lambda weight, x: naive_outputs(weight, start.sign, x)
        pull = jax.grad(lambda weight: 0.5 * jnp.sum((outputs(weight, start.x) - start.y) ** 2))(problem.weight)
        speed = jax.jvp(lambda weight: outputs(weight, start.x_test), (problem.weight,), (-pull,))[1]
        return stack(speed) / start.network.width

    def control(self) -> Control:
        """The regression's kernel."""

        def first(speed: Array, problem: Underway) -> Array:
            return self._speed(problem, problem.start.weight)

        return Control("the kernel is that at initialisation", first)
