"""Large steps of descent: when training leaves the lazy regime, and how sharp the minimum at its end can be.

The sharpness is the largest eigenvalue of the Hessian of the loss. In the lazy regime, training hardly changes the
tangent kernel. This theory is about descent with steps eta near or above 2/sharpness. It gives the exact dynamics of
the smallest network. It also gives the minima at which descent can end, and the sharpness at which full-batch training
settles. It assumes the square loss. It does not say what sharpness means for new data.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import rows

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "training"}

_STEPS = 3000
_EDGE_STEPS = 6000
_EVERY = 20


class LinearUnits(eqx.Module):
    """The network f = u.v/sqrt(m) at the single input 1 with the target 0.

    Args:
        u, v: the weights of the two layers.
        ratio: the step size eta times the tangent kernel (|u|² + |v|²)/m at the start.
    """

    u: Float[Array, " m"]
    v: Float[Array, " m"]
    ratio: Float[Array, ""]

    @property
    def step(self) -> Float[Array, ""]:
        """The step size eta."""
        return self.ratio / kernel_of(self.u, self.v)


def kernel_of(u: Float[Array, " m"], v: Float[Array, " m"]) -> Float[Array, ""]:
    """Return the tangent kernel (|u|² + |v|²)/m."""
    return (jnp.vdot(u, u) + jnp.vdot(v, v)) / len(u)


def _descend(u: Array, v: Array, step: Array) -> tuple[Array, Array]:
    """Take one step of descent on f²/2."""
    loss = lambda both: (jnp.vdot(*both) / jnp.sqrt(len(u))) ** 2 / 2
    slopes = jax.grad(loss)((u, v))
    return u - step * slopes[0], v - step * slopes[1]


class CatapultRecursion(Claim[LinearUnits]):
    """Let f = u.v/sqrt(m) be a network of two linear layers with m hidden units, for the single input 1 and the target
    0. Let lambda = (|u|² + |v|²)/m be its tangent kernel. A step eta of descent on f²/2 gives exactly

        f <- f (1 - eta lambda + eta² f²/m),    lambda <- lambda + eta f² (eta lambda - 4)/m.

    So f and lambda follow a recursion of their own. If eta lambda < 4, the kernel falls as long as f is not 0.
    """

    title = (
        "The output and the tangent kernel of a two-layer linear network follow a recursion of their own under descent"
    )
    source = Source("lewkowycz2020", note="the linear network with one training point")
    stated = Kind.STEP
    population = Drawn(LinearUnits, m=rows(50, 1, 1000), ratio=uniform(0.5, 5.0), u=normal("m"), v=normal("m"))
    relation = Equal()
    control = Control(
        "the kernel moves by 1.25 times as much as stated",
        lambda both, problem: jnp.stack([0.8 * both[0], 1.25 * both[1] - 0.25 * kernel_of(problem.u, problem.v)]),
    )
    controls = "the output and the tangent kernel after a step of any size"
    unexplained = "several points, and nonlinear layers, for which the kernel has its own dynamics"

    def predict(self, problem: LinearUnits) -> Array:
        step, m = problem.step, len(problem.u)
        output, kernel = jnp.vdot(problem.u, problem.v) / jnp.sqrt(m), kernel_of(problem.u, problem.v)
        after = output * (1 - step * kernel + step**2 * output**2 / m)
        return jnp.stack([after, kernel + step * output**2 * (step * kernel - 4) / m])

    def measure(self, problem: LinearUnits, key: Key[Array, ""]) -> Array:
        u, v = _descend(problem.u, problem.v, problem.step)
        return jnp.stack([jnp.vdot(u, v) / jnp.sqrt(len(u)), kernel_of(u, v)])

    def condition(self, problem: LinearUnits) -> Array:
        """The condition number: sums of products of both signs, in f before the step and in the step itself."""
        size = kernel_of(problem.u, problem.v) * jnp.sqrt(len(problem.u)) * (1 + problem.ratio) ** 2
        after = self.predict(problem)
        return (size + after[1]) / jnp.abs(after)


class Phases(Population[LinearUnits]):
    """Networks and step sizes in three phases: eta lambda_0 in [0.3, 1.6], [2.3, 3.9] or [4.1, 6] at the start."""

    settings = Space(m=Integer(1000, 700, 4000, "units"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearUnits:
        one, two = jax.random.split(key)
        u, v = jax.random.normal(one, (2, setting["m"]))
        share, kind = jax.random.uniform(two, (2,))
        ends = jnp.asarray([[0.3, 1.6], [2.3, 3.9], [4.1, 6.0]])[jnp.floor(3 * kind).astype(int)]
        return LinearUnits(u, v, ends[0] + share * (ends[1] - ends[0]))

    def hypotheses(self, problem: LinearUnits) -> list[Hypothesis]:
        away = jnp.minimum(jnp.abs(problem.ratio - 2), jnp.abs(problem.ratio - 4))
        return [Hypothesis("eta lambda_0 is not near 2 or 4", away, ">", 0.05, "near 2 and 4, the phase depends on f")]


class CatapultPhases(Claim[LinearUnits]):
    """Let f = u.v/sqrt(m) be a network of two linear layers with m hidden units, for the single input 1 and the
    target 0. Let lambda = (|u|² + |v|²)/m be its tangent kernel. Let the m weights of each layer be standard normal
    numbers at the start, and let m be large. Descent on f²/2 with the step eta has three phases. The phase depends on
    the kernel lambda_0 at the start:

        1. eta lambda_0 < 2: f tends to 0, and lambda moves by O(1/m);
        2. 2 < eta lambda_0 < 4: f first grows, then tends to 0; lambda falls until eta lambda < 2;
        3. eta lambda_0 > 4: f grows without bound.

    So there are steps above 2/lambda_0 with which training succeeds, and these steps change the kernel. The test
    compares the number of the phase. It finds phase 1 if f tends to 0 and lambda changes by less than a tenth of
    lambda_0.
    """

    title = (
        "A two-layer linear network with tangent kernel lambda converges for steps from 2/lambda to 4/lambda, "
        "and lambda falls"
    )
    source = Source("lewkowycz2020", note="the three phases, in the linear network with one training point")
    stated = Kind.STEP
    population = Phases()
    relation = Equal()
    control = Control(
        "training succeeds only if eta lambda_0 is below 2",
        lambda phase, problem: jnp.where(problem.ratio > 2, 3.0, 1.0),
        loose="the control and the claim agree in the first and third phases",
    )
    controls = "whether descent with a large step converges, and to which kernel"
    unexplained = "steps near 2 and 4 times 1/lambda_0; nonlinear networks"

    def predict(self, problem: LinearUnits) -> Array:
        return 1.0 + (problem.ratio > 2) + (problem.ratio > 4)

    def measure(self, problem: LinearUnits, key: Key[Array, ""]) -> Array:
        """Return the phase found by descent in all weights; a kernel above ten times lambda_0 counts as divergence."""
        step, first = problem.step, kernel_of(problem.u, problem.v)

        def one(_: Array, both: tuple[Array, Array]) -> tuple[Array, Array]:
            ahead = _descend(*both, step)
            stopped = kernel_of(*both) > 10 * first
            return jnp.where(stopped, both[0], ahead[0]), jnp.where(stopped, both[1], ahead[1])

        u, v = jax.lax.fori_loop(0, _STEPS, one, (problem.u, problem.v))
        kernel, fitted = kernel_of(u, v), jnp.abs(jnp.vdot(u, v)) < 0.1 * jnp.sqrt(len(u))
        kept = jnp.abs(kernel / first - 1) < 0.1
        ended = jnp.where(kept, 1.0, jnp.where(step * kernel < 2, 2.0, 0.0))
        return jnp.where(kernel > 10 * first, 3.0, jnp.where(fitted, ended, 0.0))


class Product(eqx.Module):
    """A starting point (u, v) of descent on (u v - 1)²/2.

    Args:
        step: the step size eta.
        ratio: the number eta (u² + v²) at the start.
        angle: the angle of the point (u, v) at the start, with tan(angle) = v/u.
    """

    step: Float[Array, ""]
    ratio: Float[Array, ""]
    angle: Float[Array, ""]


class StableMinima(Claim[Product]):
    """The loss (u v - 1)²/2 of two numbers u and v has a curve of minima, u v = 1. The largest eigenvalue of the
    Hessian at a minimum is u² + v², and takes all values from 2 upwards. If descent with the step eta converges to a
    minimum, without reaching it in finitely many steps, then

        u² + v² <= 2/eta.

    So the step size selects flat minima. The test starts with unequal u and v, and counts u² + v² as 0 for runs that do
    not converge.
    """

    title = "On the loss (u v - 1)²/2, descent with steps of size eta ends only at minima with curvature at most 2/eta"
    source = Source("emergence2026", "Figure 4.9", note="with a constant, for a product of two numbers")
    stated = Kind.OWN
    population = Drawn(
        Product,
        positive("step", "without a positive step, descent does not move"),
        step=log_uniform(0.02, 0.4),
        ratio=uniform(1.7, 3.5),
        angle=uniform(0.01, 0.5),
    )
    relation = AtMost()
    control = Control("1.5/eta", lambda bound, problem: 0.75 * bound)
    controls = "the curvature of the minimum that descent finds"
    unexplained = "which of the stable minima is found; noise of batches"
    trivial = "there are minima of every curvature from 2 upwards"

    def predict(self, problem: Product) -> Array:
        return 2 / problem.step

    def measure(self, problem: Product, key: Key[Array, ""]) -> Array:
        size = jnp.sqrt(problem.ratio / problem.step)

        def one(_: Array, now: Array) -> Array:
            return jnp.clip(now - problem.step * (now[0] * now[1] - 1) * now[::-1], -1e6, 1e6)

        start = size * jnp.stack([jnp.cos(problem.angle), jnp.sin(problem.angle)])
        end = jax.lax.fori_loop(0, 20_000, one, start)
        return jnp.where(jnp.abs(end[0] * end[1] - 1) < 1e-9, jnp.sum(end**2), 0.0)


class SmallNetwork(eqx.Module):
    """Points with normal targets, and the ratio of 2/eta to the sharpness at the start, where eta is the step size."""

    factor: Float[Array, ""]
    n: int = eqx.field(static=True)
    d: int = eqx.field(static=True)
    m: int = eqx.field(static=True)


def edge(x: np.ndarray, y: np.ndarray, hidden: np.ndarray, out: np.ndarray, step: float, steps: int) -> np.ndarray:
    """Return the sharpness of mean (f - y)²/2 every 20 steps of descent, by power iteration during descent.

    Args:
        x: the points.
        y: the targets.
        hidden: the hidden weights at the start; the network is f(x) = tanh(x hidden) out.
        out: the output weights at the start.
        step: the step size eta.
        steps: the number of steps of descent.
    """
    first, second = np.ones_like(hidden), np.ones_like(out)
    found = []
    for t in range(steps):
        if t % _EVERY == 0:
            values = np.tanh(x @ hidden)
            slopes, residual = 1 - values**2, (values @ out - y) / len(x)
            for _ in range(5 if t else 200):
                pushed = x @ first
                bent = slopes * pushed
                moved = (bent @ out + values @ second) / len(x)
                back = (
                    np.outer(moved, out)
                    + np.outer(residual, second)
                    - 2 * np.outer(residual, out) * values * (x @ first)
                )
                pulled = x.T @ (back * slopes), bent.T @ residual + values.T @ moved
                size = np.sqrt(np.sum(pulled[0] ** 2) + np.sum(pulled[1] ** 2))
                along = np.sum(first * pulled[0]) + np.sum(second * pulled[1])
                value = along / (np.sum(first**2) + np.sum(second**2))
                first, second = pulled[0] / size, pulled[1] / size
            found.append(value)  # pyright: ignore[reportPossiblyUnboundVariable]  # the loop above is not empty
        values = np.tanh(x @ hidden)
        residual = (values @ out - y) / len(x)
        into = x.T @ (np.outer(residual, out) * (1 - values**2))
        hidden, out = hidden - step * into, out - step * (values.T @ residual)
    return np.array(found)


class EdgeOfStability(Claim[SmallNetwork]):
    """Train a tanh network with one hidden layer from small weights by descent on all rows, with the square loss and
    the step size eta. The sharpness is the largest eigenvalue of the Hessian of the loss. Suppose that 2/eta is above
    the sharpness at the start and below the sharpness that gradient flow would reach. Then the sharpness rises and
    settles. Its average over the last third of training satisfies

        eta sharpness / 2 = 1,

    within 5 %. With three quarters of the step size, the sharpness settles at 4/3 of this average. So the step size
    decides the sharpness. The trials use normal targets, 2/eta from 2.8 to 3.3 times the sharpness at the start, and
    6000 steps.
    """

    title = "Full-batch descent with step size eta settles at a sharpness of 2/eta (edge of stability)"
    source = Source("cohen2021edge", note="main result, for small networks, at two steps")
    stated = Kind.STEP
    population = Drawn(
        SmallNetwork,
        factor=Real(3.0, 2.8, 3.3, "2/eta in units of the first sharpness"),
        n=Integer(100, 80, 140, "rows"),
        d=Integer(8, 6, 10, "dimension"),
        m=Integer(20, 15, 30, "units"),
    )
    relation = EqualInMean(margin=0.02, resolution=0.03)
    control = Control("eta sharpness / 2 is 0.8", lambda value, problem: 0.8 * value)
    controls = "the sharpness that full-batch descent reaches"
    unexplained = "why training raises the sharpness; the cross-entropy, with which the sharpness falls in the end"
    traced = False
    trials = 8
    predict = (1.0, 1.0)

    def measure(self, problem: SmallNetwork, key: Key[Array, ""]) -> Array:
        generator = generator_of(key)
        x = np.pad(generator.uniform(-1.5, 1.5, (problem.n, problem.d)), ((0, 0), (0, 1)), constant_values=1.0)
        y, hidden, out = (generator.normal(size=s) for s in (problem.n, (x.shape[1], problem.m), problem.m))
        start = (x, y / np.sqrt(np.mean(y**2)), 0.2 * hidden, 0.2 * out / np.sqrt(problem.m))
        step = 2 / (float(problem.factor) * edge(*start, 0.0, 1)[0])
        found = [edge(*start, own, _EDGE_STEPS) * own / 2 for own in (step, 0.75 * step)]
        return jnp.asarray([own[2 * len(own) // 3 :].mean() for own in found])
