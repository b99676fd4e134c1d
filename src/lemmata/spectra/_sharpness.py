"""The sharpness of a loss: the largest eigenvalue of its Hessian."""

from collections.abc import Callable

from jaxtyping import Array, Float, PyTree

from ._lanczos import LargestEigenvalues, largest_eigenvalues
from ._products import hessian_product


def sharpness(
    loss: Callable[[PyTree], Float[Array, ""]],
    params: PyTree,
    *,
    tolerance: float = 0.01,
    failure: float = 0.01,
    products: int | None = None,
    seed: int = 0,
) -> LargestEigenvalues:
    """Estimate the largest eigenvalue of the Hessian of a loss, with a bound on its error that you choose in advance.

    Gradient descent with a step size above 2/sharpness is unstable if the loss is quadratic. The number of products
    follows from the tolerance and grows with the logarithm of the number of parameters. For a million parameters, 65
    products are needed for a tolerance of 1 %, and 23 for 10 %. After that many products, the value is usually far more
    accurate, and `residuals` gives its accuracy. The function needs the memory of a gradient plus a few copies of the
    parameters. For several eigenvalues, eigenvectors, or the Gauss-Newton matrix, see `largest_eigenvalues` with
    `hessian_product` and `gauss_newton_product`. For the trace, see `trace_estimate`.

    Sharpness depends on the parameters and not only on the function. If layers are rescaled so that the function stays
    the same, the sharpness changes.

    Args:
        loss: a scalar of the parameters, twice differentiable. To avoid a second compilation, pass the same function
            object in later calls.
        params: an array, or a pytree of floating-point arrays.
        tolerance: the distance of the upper bound from the estimate, as a share of the width of the spectrum (largest
            minus smallest eigenvalue).
        failure: the probability with which the largest eigenvalue may be above `upper`.
        products: the number of products. None means the number that the tolerance needs.
        seed: the seed of the random start.

    Raises:
        DataError: for parameters that are not real floating-point arrays, a loss that is not real, or a Hessian that is
            not finite.
        ShapeError: for a loss that is not a scalar.
        SettingError: for a loss that JAX cannot compute or differentiate, or if a setting is out of its bounds.

    >>> import jax.numpy as jnp
    >>> scales = jnp.linspace(1.0, 3.0, 200)
    >>> found = sharpness(lambda w: jnp.sum(scales * jnp.cosh(w)), jnp.zeros(200))
    >>> bool(2.95 < found.largest <= 3.0 <= found.upper)
    True
    """
    return largest_eigenvalues(
        hessian_product(loss, params), params, tolerance=tolerance, failure=failure, products=products, seed=seed
    )
