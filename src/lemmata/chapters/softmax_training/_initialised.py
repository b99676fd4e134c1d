"""A softmax network at initialisation and along its gradient flow, and the regression with its tangent kernel."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.claims import Hypothesis
from lemmata.networks import SoftmaxNetwork
from lemmata.problems import Regression
from lemmata.problems._sampled import paired_signs
from lemmata.problems._singular import singular_cause
from lemmata.solvers import Trajectory, gradient_descent, gradient_flow
from lemmata.spectra import Spectrum

_ROUNDING = 16.0
_ROWS, _OUTPUTS, _TESTS = 12, 2, 4
# The times of the integrator, in units of 1 / (m lambda_max): steps grow by 4 % each until they are 1.5 long, where the
# fourth order rule (stable up to 2.78) still damps. A mode has decayed when steps become long for it; what is left is
# below 1e-6 of the outputs. One record every 6 steps, the last after 190 units.
_SIZES = np.minimum(0.04 * 1.04 ** np.arange(192), 1.5)
RECORDS = np.concatenate([[0.0], np.cumsum(_SIZES)[5::6]])


class Initialised(eqx.Module):
    """A softmax network at the symmetric initialisation, and what it is to be trained on.

    Args:
        x: training points.
        y: targets.
        x_test: other points.
        weight: W(0).
        sign: a.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n k"]
    x_test: Float[Array, "p d"]
    weight: Float[Array, "d m"]
    sign: Float[Array, "k m"]

    @property
    def network(self) -> SoftmaxNetwork:
        """The network."""
        return SoftmaxNetwork(width=self.sign.shape[1], outputs=len(self.sign))

    def params(self, weight: Float[Array, "d m"] | None = None) -> dict[str, Array]:
        """The parameters with these weights; None means those at initialisation."""
        return {"weight": self.weight if weight is None else weight, "sign": self.sign}

    @property
    def tangent(self) -> Float[Array, "r r"]:
        """H*, the tangent kernel at initialisation, outputs outside and points inside (r = k n)."""
        return tangent_matrix(self.network, self.params(), self.x)

    @property
    def cross(self) -> Float[Array, "q r"]:
        """K*_te, the tangent kernel between x_test and x at initialisation (q = k p)."""
        return tangent_matrix(self.network, self.params(), self.x_test, self.x)


class Coupling(eqx.Module):
    """A network's weights along its gradient flow on 1/2 |F(X) - Y|_F².

    Args:
        start: the network at initialisation.
        unit: 1 / lambda_max(H*), the unit of the times m t.
        path: W at the times m t = unit * RECORDS; the first is W(0).
        moved: eps_H = max_t |H(t) - H*|_F over the records.
        moved_test: eps_l,test = max_t |K_l,te(t) - K*_l,te|_F, at each output and test point.
    """

    start: Initialised
    unit: Float[Array, ""]
    path: Float[Array, "s d m"]
    moved: Float[Array, ""]
    moved_test: Float[Array, " q"]


def initialised(
    normal: Float[Array, "rows columns"], n: int, k: int, width: int, sigma: float | Float[Array, ""]
) -> Initialised:
    """Unit inputs and targets in random directions, and the symmetric initialisation, from one table of normal draws.

    One draw instead of five: a generator compiles longer than all that is computed here. The first width/2 rows are
    pairs of units, then come n training points, then test points; the last k columns decide signs and targets.

    Args:
        normal: independent standard normal numbers, of d + k columns.
        n: training points.
        k: outputs.
        width: m, even.
        sigma: standard deviation of the weights.
    """
    units, points = normal[: width // 2], normal[width // 2 :]
    unit = lambda rows: rows / jnp.linalg.norm(rows, axis=1, keepdims=True)
    x, y = unit(points[:, :-k]), unit(points[:n, -k:])
    weight = jnp.repeat(sigma * units[:, :-k].T, 2, axis=1)
    return Initialised(x[:n], y, x[n:], weight, paired_signs(units[:, -k:].T))


def posed(problem: object) -> Initialised | None:
    """A network of width 256 for the first 12 rows and 2 outputs of a regression, scaled into the unit ball.

    Args:
        problem: anything; None where it is no regression.
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
    """That the smallest eigenvalue stands above the rounding floor.

    Args:
        tangent: H*.
    """
    values = jnp.linalg.eigvalsh(tangent)
    floor = 16 * len(values) * jnp.finfo(values.dtype).eps * values[-1]
    return Hypothesis("the tangent kernel is positive definite (lambda)", values[0], ">", floor, "equal or zero rows")


def kernel_cause(problem: Initialised) -> str | None:
    """Zero rows, equal rows, or the rank of the kernel, where it is singular.

    Args:
        problem: the network and its training points.
    """
    zero = [str(row) for row, size in enumerate(jnp.abs(problem.x).max(axis=1)) if size == 0]
    if zero:
        return f"training rows {', '.join(zero)} (counted from 0) are zero, and so is the kernel there"
    # Of one output: the kernel of k outputs repeats its cause k times.
    return singular_cause(problem.tangent[: len(problem.x), : len(problem.x)], problem.x)


def tangent_matrix(
    network: SoftmaxNetwork, params: dict[str, Array], x: Float[Array, "q d"], other: Float[Array, "n d"] | None = None
) -> Float[Array, "kq kn"]:
    """H (or K_te, where there are other points) as a matrix: outputs outside, points inside (Definition 3.6).

    Args:
        network: the network.
        params: its parameters.
        x: points of the rows.
        other: points of the columns; None means x.
    """
    tangent = network.tangent(params, x, other)
    return tangent.reshape(tangent.shape[0] * tangent.shape[1], -1)


def stack(y: Float[Array, "n k"]) -> Float[Array, " r"]:
    """vec(Y) in the order of the tangent kernel: outputs outside, points inside."""
    return y.T.reshape(-1)


def eigensystem(matrix: Float[Array, "r r"]) -> Spectrum:
    """The eigensystem of a positive semidefinite matrix inside traced code, where no error can be raised."""
    values, vectors = jnp.linalg.eigh((matrix + matrix.T) / 2)
    floor = _ROUNDING * len(values) * jnp.finfo(values.dtype).eps * values[-1]
    return Spectrum(jnp.maximum(values[::-1], 0.0), vectors[:, ::-1], floor, values[0])


def ntk_flow(
    tangent: Float[Array, "r r"],
    cross: Float[Array, "q r"],
    y: Float[Array, "r *k"],
    time: Sequence[float] | np.ndarray,
) -> tuple[Float[Array, "s r *k"], Float[Array, "s q *k"]]:
    """The regression with a fixed tangent kernel under gradient flow, at any time (Definition F.1).

    F(t) = K_te H^-1 (I - exp(-m H t)) vec(Y), on the training points with K_te = H. Shapes serve both the kernel of a
    finite network, of k n rows, and the limit kernel of n rows, with all outputs at once.

    Args:
        tangent: H, not multiplied by m.
        cross: K_te.
        y: targets, one row for each row of H.
        time: the times m t, known numbers.

    Returns:
        Predictions on the training points and on the others, one leading entry a time.
    """
    return _both(gradient_flow(eigensystem(tangent), y, time, cross))


def ntk_descent(
    tangent: Float[Array, "r r"],
    cross: Float[Array, "q r"],
    y: Float[Array, "r *k"],
    rate: Float[Array, ""],
    steps: int,
) -> tuple[Float[Array, "s r *k"], Float[Array, "s q *k"]]:
    """The same under gradient descent: F = K_te H^-1 (I - (I - eta m H)^steps) vec(Y).

    Args:
        tangent: H, not multiplied by m.
        cross: K_te.
        y: targets, one row for each row of H.
        rate: eta m.
        steps: how many steps.
    """
    # The solver takes a rate that is known; traced ones go into the kernel.
    return _both(gradient_descent(eigensystem(rate * tangent), y, 1.0, steps, rate * cross))


def _both(path: Trajectory) -> tuple[Array, Array]:
    assert path.test is not None
    return path.train, path.test


def perturbations(start: Initialised, path: Float[Array, "s d m"]) -> tuple[Float[Array, ""], Float[Array, " q"]]:
    """eps_H = max_t |H(t) - H*|_F and eps_l,test = max_t |K_l,te(t) - K*_l,te|_F.

    Args:
        start: the network at initialisation.
        path: W(t).
    """
    n, every = len(start.x), jnp.concatenate([start.x, start.x_test])

    def kernels(weight: Array) -> Array:
        tangent = start.network.tangent(start.params(weight), every, start.x)
        return jnp.moveaxis(tangent, 1, 0)

    initial = kernels(start.weight)
    rows = jax.lax.map(lambda weight: jnp.linalg.norm(kernels(weight) - initial, axis=(2, 3)), path)
    return jnp.linalg.norm(rows[:, :n], axis=(1, 2)).max(), rows[:, n:].max(axis=0).T.reshape(-1)


@jax.jit
def trained(start: Initialised) -> Coupling:
    """The gradient flow dW/dt = -Delta W of a network, by the classical fourth order rule.

    Args:
        start: the network at the symmetric initialisation.
    """
    unit = 1 / jnp.linalg.eigvalsh(start.tangent)[-1]
    slope = lambda weight: -start.network.gradient(start.params(weight), start.x, start.y) / start.network.width

    def step(weight: Array, size: Array) -> tuple[Array, None]:
        first = slope(weight)
        second = slope(weight + size / 2 * first)
        third = slope(weight + size / 2 * second)
        last = slope(weight + size * third)
        return weight + size / 6 * (first + 2 * second + 2 * third + last), None

    def between(weight: Array, sizes: Array) -> tuple[Array, Array]:
        weight, _ = jax.lax.scan(step, weight, sizes)
        return weight, weight

    _, path = jax.lax.scan(between, start.weight, unit * jnp.asarray(_SIZES.reshape(-1, 6)))
    path = jnp.concatenate([start.weight[None], path])
    return Coupling(start, unit, path, *perturbations(start, path))


@jax.jit
def differences(problem: Coupling) -> tuple[Float[Array, " s"], Float[Array, " q"]]:
    """|F_nn - F_ntk|_F on the training points at each record, and max_t |F_nn - F_ntk|_l at each test point.

    Args:
        problem: the network along its flow.
    """
    start = problem.start
    on_train, on_test = ntk_flow(problem.unit * start.tangent, problem.unit * start.cross, stack(start.y), RECORDS)
    network = lambda points: jax.vmap(lambda weight: stack(start.network.predict(start.params(weight), points)))
    train = network(start.x)(problem.path) - on_train
    test = network(start.x_test)(problem.path) - on_test
    return jnp.linalg.norm(train, axis=1), jnp.abs(test).max(axis=0)
