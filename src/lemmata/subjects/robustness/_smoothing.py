"""Randomised smoothing: the most frequent class under noise, and a radius within which this class does not change."""

import dataclasses
import math
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy import stats

from lemmata.answers import Condition, inside, least_share, positive, probability, whole
from lemmata.core import array_of, real_numbers
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

from ._inputs import as_point, check_vector
from ._scores import scores_of

_BATCH = 4096


def smoothed_radius(p: float, sigma: float, rival: float | None = None) -> float:
    """Return sigma/2 (Phi^-1(p) - Phi^-1(rival)), rounded down, where Phi is the standard normal distribution function.

    The result is an l2 radius within which the class of the smoothed classifier does not change (Cohen et al., 2019).

    Args:
        p: the probability of the class under the noise, or a lower bound on this probability.
        sigma: the standard deviation of the noise.
        rival: the probability of the second most likely class, or an upper bound on this probability; by default, 1 -
            p.

    Raises:
        SettingError: if a probability is outside [0, 1], their sum is above 1, or sigma is not positive.

    >>> smoothed_radius(0.5, 1.0), round(smoothed_radius(0.9, 0.5), 4)
    (0.0, 0.6408)
    """
    p, sigma = probability("p", p), positive("sigma", sigma)
    other = 1 - p if rival is None else probability("rival", rival)
    if p + other > 1 + 1e-12:
        raise SettingError(
            "p and rival",
            found=f"{p:g} and {other:g}",
            rule="probabilities of two different classes, whose sum is at most 1",
        )
    high, low = float(stats.norm.ppf(p)), float(stats.norm.ppf(other))
    if math.isinf(high - low):
        return max(0.0, high - low)
    # each quantile has a relative error of at most 4 eps
    gap = high - low - 8 * sys.float_info.epsilon * (abs(high) + abs(low))
    return max(0.0, math.nextafter(sigma / 2 * gap, 0.0))


@dataclasses.dataclass(frozen=True)
class SmoothCertificate:
    """The class of a smoothed classifier at one input, and a radius within which this class is certified.

    Args:
        label: the class. None if the lower limit of its probability does not exceed 1/2; then the classifier abstains.
        candidate: the most frequent class among the first draws.
        count, n: the number of second draws with the class `candidate`, and the number of all second draws.
        p_lower: the exact lower confidence limit, at level 1 - alpha, of the candidate's probability.
        radius: the radius of an l2 ball on which the class does not change, with confidence 1 - alpha. The radius is 0
            if the classifier abstains.
        linf: the radius of the largest infinity-norm ball inside the l2 ball, radius/sqrt(d).
        l1: the radius of the l1 ball inside the l2 ball, which equals `radius`.
        ceiling: sigma Phi^-1(alpha^(1/n)), the largest l2 radius that n draws can give, where Phi is the standard
            normal distribution function.
        sigma, alpha: the standard deviation of the noise, and the largest probability of a wrong certificate.
        conditions: the conditions for the results.
        claims: names of the claims that state the radius.
    """

    label: int | None
    candidate: int
    count: int
    n: int
    p_lower: float
    radius: float
    linf: float
    l1: float
    ceiling: float
    sigma: float
    alpha: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = ("robustness.smoothing.radius_from_counts", "robustness.smoothing.smoothed_radius")

    def __str__(self) -> str:
        seen = f"{self.count} of {self.n} draws, probability at least {self.p_lower:.4g}"
        if self.label is None:
            return f"abstains: class {self.candidate} in {seen}"
        most = f"at most {self.ceiling:.4g} from {self.n} draws"
        return f"class {self.label} within {self.radius:.4g} in l2 ({most}): {seen}"

    def _repr_html_(self) -> str:
        return preformatted(self)


def smooth(
    f: Any,
    x: ArrayLike,
    sigma: float,
    n: int = 1000,
    alpha: float = 0.001,
    *,
    selection: int = 100,
    seed: int = 0,
    params: Any = None,
) -> SmoothCertificate:
    """Certify, from random draws, the smoothed class argmax_c P(f(x + sigma z) = c), where z is standard normal.

    The class is chosen on `selection` draws, and its probability is bounded on n other draws. If both steps used the
    same draws, the lower limit of the probability would be too high. With probability at least 1 - alpha over the
    draws, the smoothed class is constant on the certified ball. The certificate is for the smoothed classifier, not for
    f.

    Args:
        f: a function that returns classes (batch,) or scores (batch, classes) of inputs (batch, d). For a single score,
            the class is 1 if the score is positive, and otherwise 0. f can also be a network of a kind that `certify`
            takes, or a fitted classifier of scikit-learn. The classes of such a classifier are numbered in their sorted
            order.
        x: one input. For a network, the input may have several axes, as an image.
        sigma: the standard deviation of the noise.
        n: the number of draws that bound the probability.
        alpha: the largest probability that the certificate is wrong, below 1/2.
        selection: the number of draws that choose the class.
        seed: the random seed of the draws.
        params: the parameters of a `Serial`, or the variables of a linen module.

    Raises:
        SettingError: if a network is in training mode, sigma is not positive or so large that inputs with noise
            overflow, alpha is outside (0, 1/2), or a count is invalid.
        ShapeError: if the outputs of f are neither classes nor scores.
        DataError: if scores are not finite, or a class does not fit into 64 bits.

    Example:
        >>> import numpy as np
        >>> print(smooth(lambda x: (x[:, 0] > 0).astype(int), np.array([1.0, 0.0]), 0.5, n=10_000))
        class 1 within 0.9615 in l2 (at most 1.599 from 10000 draws): 9777 of 10000 draws, probability at least 0.9728
    """
    point, sigma = as_point(x), positive("sigma", sigma)
    call, takes_fields = scores_of(f, params)
    if not takes_fields:
        check_vector(point)
    n, selection, alpha = whole("n", n, 1), whole("selection", selection, 1), inside("alpha", alpha, 0.0, 0.5)
    generator = np.random.default_rng(seed)
    classes, frequencies = np.unique(_answers(call, point, sigma, selection, generator), return_counts=True)
    candidate = int(classes[frequencies.argmax()])
    count = int((_answers(call, point, sigma, n, generator) == candidate).sum())
    p_lower = least_share(float(count), float(n - count), alpha)
    radius = smoothed_radius(p_lower, sigma) if p_lower > 0.5 else 0.0
    # Phi^-1(alpha^(1/n)), rounded up; it is computed from 1 - alpha^(1/n), which expm1 keeps above 0 for many draws
    highest = float(stats.norm.isf(-math.expm1(math.log(alpha) / n)))
    ceiling = max(0.0, sigma * highest * (1 + 16 * sys.float_info.epsilon))
    why = "otherwise smooth abstains; the class was chosen on other draws"
    conditions = (Condition("the lower limit of the probability is above 1/2", p_lower, p_lower > 0.5, why),)
    return SmoothCertificate(
        label=candidate if p_lower > 0.5 else None,
        candidate=candidate,
        count=count,
        n=n,
        p_lower=p_lower,
        radius=radius,
        linf=radius / math.sqrt(point.size) * (1 - 2 * sys.float_info.epsilon),  # rounded down
        l1=radius,
        ceiling=ceiling,
        sigma=sigma,
        alpha=alpha,
        conditions=conditions,
    )


def _answers(
    f: Callable[[np.ndarray], ArrayLike],
    point: Float[np.ndarray, "*shape"],
    sigma: float,
    count: int,
    generator: np.random.Generator,
) -> np.ndarray:
    found = []
    for start in range(0, count, _BATCH):
        size = min(_BATCH, count - start)
        with np.errstate(over="ignore"):
            inputs = point + sigma * generator.standard_normal((size, *point.shape))
        if not np.isfinite(inputs).all():
            rule = "so small that inputs with noise are finite"
            raise SettingError("sigma", found=f"{sigma:g}", rule=rule, remedy="change the unit of the inputs and sigma")
        given = f(inputs)
        found.append(_classes(array_of("answers of f", given), size))
    return np.concatenate(found)


def _classes(answers: np.ndarray, size: int) -> np.ndarray:
    """Return the class of each input, from classes or scores. For a single score, the class is 1 if the score is
    positive.
    """
    if answers.ndim not in (1, 2) or len(answers) != size or 0 in answers.shape:
        rule = f"classes of shape ({size},) or scores of shape ({size}, classes) for {size} inputs"
        raise ShapeError("answers of f", found=f"shape {answers.shape}", rule=rule)
    if answers.ndim == 1:
        return _whole(answers)
    answers = real_numbers("scores of f", answers) if answers.dtype.kind == "O" else answers
    if answers.dtype.kind not in "fiub":
        raise DataError("scores of f", found=f"entries of type {answers.dtype}", rule="real numbers")
    wrong = ~np.isfinite(answers).all(axis=1)
    if wrong.any():
        raise DataError(
            "scores of f",
            found=f"{int(wrong.sum())} of {size} rows with NaN or infinite scores",
            rule="finite scores, the largest of which determines the class",
            remedy="correct the function so that its scores are finite at inputs with noise, or reduce sigma",
        )
    return (answers[:, 0] > 0).astype(int) if answers.shape[1] == 1 else answers.argmax(axis=1)


def _whole(answers: np.ndarray) -> Int[np.ndarray, " n"]:
    """Return classes as whole numbers of 64 bits; refuse texts, fractions and larger numbers."""
    if answers.dtype.kind in "ib":
        return answers.astype(np.int64)
    entries = answers.tolist()
    if not all(isinstance(entry, int | np.integer | np.bool_) for entry in entries):
        text = any(isinstance(entry, str | bytes) for entry in entries)
        other = next(type(entry).__name__ for entry in entries if not isinstance(entry, int | np.integer | np.bool_))
        remedy = "return classes.astype(int), or scores of shape (batch, 1) if they are scores"
        if text:
            remedy = "number the classes, for example with np.searchsorted(names, classes)"
        raise ShapeError(
            "answers of f",
            found="texts"
            if text
            else f"an entry of type {other}"
            if answers.dtype == object
            else f"entries of type {answers.dtype}",
            rule="classes that are whole numbers",
            remedy=remedy,
        )
    limits = np.iinfo(np.int64)
    wrong = [int(entry) for entry in entries if not limits.min <= entry <= limits.max]
    if wrong:
        raise DataError(
            "answers of f",
            found=f"the class {wrong[0]}",
            rule=f"classes of at most {limits.max} in size",
            remedy="number the classes from 0, for example with np.searchsorted(np.unique(classes), classes)",
        )
    return np.array(entries, np.int64)
