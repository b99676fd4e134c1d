"""The speed of predictions in training, for a softmax network and for the regression with its first kernel.

This theory says how fast a prediction changes under gradient flow. The speed is the residuals of the training points,
multiplied by the tangent kernel. For the network this is the kernel at the current weights, and for the regression the
kernel at initialisation. The theory assumes only differentiability. It does not explain what the difference of the two
speeds adds up to, which is the subject of `coupling`.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Source
from lemmata.subjects.softmax_training._initialised_networks import NetworksUnderway, Underway, stack, tangent_matrix

from .kernel_regression import features
from .network import naive_outputs

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "training"}


def _rounding(problem: Underway) -> Array:
    """Sums over m units round as sqrt(m), and terms of size 4 (m max S)² cancel in the kernel between points."""
    shares = problem.start.network.shares(problem.start.params(problem.weight), problem.start.x)
    return problem.start.network.width**0.5 * (problem.start.network.width * shares.max()) ** 2


class RegressionDerivative(Claim[Underway]):
    """Let phi be the features of the tangent kernel H* = phi(X) phi(X)' of a softmax network of width m at
    initialisation, and let X be training points with targets Y. Let K*_l,te be the kernel between output l at a test
    point x_te and the training points. The regression predicts F_ntk(x) = sqrt(m) phi(x) beta with weights beta. Under
    the flow d beta/d tau = -grad 1/2 sum_i |sqrt(m) phi(x_i) beta - y_i|², where the y_i are the rows of Y, its
    predictions change, at every beta, at the speed

        d F_ntk(x_te)_l / d tau = -m vec(K*_l,te)' vec(F_ntk(X) - Y).
    """

    title = "Kernel regression's predictions change by its tangent kernel times the residuals"
    source = Source("gu2024softmax", "(26)", note="proof of Theorem F.2")
    population = NetworksUnderway()
    relation = Equal()
    control = Control("the speed is twice as large, as for a loss without the half", lambda speed, problem: 2 * speed)
    controls = "the speed at which predictions change in training"
    unexplained = "the speed of the network's own predictions"

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

    def condition(self, problem: Underway) -> Array:
        return _rounding(problem) / jnp.abs(self.predict(problem))


def _speed(problem: Underway, weight: Float[Array, "d m"]) -> Array:
    start = problem.start
    kernel = tangent_matrix(start.network, start.params(weight), start.x_test, start.x)
    return -kernel @ stack(start.network.predict(start.params(problem.weight), start.x) - start.y)


class NetworkDerivative(Claim[Underway]):
    """Let F_nn be a softmax network of width m with hidden weights W, and let X be training points with targets Y. Let
    K_l,te(tau) be the tangent kernel between output l at a test point x_te and the training points, with the weights
    at time tau. Under the flow dW/d tau = -grad 1/2 |F_nn(X) - Y|_F², the network's predictions change at the speed

        d F_nn(x_te)_l / d tau = -m vec(K_l,te(tau))' vec(F_nn(X) - Y).
    """

    title = "A softmax network's predictions change by its current kernel times the residuals"
    source = Source("gu2024softmax", "(27)", note="proof of Theorem F.2")
    population = NetworksUnderway()
    relation = Equal()
    control = Control(
        "the kernel is that at initialisation", lambda speed, problem: _speed(problem, problem.start.weight)
    )
    controls = "the speed at which predictions change in training"
    unexplained = "how far the kernel has moved"

    def predict(self, problem: Underway) -> Array:
        """The closed form, over m."""
        return _speed(problem, problem.weight)

    def measure(self, problem: Underway, key: Key[Array, ""]) -> Array:
        """The derivative of equation (1) along the gradient of the loss, automatically, over m."""
        start = problem.start
        outputs = lambda weight, x: naive_outputs(weight, start.sign, x)
        pull = jax.grad(lambda weight: 0.5 * jnp.sum((outputs(weight, start.x) - start.y) ** 2))(problem.weight)
        speed = jax.jvp(lambda weight: outputs(weight, start.x_test), (problem.weight,), (-pull,))[1]
        return stack(speed) / start.network.width

    def condition(self, problem: Underway) -> Array:
        return _rounding(problem) / jnp.abs(self.predict(problem))
