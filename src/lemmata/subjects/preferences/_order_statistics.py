"""Exact distributions of the best of n draws from a list with probabilities, a sample or a normal distribution."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.special import gammaln

from lemmata.answers import whole
from lemmata.core import check_real
from lemmata.errors import SettingError

from ._policies import check_logs

_GRID = np.linspace(-12.0, 12.0, 2401)  # grid of the trapezium rule; integrands are analytic, and nearly 0 at both ends


def divergence_bound(n: int | float | Float[Array, "*m"] | np.ndarray) -> Float[Array, "*m"]:
    """Return the upper bound log n - (n - 1)/n on KL(best of n | reference). The divergence equals the bound if two
    draws never have equal rewards.

    Args:
        n: the number of draws, at least 1.

    Raises:
        SettingError: for an n below 1.

    Example:
        >>> from lemmata.subjects.preferences import divergence_bound
        >>> round(float(divergence_bound(4)), 6)
        0.636294
    """
    check_real("n", n, "at least 1 draw", lambda count: count >= 1, several=True)
    count = jnp.asarray(n, float)
    return jnp.log(count) - (count - 1) / count


def best_of_n_law(logp: Float[Array, " k"], n: int | Float[Array, ""]) -> Float[Array, " k"]:
    """Return, for each answer, the log probability that the answer is the best of n independent draws.

    Let F_i be the probability of the first i answers. The best draw is answer i with probability F_i^n - F_{i-1}^n.
    This probability is computed without cancellation as F_i^n (1 - (1 - p_i/F_i)^n), where p_i is the probability of
    answer i.

    Args:
        logp: log probabilities of the answers in the order of increasing rewards; -inf for probability 0. Rewards must
            be different.
        n: the number of draws, at least 1.

    Raises:
        SettingError: for an n below 1.
        DataError: if a log probability is NaN or +inf, or if all are -inf.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.preferences import best_of_n_law
        >>> jnp.exp(best_of_n_law(jnp.log(jnp.array([0.5, 0.5])), 2)).round(6).tolist()
        [0.25, 0.75]
    """
    check_real("n", n, "at least 1 draw", lambda count: count >= 1)
    check_logs("logp", logp)
    present = logp > -jnp.inf
    cumulative = jax.lax.cumlogsumexp(logp)
    share = jnp.where(present, jnp.minimum(jnp.exp(logp - jnp.where(present, cumulative, 0.0)), 1.0), 0.5)
    law = n * (cumulative - cumulative[-1]) + jnp.log(-jnp.expm1(n * jnp.log1p(-share)))
    return jnp.where(present, law, -jnp.inf)


def selection_weights(size: int, n: int) -> np.ndarray:
    """Return the probability that the i-th smallest of `size` draws is the largest of n of these draws.

    The n draws are chosen without replacement. The probability is C(i - 1, n - 1) / C(size, n). A mean of the sorted
    sample with these weights is an unbiased estimate of the expected best of n.

    Args:
        size: the size of the sample.
        n: the number of draws from which the largest is taken, from 1 to size.

    Raises:
        SettingError: if a number is not whole, the size is below 1, or n is not between 1 and size.

    Example:
        >>> from lemmata.subjects.preferences import selection_weights
        >>> selection_weights(3, 2).round(6).tolist()
        [0.0, 0.333333, 0.666667]
    """
    size, n = whole("size", size, 1), whole("n", n, 1)
    if n > size:
        rule, remedy = f"at most {size}, the size of the sample", "pass a smaller n, or a larger sample"
        raise SettingError("n", found=n, rule=rule, remedy=remedy)
    rank = np.arange(n, size + 1)
    logs = gammaln(rank) - gammaln(rank - n + 1) - gammaln(n)
    logs -= gammaln(size + 1) - gammaln(size - n + 1) - gammaln(n + 1)
    return np.concatenate([np.zeros(n - 1), np.exp(logs)])


def expected_normal_maximum(n: int | float | Float[Array, ""]) -> Float[Array, ""]:
    """Return the expected largest of n independent standard normal numbers, for n up to 1e9, by the trapezium rule.

    Args:
        n: the number of normal numbers, from 1 to 1e9.

    Raises:
        SettingError: for any other n.

    Example:
        >>> from lemmata.subjects.preferences import expected_normal_maximum
        >>> round(float(expected_normal_maximum(2)), 6)  # 1/sqrt(pi)
        0.56419
    """
    check_real("n", n, "from 1 to 1e9, where the rule is exact", lambda count: (count >= 1) & (count <= 1e9))
    z = jnp.asarray(_GRID)
    density = jnp.log(jnp.asarray(n, float)) + jax.scipy.stats.norm.logpdf(z) + (n - 1) * jax.scipy.special.log_ndtr(z)
    return jnp.sum(z * jnp.exp(density)) * (_GRID[1] - _GRID[0])
