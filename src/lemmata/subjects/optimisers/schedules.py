"""Training without a schedule: for convex losses, an average is as good as the best schedule.

This theory bounds the loss at the average x of the iterates z of descent with constant steps (schedule-free descent).
Subgradients are taken at (1 - beta) z + beta x, and the bound holds for every beta in [0, 1]. It assumes convex losses
with bounded subgradients, and a step size that depends on the number of steps. It does not explain networks.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Source, Space

ABOUT = {"tool": "convex optimisation", "architecture": "any", "object": "training"}


class AbsoluteLosses(eqx.Module):
    """Steps from x = 0 on losses |x_j - optimum_j| with uniform j, and the interpolation `beta`."""

    optimum: Float[Array, " d"]
    beta: Float[Array, ""]
    steps: int = eqx.field(static=True)

    def risk(self, at: Float[Array, " d"]) -> Float[Array, ""]:
        """Return the expected loss, which is 0 only at the optimum."""
        return jnp.abs(at - self.optimum).mean()


class AbsoluteDescents(Population[AbsoluteLosses]):
    """Optima of norm 1 with coordinates of similar sizes; half of the problems have a small beta."""

    settings = Space(d=Integer(50, 2, 500, "coordinates", corners=(40, 60)), steps=Integer(400, 10, 10_000, "steps"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> AbsoluteLosses:
        """Draw signs and sizes between 0.8 and 1.2, normalise, and draw beta (0.05 to 0.15, or 0.1 to 0.95)."""
        one, two, three = jax.random.split(key, 3)
        d = setting["d"]
        drawn = jax.random.uniform(one, (d,), minval=0.8, maxval=1.2) * jax.random.rademacher(two, (d,), jnp.float64)
        u = jax.random.uniform(three, (2,))
        beta = jnp.where(u[0] < 0.5, 0.05 + 0.1 * u[1], 0.1 + 0.85 * u[1])
        return AbsoluteLosses(drawn / jnp.linalg.norm(drawn), beta, setting["steps"])

    def hypotheses(self, problem: AbsoluteLosses) -> list[Hypothesis]:
        return [Hypothesis("beta is at most 1", problem.beta, "<=", 1.0, "then gradients are taken between z and x")]


_RUNS = 16


class ScheduleFreeBound(Claim[AbsoluteLosses]):
    """Let F be a convex function with minimiser x*. Let G bound the norm of its stochastic subgradients, and let D
    bound the distance of the start from x*. Schedule-free descent takes T steps z_t = z_(t-1) - gamma g_t of size
    gamma = D/(G sqrt(T)), and returns the average x_T of all z_t. The stochastic subgradients g_t are taken at (1 -
    beta) z + beta x, where z is the current iterate and x is the average of all iterates so far. For every beta in [0,
    1],

        E F(x_T) - F(x*) <= D G / sqrt(T).

    In the trials, F is the mean of |x_j - x*_j| over coordinates, each step draws one coordinate, and G = D = 1. The
    mean of 16 runs replaces the expectation.
    """

    title = "Schedule-free descent attains the rate 1/sqrt(T) after T steps, which is optimal for convex losses"
    source = Source("defazio2024", note="main result")
    population = AbsoluteDescents()
    relation = AtMost()
    control = Control("half of the bound is enough", lambda bound, problem: bound / 2)
    controls = "the loss at the average of the iterates of descent with constant steps"
    unexplained = "which beta is best, and why a value near 0.9 is best for networks"

    def predict(self, problem: AbsoluteLosses) -> Array:
        return 1 / jnp.sqrt(jnp.asarray(float(problem.steps)))

    def measure(self, problem: AbsoluteLosses, key: Key[Array, ""]) -> Array:
        step, d = problem.steps**-0.5, len(problem.optimum)
        method = optax.contrib.schedule_free(optax.sgd(step), step, b1=problem.beta)

        def run(key: Key[Array, ""]) -> Array:
            def one(carry, index):
                at, state = carry
                slope = jnp.zeros(d).at[index].set(jnp.sign(at[index] - problem.optimum[index]))
                update, state = method.update(slope, state, at)
                return (at + update, state), None

            start = jnp.zeros(d)
            drawn = jax.random.randint(key, (problem.steps,), 0, d)
            at, state = jax.lax.scan(one, (start, method.init(start)), drawn)[0]
            return problem.risk(optax.contrib.schedule_free_eval_params(state, at))

        return jax.vmap(run)(jax.random.split(key, _RUNS)).mean()

    def trivial(self, problem: AbsoluteLosses) -> Array:
        """Return the loss at the start."""
        return problem.risk(jnp.zeros(len(problem.optimum)))
