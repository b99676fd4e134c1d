"""The largest learning rate of gradient descent on squared loss for a model with a given tangent kernel."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._checks import check_at_least, paired
from ._ridge import require_positive_semidefinite


def largest_learning_rate(
    K: Float[Array, "n m *k"], *, momentum: float = 0.0, nesterov: bool = False, terms: int = 1
) -> Float[Array, ""]:
    """The rate below which gradient descent on 1/2 sum |f - y|² / terms converges, and above which it diverges.

    Let a_1 be the largest eigenvalue of K. For the heavy ball, which is gradient descent with momentum, the largest
    rate is 2 (1 + momentum) terms / a_1. For Nesterov's method, the largest rate is 2 (1 + momentum) terms / ((1 + 2
    momentum) a_1). Along the leading eigenvector, descent is a linear recursion. At the largest rate, one of its roots
    leaves the unit circle, at -1. For gradient descent without momentum, `networks.stable_learning_rate` is half of
    this rate.

    Args:
        K: the tangent kernel (n, n) of the training points if it is equal for all outputs, or the kernel (n, n, k, k)
            of all pairs of k outputs.
        momentum: the momentum, in [0, 1).
        nesterov: whether to use Nesterov's method instead of the heavy ball, as in `momentum_descent`.
        terms: the divisor of the sum of squares: 1, or y.size for a mean over points and outputs.

    Raises:
        SettingError: for a kernel without a positive eigenvalue (then every rate is stable), for a momentum outside [0,
            1), or for terms below 1.
        ShapeError: if K is not symmetric up to rounding.
        DataError: for entries that are not finite.
        NotPositiveDefiniteError: if K has an eigenvalue that is negative by more than rounding; the message states the
            smallest eigenvalue.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import largest_learning_rate
        >>> float(largest_learning_rate(4 * jnp.eye(3), momentum=0.5, terms=3))
        2.25
    """
    if not 0 <= momentum < 1:
        raise SettingError("momentum", found=momentum, rule="a number that is at least 0 and below 1")
    check_at_least("terms", terms, 1)
    matrix = paired(K)
    require_positive_semidefinite(matrix, "K")
    largest = jnp.linalg.eigvalsh(matrix)[-1]
    if not largest > 0:
        raise SettingError("K", found=f"largest eigenvalue {float(largest)}", rule="a positive largest eigenvalue")
    return 2 * (1 + momentum) * terms / (largest * (1 + 2 * momentum if nesterov else 1))
