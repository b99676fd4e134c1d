"""Regularised empirical risk: curvature keeps the minimisers on samples that differ in one row close together.

This theory is about the minimiser of a convex Lipschitz empirical risk with a quadratic penalty. It bounds how far the
minimiser moves when one row is replaced, and the bias that the penalty costs. It assumes that the minimiser is found.
It does not cover learners that stop early, or losses that are not convex.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.subjects.stability._replaced_rows import FiniteLaw, FiniteLaws, OpposedRows, ReplacedRows

ABOUT = {"tool": "convex optimisation", "architecture": "linear model", "object": "generalisation"}

_STEPS = 400
_DRAWS = 16
_AROUND = (1 / 3, 1.0, 3.0)  # penalties, in units of the one that the tradeoff names


def penalised_minimiser(
    x: Float[Array, "n d"], y: Float[Array, " n"], zone: Float[Array, ""], decay: Float[Array, ""]
) -> Float[Array, " d"]:
    """Return, to rounding error, the w that minimises mean h(x_i'w - y_i) + decay |w|²/2; h is Huber's loss.

    The largest curvature is at most the largest absolute row sum of x'x / (n zone), plus the decay.
    """
    n = len(y)
    largest = jnp.abs(x.T @ x).sum(axis=1).max() / (n * zone) + decay
    ratio = jnp.sqrt(decay / largest)
    momentum = (1 - ratio) / (1 + ratio)

    def one(_, carry):
        at, ahead = carry
        slope = jnp.clip((x @ ahead - y) / zone, -1.0, 1.0) @ x / n + decay * ahead
        moved = ahead - slope / largest
        return moved, moved + momentum * (moved - at)

    start = jnp.zeros(x.shape[1])
    return jax.lax.fori_loop(0, _STEPS, one, (start, start))[0]


class StableMinimiser(Claim[ReplacedRows]):
    """Let the losses l of N rows be convex and rho-Lipschitz. Let w_S minimise the mean loss plus alpha |w|²/2. Replace
    any one row, and let w_S' be the new minimiser. Then

        |w_S - w_S'| <= 2 rho/(alpha N),    |l(w_S, z) - l(w_S', z)| <= 2 rho²/(alpha N)   for every z.

    Linear losses with opposite slopes attain both bounds. A proof that uses the strong convexity of only one of the two
    objectives would give 4 rho/(alpha N), which is twice the first bound.
    """

    title = "A quadratic penalty makes the minimiser of the empirical risk stable"
    source = Source("emergence2026", "Figure 8.10", "Figure 8.11", note="with the curvature of both objectives")
    population = OpposedRows()
    relation = AtMost()
    control = Control("the changes are at most 0.95 times the bounds", lambda bound, problem: 0.95 * bound)
    controls = "how far one row moves the minimiser and its losses"
    unexplained = "rows that agree with each other, for which the minimiser moves far less"

    def predict(self, problem: ReplacedRows) -> Array:
        apart = 2 * problem.lipschitz / (problem.decay * len(problem.y))
        return jnp.stack([apart, problem.lipschitz * apart])

    def measure(self, problem: ReplacedRows, key: Key[Array, ""]) -> Array:
        """The largest changes over the replaced row; for losses, also over all rows and replacements."""
        weights = penalised_minimiser(problem.x, problem.y, problem.zone, problem.decay)

        def moved(i: Array) -> Array:
            other = penalised_minimiser(*problem.with_replaced(i), problem.zone, problem.decay)
            losses = jnp.abs(problem.losses(other) - problem.losses(weights)).max()
            return jnp.stack([jnp.linalg.norm(other - weights), losses])

        return jax.vmap(moved)(jnp.arange(len(problem.y))).max(axis=0)

    def condition(self, problem: ReplacedRows) -> Array:
        """The condition number of the measured changes: weights up to rho/alpha and losses at far targets are rounded.

        The bound on the change of the weights is 2/n times the largest length of the weights.
        """
        losses = jnp.abs(jnp.concatenate([problem.y, problem.other_y])).max() * problem.decay / problem.lipschitz**2
        return len(problem.y) * (problem.smoothness / problem.decay + jnp.maximum(losses, 1.0))

    def trivial(self, problem: ReplacedRows) -> Array:
        """The bounds from the fact that every minimiser has |w| <= rho/alpha."""
        apart = 2 * problem.lipschitz / problem.decay
        return jnp.stack([apart, problem.lipschitz * apart])


def _best_penalty(problem: FiniteLaw) -> Array:
    return 2 * problem.lipschitz / (jnp.linalg.norm(problem.comparator) * jnp.sqrt(problem.n))


class WeightDecayTradeoff(Claim[FiniteLaw]):
    """Let the losses of N independent rows be convex and rho-Lipschitz. Let w_S minimise the mean loss plus alpha
    |w|²/2, and let R be the risk. On average over samples, for every alpha > 0 and every w*,

        E R(w_S) - R(w*) <= alpha |w*|²/2 + 2 rho²/(alpha N).

    The first term is the bias, and the second term is the stability. The bound is smallest at alpha = 2 rho/(|w*|
    sqrt(N)), where its value is 2 rho |w*|/sqrt(N). The test uses this alpha, a third of it, and three times it.
    """

    title = "Bias plus stability bounds the excess risk of weight decay"
    source = Source(
        "emergence2026",
        "Figure 8.12",
        note="with explicit constants: half of the stability term in Shalev-Shwartz and Ben-David (2014)",
    )
    population = FiniteLaws()
    relation = AtMost()
    control = Control(
        "the excess risk is at most a quarter of the bound",
        lambda bound, problem: bound / 4,
        loose="at a third of the best alpha, the bound is mostly its stability term, which these rows do not attain",
    )
    controls = "the excess risk of a penalised fit, on average"
    unexplained = "fits to rows that agree with each other, for which the bound is far too large"

    def predict(self, problem: FiniteLaw) -> Array:
        decay = jnp.asarray(_AROUND) * _best_penalty(problem)
        size = jnp.linalg.norm(problem.comparator)
        return decay * size**2 / 2 + 2 * problem.lipschitz**2 / (decay * problem.n)

    def measure(self, problem: FiniteLaw, key: Key[Array, ""]) -> Array:
        """The mean of the exact excess risk over fits to 16 samples."""
        chosen = jax.random.randint(key, (_DRAWS, problem.n), 0, len(problem.y))

        def excess(decay: Array) -> Array:
            fit = lambda rows: penalised_minimiser(problem.x[rows], problem.y[rows], problem.zone, decay)
            return jnp.mean(jax.vmap(lambda rows: problem.risk(fit(rows)))(chosen)) - problem.risk(problem.comparator)

        return jax.lax.map(excess, jnp.asarray(_AROUND) * _best_penalty(problem))

    def trivial(self, problem: FiniteLaw) -> Array:
        """The bound from |w| <= rho/alpha for a minimiser, and from a risk that is rho-Lipschitz."""
        decay = jnp.asarray(_AROUND) * _best_penalty(problem)
        return problem.lipschitz * (problem.lipschitz / decay + jnp.linalg.norm(problem.comparator))
