"""Divergences between policies on a list of answers, given by their log probabilities, and the tilted policy.

All functions are differentiable and map over batches. If a policy gives an answer probability 0, its log probability
is -inf.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def divergence(log_policy: Float[Array, " k"], log_ref: Float[Array, " k"]) -> Float[Array, ""]:
    """The Kullback-Leibler divergence KL(policy | ref) = sum_y policy(y) log(policy(y) / ref(y)).

    Args:
        log_policy: log probabilities of the k answers.
        log_ref: log probabilities of the k answers under the reference.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.preferences import divergence
        >>> round(float(divergence(jnp.log(jnp.array([1.0, 0.0])), jnp.log(jnp.array([0.5, 0.5])))), 6)
        0.693147
    """
    taken = jnp.isfinite(log_policy)
    ratio = jnp.where(taken, log_policy, 0.0) - jnp.where(taken, log_ref, 0.0)
    return jnp.sum(jnp.where(taken, jnp.exp(log_policy) * ratio, 0.0))


def chi_squared(log_policy: Float[Array, " k"], log_ref: Float[Array, " k"]) -> Float[Array, ""]:
    """The chi-squared divergence sum_y policy(y)² / ref(y) - 1. It is the variance under ref of the ratio policy / ref.

    Args:
        log_policy: log probabilities of the k answers.
        log_ref: log probabilities of the k answers under the reference.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.preferences import chi_squared
        >>> round(float(chi_squared(jnp.log(jnp.array([1.0, 0.0])), jnp.log(jnp.array([0.5, 0.5])))), 6)
        1.0
    """
    # ref (policy/ref - 1)² has no cancellation if the two are close
    return jnp.sum(jnp.exp(log_ref) * jnp.expm1(log_policy - log_ref) ** 2)


def tilted(
    log_ref: Float[Array, " k"], reward: Float[Array, " k"], beta: float | Float[Array, ""]
) -> Float[Array, " k"]:
    """Log probabilities of the policy proportional to ref(y) exp(reward(y) / beta).

    This policy maximises the expected reward minus beta times the KL divergence from the reference.

    Args:
        log_ref: log probabilities of the reference.
        reward: the reward of each answer.
        beta: the coefficient of the divergence penalty, positive.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.preferences import tilted
        >>> jnp.exp(tilted(jnp.log(jnp.array([0.5, 0.5])), jnp.array([0.0, jnp.log(3.0)]), 1.0)).round(6).tolist()
        [0.25, 0.75]
    """
    return jax.nn.log_softmax(log_ref + reward / beta)
