"""Regression with the tangent kernel of a softmax network at initialisation.

This theory controls the kernel regression that a trained network is compared with: its features, its coefficients, and
its predictions at every time of training. It assumes nothing but a positive definite kernel; it leaves unexplained how
far a network is from this regression, which is the subject of `coupling`. Times are those of the flow
dF/dt = -m H (F - Y); the kernel of k outputs at n points has k n rows.
"""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, Equal, Hypothesis, Integer, Real, Source, Space, Status
from lemmata.kernels import SoftmaxTangent, gram

from ._initialised import Initialised as Initialised
from ._initialised import definite as definite
from ._initialised import initialised as initialised
from ._initialised import kernel_cause as kernel_cause
from ._initialised import ntk_descent as ntk_descent
from ._initialised import ntk_flow as ntk_flow
from ._initialised import posed as posed
from ._initialised import stack as stack

_STEPS = 20
_SIGMA = Real(0.8, 0.1, 1.0, "standard deviation of the weights")


@jax.jit
def features(problem: Initialised, x: Float[Array, "n d"]) -> Float[Array, "r dm"]:
    """phi(x)_l = m^(-1/2) (x <v_lr, S> m S_r)_r, one block of d numbers for each unit, so that phi phi' = H*.

    Args:
        problem: the network.
        x: points; rows are outputs outside, points inside.
    """
    shares = problem.network.shares(problem.params(), x)
    blocks = (problem.sign[:, None] - (shares @ problem.sign.T).T[:, :, None]) * shares
    rows = blocks[:, :, None, :] * x[None, :, :, None]
    return problem.network.width**0.5 * rows.reshape(rows.shape[0] * len(x), -1)


def summed_features(problem: Initialised, x: Float[Array, "n d"]) -> Float[Array, "r d"]:
    """The sum over units of the blocks of `features`, as the source prints it.

    Args:
        problem: the network.
        x: points.
    """
    blocks = features(problem, x)
    return blocks.reshape(len(blocks), x.shape[1], -1).sum(axis=2)


@jax.jit
def jacobian_products(problem: Initialised) -> Float[Array, "q r"]:
    """J_te J' / m with the Jacobians of all outputs in W, by automatic differentiation.

    Args:
        problem: the network.
    """
    each = jax.vmap(jax.jacrev(problem.network.apply), in_axes=(None, 0))

    def rows(x: Array) -> Array:
        slopes = jnp.moveaxis(each(problem.params(), x)["weight"], 1, 0)
        return slopes.reshape(slopes.shape[0] * len(x), -1)

    return rows(problem.x_test) @ rows(problem.x).T / problem.network.width


@functools.partial(jax.jit, static_argnums=3)
def gamma_descent(
    tangent: Float[Array, "r r"], y: Float[Array, " r"], rate: Float[Array, ""], steps: int
) -> Float[Array, " r"]:
    """m gamma after steps of gamma <- gamma - eta (m H* gamma - vec(Y)) from 0 (equation 25).

    Args:
        tangent: H*.
        y: vec(Y).
        rate: eta m.
        steps: how many.
    """
    step = lambda _, gamma: gamma - rate * (tangent @ gamma - y)
    return jax.lax.fori_loop(0, steps, step, jnp.zeros_like(y))


class AbstractInitialisedClaim(Claim[Initialised]):
    """Statements about the network at initialisation and its tangent kernel."""

    relation = Equal()
    label = "identity"
    problem = Initialised
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes and the standard deviation of the weights."""
        return Space(n=Integer(3, 1, 12, "training rows"), k=Integer(2, 1, 4, "outputs"), sigma=_SIGMA)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Initialised:
        """Unit inputs in 6 dimensions, targets of length 1, a network of width 64, 4 test points."""
        n, k = setting["n"], setting["k"]
        return initialised(jax.random.normal(key, (32 + n + 4, 6 + k)), n, k, 64, setting["sigma"])

    def hypotheses(self, problem: Initialised) -> list[Hypothesis]:
        """A positive definite kernel."""
        return [definite(problem.tangent)]

    def culprit(self, problem: Initialised) -> str | None:
        """Equal or zero rows."""
        return kernel_cause(problem)

    def condition(self, problem: Initialised) -> Array:
        """Sums over m units round as sqrt(m); gamma is longer than H* gamma by up to lambda_max / lambda."""
        values = jnp.linalg.eigvalsh(problem.tangent)
        return problem.network.width**0.5 * values[-1] / values[0]


def _step(problem: Initialised) -> Array:
    """eta m = 1 / lambda_max(H*)."""
    return 1 / jnp.linalg.eigvalsh(problem.tangent)[-1]


class GradientDescentAsPrinted(AbstractInitialisedClaim):
    """As printed: the update gamma <- gamma - eta (m H* gamma - vec(Y)) is gradient descent in gamma, from 0, on

        L(gamma) = 1/2 sum_i |m K*_i gamma - y_i|².

    The gradient is m H* (m H* gamma - vec(Y)). The factor m H* is missing in the printed update.
    """

    title = "The update of the regression's coefficients is gradient descent on its loss, as printed"
    source = Source("gu2024softmax", "Definition F.1", "(24)", "(25)")
    controls = "the coefficients of regression with the tangent kernel"
    unexplained = "which parameter the printed update descends in"
    expected = Status.REFUTED

    def predict(self, problem: Initialised) -> Array:
        """m gamma after 2 updates with eta m = 1 / lambda_max."""
        return gamma_descent(problem.tangent, stack(problem.y), _step(problem), 2)

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """2 steps along gradients of the loss by automatic differentiation."""
        m, rows = problem.network.width, problem.tangent

        def loss(gamma: Array) -> Array:
            return 0.5 * jnp.sum((m * rows @ gamma - stack(problem.y)) ** 2)

        gamma = jnp.zeros(len(rows))
        for _ in range(2):
            gamma = gamma - _step(problem) / m * jax.grad(loss)(gamma)
        return m * gamma

    def control(self) -> Control:
        """Another wrong factor."""
        return Control("with half of the step", lambda gamma, problem: gamma / 2)


class DescentInFunctionSpace(AbstractInitialisedClaim):
    """The update gamma <- gamma - eta (m H* gamma - vec(Y)) from 0 is gradient descent of the outputs F = m H* gamma,

        F <- F - eta m H* (F - vec(Y)),

    so that after T steps F = (I - (I - eta m H*)^T) vec(Y), and m K*_te gamma = K*_te H*^-1 F at other points.
    """

    title = "The update of the regression's coefficients is gradient descent of its outputs"
    source = Source("gu2024softmax", "Definition F.1", "(25)", note="corrected")
    controls = "the outputs of regression with the tangent kernel at every step"
    unexplained = "how far a network is from this regression"
    corrects = "softmax_training.kernel_regression.gradient_descent_as_printed"

    def predict(self, problem: Initialised) -> Array:
        """The closed form through the eigensystem of H*."""
        both = ntk_descent(problem.tangent, problem.cross, stack(problem.y), _step(problem), _STEPS)
        return jnp.concatenate(both, axis=1)[0]

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """20 updates."""
        gamma = gamma_descent(problem.tangent, stack(problem.y), _step(problem), _STEPS)
        return jnp.concatenate([problem.tangent @ gamma, problem.cross @ gamma])

    def control(self) -> Control:
        """Gradient flow for the same time."""

        def flow(outputs: Array, problem: Initialised) -> Array:
            step = _step(problem)
            both = ntk_flow(step * problem.tangent, step * problem.cross, stack(problem.y), [float(_STEPS)])
            return jnp.concatenate(both, axis=1)[0]

        return Control("the outputs are those of gradient flow", flow)


class FeatureMapAsPrinted(AbstractInitialisedClaim):
    """As printed: K*_te = phi(x_te)' phi(X) with the features of d numbers

        phi(x)_l = m^(-1/2) x sum_r <v_lr, S> m S_r.

    The sum over units has to stand outside the product of two features. Inside it vanishes at every W and x, for
    sum_r <v_lr, S> S_r = <a_l, S> - <a_l, S> sum_r S_r = 0.
    """

    title = "The tangent kernel is an inner product of summed features, as printed"
    source = Source("gu2024softmax", "proof of Theorem F.2, definition of phi")
    controls = "the tangent kernel between test and training points"
    unexplained = "the features of the kernel"
    expected = Status.REFUTED

    def predict(self, problem: Initialised) -> Array:
        """Products of the printed features."""
        return summed_features(problem, problem.x_test) @ summed_features(problem, problem.x).T

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """K*_te by its definition."""
        return problem.cross

    def control(self) -> Control:
        """A multiple of the identity is not the kernel either."""
        return Control("the kernel is 1 everywhere", lambda kernel, problem: jnp.ones_like(kernel))


class FeatureMap(AbstractInitialisedClaim):
    """The tangent kernel between outputs l and l' is an inner product, K*_te = phi(x_te) phi(X)', of the d m features

        phi(x)_lr = m^(-1/2) x <v_lr, S> m S_r,   r = 1, ..., m,

    the gradients of F_l(x) in the columns of W, divided by sqrt(m).
    """

    title = "The tangent kernel is an inner product of features, one block for each unit"
    source = Source("gu2024softmax", "proof of Theorem F.2, definition of phi", note="corrected")
    controls = "the tangent kernel between test and training points"
    unexplained = "how the features move in training"
    corrects = "softmax_training.kernel_regression.feature_map_as_printed"

    def predict(self, problem: Initialised) -> Array:
        """Products of explicit features."""
        return features(problem, problem.x_test) @ features(problem, problem.x).T

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """Products of Jacobians by automatic differentiation, divided by m."""
        return jacobian_products(problem)

    def control(self) -> Control:
        """The limit of infinite width."""

        def limit(kernel: Array, problem: Initialised) -> Array:
            one = gram(SoftmaxTangent(sigma=1.0), problem.x_test, problem.x)
            return jnp.kron(jnp.eye(len(problem.sign)), one)

        return Control("it is the kernel <x, y> exp(<x, y>) of infinite width", limit)


class FeatureWeightsAgree(AbstractInitialisedClaim):
    """Gradient descent from 0 in the weights beta of the features, on

        1/2 sum_i |sqrt(m) phi(x_i) beta - y_i|²,

    gives beta = sqrt(m) phi(X)' gamma with the gamma of equation (25), and the same predictions as m K*_te gamma, at
    every step. The source prints the loss without the half; its flow is then twice as fast.
    """

    title = "Weights of features and coefficients of kernels are the same regression"
    source = Source("gu2024softmax", "proof of Theorem F.2, two regressions")
    controls = "predictions of regression with the tangent kernel in its two representations"
    unexplained = "how far a network is from this regression"

    def predict(self, problem: Initialised) -> Array:
        """m K*_te gamma after 20 updates."""
        return problem.cross @ gamma_descent(problem.tangent, stack(problem.y), _step(problem), _STEPS)

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """20 steps of gradient descent in beta."""
        root, eta = problem.network.width**0.5, _step(problem) / problem.network.width
        rows = root * features(problem, problem.x)
        loss = lambda beta: 0.5 * jnp.sum((rows @ beta - stack(problem.y)) ** 2)
        step = lambda _, beta: beta - eta * jax.grad(loss)(beta)
        beta = jax.lax.fori_loop(0, _STEPS, step, jnp.zeros(rows.shape[1]))
        return root * features(problem, problem.x_test) @ beta

    def control(self) -> Control:
        """The loss without the half."""

        def doubled(outputs: Array, problem: Initialised) -> Array:
            return problem.cross @ gamma_descent(problem.tangent, stack(problem.y), 2 * _step(problem), _STEPS)

        return Control("beta descends on the sum of squares without the half", doubled)


class InfiniteTime(AbstractInitialisedClaim):
    """Trained for ever, the regression with the tangent kernel predicts K*_te H*^-1 vec(Y): gamma tends to
    m^-1 H*^-1 vec(Y).
    """

    title = "The regression with the tangent kernel after infinite time"
    source = Source("gu2024softmax", "proof of Theorem F.2, optimal solution")
    controls = "predictions of regression with the tangent kernel after infinite time"
    unexplained = "how long it takes: log(1/eps) / (m lambda)"

    def predict(self, problem: Initialised) -> Array:
        """K*_te H*^-1 vec(Y) by one linear solution."""
        return problem.cross @ jnp.linalg.solve(problem.tangent, stack(problem.y))

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """2^30 steps of equation (25), which double in number: T more steps add (I - eta m H*)^T times the first T."""
        rate = _step(problem)

        def double(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            gamma, power = state
            return gamma + power @ gamma, power @ power

        first = rate * stack(problem.y), jnp.eye(len(problem.tangent)) - rate * problem.tangent
        return problem.cross @ jax.lax.fori_loop(0, 30, double, first)[0]

    def control(self) -> Control:
        """A finite time."""

        def stopped(outputs: Array, problem: Initialised) -> Array:
            smallest = jnp.linalg.eigvalsh(problem.tangent)[0]
            return ntk_flow(problem.tangent / smallest, problem.cross / smallest, stack(problem.y), [4.0])[1][0]

        return Control("the time 4 / (m lambda) is as good as infinite", stopped)
