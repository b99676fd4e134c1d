"""The speed of predictions in training, for a softmax network and for regression with its initial tangent kernel.

This theory says how fast a prediction changes under gradient flow. The speed is minus the tangent kernel times the
residuals at the training points. The network has the kernel at its current weights; the regression has the kernel at
initialisation. The theory assumes only differentiability. The module `coupling` bounds how far apart the two
predictions get.
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
    """The condition number: sums over m units bring sqrt(m), and terms of size 4 (m max S)² cancel in the kernel."""
    shares = problem.start.network.shares(problem.start.params(problem.weight), problem.start.x)
    return problem.start.network.width**0.5 * (problem.start.network.width * shares.max()) ** 2


class RegressionDerivative(Claim[Underway]):
    """Let phi be the features of the tangent kernel H* = phi(X) phi(X)' of a softmax network of width m at
    initialisation, and let X be training points with targets Y. Let K*_l,te be the kernel between output l at a test
    point x_te and the training points. The regression predicts F_ntk(x) = sqrt(m) phi(x) beta with weights beta. Let
    the y_i be the rows of Y. Under the flow d beta/d tau = -grad 1/2 sum_i |sqrt(m) phi(x_i) beta - y_i|², the
    predictions of the regression change, at every beta, at the speed

        d F_ntk(x_te)_l / d tau = -m vec(K*_l,te)' vec(F_ntk(X) - Y).
    """

    title = "The predictions of kernel regression change at the rate of the tangent kernel times the residuals"
    source = Source("gu2024softmax", "(26)", note="proof of Theorem F.2")
    population = NetworksUnderway()
    relation = Equal()
    control = Control(
        "the speed is twice as large, as for a loss without the factor 1/2", lambda speed, problem: 2 * speed
    )
    controls = "the speed at which predictions change in training"
    unexplained = "the speed of the network's own predictions"

    def predict(self, problem: Underway) -> Array:
        """The closed form of the speed, divided by m. On the training points, F_ntk = m H* gamma."""
        start = problem.start
        return -start.cross @ (start.tangent @ problem.gamma - stack(start.y))

    def measure(self, problem: Underway, key: Key[Array, ""]) -> Array:
        """The speed from explicit features and the automatic gradient of the loss, divided by m."""
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

    title = "The predictions of a softmax network change at the rate of the current kernel times the residuals"
    source = Source("gu2024softmax", "(27)", note="proof of Theorem F.2")
    population = NetworksUnderway()
    relation = Equal()
    control = Control(
        "the kernel is that at initialisation", lambda speed, problem: _speed(problem, problem.start.weight)
    )
    controls = "the speed at which predictions change in training"
    unexplained = "how far the kernel has moved"

    def predict(self, problem: Underway) -> Array:
        """The closed form of the speed, divided by m."""
        return _speed(problem, problem.weight)

    def measure(self, problem: Underway, key: Key[Array, ""]) -> Array:
        """The automatic derivative of the outputs along minus the gradient of the loss, divided by m."""
        start = problem.start
        outputs = lambda weight, x: naive_outputs(weight, start.sign, x)
        pull = jax.grad(lambda weight: 0.5 * jnp.sum((outputs(weight, start.x) - start.y) ** 2))(problem.weight)
        speed = jax.jvp(lambda weight: outputs(weight, start.x_test), (problem.weight,), (-pull,))[1]
        return stack(speed) / start.network.width

    def condition(self, problem: Underway) -> Array:
        return _rounding(problem) / jnp.abs(self.predict(problem))
