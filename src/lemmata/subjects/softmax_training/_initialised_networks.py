"""Softmax networks at the symmetric initialisation, and regression with the tangent kernel at the initialisation.

The network has m hidden units and the outputs F_l(x) = m <a_l, softmax(W' x)>. At the symmetric initialisation, units
come in pairs with equal weights and opposite signs a, so all outputs are 0. The tangent kernel H is the Gram matrix of
the gradients of the outputs with respect to W, divided by m. Definitions and equations are those of gu2024softmax.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import paired_signs
from lemmata.engine.problems.singular import singular_cause
from lemmata.engine.problems.softmax_kernels import zero_rows
from lemmata.networks import SoftmaxNetwork

_ROWS, _OUTPUTS, _TESTS = 12, 2, 4
_STEPS = 5


def network_settings(
    rows: int, sigma: float = 0.8, widest: float = 1.0, corners: tuple[float, float] | None = None
) -> Space:
    """Return the settings of a generator of networks: sizes, and the standard deviation of the weights.

    Args:
        rows: the default number of training rows.
        sigma: the default standard deviation.
        widest: the largest standard deviation that a user may set.
        corners: the range of standard deviations of the extra settings on which a claim is also tested.
    """
    return Space(
        n=Integer(rows, 1, 12, "training rows"),
        k=Integer(2, 1, 4, "outputs"),
        sigma=Real(sigma, 0.1, widest, "standard deviation of the weights", corners),
    )


class Initialised(eqx.Module):
    """A softmax network at the symmetric initialisation, and the data on which it is to be trained.

    Args:
        x: the training points.
        y: the targets.
        x_test: other points.
        weight: the initial weights W(0).
        sign: the signs a of the output weights.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n k"]
    x_test: Float[Array, "p d"]
    weight: Float[Array, "d m"]
    sign: Float[Array, "k m"]

    @property
    def network(self) -> SoftmaxNetwork:
        """The softmax network, without its parameters.

        The shape of `sign` is (outputs, width), and determines the number of outputs and the width of the network.
        """
        return SoftmaxNetwork(width=self.sign.shape[1], outputs=len(self.sign))

    def params(self, weight: Float[Array, "d m"] | None = None) -> dict[str, Array]:
        """Return the parameters with these hidden weights; None means the weights at initialisation."""
        return {"weight": self.weight if weight is None else weight, "sign": self.sign}

    @property
    def tangent(self) -> Float[Array, "r r"]:
        """The tangent kernel H* at initialisation; rows are sorted by output, then by training point (r = k n)."""
        return tangent_matrix(self.network, self.params(), self.x)

    @property
    def cross(self) -> Float[Array, "q r"]:
        """The tangent kernel K*_te between x_test and x at initialisation (q = k p)."""
        return tangent_matrix(self.network, self.params(), self.x_test, self.x)


def initialised(
    normal: Float[Array, "rows columns"], n: int, k: int, width: int, sigma: float | Float[Array, ""]
) -> Initialised:
    """Make unit inputs and targets, and the symmetric initialisation, from one table of normal numbers.

    One draw of random numbers replaces five draws, because compiling a random generator takes longer than everything
    computed here. Each of the first width/2 rows is one pair of units. Then follow n rows for the training points, and
    all later rows are test points. The first d columns give weights and inputs, and the last k columns give signs and
    targets.

    Args:
        normal: independent standard normal numbers, in d + k columns.
        n: the number of training points.
        k: the number of outputs.
        width: the width m, which is even.
        sigma: standard deviation of the weights.
    """
    units, points = normal[: width // 2], normal[width // 2 :]
    unit = lambda rows: rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
    x, y = unit(points[:, :-k]), unit(points[:n, -k:])
    weight = jnp.repeat(sigma * units[:, :-k].T, 2, axis=1)
    return Initialised(x[:n], y, x[n:], weight, paired_signs(units[:, -k:].T))


def posed(problem: object) -> Initialised | None:
    """Convert a regression to a network of width 256 for its first 12 rows and 2 outputs, scaled into the unit ball.

    Args:
        problem: any object. An `Initialised` object is returned unchanged. The result is None for objects of other
            types that are not regressions.
    """
    if not isinstance(problem, Regression):
        return problem if isinstance(problem, Initialised) else None
    x, y = problem.x[:_ROWS], problem.y[:_ROWS, :_OUTPUTS]
    x_test = problem.x_test[:_TESTS] if len(problem.x_test) else x[:1]
    positive = lambda size: jnp.where(size > 0, size, 1.0)
    longest = positive(jnp.linalg.norm(jnp.concatenate([x, x_test]), axis=1).max())
    network = SoftmaxNetwork(width=256, outputs=y.shape[1])
    params, _ = network.init(jax.random.key(0), x.shape[1], dtype=x.dtype)
    y = y / positive(jnp.linalg.norm(y, axis=1).max())
    return Initialised(x / longest, y, x_test / longest, params["weight"], params["sign"])


def definite(tangent: Float[Array, "r r"]) -> Hypothesis:
    """Return the condition that the smallest eigenvalue of the tangent kernel is above its rounding error.

    Args:
        tangent: the tangent kernel H*.
    """
    values = jnp.linalg.eigvalsh(tangent)
    floor = 16 * len(values) * jnp.finfo(values.dtype).eps * values[-1]
    return Hypothesis("the tangent kernel is positive definite (lambda)", values[0], ">", floor, "equal or zero rows")


def kernel_cause(problem: Initialised) -> str | None:
    """If the kernel is singular, return the reason: zero rows, equal rows, or the rank of the kernel.

    Args:
        problem: the network and its training points.
    """
    # The kernel of one output is enough, because the kernel of k outputs is singular for the same reasons.
    return zero_rows(problem.x, "training rows") or singular_cause(
        problem.tangent[: len(problem.x), : len(problem.x)], problem.x
    )


def tangent_matrix(
    network: SoftmaxNetwork, params: dict[str, Array], x: Float[Array, "q d"], other: Float[Array, "n d"] | None = None
) -> Float[Array, "kq kn"]:
    """Return the tangent kernel of Definition 3.6, as a matrix.

    Rows and columns are sorted by output and, within an output, by point. The result is H if `other` is None, and
    otherwise the kernel between the points x and other points.

    Args:
        network: the softmax network, without its parameters.
        params: the parameters of the network: `weight` and `sign`.
        x: points of the rows.
        other: points of the columns; None means x.
    """
    tangent = network.tangent(params, x, other)
    return tangent.reshape(tangent.shape[0] * tangent.shape[1], -1)


def stack(y: Float[Array, "n k"]) -> Float[Array, " r"]:
    """Return vec(Y), the targets in the order of the tangent kernel: sorted by output, then by point."""
    return y.T.reshape(-1)


@functools.partial(jax.jit, static_argnums=3)
def gamma_descent(
    tangent: Float[Array, "r r"], y: Float[Array, " r"], rate: Float[Array, ""], steps: int
) -> Float[Array, " r"]:
    """Return m gamma after several steps of gamma <- gamma - eta (m H* gamma - vec(Y)), from 0 (equation 25).

    Here gamma are the coefficients of the kernel regression, whose predictions on the training points are m H* gamma.

    Args:
        tangent: the tangent kernel H*.
        y: the targets vec(Y).
        rate: the number eta m, where eta is the step size.
        steps: the number of gradient descent steps.
    """
    step = lambda _, gamma: gamma - rate * (tangent @ gamma - y)
    return jax.lax.fori_loop(0, steps, step, jnp.zeros_like(y))


class InitialisedNetworks(Population[Initialised]):
    """Networks of width 64 at initialisation, with unit inputs in 6 dimensions, unit targets and 4 test points."""

    # Sizes and the standard deviation of the weights.
    settings = network_settings(rows=3)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Initialised:
        n, k = setting["n"], setting["k"]
        return initialised(jax.random.normal(key, (32 + n + 4, 6 + k)), n, k, 64, setting["sigma"])

    def hypotheses(self, problem: Initialised) -> list[Hypothesis]:
        return [definite(problem.tangent)]

    def culprit(self, problem: Initialised) -> str | None:
        """Return the likely cause of a singular kernel, such as equal or zero rows, or None."""
        return kernel_cause(problem)


class Underway(eqx.Module):
    """A network and the regression with its initial kernel, both after the same number tau of descent steps.

    Args:
        start: the network at initialisation.
        weight: the network's weights W(tau).
        gamma: the coefficients of the regression, times the width m.
    """

    start: Initialised
    weight: Float[Array, "d m"]
    gamma: Float[Array, " r"]


class NetworksUnderway(Population[Underway]):
    """The networks of `InitialisedNetworks` and the regressions with their initial kernels, after 5 descent steps."""

    # Sizes and the standard deviation of the weights.
    settings = network_settings(rows=3)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Underway:
        start = InitialisedNetworks().sample(setting, key)
        tangent = start.tangent
        rate = 0.25 / jnp.trace(tangent)
        slope = lambda weight: start.network.gradient(start.params(weight), start.x, start.y) / start.network.width
        weight = jax.lax.fori_loop(0, _STEPS, lambda _, w: w - rate * slope(w), start.weight)
        return Underway(start, weight, gamma_descent(tangent, stack(start.y), rate, _STEPS))

    def hypotheses(self, problem: Underway) -> list[Hypothesis]:
        return []
