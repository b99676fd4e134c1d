"""The Lasso by the proximal gradient method: plain, with errors in its steps, and accelerated (FISTA)."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def soft_threshold(z: Float[Array, "*s"], level: Float[Array, ""] | float) -> Float[Array, "*s"]:
    """Return sign(z) max(|z| - level, 0), entry by entry: the proximal operator of level |z|_1.

    Args:
        z: any array.
        level: the threshold, at least 0.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import soft_threshold
        >>> soft_threshold(jnp.array([3.0, -0.5]), 1.0).tolist()
        [2.0, -0.0]
    """
    return jnp.sign(z) * jnp.maximum(jnp.abs(z) - level, 0.0)


def lasso_objective(
    features: Float[Array, "n p"], y: Float[Array, " n"], penalty: Float[Array, ""] | float, rho: Float[Array, "*t p"]
) -> Float[Array, "*t"]:
    """Return the Lasso objective l(rho) = |y - Phi rho|²/n + penalty |rho|_1, for one or more coefficient vectors rho.

    Args:
        features: the matrix Phi, one row for each of n examples.
        y: the targets.
        penalty: the factor of |rho|_1 in the objective.
        rho: the coefficient vectors, along the last axis.
    """
    return jnp.mean((y - rho @ features.T) ** 2, axis=-1) + penalty * jnp.abs(rho).sum(axis=-1)


@functools.partial(jax.jit, static_argnames="iterations")
def proximal_gradient(
    features: Float[Array, "n p"],
    y: Float[Array, " n"],
    penalty: Float[Array, ""] | float,
    step: Float[Array, ""] | float,
    iterations: int,
    errors: Float[Array, "t p"] | None = None,
) -> Float[Array, "s p"]:
    """Return the iterates of rho <- ST_{step penalty}(rho + (2 step/n) Phi^T (y - Phi rho)) + e from rho = 0.

    ST_level is `soft_threshold` with this level, here step times penalty, and e is a given error of the step. The
    objective l of `lasso_objective` falls at every exact step (e = 0) if step <= 1/(lambda_max(Phi^T Phi) / n). Let
    rho_t be the iterate after t exact steps. If step is at most half of this limit, l(rho_t) - l(rho) <= |rho|²/(2 t
    step) for every rho (Beck, 2017, Theorem 10.21).

    Args:
        features: the matrix Phi, one row for each of n examples.
        y: the targets.
        penalty: the factor of |rho|_1 in the objective.
        step: the step size eta.
        iterations: the number t of iterations.
        errors: the errors e_1, ..., e_t of the steps; None for exact steps.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import proximal_gradient
        >>> [round(float(value), 3) for value in proximal_gradient(jnp.eye(2), jnp.array([2.0, 0.1]), 0.5, 0.5, 50)[-1]]
        [1.5, 0.0]
    """
    y, dtype = jnp.asarray(y), jnp.result_type(features, y)

    def iterate(rho: Array, error: Array | None) -> tuple[Array, Array]:
        moved = soft_threshold(rho + 2 * step / len(y) * ((y - features @ rho) @ features), step * penalty)
        moved = moved if error is None else moved + error
        return moved, moved

    start = jnp.zeros(features.shape[1], dtype)
    _, path = jax.lax.scan(iterate, start, errors, length=iterations)
    return jnp.concatenate([start[None], path])


def momentum(iterations: int) -> Float[Array, " t"]:
    """Return FISTA's momentum factors beta_k = (s_k - 1)/s_{k+1}, where s_1 = 1 and s_{k+1} = (1 + sqrt(1 + 4 s_k²))/2.

    Args:
        iterations: the number t of iterations.
    """
    sizes = [1.0]
    for _ in range(iterations):
        sizes.append((1 + (1 + 4 * sizes[-1] ** 2) ** 0.5) / 2)
    return jnp.asarray([(sizes[k] - 1) / sizes[k + 1] for k in range(iterations)], float)


@functools.partial(jax.jit, static_argnames="iterations")
def accelerated_proximal_gradient(
    features: Float[Array, "n p"],
    y: Float[Array, " n"],
    penalty: Float[Array, ""] | float,
    step: Float[Array, ""] | float,
    iterations: int,
) -> Float[Array, "s p"]:
    """Return the iterates rho_k of FISTA (the accelerated proximal gradient method) from 0.

    A proximal gradient step (as in `proximal_gradient`) leads from v_k to rho_k, where v_1 = 0. Then v_{k+1} = rho_k +
    beta_k (rho_k - rho_{k-1}), with beta_k from `momentum`.

    If step is at most 1/(2 lambda_max(Phi^T Phi)/n), the objective l satisfies l(rho_t) - l(rho) <= 2 |rho|²/(step (t +
    1)²) for every rho (Beck and Teboulle, 2009, Theorem 4.4).

    Args:
        features: the matrix Phi, one row for each of n examples.
        y: the targets.
        penalty: the factor of |rho|_1 in the objective.
        step: the step size eta.
        iterations: the number t of iterations.
    """
    y, dtype = jnp.asarray(y), jnp.result_type(features, y)

    def iterate(state: tuple[Array, Array], beta: Array) -> tuple[tuple[Array, Array], Array]:
        rho, ahead = state
        moved = soft_threshold(ahead + 2 * step / len(y) * ((y - features @ ahead) @ features), step * penalty)
        return (moved, moved + beta * (moved - rho)), moved

    start = jnp.zeros(features.shape[1], dtype)
    _, path = jax.lax.scan(iterate, (start, start), momentum(iterations).astype(dtype))
    return jnp.concatenate([start[None], path])
