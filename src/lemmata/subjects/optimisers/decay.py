"""Decoupled weight decay confines weights to a box, and has no effect inside the box.

This theory is about methods with bounded steps and decoupled decay, on full gradients of a convex loss. It gives the
limit of these methods, and shows that coupled decay has another limit. It assumes small steps. It does not explain
noise, which makes decay shrink the weights.
"""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, ArrayLike, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Limit, Population, Source, Space

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}


class DecayedQuadratic(eqx.Module):
    """The loss f(x) = 1/2 (x - optimum)' hessian (x - optimum), a decay lambda, and a start."""

    hessian: Float[Array, "d d"]
    optimum: Float[Array, " d"]
    decay: Float[Array, ""]
    start: Float[Array, " d"]

    def gradient(self, at: Float[Array, " d"]) -> Float[Array, " d"]:
        """Return the gradient of f, without the decay."""
        return self.hessian @ (at - self.optimum)

    @property
    def ridge(self) -> Float[Array, " d"]:
        """The ridge solution, which minimises f + lambda |x|²/2."""
        matrix = self.hessian + self.decay * jnp.eye(len(self.optimum))
        return jnp.linalg.solve(matrix, self.hessian @ self.optimum)


class DecayedQuadratics(Population[DecayedQuadratic]):
    """Random quadratics whose minimiser is inside the box |x|_inf <= 1/lambda, or has coordinates outside the box.

    Args:
        reach: the largest coordinate of the minimiser, in units of 1/lambda.
    """

    reach: float = eqx.field(static=True)
    settings = Space(d=Integer(5, 2, 50, "coordinates", corners=(3, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> DecayedQuadratic:
        """Draw eigenvalues between 0.5 and 3, a decay between 0.3 and 1, and a start inside the box."""
        keys = jax.random.split(key, 5)
        d = setting["d"]
        basis = jnp.linalg.qr(jax.random.normal(keys[0], (d, d)))[0]
        values = 0.5 * 6 ** jax.random.uniform(keys[1], (d,))
        decay = 0.3 + 0.7 * jax.random.uniform(keys[2])
        drawn = jax.random.normal(keys[3], (d,))
        optimum = self.reach / decay * drawn / jnp.abs(drawn).max()
        start = jax.random.uniform(keys[4], (d,), minval=-0.5, maxval=0.5) / decay
        return DecayedQuadratic((basis * values) @ basis.T, optimum, decay, start)

    def hypotheses(self, problem: DecayedQuadratic) -> list[Hypothesis]:
        size = problem.decay * jnp.abs(problem.optimum).max()
        side = ("<", "inside") if self.reach < 1 else (">", "outside")
        least = jnp.linalg.eigvalsh(problem.hessian)[0]
        return [
            Hypothesis("f is strictly convex", least, ">", 0.0, "then f has one minimiser"),
            Hypothesis("weights decay", problem.decay, ">", 0.0, "otherwise there is no box"),
            Hypothesis(f"the minimiser is {side[1]} the box", size, side[0], 1.0, "the statement is about this case"),
        ]


class DecayedRun(eqx.Module):
    """The gradients of each step, and the start, learning rate `rate` and decoupled decay of a method."""

    gradients: Float[Array, "t d"]
    start: Float[Array, " d"]
    rate: Float[Array, ""]
    decay: Float[Array, ""]


class DecayedRuns(Population[DecayedRun]):
    """Starts outside the box; in half of the runs the gradients point outwards, and otherwise they are random."""

    free = ("gradients", "start")
    settings = Space(steps=Integer(40, 5, 1000, "steps"), d=Integer(6, 1, 100, "coordinates"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> DecayedRun:
        """Draw a start at 2 to 6 times the size of the box, and a total decay by a factor from e^-0.3 to e^-1.2."""
        keys = jax.random.split(key, 3)
        u = jax.random.uniform(keys[0], (4,))
        shape = (setting["steps"], setting["d"])
        decay = 0.1 * 10 ** u[0]
        rate = (0.3 + 0.9 * u[1]) / (decay * shape[0])
        drawn = jax.random.normal(keys[1], shape[1:])
        start = (2 + 4 * u[2]) / decay * drawn / jnp.abs(drawn).max()
        random = jax.random.normal(keys[2], shape)
        return DecayedRun(jnp.where(u[3] < 0.5, -jnp.abs(random) * jnp.sign(start), random), start, rate, decay)

    def hypotheses(self, problem: DecayedRun) -> list[Hypothesis]:
        share, size = problem.rate * problem.decay, problem.decay * jnp.abs(problem.start).max()
        return [
            Hypothesis(
                "a step decays weights by less than their size",
                share,
                "<",
                1.0,
                "then the decay alone does not change signs",
            ),
            Hypothesis("the start is outside the box", size, ">", 1.0, "otherwise nothing contracts"),
        ]


_STEPS = (60.0, 600.0, 6000.0)
_NEAR = Limit("steps", _STEPS, margin=0.02, resolution=0.02, relative=False)


def _schedule(count: ArrayLike) -> Array:
    """Return step sizes that tend to 0 and have an infinite sum."""
    return 0.05 / jnp.sqrt(1 + jnp.asarray(count) / 20)


def _adam(decay: Float[Array, ""] | float) -> optax.GradientTransformation:
    # if decay balances the step, gradient and sqrt(v) fall together, at most by sqrt(b2) in each step: 0.999 takes long
    return optax.adamw(_schedule, b2=0.99, eps=1e-12, weight_decay=decay)


def _visited(
    problem: DecayedQuadratic, method: optax.GradientTransformation, coupled: Float[Array, ""] | float = 0.0
) -> Float[Array, "rungs d"]:
    """Return the weights after each number of steps; `coupled` times the weights is added to the gradient."""

    def one(_, carry):
        at, state = carry
        update, state = method.update(problem.gradient(at) + coupled * at, state, at)
        return at + update, state

    carry, found, before = (problem.start, method.init(problem.start)), [], 0
    for steps in _STEPS:
        carry = jax.lax.fori_loop(before, int(steps), one, carry)
        found, before = [*found, carry[0]], int(steps)
    return jnp.stack(found)


def _stationarity(problem: DecayedQuadratic, at: Float[Array, " d"]) -> Float[Array, ""]:
    """Return how far a projected gradient step on the box |x|_inf <= 1/lambda moves x; 0 only at the minimiser.

    A point outside the box moves at least by its distance from the box.
    """
    moved = jnp.clip(at - problem.gradient(at), -1 / problem.decay, 1 / problem.decay)
    return jnp.abs(at - moved).max()


class AbstractDecayMakesBox(Claim[DecayedQuadratic]):
    """The statement that a method with decoupled decay and full gradients ends at the minimiser over a box."""

    population = DecayedQuadratics(reach=2.5)
    relation = _NEAR
    control = Control("a tenth of the distance at the ridge solution remains", lambda value, problem: value + 0.1)
    controls = "where full-batch training with decoupled weight decay ends"
    unexplained = "noise in the gradients; whether a method converges at all if the loss is not convex"
    trials = 64
    predict = 0.0

    @abc.abstractmethod
    def method(self, decay: Float[Array, ""]) -> optax.GradientTransformation:
        """The optimiser with this decoupled decay."""

    def measure(self, problem: DecayedQuadratic, key: Key[Array, ""]) -> Array:
        """Return the length of a projected gradient step at the end, divided by its length at the ridge solution."""
        found = _visited(problem, self.method(problem.decay))
        return jax.vmap(lambda at: _stationarity(problem, at))(found) / _stationarity(problem, problem.ridge)


class AdamwSolvesBox(AbstractDecayMakesBox):
    """Let AdamW with decoupled decay lambda use full gradients of a convex loss f and steps that tend to 0. It ends at
    the minimiser of

        f(x)   over   |x|_inf <= 1/lambda,

    and not at the ridge solution, which is the minimiser of f(x) + lambda |x|²/2. To test this, each trial takes two
    projected gradient steps on the box: one from the point that AdamW reaches, then one from the ridge solution. The
    length of the first step divided by the length of the second step tends to 0.
    """

    title = "AdamW with decoupled decay ends at the minimiser of the loss over the box |x|_inf <= 1/decay"
    source = Source("xie2024", note="main result")

    def method(self, decay: Float[Array, ""]) -> optax.GradientTransformation:
        return _adam(decay)


class LionSolvesBox(AbstractDecayMakesBox):
    """Lion steps along the sign of a momentum. Let Lion use decoupled decay lambda, full gradients of a convex loss f,
    and steps that tend to 0. It ends at the minimiser of f over the box |x|_inf <= 1/lambda, and not at the ridge
    solution, which is the minimiser of f(x) + lambda |x|²/2. To test this, each trial takes two projected gradient
    steps on the box: one from the point that Lion reaches, then one from the ridge solution. The length of the first
    step divided by the length of the second step tends to 0.
    """

    title = "Lion with decoupled decay ends at the minimiser of the loss over the box |x|_inf <= 1/decay"
    source = Source("chen2024lion", note="main result")

    def method(self, decay: Float[Array, ""]) -> optax.GradientTransformation:
        return optax.lion(_schedule, weight_decay=decay)


class AdamwDoesNotShrink(Claim[DecayedQuadratic]):
    """Let f be a strictly convex quadratic whose minimiser x* satisfies |x*|_inf < 1/lambda. AdamW with decay lambda,
    full gradients and steps that tend to 0 ends at x* itself. Let d be the distance from x* to the ridge solution,
    which minimises f(x) + lambda |x|²/2. The test measures how far AdamW's end is from x*, in units of d. This quotient
    tends to 0.
    """

    title = "Decoupled decay (AdamW) does not shrink a minimiser of the loss inside its box |x|_inf <= 1/decay"
    source = Source("emergence2026", "Figure 5.12", note="the ends of the two paths")
    population = DecayedQuadratics(reach=0.7)
    relation = _NEAR
    control = Control("a tenth of the way to the ridge solution remains", lambda value, problem: value + 0.1)
    controls = "where full-batch training with decoupled weight decay ends"
    unexplained = "noise in the gradients, which makes the weights shrink"
    trials = 64
    predict = 0.0

    def measure(self, problem: DecayedQuadratic, key: Key[Array, ""]) -> Array:
        away = jnp.linalg.norm(_visited(problem, _adam(problem.decay)) - problem.optimum, axis=1)
        return away / jnp.linalg.norm(problem.ridge - problem.optimum)


class CoupledDecayIsRidge(Claim[DecayedQuadratic]):
    """Let f be a strictly convex quadratic and lambda > 0. Adam with full gradients of f(x) + lambda |x|²/2 and steps
    that tend to 0 ends at the minimiser of this sum, the ridge solution. Let d be the distance from the ridge solution
    to the minimiser of f. The test measures how far Adam's end is from the ridge solution, in units of d. This quotient
    tends to 0.
    """

    title = "Adam with coupled decay (an L2 penalty) ends at the ridge solution"
    source = Source("loshchilov2019", note="for coupled decay")
    population = DecayedQuadratics(reach=0.7)
    relation = Limit("steps", _STEPS, margin=0.003, resolution=0.005, relative=False)
    control = Control("2 % of the distance to the minimiser of f remains", lambda value, problem: value + 0.02)
    controls = "the end of full-batch training with an L2 penalty"
    unexplained = "whether coupled or decoupled decay generalises better"
    trials = 64
    predict = 0.0

    def measure(self, problem: DecayedQuadratic, key: Key[Array, ""]) -> Array:
        away = jnp.linalg.norm(_visited(problem, _adam(0.0), problem.decay) - problem.ridge, axis=1)
        return away / jnp.linalg.norm(problem.ridge - problem.optimum)


class SignDecayContracts(Claim[DecayedRun]):
    """Take steps x <- (1 - eta lambda) x - eta u with |u|_inf <= 1 and eta lambda < 1. The steps of Lion have this
    form. Let the start x_0 lie outside the box |x|_inf <= 1/lambda. Whatever the gradients, x_t approaches the box at
    least geometrically:

        (|x_t|_inf - 1/lambda)_+ <= (1 - eta lambda)^t (|x_0|_inf - 1/lambda).
    """

    title = "Bounded steps with decoupled decay approach the box |x|_inf <= 1/decay geometrically"
    source = Source("chen2024lion", note="the first phase")
    population = DecayedRuns()
    relation = AtMost()
    control = Control(
        "the rate of the approach is twice as large",
        lambda bound, problem: (
            bound
            * ((1 - 2 * problem.rate * problem.decay) / (1 - problem.rate * problem.decay)) ** len(problem.gradients)
        ),
    )
    controls = "how far the weights are outside the box"
    unexplained = "what happens inside the box"

    def predict(self, problem: DecayedRun) -> Array:
        outside = jnp.abs(problem.start).max() - 1 / problem.decay
        return (1 - problem.rate * problem.decay) ** len(problem.gradients) * outside

    def measure(self, problem: DecayedRun, key: Key[Array, ""]) -> Array:
        method = optax.lion(problem.rate, weight_decay=problem.decay)

        def one(carry, slope):
            at, state = carry
            update, state = method.update(slope, state, at)
            return (at + update, state), None

        end = jax.lax.scan(one, (problem.start, method.init(problem.start)), problem.gradients)[0][0]
        return jnp.maximum(jnp.abs(end).max() - 1 / problem.decay, 0.0)

    def condition(self, problem: DecayedRun) -> Array:
        """Bound the errors: steps round weights of the size of the start, and subtracting 1/lambda magnifies these
        rounding errors.
        """
        size = jnp.abs(problem.start).max()
        return len(problem.gradients) * size / self.predict(problem)

    def trivial(self, problem: DecayedRun) -> Array:
        """Return the bound that follows because a step moves a weight outwards by at most eta."""
        return jnp.abs(problem.start).max() + len(problem.gradients) * problem.rate - 1 / problem.decay
