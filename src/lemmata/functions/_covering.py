"""Covering numbers of the unit ball, of pairs (f, x) and of classes of functions, and numbers of features.

Here, f is a function of a class, x is a point of the unit ball, and C_F is the Barron parameter of the class. Classes
are covered in the supremum norm. Theorem and Lemma numbers are those of li2025incontext.

The cover of pairs (f, x) in Theorem 1 (li2025incontext, definition 23) only covers the values f(x), and its size is the
same for any class. However, the proof of Lemma 1 approximates one function at all x. An approximation at all x needs
the product of a cover of the class and a cover of the ball. So `required_features` counts the elements of this product.
"""

import math

from lemmata.errors import SettingError

from ._classes import AbstractFunctionClass
from ._cosines import Cosines
from ._gaussian_bumps import GaussianBumps
from ._linear_functions import LinearFunctions
from ._logistic_networks import LogisticNetworks


def log_ball_cover(dimension: int, epsilon: float) -> float:
    """The logarithm of a number of epsilon-balls that cover the unit ball: d log(1 + 2/epsilon), by comparing volumes.

    Args:
        dimension: the dimension d.
        epsilon: the radius, positive.
    """
    _check(epsilon)
    return dimension * math.log1p(2 / epsilon)


def log_pair_cover(dimension: int, epsilon: float) -> float:
    """The logarithm d log(1 + 4/epsilon) + log(1 + 2/epsilon) of the size of an epsilon-cover of pairs (f, x).

    The cover is that of li2025incontext, definition 23, and holds for any class. Since |f(x) - f(0)| <= C_F, this many
    cells are enough, with diameter epsilon in x and length C_F epsilon in f(x) - f(0). One pair from each cell that is
    not empty gives a cover.

    Args:
        dimension: the dimension d.
        epsilon: the precision, positive.
    """
    return log_ball_cover(dimension, epsilon / 2) + math.log1p(2 / epsilon)


def log_class_cover(functions: AbstractFunctionClass, epsilon: float) -> float:
    """The logarithm of the size of a cover of f - f(0), within C_F epsilon in the supremum norm over the unit ball.

    For m cosines, the logarithm is 2 m log(1 + 2/epsilon), because amplitudes and phases are in m discs. For m logistic
    units, it is m log(1 + 1/epsilon), because coefficients are in intervals. For linear functions of d variables, it is
    d log(1 + 2/epsilon). For Gaussian bumps, it is k log(1 + 4/epsilon) + k d log(1 + 8/epsilon), for weights and
    centres, where k is the number of bumps that the class draws.

    Args:
        functions: the class of functions.
        epsilon: the precision, positive.

    Raises:
        SettingError: for a class with an unknown covering number, or a precision that is not positive.
    """
    _check(epsilon)
    if isinstance(functions, Cosines):
        return 2 * len(functions.sizes) * math.log1p(2 / epsilon)
    if isinstance(functions, LogisticNetworks):
        return len(functions.sizes) * math.log1p(1 / epsilon)
    if isinstance(functions, LinearFunctions):
        return functions.dimension * math.log1p(2 / epsilon)
    if isinstance(functions, GaussianBumps):
        return functions.bumps * (math.log1p(4 / epsilon) + functions.dimension * math.log1p(8 / epsilon))
    raise SettingError(
        "class of functions", found=type(functions).__name__, rule="a class with finitely many parameters",
        remedy="compute the logarithm of its covering number yourself, and pass it",
    )  # fmt: skip


def required_features(functions: AbstractFunctionClass, epsilon: float, dimension: int) -> float:
    """The required number of features: log |N|, where N is the product of epsilon-covers of the class and of the ball.

    Args:
        functions: the class of functions.
        epsilon: the precision of both covers, positive.
        dimension: the dimension d.

    Example:
        >>> from lemmata.functions import GaussianBumps, required_features
        >>> round(required_features(GaussianBumps(2), 0.1, 2), 1)
        43.6
    """
    return log_class_cover(functions, epsilon) + log_ball_cover(dimension, epsilon)


def _check(epsilon: float) -> None:
    if not epsilon > 0:
        raise SettingError("epsilon", found=epsilon, rule="a positive number")
