"""Linear machines without noise, in closed form: powers of the labels' Gram matrix relative to the inputs' matrix."""

import numpy as np
import scipy.linalg
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers, check_whole
from lemmata.errors import NotPositiveDefiniteError, SettingError, ShapeError

from ._checks import check_number

_BISECTIONS, _POLISHES = 100, 3


def linear_deep_kernel_machine(
    gram_0: Float[np.ndarray | Array, "n columns"], y: Float[np.ndarray | Array, "rows C"], *, layers: int, nu: float
) -> Float[np.ndarray, "layers n n"]:
    """Return the optimum of `deep_kernel_machine` in closed form, for linear maps, no noise and one nu for all layers.

    Let S = Y Y'/C for the C columns of labels Y, and let s be the eigenvalues in S v = s G_0 v. Then

        G_l = G_0^1/2 M^l G_0^1/2,    M = G_0^-1/2 G_1 G_0^-1/2,

    where M has the eigenvectors of G_0^-1/2 S G_0^-1/2 and, for each s, the one eigenvalue g > 0 of

        nu g^(L+1) = (nu - C) g^L + C s.

    At nu = C, g is s^(1/(L+1)): the Gram matrices go from G_0 to S geometrically (Yang et al., 2023). At nu =
    infinity, g is 1, and nothing changes. The equation for g holds because each layer is stationary: nu (G_{l-1}^-1 -
    G_l^-1) = nu' (G_l^-1 G_{l+1} G_l^-1 - G_l^-1). Here nu' = nu below the last layer. At the last layer, C replaces
    nu', and S replaces G_{l+1}.

    Args:
        gram_0: the Gram matrix G_0, positive definite.
        y: labels, one column for each output; of rank n, or of a smaller rank if nu is above C.
        layers: the number of layers L, at least 1.
        nu: the weight of each layer's divergence, above 0.

    Raises:
        SettingError: for a nu out of its range, or if the objective has no maximum.
        ShapeError: if G_0 is not square and symmetric, or does not have as many rows as the labels.
        NotPositiveDefiniteError: if G_0 is not positive definite.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.machines import linear_deep_kernel_machine
        >>> found = linear_deep_kernel_machine(np.eye(1), np.full((1, 1), 8.0), layers=2, nu=1.0)
        >>> found.ravel().round(6).tolist()  # from 1 to 64 in three equal steps
        [4.0, 16.0]
    """
    check_gram("the inputs' Gram matrix", gram_0)
    check_numbers("labels", y)
    check_whole("layers", layers, 1, "layers")
    gram_0, y = np.asarray(gram_0), np.asarray(y)
    if y.ndim != 2 or len(y) != len(gram_0):
        rule = f"shape ({len(gram_0)}, C), one row for each row of the Gram matrix"
        raise ShapeError("labels", found=f"shape {y.shape}", rule=rule)
    columns = y.shape[1]
    check_number("nu", nu, zero=False)
    if nu <= columns and np.linalg.matrix_rank(y) < len(y):
        found = f"{nu} with labels of {columns} columns, of rank below {len(y)}"
        raise SettingError(
            "nu",
            found=found,
            rule="a number above the number of columns in this case, because there is no maximum otherwise",
        )
    try:
        root = np.linalg.cholesky(gram_0)
    except np.linalg.LinAlgError:
        raise NotPositiveDefiniteError(
            "Gram matrix of the inputs",
            rule="a matrix with all eigenvalues above 0",
            found="that it is not positive definite",
            remedy="remove duplicate rows, or add a small multiple of the identity",
        ) from None
    half = scipy.linalg.solve_triangular(root, y, lower=True)
    vectors, singular, _ = np.linalg.svd(half, full_matrices=True)
    s = np.zeros(len(y))
    s[: len(singular)] = singular**2 / columns
    g, basis = _growth(s, layers, nu, columns), root @ vectors
    return np.stack([basis * g**layer @ basis.T for layer in range(1, layers + 1)])


def _growth(s: Float[np.ndarray, " n"], layers: int, nu: float, columns: int) -> Float[np.ndarray, " n"]:
    """Return the largest root g of nu g^(L+1) - (nu - C) g^L - C s for each s, by bisection and Newton steps. The root
    lies between 1 and s.
    """
    rest = lambda g: nu * g ** (layers + 1) - (nu - columns) * g**layers - columns * s
    low, high = np.minimum(s, 1.0), np.maximum(s, 1.0)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        below = rest(middle) < 0
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    g = high
    for _ in range(_POLISHES):
        slope = (layers + 1) * nu * g**layers - layers * (nu - columns) * g ** (layers - 1)
        g = g - np.where(slope > 0, rest(g) / np.where(slope > 0, slope, 1.0), 0.0)
    return g
