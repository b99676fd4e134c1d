"""Gradient descent on least squares: its iterations, and the number of iterations until the residual is small."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_DOUBLINGS = 40  # counts up to 2^40; for larger counts, 1 - 1/kappa is rounded by more than 1e-4 of 1/kappa


def gradient_descent(
    features: Float[Array, "n p"],
    y: Float[Array, "n k"],
    start: Float[Array, "p k"],
    step: Float[Array, ""],
    steps: int,
) -> Float[Array, "p k"]:
    """Run `steps` steps w <- w - step features' (features w - y), and return the weights.

    >>> import jax.numpy as jnp
    >>> from lemmata.subjects.optimisation._descent import gradient_descent
    >>> phi, y = jnp.array([[1.0, 0.0]]), jnp.array([[2.0]])
    >>> gradient_descent(phi, y, jnp.zeros((2, 1)), jnp.asarray(0.5), 2).ravel().tolist()
    [1.5, 0.0]
    """
    return jax.lax.fori_loop(0, steps, lambda _, w: w - step * (features.T @ (features @ w - y)), start)


def iterations_to_fit(
    matrix: Float[Array, "n n"], residual: Float[Array, "n k"], step: Float[Array, ""], accuracy: float
) -> Float[Array, ""]:
    """Return the least t with |(I - step K)^t r| <= accuracy |r|, or infinity if 2^40 steps are not enough.

    The step must be at least 0 and at most 1 / lambda_max of K. Then residuals never grow. The matrix I - step K of one
    step is squared repeatedly, and the bits of t are found from the highest to the lowest. No eigenvalues are used. The
    cost does not depend on the number of steps.

    Args:
        matrix: the Gram matrix K.
        residual: the first residual r.
        step: the step size, between 0 and 1 / lambda_max.
        accuracy: the fraction of |r| to reach.
    """
    goal = accuracy * jnp.linalg.norm(residual)
    once = jnp.eye(len(matrix)) - step * matrix
    _, powers = jax.lax.scan(lambda power, _: (power @ power, power), once, None, length=_DOUBLINGS)

    def advance(state, power_and_bit):
        (current, count), (power, bit) = state, power_and_bit
        further = power @ current
        short = jnp.linalg.norm(further) > goal
        return (jnp.where(short, further, current), jnp.where(short, count + bit, count)), None

    bits = 2.0 ** jnp.arange(_DOUBLINGS)
    (_, count), _ = jax.lax.scan(advance, (residual, jnp.zeros(())), (powers, bits), reverse=True)
    return jnp.where(count >= 2.0**_DOUBLINGS - 1, jnp.inf, count + 1)


def shift_to_condition_number(eigenvalues: Float[Array, " n"], kappa: float | Float[Array, ""]) -> Float[Array, ""]:
    """Return the s for which K + s I has condition number kappa, (lambda_max - kappa lambda_min) / (kappa - 1).

    If the condition number of K is below kappa, s is negative. The matrix K + s I is still positive definite.

    >>> import jax.numpy as jnp
    >>> from lemmata.subjects.optimisation._descent import shift_to_condition_number
    >>> float(shift_to_condition_number(jnp.array([1.0, 2.0, 5.0]), 3.0))
    1.0
    """
    return (eigenvalues.max() - kappa * eigenvalues.min()) / (kappa - 1)
