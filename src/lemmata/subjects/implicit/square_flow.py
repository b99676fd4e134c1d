"""Gradient flow through squares: the nonnegative solution of A x = b that the flow reaches, and the flow's path.

This theory gives the limit and the path of gradient flow on y for x = y². It assumes a least-squares loss, positive
starting values, and a positive solution. It does not explain discrete steps that are large, or losses without a
minimiser.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Rate, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.engine.problems.variables import dimension, rows
from lemmata.subjects.implicit._flows import TOLERANCE, flow, lowest

ABOUT = {"tool": "dynamical systems", "architecture": "linear model", "object": "training"}

_WHOLE = -1
_LONG = 100.0
_SCALES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


class Start(eqx.Module):
    """A start x = (scale, scale) for the equation x_1 + 2 x_2 = 1."""

    scale: Float[Array, ""]


class Segment(eqx.Module):
    """The solutions x >= 0 of c x_1 + x_2 = b, where c is `ratio`."""

    ratio: Float[Array, ""]
    b: Float[Array, ""]


class SquareFlow(eqx.Module):
    """A system A x = b with a positive solution, and a positive start x_0 of gradient flow.

    Args:
        a: the matrix A, of full rank.
        truth: a positive solution, so that b = A truth.
        start: the start x_0 of the flow.
        clock: the time at which entropy mirror flow x' = -x A'(A x - b) is observed, in units of its slowest time
            constant.
        step: the size of one step of descent.
    """

    a: Float[Array, "n p"]
    truth: Float[Array, " p"]
    start: Float[Array, " p"]
    clock: Float[Array, ""]
    step: Float[Array, ""]

    @property
    def b(self) -> Float[Array, " n"]:
        """The right side b = A truth."""
        return self.a @ self.truth

    @property
    def rates(self) -> Float[Array, " n"]:
        """The eigenvalues of A diag(min(x_0, truth)) A', which are about the rates of mirror flow."""
        return jnp.linalg.eigvalsh((self.a * jnp.minimum(self.start, self.truth)) @ self.a.T)


def _resolved(problem: SquareFlow) -> Hypothesis:
    ratio = problem.rates[-1] / jnp.maximum(problem.rates[0], 1e-300)
    return Hypothesis(
        "the largest rate of the flow is below 1000 times the smallest", ratio, "<", 1000.0, "the limit is reached"
    )


SYSTEMS = Drawn(
    SquareFlow,
    positive("truth", "then the limit is positive"),
    positive("start", "the flow of y does not leave y = 0"),
    _resolved,
    n=rows(2, 1, 4, corners=(1, 3)),
    p=dimension(8, 8, 20, corners=(8, 10)),
    a=normal("n", "p"),
    truth=log_uniform(0.2, 2.0, "p"),
    start=log_uniform(0.05, 2.0, "p"),
    clock=log_uniform(0.1, 2.0),
    step=log_uniform(0.02, 0.2),
)


def divergence(x: Float[Array, " p"], z: Float[Array, " p"]) -> Float[Array, ""]:
    """The Kullback-Leibler divergence sum_i x_i log(x_i/z_i) - x_i + z_i of positive vectors."""
    return jnp.sum(x * jnp.log(x / z) - x + z)


def projection(problem: SquareFlow) -> Float[Array, " p"]:
    """Return the x with A x = b of least divergence from x_0; x = x_0 exp(A'nu) where nu solves the dual problem."""
    dual = lambda nu: jnp.sum(problem.start * jnp.exp(problem.a.T @ nu)) - problem.b @ nu
    return problem.start * jnp.exp(problem.a.T @ lowest(dual, jnp.zeros(len(problem.b))))


def square_flow(problem: SquareFlow, times: Float[Array, " s"]) -> Float[Array, "s p"]:
    """Return x = y² at the times, by gradient flow of |A y² - b|²/2 in y."""
    loss = lambda y: jnp.sum((problem.a @ y**2 - problem.b) ** 2) / 2
    return flow(lambda y: -jax.grad(loss)(y), jnp.sqrt(problem.start), times) ** 2


def _integration(problem: SquareFlow) -> Array:
    """Return the tolerance of a step in units of rounding error, times the ratio of largest to smallest rate."""
    return TOLERANCE / jnp.finfo(float).eps * problem.rates[-1] / problem.rates[0]


class ToySegment(Claim[Start]):
    """Consider the equation x_1 + 2 x_2 = 1, and write x = y², coordinate by coordinate. Gradient flow of (y_1² + 2
    y_2² - 1)²/2 in y from y_1² = y_2² = s > 0 ends at

        x = y² = (s e, s e²),   e = (sqrt(1 + 8/s) - 1)/4.

    As s -> 0, this x tends to (0, 1/2), the nonnegative solution of least l_1 norm. Gradient flow of (x_1 + 2 x_2 -
    1)²/2 in x from 0 ends at (1/5, 2/5), the solution of least l_2 norm.
    """

    title = "In a toy problem, gradient flow in y with x = y² and gradient flow in x reach different solutions"
    source = Source("emergence2026", "Example 6.7", "Figure 6.7", note="with the limit for every start")
    population = Drawn(Start, scale=log_uniform(0.01, 10.0))
    relation = Equal()
    control = Control("the two flows exchange their limits", lambda limits, problem: limits[::-1])
    controls = "which of many solutions is reached"
    unexplained = "which of the two solutions is better"

    def predict(self, problem: Start) -> Array:
        e = (jnp.sqrt(1 + 8 / problem.scale) - 1) / 4
        return jnp.stack([problem.scale * jnp.stack([e, e**2]), jnp.array([0.2, 0.4])])

    def measure(self, problem: Start, key: Key[Array, ""]) -> Array:
        loss = lambda x: (x[0] + 2 * x[1] - 1) ** 2 / 2
        time, start = jnp.array([40.0]), jnp.full(2, jnp.sqrt(problem.scale))
        squares = flow(lambda y: -jax.grad(lambda y: loss(y**2))(y), start, time)[0] ** 2
        return jnp.stack([squares, flow(lambda x: -jax.grad(loss)(x), jnp.zeros(2), time)[0]])

    def condition(self, problem: Start) -> Array:
        """Return the tolerance in units of rounding. The solver's tolerance is also absolute, so it matters most for
        small coordinates.
        """
        return TOLERANCE / jnp.finfo(float).eps * jnp.array(100.0) * (1 + problem.scale)


class SmallStartIsSparse(Claim[Segment]):
    """Consider the equation c_1 x_1 + c_2 x_2 = b with b > 0 and 0 < c_1 < c_2. Write x = y², and run gradient flow of
    the squared error in y from y_1² = y_2² = s. As s -> 0, the end point x of this flow tends to (0, b/c_2), the
    nonnegative solution of least l_1 norm. Its first coordinate falls like

        x_1 ~ C s^(1 - c_1/c_2),

    where C does not depend on s. For c = (1, 2), x_1 falls like sqrt(s), so x is nearly sparse only for very small
    starts.
    """

    title = "From y² = s, gradient flow in y with x = y² ends near a sparse solution x, up to a power of s"
    source = Source("emergence2026", "Figure 6.11", note="with the rate, in two dimensions")
    population = Drawn(Segment, ratio=uniform(0.3, 0.6), b=log_uniform(0.2, 1.0))
    relation = Rate("s", _SCALES)
    control = Control("x_1 falls in proportion to s", lambda exponent, problem: jnp.ones(()))
    controls = "a coordinate that the sparse solution does not use"
    unexplained = "the constant"
    trials = 64

    def predict(self, problem: Segment) -> Array:
        return 1 - problem.ratio

    def measure(self, problem: Segment, key: Key[Array, ""]) -> Array:
        loss = lambda y: (problem.ratio * y[0] ** 2 + y[1] ** 2 - problem.b) ** 2 / 2
        starts = jnp.sqrt(jnp.asarray(_SCALES))[:, None] * jnp.ones(2)
        ends = jax.vmap(lambda start: flow(lambda y: -jax.grad(loss)(y), start, 30 * jnp.ones(1) / problem.b))(starts)
        return ends[:, 0, 0] ** 2


class SquareFlowIsProjection(Claim[SquareFlow]):
    """Let A x = b have a positive solution, and let x_0 > 0. Gradient flow of |A y² - b|²/2 in y from y_0 = sqrt(x_0)
    converges. Of all points x with A x = b and x >= 0, the limit of x = y² has the smallest Kullback-Leibler divergence
    from x_0,

        D(x, x_0) = sum_i x_i log(x_i / x_{0i}) - x_i + x_{0i}.

    This limit has the form x_0 exp(A'nu), coordinate by coordinate.
    """

    title = "Gradient flow in y with x = y² converges to the KL projection of its start onto the solutions of A x = b"
    source = Source("emergence2026", "Figure 6.2", "Figure 6.11", note="the limit in Section 6.5")
    population = SYSTEMS
    relation = Equal(block=_WHOLE)
    control = Control(
        "the divergence has its arguments exchanged", lambda value, problem: _reversed_projection(problem)
    )
    controls = "which of many nonnegative solutions is reached"
    unexplained = "systems whose nonnegative solutions all have zeros, where the flow slows down"

    def predict(self, problem: SquareFlow) -> Array:
        return projection(problem)

    def measure(self, problem: SquareFlow, key: Key[Array, ""]) -> Array:
        return square_flow(problem, _LONG / problem.rates[:1])[0]

    def condition(self, problem: SquareFlow) -> Array:
        return _integration(problem)


def _reversed_projection(problem: SquareFlow) -> Float[Array, " p"]:
    """Return the x with A x = b of least D(x_0, x), which has the form x_0 / (1 - A'nu)."""

    def dual(nu: Array) -> Array:
        left = 1 - problem.a.T @ nu
        logs = jnp.log(jnp.where(left > 0, left, jnp.nan))
        return -problem.start @ logs - problem.b @ nu

    return problem.start / (1 - problem.a.T @ lowest(dual, jnp.zeros(len(problem.b))))


class MirrorClock(Claim[SquareFlow]):
    """Entropy mirror flow on the loss |A x - b|²/2 is dx/dt = -x A'(A x - b), where A' is the transpose and the first
    product is taken coordinate by coordinate. Call its solution x_mirror. Gradient flow of |A y² - b|²/2 in y gives the
    path x_square = y². From the same x_0, this path is the same but four times as fast:

        x_square(t) = x_mirror(4 t)   at every time t.
    """

    title = "Gradient flow in y with x = y² is entropy mirror flow of x, four times as fast"
    source = Source("emergence2026", "Figure 6.10", "Figure 6.11", note="the two flows in Section 6.5.1")
    population = SYSTEMS
    relation = Equal(block=_WHOLE)
    control = Control("twice as fast", lambda value, problem: _mirror_path(problem, 2.0))
    controls = "the whole path of the flow of squares"
    unexplained = "the path of discrete steps"

    def predict(self, problem: SquareFlow) -> Array:
        return _mirror_path(problem, 4.0)

    def measure(self, problem: SquareFlow, key: Key[Array, ""]) -> Array:
        return square_flow(problem, _instants(problem))

    def condition(self, problem: SquareFlow) -> Array:
        return _integration(problem)


def _instants(problem: SquareFlow) -> Float[Array, " 3"]:
    return problem.clock * jnp.array([0.1, 0.3, 1.0]) / problem.rates[-1]


def _mirror_path(problem: SquareFlow, speed: float) -> Float[Array, "3 p"]:
    """Follow mirror flow in its dual variable nu, with x = x_0 exp(A'nu) and dnu/dt = b - A x."""
    at = lambda nu: problem.start * jnp.exp(problem.a.T @ nu)
    path = flow(lambda nu: problem.b - problem.a @ at(nu), jnp.zeros(len(problem.b)), speed * _instants(problem))
    return jax.vmap(at)(path)


class Pythagoras(Claim[SquareFlow]):
    """Let D be the Kullback-Leibler divergence. Let x* be the projection of x_0 > 0 on {x >= 0: A x = b}, which is the
    point of this set with the smallest D(x*, x_0). Let x* > 0. For every u > 0 with A u = b,

        D(u, x_0) = D(u, x*) + D(x*, x_0).

    The reason is that the gradient of D(., x_0) at x* is orthogonal to the difference of any two solutions of A x = b.
    Gradient flow of |A y² - b|²/2 in y from y² = x_0 ends at y² = x*.
    """

    title = "The KL projection onto the solutions of A x = b satisfies a Pythagorean theorem"
    source = Source("emergence2026", "Figure 6.10", "Definition 6.8", note="the Pythagorean identity for entropy")
    population = SYSTEMS
    relation = Equal()
    control = Control(
        "the identity holds with the arguments of D exchanged",
        lambda value, problem: divergence(problem.start, problem.truth),
    )
    controls = "how far every solution is from the start"
    unexplained = "losses that are not least squares"

    def predict(self, problem: SquareFlow) -> Array:
        return divergence(problem.truth, problem.start)

    def measure(self, problem: SquareFlow, key: Key[Array, ""]) -> Array:
        end = square_flow(problem, _LONG / problem.rates[:1])[0]
        return divergence(problem.truth, end) + divergence(end, problem.start)

    def condition(self, problem: SquareFlow) -> Array:
        """Bound the errors: the slopes of the divergences are about |log(x_i/x_0i)| + 1 for the start x_0."""
        slopes = jnp.abs(jnp.log(problem.truth / problem.start)).sum() + len(problem.start)
        return _integration(problem) * slopes / divergence(problem.truth, problem.start)


class StepIsProximal(Claim[SquareFlow]):
    """Let g be the gradient of |A x - b|²/2 at x_0 > 0, let s > 0 be a step, and let D be the Kullback-Leibler
    divergence. A step of gradient descent leads to x_0 - s g, and a step of mirror descent leads to x_0 exp(-s g). In
    this order, these two points are the minimisers over x of

        <g, x> + |x - x_0|²/(2 s)   and   <g, x> + D(x, x_0)/s.
    """

    title = "A gradient step and a mirror descent step minimise the linearised loss plus a distance or a KL penalty"
    source = Source("emergence2026", "Figure 6.8", note="with the step of mirror descent, too")
    population = SYSTEMS
    relation = Equal(block=1)
    control = Control("both penalties are twice as large", lambda steps, problem: _steps(problem, 0.5))
    controls = "one step"
    unexplained = "how good the linear model is"

    def predict(self, problem: SquareFlow) -> Array:
        return _steps(problem, 1.0)

    def measure(self, problem: SquareFlow, key: Key[Array, ""]) -> Array:
        """Find the minimisers, each coordinate by bisection of its derivative."""
        start, slope = problem.start, problem.a.T @ (problem.a @ problem.start - problem.b)
        square = lambda x: slope @ x + jnp.sum((x - start) ** 2) / (2 * problem.step)
        entropy = lambda x: slope @ x + divergence(x, start) / problem.step

        def minimiser(objective, low: Array, high: Array) -> Array:
            def halve(_, ends):
                middle = (ends[0] + ends[1]) / 2
                up = jax.grad(objective)(middle) > 0
                return jnp.where(up, ends[0], middle), jnp.where(up, middle, ends[1])

            return jax.lax.fori_loop(0, 200, halve, (low, high))[0]

        reach = 1 + 2 * problem.step * jnp.abs(slope)
        far = start * jnp.exp(reach)
        return jnp.stack([minimiser(square, start - reach, start + reach), minimiser(entropy, start / 1e30, far)])

    def condition(self, problem: SquareFlow) -> Array:
        """Bound the rounding errors of the gradient, which is a product with A'A."""
        a, size = problem.a, problem.start + problem.truth
        sums = jnp.abs(a.T) @ (jnp.abs(a) @ size)
        steps = jnp.abs(_steps(problem, 1.0))
        return 1 + jnp.stack(
            [1 + problem.step * sums / steps[0].max(), 1 + jnp.abs(jnp.log(steps[1])) + problem.step * sums]
        )


def _steps(problem: SquareFlow, share: float) -> Float[Array, "2 p"]:
    moved = -share * problem.step * problem.a.T @ (problem.a @ problem.start - problem.b)
    return jnp.stack([problem.start + moved, problem.start * jnp.exp(moved)])
