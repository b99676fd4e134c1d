"""Softmax networks along their gradient flow, with the changes of their tangent kernels.

H(t) is the tangent kernel on the training points at time t, and H* = H(0). K_l,te is the kernel between output l at a
test point and the training points, and K*_l,te is this kernel at time 0.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space
from lemmata.subjects.softmax_training._initialised_networks import (
    Initialised,
    definite,
    initialised,
    kernel_cause,
    network_settings,
    posed,
)

# The step lengths of the integrator, in units of 1 / (m lambda_max). Steps grow by 4 % each up to a length of 1.5, at
# which the fourth-order rule (stable up to 2.78) still damps. When steps become too long to resolve a mode, this mode
# has decayed to below 1e-6 of the outputs. Every 6th step is recorded; the last record is after 190 units.
_SIZES = np.minimum(0.04 * 1.04 ** np.arange(192), 1.5)
RECORDS = np.concatenate([[0.0], np.cumsum(_SIZES)[5::6]])


class Flow(eqx.Module):
    """A network's weights along its gradient flow on 1/2 |F(X) - Y|_F², where X and Y are training inputs and targets.

    Args:
        start: the network at initialisation.
        unit: the unit 1 / lambda_max(H*) in which the times m t are counted, where m is the width.
        path: the weights W at the times m t = unit * RECORDS; the first is W(0).
        moved: the number eps_H = max_t |H(t) - H*|_F, where the maximum is over the records.
        moved_test: the numbers eps_l,test = max_t |K_l,te(t) - K*_l,te|_F, at each output and test point.
    """

    start: Initialised
    unit: Float[Array, ""]
    path: Float[Array, "s d m"]
    moved: Float[Array, ""]
    moved_test: Float[Array, " q"]

    @property
    def smallest(self) -> Float[Array, ""]:
        """The smallest eigenvalue lambda of H*."""
        return jnp.linalg.eigvalsh(self.start.tangent)[0]

    @property
    def targets(self) -> Float[Array, ""]:
        """The norm |Y|_F."""
        return jnp.linalg.norm(self.start.y)

    @property
    def cross_sizes(self) -> Float[Array, " q"]:
        """The norm |K*_l,te|_F at each output l and test point."""
        return jnp.linalg.norm(self.start.cross, axis=1)


def perturbations(start: Initialised, path: Float[Array, "s d m"]) -> tuple[Float[Array, ""], Float[Array, " q"]]:
    """Return eps_H = max_t |H(t) - H*|_F and eps_l,test = max_t |K_l,te(t) - K*_l,te|_F.

    Args:
        start: the network at initialisation.
        path: the weights W(t) at the recorded times.
    """
    n, every = len(start.x), jnp.concatenate([start.x, start.x_test])

    def kernels(weight: Array) -> Array:
        tangent = start.network.tangent(start.params(weight), every, start.x)
        return jnp.moveaxis(tangent, 1, 0)

    initial = kernels(start.weight)
    rows = jax.lax.map(lambda weight: jnp.linalg.norm(kernels(weight) - initial, axis=(2, 3)), path)
    return jnp.linalg.norm(rows[:, :n], axis=(1, 2)).max(), rows[:, n:].max(axis=0).T.reshape(-1)


@jax.jit
def trained(start: Initialised) -> Flow:
    """Follow the gradient flow by the classical fourth-order Runge-Kutta method.

    The flow is dW/dt = -Delta W, where Delta W is the gradient of the loss with respect to the weights W.

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
    return Flow(start, unit, path, *perturbations(start, path))


class Flows(Population[Flow]):
    """Networks of width 128 along their flow, with unit inputs in 6 dimensions, unit targets and 4 test points."""

    # Sizes and the standard deviation of the weights.
    settings = network_settings(rows=2)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Flow:
        n, k = setting["n"], setting["k"]
        return trained(initialised(jax.random.normal(key, (64 + n + 4, 6 + k)), n, k, 128, setting["sigma"]))

    def pose(self, problem: object) -> Flow | None:
        """Convert a regression to a network of width 256 that is trained on its first rows; otherwise return None."""
        start = posed(problem)
        return trained(start) if start else None

    def hypotheses(self, problem: Flow) -> list[Hypothesis]:
        start = problem.start
        outputs = jnp.abs(start.network.predict(start.params(), start.x)).max()
        half = problem.smallest / 2
        return [
            definite(start.tangent),
            Hypothesis(
                "the kernel moves little (eps_H)", problem.moved, "<=", half, "then at least half of lambda remains"
            ),
            Hypothesis("the network is 0 at initialisation", outputs, "<=", 1e-10, "symmetric initialisation"),
        ]

    def culprit(self, problem: Flow) -> str | None:
        """Return the likely cause of a singular kernel, such as equal or zero rows, or None."""
        return kernel_cause(problem.start)


class NearbyInputs(eqx.Module):
    """A softmax network trained on two points, once for each of several angles between the points.

    Args:
        networks: the gradient flows, one for each angle.
    """

    networks: tuple[Flow, ...]

    @property
    def smallest(self) -> Float[Array, " angles"]:
        """The smallest eigenvalue lambda, one for each angle."""
        return jnp.stack([network.smallest for network in self.networks])

    @property
    def moved(self) -> Float[Array, " angles"]:
        """The largest |H(t) - H*|_F, one for each angle."""
        return jnp.stack([network.moved for network in self.networks])

    @property
    def moved_test(self) -> Float[Array, " angles"]:
        """The largest |K_te(t) - K*_te| at the test point, one for each angle."""
        return jnp.stack([network.moved_test[0] for network in self.networks])

    @property
    def allowed(self) -> Float[Array, " angles"]:
        """The number eps_H = n k / (m lambda) with n k = 2, by which the kernel may move; one for each angle."""
        return 2 / (self.networks[0].start.network.width * self.smallest)


def nearby(start: Initialised, angle: float) -> Initialised:
    """Return the network with two unit inputs at this angle, targets 1 and -1, and a short test point along x_1 - x_2.

    Let u be the unit vector along x_1 - x_2, and let the test point be c u. As c falls, the entries of the kernel K_te
    between test and training points, divided by c, tend to <u, x_j>(1 - F(x_j)²/m²). Training hardly changes these
    limits.

    Args:
        start: the network, with two training points that span a plane.
        angle: the angle in radians.
    """
    first = start.x[0]
    across = start.x[1] - start.x[1] @ first * first
    across = across / jnp.linalg.norm(across)
    x = jnp.stack([math.cos(angle / 2) * first + sign * math.sin(angle / 2) * across for sign in (1, -1)])
    return Initialised(x, jnp.array([[1.0], [-1.0]]), 1e-3 * across[None], start.weight, start.sign)


class NearbyFlows(Population[NearbyInputs]):
    """Networks of width 256 in 3 dimensions, and pairs of inputs in a random plane at several angles.

    Args:
        inverse_angles: the numbers 1/angle, with angles in radians.
    """

    inverse_angles: tuple[float, ...] = (1.0, 2**0.5, 2.0, 2 * 2**0.5)
    settings = Space(sigma=Real(0.8, 0.6, 0.9, "standard deviation of the weights", corners=(0.74, 0.9)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NearbyInputs:
        start = initialised(jax.random.normal(key, (128 + 3, 4)), 2, 1, 256, setting["sigma"])
        return NearbyInputs(tuple(trained(nearby(start, 1 / inverse)) for inverse in self.inverse_angles))

    def hypotheses(self, problem: NearbyInputs) -> list[Hypothesis]:
        chosen, smallest, moved = problem.allowed, problem.smallest, problem.moved
        return [
            Hypothesis("the kernel moves by at most eps_H", (moved / chosen).max(), "<=", 1.0, "over eps_H"),
            Hypothesis("eps_H is at most lambda / 2", (2 * chosen / smallest).max(), "<=", 1.0, "over lambda / 2"),
        ]


class NestedNetworks(Population[Initialised]):
    """Unit inputs in 6 dimensions, targets of length 1, and the units of several networks side by side.

    Args:
        widths: the widths of the networks.
    """

    widths: tuple[float, ...] = (64.0, 128.0, 256.0, 512.0)
    # Sizes and the standard deviation of the weights.
    # If the weights, and therefore the shares, are nearly equal, second-order movements are means of a few heavy terms.
    # Then the smallest widths change the slope by 0.09.
    settings = network_settings(rows=2, sigma=0.3, widest=0.4, corners=(0.25, 0.4))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Initialised:
        n, k, units = setting["n"], setting["k"], int(sum(self.widths))
        return initialised(jax.random.normal(key, (units // 2 + n + 1, 6 + k)), n, k, units, setting["sigma"])

    def hypotheses(self, problem: Initialised) -> list[Hypothesis]:
        smallest = jnp.linalg.eigvalsh(problem.tangent)[0]
        # |W(t) - W(0)|_F <= |Y|_F / sqrt(m lambda), spread over m units.
        path = jnp.linalg.norm(problem.y) / (jnp.sqrt(smallest) * self.widths[0])
        return [
            definite(problem.tangent),
            Hypothesis("logits move little at the smallest width", path, "<=", 0.1, "|Y|_F / (m sqrt(lambda))"),
        ]
