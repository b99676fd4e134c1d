"""Regression with the tangent kernel of a softmax network at initialisation.

The network is F_l(x) = m <a_l, S>, with shares S = softmax(W' x) of its m units and fixed signs a_l. This theory is
about the kernel regression with which the trained network is compared. It gives the regression's features, coefficients
and predictions at every time of training. It assumes only a positive definite kernel. The module `coupling` treats the
distance of a network from this regression. Time t is the time of the flow dF/dt = -m H (F - Y), where F are the
predictions, H is the kernel and Y are the targets. The kernel of k outputs at n points has k n rows. H* is the
network's tangent kernel at initialisation.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Passage, Source, Status
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.solvers import Trajectory, gradient_descent, gradient_flow
from lemmata.spectra import Spectrum
from lemmata.subjects.softmax_training._initialised_networks import (
    Initialised,
    InitialisedNetworks,
    gamma_descent,
    stack,
)

ABOUT = {"tool": "reproducing kernels", "architecture": "dense network", "object": "estimator"}

_STEPS = 20
_ROUNDING = 16.0


def eigensystem(matrix: Float[Array, "r r"]) -> Spectrum:
    """Return the eigensystem of a positive semidefinite matrix, without checks, for use inside JAX-traced code."""
    values, vectors = jnp.linalg.eigh((matrix + matrix.T) / 2)
    floor = _ROUNDING * len(values) * jnp.finfo(values.dtype).eps * values[-1]
    return Spectrum(jnp.maximum(values[::-1], 0.0), vectors[:, ::-1], floor, values[0])


def ntk_flow(
    tangent: Float[Array, "r r"],
    cross: Float[Array, "q r"],
    y: Float[Array, "r *k"],
    time: Sequence[float] | np.ndarray,
) -> tuple[Float[Array, "s r *k"], Float[Array, "s q *k"]]:
    """Return the predictions of regression with a fixed tangent kernel under gradient flow (Definition F.1).

    The predictions are F(t) = K_te H^-1 (I - exp(-m H t)) vec(Y). On the training points, K_te is H. H is either the
    kernel of a finite network, with k n rows, or the limit kernel, with n rows for all outputs at once.

    Args:
        tangent: the tangent kernel H, not multiplied by m.
        cross: the kernel K_te between test and training points.
        y: the targets, one row for each row of H.
        time: the times m t, as concrete numbers (not traced by JAX).

    Returns:
        Predictions on the training points and on the other points. The first axis runs over the times.
    """
    return _both(gradient_flow(eigensystem(tangent), y, time, cross))


def ntk_descent(
    tangent: Float[Array, "r r"],
    cross: Float[Array, "q r"],
    y: Float[Array, "r *k"],
    rate: Float[Array, ""],
    steps: int,
) -> tuple[Float[Array, "s r *k"], Float[Array, "s q *k"]]:
    """Return the predictions under gradient descent: F = K_te H^-1 (I - (I - eta m H)^steps) vec(Y).

    Args:
        tangent: the tangent kernel H, not multiplied by m.
        cross: the kernel K_te between test and training points.
        y: the targets, one row for each row of H.
        rate: the step size eta, times m.
        steps: the number of gradient descent steps.
    """
    # The solver needs a known rate, so traced ones are put into the kernel.
    return _both(gradient_descent(eigensystem(rate * tangent), y, 1.0, steps, rate * cross))


def _both(path: Trajectory) -> tuple[Array, Array]:
    assert path.test is not None
    return path.train, path.test


@jax.jit
def features(problem: Initialised, x: Float[Array, "n d"]) -> Float[Array, "r dm"]:
    """Return the features phi of the tangent kernel, so that phi phi' = H* on the training points.

    The features are phi(x)_l = m^(-1/2) (x <v_lr, S> m S_r)_r, with d numbers for each unit r, where v_lr = a_lr 1 -
    a_l.

    Args:
        problem: the network.
        x: the points. The rows of the result are sorted by output, then by point.
    """
    shares = problem.network.shares(problem.params(), x)
    blocks = (problem.sign[:, None] - (shares @ problem.sign.T).T[:, :, None]) * shares
    rows = blocks[:, :, None, :] * x[None, :, :, None]
    return problem.network.width**0.5 * rows.reshape(rows.shape[0] * len(x), -1)


def summed_features(problem: Initialised, x: Float[Array, "n d"]) -> Float[Array, "r d"]:
    """Return the features as the source prints them: the sum over units of the blocks of `features`.

    Args:
        problem: the network.
        x: the points, one per row.
    """
    blocks = features(problem, x)
    return blocks.reshape(len(blocks), x.shape[1], -1).sum(axis=2)


@jax.jit
def jacobian_products(problem: Initialised) -> Float[Array, "q r"]:
    """Return J_te J' / m, where J and J_te are the Jacobians of the outputs with respect to the weights W.

    J is taken at the training points and J_te at the test points, by automatic differentiation.

    Args:
        problem: the network.
    """
    each = jax.vmap(jax.jacrev(problem.network.apply), in_axes=(None, 0))

    def rows(x: Array) -> Array:
        slopes = jnp.moveaxis(each(problem.params(), x)["weight"], 1, 0)
        return slopes.reshape(slopes.shape[0] * len(x), -1)

    return rows(problem.x_test) @ rows(problem.x).T / problem.network.width


def _step(problem: Initialised) -> Array:
    """Return the step size times the width, eta m = 1 / lambda_max(H*)."""
    return 1 / jnp.linalg.eigvalsh(problem.tangent)[-1]


class AbstractKernelRegression(Claim[Initialised]):
    """Base of claims on the regression. They compare arrays; errors are relative to the largest entry of an array."""

    population = InitialisedNetworks()
    relation = Equal(block=-1)
    of_data = False

    def condition(self, problem: Initialised) -> Array:
        """The condition number: sums over m units contribute sqrt(m), and solving with H* lambda_max / lambda."""
        values = jnp.linalg.eigvalsh(problem.tangent)
        return problem.network.width**0.5 * values[-1] / values[0]


class GradientDescentAsPrinted(AbstractKernelRegression):
    """As printed: let H*, of shape (n k, n k), be the tangent kernel of a softmax network of width m at initialisation,
    and let K*_i be its row for target y_i. Let Y be all targets and eta the step size. The update gamma <- gamma - eta
    (m H* gamma - vec(Y)) of the coefficients gamma is gradient descent in gamma, from 0, on the loss

        L(gamma) = 1/2 sum_i |m K*_i gamma - y_i|².

    In fact the gradient of this loss is m H* (m H* gamma - vec(Y)). The printed update lacks the factor m H*.
    """

    title = "As printed, the update of the coefficients of kernel regression is gradient descent on their squared loss"
    source = Source("gu2024softmax", "Definition F.1", "(24)", "(25)")
    control = Control("the coefficients are half as large", lambda gamma, problem: gamma / 2)
    controls = "the coefficients of regression with the tangent kernel"
    unexplained = "in which parameter the printed update is gradient descent"
    passage = Passage(
        "002_545c803f47cecb7a.txt",
        89339,
        89844,
        "dcd0061002c2eb51",
        says="the update (25) of gamma is gradient descent in gamma on the loss (24)",
        right_if="the gradient is taken in the kernel's space, in the inner product of m H*, or along the outputs",
        formula="gamma(tau + 1) = gamma(tau) - eta (m H* gamma(tau) - vec(Y)), by grad_gamma L_ntk(gamma(tau))",
    )
    expected = Status.REFUTED

    def predict(self, problem: Initialised) -> Array:
        """The coefficients gamma, times m, after 2 updates with eta m = 1 / lambda_max."""
        return gamma_descent(problem.tangent, stack(problem.y), _step(problem), 2)

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """The coefficients, times m, after 2 steps along the loss gradient, computed by automatic differentiation."""
        m, rows = problem.network.width, problem.tangent
        slope = jax.grad(lambda gamma: 0.5 * jnp.sum((m * rows @ gamma - stack(problem.y)) ** 2))
        gamma = jnp.zeros(len(rows))
        for _ in range(2):
            gamma = gamma - _step(problem) / m * slope(gamma)
        return m * gamma


def _by_flow(outputs: Array, problem: Initialised) -> Array:
    step = _step(problem)
    both = ntk_flow(step * problem.tangent, step * problem.cross, stack(problem.y), [float(_STEPS)])
    return jnp.concatenate(both, axis=1)[0]


class DescentInFunctionSpace(AbstractKernelRegression):
    """Let H*, of shape (n k, n k), be the tangent kernel of a softmax network of width m at initialisation on the
    training points. Let K*_te be the kernel between test and training points, Y the targets and eta the step size. The
    update gamma <- gamma - eta (m H* gamma - vec(Y)) of the coefficients gamma, from 0, is gradient descent on the
    outputs F = m H* gamma:

        F <- F - eta m H* (F - vec(Y)).

    After T steps, therefore, F = (I - (I - eta m H*)^T) vec(Y), where ^T is the T-th power. The predictions at test
    points are m K*_te gamma = K*_te H*^-1 F.
    """

    title = "The update of the coefficients of kernel regression is gradient descent in function space"
    source = Source("gu2024softmax", "Definition F.1", "(25)", note="corrected")
    control = Control("the outputs are those of gradient flow", _by_flow)
    controls = "the outputs of regression with the tangent kernel at every step"
    unexplained = "how far a network is from this regression"
    corrects = GradientDescentAsPrinted

    def predict(self, problem: Initialised) -> Array:
        """The outputs in closed form, from the eigensystem of H*."""
        both = ntk_descent(problem.tangent, problem.cross, stack(problem.y), _step(problem), _STEPS)
        return jnp.concatenate(both, axis=1)[0]

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """Return the outputs after 20 updates."""
        gamma = gamma_descent(problem.tangent, stack(problem.y), _step(problem), _STEPS)
        return jnp.concatenate([problem.tangent @ gamma, problem.cross @ gamma])


class FeatureMapAsPrinted(AbstractKernelRegression):
    """As printed: let S be the shares of the units of a softmax network of width m at input x. Let v_lr = a_lr 1 - a_l,
    where the a_l are the network's vectors of signs and 1 is the vector of ones. Its tangent kernel between test points
    x_te and training points X is K*_te = phi(x_te)' phi(X). Each feature phi(x)_l is a vector of d numbers, where d is
    the dimension of the inputs:

        phi(x)_l = m^(-1/2) x sum_r <v_lr, S> m S_r.

    In fact the sum over units has to stand outside the product of two features. Inside the product it vanishes at
    every W and x, because sum_r <v_lr, S> S_r = <a_l, S> - <a_l, S> sum_r S_r = 0.
    """

    title = "As printed, the softmax tangent kernel is a product of summed features"
    source = Source("gu2024softmax", "proof of Theorem F.2, definition of phi")
    control = Control("the kernel is 1 everywhere", lambda kernel, problem: jnp.ones_like(kernel))
    controls = "the tangent kernel between test and training points"
    unexplained = "the features of the kernel"
    passage = Passage(
        "002_545c803f47cecb7a.txt",
        91383,
        93194,
        "69904111e3c80634",
        says="phi(x)_l sums over the units, and the kernel between two points is the product of their phi",
        right_if="phi has one block for each unit, so that the sum over units stands outside the product",
        formula="phi(x)_l = m^(-1/2) x sum_r <v_lr, S> m S_r,  K*_te = phi(x_te)' phi(X)",
    )
    expected = Status.REFUTED

    def predict(self, problem: Initialised) -> Array:
        return summed_features(problem, problem.x_test) @ summed_features(problem, problem.x).T

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """Return K*_te, the kernel of Definition 3.6 between test and training points."""
        return problem.cross


def _at_infinite_width(kernel: Array, problem: Initialised) -> Array:
    one = gram(SoftmaxTangent(sigma=1.0), problem.x_test, problem.x)
    return jnp.kron(jnp.eye(len(problem.sign)), one)


class FeatureMap(AbstractKernelRegression):
    """Let F_l(x) = m <a_l, S> be a softmax network with shares S = softmax(W' x) of its m units. Let d be the dimension
    of the inputs, and let v_lr = a_lr 1 - a_l, where the a_l are vectors of signs and 1 is the vector of ones. The
    network's tangent kernel, between output l at test points and output l' at training points, is an inner product
    K*_te = phi(x_te) phi(X)' of the d m features

        phi(x)_lr = m^(-1/2) <v_lr, S> m S_r x,   r = 1, ..., m.

    The features are the gradients of F_l(x) with respect to the columns of W, divided by sqrt(m).
    """

    title = "The softmax tangent kernel is an inner product of features, one block per unit"
    source = Source("gu2024softmax", "proof of Theorem F.2, definition of phi", note="corrected")
    control = Control("the kernel is that of infinite width, <x, y> exp(<x, y>)", _at_infinite_width)
    controls = "the tangent kernel between test and training points"
    unexplained = "how the features change in training"
    corrects = FeatureMapAsPrinted

    def predict(self, problem: Initialised) -> Array:
        return features(problem, problem.x_test) @ features(problem, problem.x).T

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """Products of the Jacobians from automatic differentiation, divided by m."""
        return jacobian_products(problem)


def _twice_as_fast(outputs: Array, problem: Initialised) -> Array:
    return problem.cross @ gamma_descent(problem.tangent, stack(problem.y), 2 * _step(problem), _STEPS)


class FeatureWeightsAgree(AbstractKernelRegression):
    """Let phi be the features of the tangent kernel H* = phi(X) phi(X)' of a softmax network of width m, where X are
    the training points and Y their targets. Run gradient descent on the weights beta of the features, with step size
    eta from beta = 0, on the loss

        1/2 sum_i |sqrt(m) phi(x_i) beta - y_i|².

    At every step this gives beta = sqrt(m) phi(X)' gamma. Here the coefficients gamma of the kernel follow equation
    (25) of the source, gamma <- gamma - eta (m H* gamma - vec(Y)), from 0. The predictions at test points are then
    equal to m K*_te gamma, where K*_te is the kernel between test and training points.

    The source prints the loss without the factor 1/2. The gradient flow of the loss without this factor is twice as
    fast.
    """

    title = "Descent on feature weights and on kernel coefficients gives the same softmax tangent kernel regression"
    source = Source("gu2024softmax", "proof of Theorem F.2, two regressions")
    control = Control("beta descends on the sum of squares without the factor 1/2", _twice_as_fast)
    controls = "predictions of regression with the tangent kernel, from its features and from its coefficients"
    unexplained = "how far a network is from this regression"

    def predict(self, problem: Initialised) -> Array:
        """The predictions after 20 updates of gamma."""
        return problem.cross @ gamma_descent(problem.tangent, stack(problem.y), _step(problem), _STEPS)

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """The predictions after 20 steps of gradient descent in beta."""
        root, eta = problem.network.width**0.5, _step(problem) / problem.network.width
        rows = root * features(problem, problem.x)
        loss = lambda beta: 0.5 * jnp.sum((rows @ beta - stack(problem.y)) ** 2)
        step = lambda _, beta: beta - eta * jax.grad(loss)(beta)
        beta = jax.lax.fori_loop(0, _STEPS, step, jnp.zeros(rows.shape[1]))
        return root * features(problem, problem.x_test) @ beta


def _stopped(outputs: Array, problem: Initialised) -> Array:
    smallest = jnp.linalg.eigvalsh(problem.tangent)[0]
    return ntk_flow(problem.tangent / smallest, problem.cross / smallest, stack(problem.y), [4.0])[1][0]


class InfiniteTime(AbstractKernelRegression):
    """Let H* be the tangent kernel of a softmax network of width m at initialisation, and K*_te the kernel between test
    and training points. Let Y be the targets and eta the step size. Train the coefficients gamma of the regression with
    this kernel by gamma <- gamma - eta (m H* gamma - vec(Y)) for infinitely many steps. Then gamma tends to m^-1 H*^-1
    vec(Y), and the prediction at test points is K*_te H*^-1 vec(Y).
    """

    title = "Trained for infinite time, regression with a softmax network's tangent kernel tends to the interpolant"
    source = Source("gu2024softmax", "proof of Theorem F.2, optimal solution")
    control = Control("the predictions at time 4 / (m lambda) are the limit", _stopped)
    controls = "predictions of regression with the tangent kernel after infinite time"
    unexplained = "how long the training takes: log(1/eps) / (m lambda)"

    def predict(self, problem: Initialised) -> Array:
        return problem.cross @ jnp.linalg.solve(problem.tangent, stack(problem.y))

    def measure(self, problem: Initialised, key: Key[Array, ""]) -> Array:
        """Return the result of 2^30 steps. T more steps add (I - eta m H*)^T times the result of the first T steps."""
        rate = _step(problem)

        def double(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            gamma, power = state
            return gamma + power @ gamma, power @ power

        first = rate * stack(problem.y), jnp.eye(len(problem.tangent)) - rate * problem.tangent
        return problem.cross @ jax.lax.fori_loop(0, 30, double, first)[0]
