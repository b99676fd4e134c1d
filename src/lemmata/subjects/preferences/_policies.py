"""Divergences between policies that are given by log probabilities of a list of answers, and the tilted policy.

All functions are differentiable and work under jax.vmap. If a policy gives an answer probability 0, its log probability
is -inf.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_real, known
from lemmata.errors import DataError

_LEAST = float(np.finfo(float).tiny)  # JAX treats smaller numbers as 0


def check_logs(name: str, logs: Float[Array, " k"]) -> None:
    """Raise DataError if a log probability is NaN or +inf, or if all are -inf. Values traced by JAX are not checked.

    Args:
        name: the name in the message.
        logs: the log probabilities that are checked.
    """
    numbers = known(logs)
    if numbers is None:
        return
    wrong = np.isnan(numbers) | (numbers == np.inf)
    if wrong.any():
        found, remedy = f"the entry {numbers[wrong][0]}", "correct this entry; pass -inf for probability 0"
        raise DataError(name, found=found, rule="log probabilities", remedy=remedy)
    if not (numbers > -np.inf).any():
        rule = "at least one answer with a positive probability"
        raise DataError(name, found="only -inf", rule=rule, remedy="pass log probabilities that add up to 1")


def divergence(log_policy: Float[Array, " k"], log_ref: Float[Array, " k"]) -> Float[Array, ""]:
    """Return the Kullback-Leibler divergence KL(policy | ref) = sum_y policy(y) log(policy(y) / ref(y)).

    Args:
        log_policy: log probabilities of the k answers.
        log_ref: log probabilities of the k answers under the reference.

    Raises:
        DataError: for log probabilities that are NaN or +inf, or all -inf.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.preferences import divergence
        >>> round(float(divergence(jnp.log(jnp.array([1.0, 0.0])), jnp.log(jnp.array([0.5, 0.5])))), 6)
        0.693147
    """
    check_logs("log_policy", log_policy)
    check_logs("log_ref", log_ref)
    taken = jnp.isfinite(log_policy)
    ratio = jnp.where(taken, log_policy, 0.0) - jnp.where(taken, log_ref, 0.0)
    return jnp.sum(jnp.where(taken, jnp.exp(log_policy) * ratio, 0.0))


def chi_squared(log_policy: Float[Array, " k"], log_ref: Float[Array, " k"]) -> Float[Array, ""]:
    """Return the chi-squared divergence sum_y policy(y)² / ref(y) - 1, the variance of policy / ref under ref.

    The divergence is infinite if the policy gives a positive probability to an answer whose probability under ref is 0.

    Args:
        log_policy: log probabilities of the k answers.
        log_ref: log probabilities of the k answers under the reference.

    Raises:
        DataError: for log probabilities that are NaN or +inf, or all -inf.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.preferences import chi_squared
        >>> round(float(chi_squared(jnp.log(jnp.array([1.0, 0.0])), jnp.log(jnp.array([0.5, 0.5])))), 6)
        1.0
    """
    check_logs("log_policy", log_policy)
    check_logs("log_ref", log_ref)
    known_to_ref = log_ref > -jnp.inf
    base = jnp.where(known_to_ref, log_ref, 0.0)
    log_ratio = jnp.where(known_to_ref, log_policy - base, 0.0)
    # ref (policy/ref - 1)² has no cancellation if policy is near ref; policy²/ref (1 - ref/policy)² has no overflow
    far = log_ratio > 1
    near_part = jnp.exp(base) * jnp.expm1(jnp.minimum(log_ratio, 1.0)) ** 2
    far_part = jnp.exp(jnp.where(far, log_policy + log_ratio, 0.0)) * jnp.expm1(-jnp.maximum(log_ratio, 1.0)) ** 2
    beyond = jnp.where(log_policy > -jnp.inf, jnp.inf, 0.0)
    return jnp.sum(jnp.where(known_to_ref, jnp.where(far, far_part, near_part), beyond))


def tilted(
    log_ref: Float[Array, " k"], reward: Float[Array, " k"], beta: float | Float[Array, ""]
) -> Float[Array, " k"]:
    """Return the log probabilities of the policy that is proportional to ref(y) exp(reward(y) / beta).

    This policy maximises the expected reward minus beta times the KL divergence from the reference.

    Args:
        log_ref: log probabilities of the reference.
        reward: the reward of each answer.
        beta: the coefficient of the divergence penalty, positive.

    Raises:
        SettingError: if beta is not finite, or is below 2.3e-308, the least normal floating-point number.
        DataError: for log probabilities that are NaN or +inf, or all -inf.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.preferences import tilted
        >>> jnp.exp(tilted(jnp.log(jnp.array([0.5, 0.5])), jnp.array([0.0, jnp.log(3.0)]), 1.0)).round(6).tolist()
        [0.25, 0.75]
    """
    check_real("beta", beta, "above 0, at least 2.3e-308", lambda number: number >= _LEAST)
    check_logs("log_ref", log_ref)
    # subtract the largest reward, so that the quotients do not overflow to inf
    largest = jax.lax.stop_gradient(jnp.max(jnp.where(log_ref > -jnp.inf, reward, -jnp.inf)))
    return jax.nn.log_softmax(log_ref + jnp.where(log_ref > -jnp.inf, (reward - largest) / beta, 0.0))
