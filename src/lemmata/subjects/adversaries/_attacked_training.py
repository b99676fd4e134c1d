"""Training of linear models on rows that are attacked in every step."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.subjects.adversaries._spurious_rows import AttackedRows

# step size of descent under signed attacks, in units of 1 / (bound on the largest eigenvalue at attacked rows)
_SMALL_STEP = 0.2
STEPS_A_UNIT = 10  # descent steps under attacks by ascent, in a time of 1 / (largest eigenvalue)


def signed_training(problem: AttackedRows, steps: int) -> Float[Array, " d"]:
    """The weights w of a linear model w'x after gradient descent from 0, with each row x replaced by its worst attack.

    In each step, the worst row within the radius is x + radius sign(w) sign(w'x - y).

    Args:
        problem: the rows, their labels y, and the radius.
        steps: the number of descent steps.
    """
    rate = _SMALL_STEP / (jnp.linalg.norm(problem.x, 2) + problem.radius * problem.x.size**0.5) ** 2

    def one(_, w):
        residual = problem.x @ w - problem.y
        attacked = problem.x + problem.radius * jnp.sign(residual)[:, None] * jnp.sign(w)
        return w - rate * attacked.T @ (attacked @ w - problem.y)

    return jax.lax.fori_loop(0, steps, one, jnp.zeros(problem.x.shape[1]))


def ascent_training(problem: AttackedRows, strength: float, time: float) -> Float[Array, " d"]:
    """The weights w of a linear model w'x after gradient descent from 0 on rows that are attacked in each step.

    The attack is ascent on the squared residual. The attack dx/ds = w (w'x - y) continues until s = strength. The
    attack ends at x + w (w'x - y) g(|w|²), with g(z) = (exp(strength z) - 1)/z. The attack multiplies the residual w'x
    - y by exp(strength |w|²).

    Args:
        problem: the rows and their labels y.
        strength: the strength of the attack; 0 means training without attack.
        time: the training time in units of 1/(the largest eigenvalue of x x'). Each step takes a tenth of this unit.
    """
    rate = problem.unit / STEPS_A_UNIT

    def one(_, w):
        shift = (problem.x @ w - problem.y)[:, None] * w * growth(w @ w, strength)
        attacked = problem.x + shift
        return w - rate * attacked.T @ (attacked @ w - problem.y)

    return jax.lax.fori_loop(0, round(time * STEPS_A_UNIT), one, jnp.zeros(problem.x.shape[1]))


def growth(z: Float[Array, ""], strength: float) -> Float[Array, ""]:
    """Return (exp(strength z) - 1)/z, which equals the strength at z = 0."""
    return jnp.where(z > 0, jnp.expm1(strength * z) / jnp.where(z > 0, z, 1.0), strength)
