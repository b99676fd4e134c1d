"""The Rademacher complexity of a family of functions: bounds in closed form for balls, and lower bounds by fits."""

import dataclasses
import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from lemmata.answers import Condition, inside, positive, whole
from lemmata.errors import SettingError
from lemmata.kernels import AbstractKernel, gram
from lemmata.printable import preformatted

from ._fits import as_fit, check_enough
from ._labelled import as_rows

_BALLS = ("l2", "l1")
_DRAWS, _FITS = 2000, 10


@dataclasses.dataclass(frozen=True)
class Rademacher:
    """The empirical Rademacher complexity of a family on given points.

    Args:
        estimate: the mean over drawn signs s_i of sup_f (1/n) sum_i s_i f(x_i). For a learner, the mean of the values
            that the fits attain.
        interval: the confidence interval of the complexity. For a learner, the upper end is the trivial value.
        upper: the upper bound in closed form; None for a learner.
        lower: the lower bound in closed form; for a learner, the lower end of the interval.
        trivial: the mean over i of sup_f |f(x_i)|, which the complexity cannot exceed.
        vacuous: a warning that the bound says nothing: for a ball, if `upper` is at least `trivial`, and for a learner,
            if twice `lower` is at least 1. Otherwise the string is empty.
        draws: the number of draws of all signs.
        level: the confidence level of the interval.
        conditions: the conditions for the results.
        claims: the names of the claims (statements that lemmata tests) that state the results.
    """

    estimate: float
    interval: tuple[float, float]
    upper: float | None
    lower: float
    trivial: float
    vacuous: str
    draws: int
    level: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...]

    def __str__(self) -> str:
        low, high = self.interval
        found = f"the estimate is {self.estimate:.4g}, {self.level:.0%} interval {low:.4g} to {high:.4g}"
        if self.upper is None:
            found = (
                f"complexity at least {self.lower:.4g} ({self.level:.0%}): the fits attain {self.estimate:.4g} "
                f"on {self.draws} draws"
            )
        else:
            found = f"complexity at most {self.upper:.4g}: {found}"
        return found + (f"\n- {self.vacuous}" if self.vacuous else "")

    def _repr_html_(self) -> str:
        return preformatted(self)


def rademacher(
    family: Any,
    x: ArrayLike,
    radius: float = 1.0,
    *,
    draws: int | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Rademacher:
    """Compute the Rademacher complexity E sup_f (1/n) sum_i s_i f(x_i) of a family on n points, for random signs s_i.

    * "l2": x -> <w, x> with |w|_2 <= B. The complexity is (B/n) E |sum_i s_i x_i|_2. This number is at most B
      sqrt(sum_i |x_i|²)/n, and at least this bound divided by sqrt(2).
    * "l1": x -> <w, x> with |w|_1 <= B. The complexity is (B/n) E |sum_i s_i x_i|_inf. For d columns, this number is at
      most B max_j |column j|_2 sqrt(2 ln(2d))/n, and at least B max_j |column j|_2 / (sqrt(2) n).
    * a kernel: functions f with RKHS norm |f|_H <= B. The bounds are as for "l2", with K(x_i, x_i) in place of |x_i|².
    * a learner: an estimator or a function fit(x, y), which is fitted to random signs. Predictions are clipped to
      [-1, 1]. A fit agrees with the signs at most as well as the best function that the learner can return. Therefore
      this agreement is only a lower bound.

    Args:
        family: one of the families listed above.
        x: the points, one in each row.
        radius: the radius B of a ball; not used for a learner.
        draws: the number of draws of the signs of all points. By default, 2000 for balls and 10 for learners.
        level: the confidence level of the interval. The interval follows from bounded differences of the supremum and
            holds for any number of draws. For a learner, the interval is one-sided, because the supremum is at least
            the value that the fit attains.
        seed: the random seed of the draws.

    Raises:
        SettingError: for an unknown family, a radius that is not positive, a level outside (0, 1), or no draws.
        ShapeError, DataError: for invalid points.

    Example:
        >>> import numpy as np
        >>> from sklearn.tree import DecisionTreeClassifier
        >>> x = np.random.default_rng(0).normal(size=(200, 3))
        >>> print(rademacher("l2", x))
        complexity at most 0.1221: the estimate is 0.112, 95% interval 0.1046 to 0.1195
        >>> print(rademacher(DecisionTreeClassifier(random_state=0), x))
        complexity at least 0.9453 (95%): the fits attain 1 on 10 draws
        - vacuous: the model fits random signs so well that every uniform bound by twice this complexity is at least 1
    """
    points, radius, level = as_rows(x), positive("radius", radius), inside("level", level, 0.0, 1.0)
    generator = np.random.default_rng(whole("seed", seed))
    if isinstance(family, AbstractKernel):
        matrix = np.asarray(gram(family, jnp.asarray(points)), float)
        signs = _signs(generator, _DRAWS if draws is None else whole("draws", draws, 1), len(points))
        suprema = np.sqrt(np.maximum(np.sum((signs @ matrix) * signs, axis=1), 0.0))
        return _ball(suprema, np.sqrt(np.maximum(np.diagonal(matrix), 0.0)), radius, level)
    if isinstance(family, str):
        if family not in _BALLS:
            raise SettingError("family", found=repr(family), rule="'l2', 'l1', a kernel, an estimator or a function")
        flat = points.reshape(len(points), -1)
        sums = _signs(generator, _DRAWS if draws is None else whole("draws", draws, 1), len(points)) @ flat
        if family == "l2":
            return _ball(np.linalg.norm(sums, axis=1), np.linalg.norm(flat, axis=1), radius, level)
        return _cross_polytope(np.abs(sums).max(axis=1), flat, radius, level)
    return _fitted(family, points, _FITS if draws is None else whole("draws", draws, 1), level, generator)


def _signs(generator: np.random.Generator, draws: int, n: int) -> Float[np.ndarray, "draws n"]:
    return generator.choice([-1.0, 1.0], size=(draws, n))


def _ball(suprema: np.ndarray, lengths: Float[np.ndarray, " n"], radius: float, level: float) -> Rademacher:
    scale, root = radius / len(lengths), float(np.linalg.norm(lengths))
    bounds = scale * root / math.sqrt(2), scale * root
    return _in_closed_form(scale * suprema, scale * root, bounds, radius * float(lengths.mean()), level)


def _cross_polytope(suprema: np.ndarray, x: Float[np.ndarray, "n d"], radius: float, level: float) -> Rademacher:
    scale, column = radius / len(x), float(np.linalg.norm(x, axis=0).max())
    largest = np.abs(x).max(axis=1)
    bounds = scale * column / math.sqrt(2), scale * column * math.sqrt(2 * math.log(2 * x.shape[1]))
    return _in_closed_form(
        scale * suprema, scale * float(np.linalg.norm(largest)), bounds, radius * float(largest.mean()), level
    )


def _in_closed_form(
    suprema: np.ndarray, differences: float, bounds: tuple[float, float], trivial: float, level: float
) -> Rademacher:
    """Return the result for a ball, where `differences` is the Euclidean norm |c|.

    A flip of sign i changes a supremum by at most 2 c_i. Therefore the mean of the suprema over draws is sub-Gaussian
    with variance |c|²/draws.
    """
    estimate, draws = float(suprema.mean()), len(suprema)
    reach = differences * math.sqrt(2 * math.log(2 / (1 - level)) / draws)
    interval = max(estimate - reach, bounds[0]), min(estimate + reach, bounds[1])
    vacuous = ""
    if bounds[1] >= trivial:
        vacuous = (
            f"vacuous: with so few points, the upper bound is at least {trivial:.4g}, and no function of the family "
            "has a larger mean size"
        )
    conditions = (
        Condition(
            "the family and its radius were chosen before the points had labels",
            why="the norm of a fitted function depends on the labels",
        ),
    )
    claims = ("generalisation.rademacher.kernel_ball_rademacher", "generalisation.rademacher.rademacher_generalisation")
    return Rademacher(estimate, interval, bounds[1], bounds[0], trivial, vacuous, draws, level, conditions, claims)


def _fitted(family: Any, x: np.ndarray, draws: int, level: float, generator: np.random.Generator) -> Rademacher:
    check_enough(len(x))
    fit, found = as_fit(family), []
    while len(found) < draws:
        signs = _signs(generator, 1, len(x))[0]
        if abs(signs.sum()) < len(x):
            predictions = np.asarray(fit(x, signs)(x), float)
            found.append(float(np.mean(signs * np.clip(predictions, -1.0, 1.0))))
    estimate = float(np.mean(found))
    lower = max(estimate - math.sqrt(2 * math.log(1 / (1 - level)) / (len(x) * draws)), 0.0)
    vacuous = ""
    if 2 * lower >= 1:
        vacuous = (
            "vacuous: the model fits random signs so well that every uniform bound by twice this "
            "complexity is at least 1"
        )
    conditions = (
        Condition(
            "the fitted functions agree with the signs as well as the family can", why="otherwise this is a lower bound"
        ),
    )
    claims = ("generalisation.memorisation.random_label_identity",)
    return Rademacher(estimate, (lower, 1.0), None, lower, 1.0, vacuous, draws, level, conditions, claims)
