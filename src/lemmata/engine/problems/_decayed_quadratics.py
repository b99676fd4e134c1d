"""Quadratics with weight decay: full gradients for the limit of a decayed method, any gradients for its contraction."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class DecayedQuadratic(eqx.Module):
    """f(x) = 1/2 (x - optimum)' hessian (x - optimum), a decay lambda, a start."""

    hessian: Float[Array, "d d"]
    optimum: Float[Array, " d"]
    decay: Float[Array, ""]
    start: Float[Array, " d"]

    def gradient(self, at: Float[Array, " d"]) -> Float[Array, " d"]:
        """Of f, without the decay."""
        return self.hessian @ (at - self.optimum)

    @property
    def ridge(self) -> Float[Array, " d"]:
        """The minimiser of f + lambda |x|²/2."""
        matrix = self.hessian + self.decay * jnp.eye(len(self.optimum))
        return jnp.linalg.solve(matrix, self.hessian @ self.optimum)


class DecayedQuadratics(Population[DecayedQuadratic]):
    """Random quadratics whose minimiser is inside the box |x|_inf <= 1/lambda, or has coordinates outside it.

    Args:
        reach: the largest coordinate of the minimiser, in units of 1/lambda.
    """

    reach: float = eqx.field(static=True)

    def settings(self) -> Space:
        """Dimension."""
        return Space(d=Integer(5, 2, 50, "coordinates", corners=(3, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> DecayedQuadratic:
        """Eigenvalues between 0.5 and 3, a decay between 0.3 and 1, a start inside the box."""
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
        """Convexity, a decay, the minimiser on the stated side of the box."""
        size = problem.decay * jnp.abs(problem.optimum).max()
        side = ("<", "inside") if self.reach < 1 else (">", "outside")
        least = jnp.linalg.eigvalsh(problem.hessian)[0]
        return [
            Hypothesis("f is strictly convex", least, ">", 0.0, "one minimiser"),
            Hypothesis("weights decay", problem.decay, ">", 0.0, "else there is no box"),
            Hypothesis(f"the minimiser is {side[1]} the box", size, side[0], 1.0, "the case that is stated"),
        ]


class DecayedRun(eqx.Module):
    """Gradients, one row a step, for a method with the learning rate `rate` and decoupled decay, from a start."""

    gradients: Float[Array, "t d"]
    start: Float[Array, " d"]
    rate: Float[Array, ""]
    decay: Float[Array, ""]


class DecayedRuns(Population[DecayedRun]):
    """Starts outside the box; gradients that push outwards in half of the runs, random ones in the others."""

    free = ("gradients", "start")

    def settings(self) -> Space:
        """Steps, dimension."""
        return Space(steps=Integer(40, 5, 1000, "steps"), d=Integer(6, 1, 100, "coordinates"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> DecayedRun:
        """The whole run decays by a factor of e^-0.3 to e^-1.2, from a start 2 to 6 times outside the box."""
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
        """A step that does not overshoot; a start outside."""
        share, size = problem.rate * problem.decay, problem.decay * jnp.abs(problem.start).max()
        return [
            Hypothesis("a step decays by less than the whole", share, "<", 1.0, "the decay does not change signs"),
            Hypothesis("the start is outside the box", size, ">", 1.0, "else nothing contracts"),
        ]
