"""The PAC-Bayes bound of a model with noise on its weights, and the reason if the bound is no better than guessing."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from scipy import stats

from lemmata.answers import Condition, inside, positive, probability, whole
from lemmata.errors import DataError, SettingError
from lemmata.printable import preformatted

from ._divergences import kl_lower, kl_upper, pac_bayes_budget
from ._labelled import as_held, as_labelled
from ._models import Fits, Rows, read_model

_STEPS = (0.0, 0.25, 0.5, 0.75, 1.0)
_AROUND_A_FIT = tuple(2.0**power for power in range(-8, 3))
_AROUND_NOUGHT = tuple(2.0**power for power in range(-12, 13))
_TRIED = 16
_SHARE_OF_DRAWS = 0.1
_CLAIMS = (
    "generalisation.pac_bayes.pac_bayes_of_gaussian_rules",
    "generalisation.pac_bayes.pac_bayes_of_the_best",
    "generalisation.pac_bayes.divergence_moment",
)


@dataclasses.dataclass(frozen=True)
class PacBayesBound:
    """A bound on the error of a model whose weights are redrawn for every prediction.

    Args:
        bound: the bound on the error on new rows, which holds with probability 1 - delta over the rows.
        trivial: the error 1 - 1/classes of guessing a class uniformly at random. A bound that is not below this error
            is vacuous.
        vacuous: the reason why the bound is vacuous, in words; empty if the bound is not vacuous.
        kl: the divergence KL(posterior || prior), in nats.
        gibbs: the error of the noisy rule (the model with redrawn weights) on the rows that were not used for the
            prior.
        gibbs_upper: the value of `gibbs`, or an upper confidence limit if `gibbs` is estimated from draws.
        rows: the number of rows that were not used for the prior.
        prior_rows: the number of rows to which the prior was fitted.
        sigma: the noise size; the noise has the covariance sigma² S of the module `_gaussian_rules`.
        step: the position of the posterior between the prior's fit (0) and the fit to all rows (1).
        hold_out: the exact binomial upper limit, at the same delta, on the error of the prior's fit without noise. This
            limit comes from the rows that were not used for the prior, and is None for a prior without data. This limit
            is often the better bound.
        test_error: the error of the noisy rule on held-out rows; None without held-out rows.
        plain_test_error: the error of the fit to all rows on held-out rows; None without held-out rows.
        delta: the requested probability that the bound fails.
        conditions: the conditions for the bound.
        claims: the names of the claims (statements that lemmata tests) that state the bound.
    """

    bound: float
    trivial: float
    vacuous: str
    kl: float
    gibbs: float
    gibbs_upper: float
    rows: int
    prior_rows: int
    sigma: float
    step: float
    hold_out: float | None
    test_error: float | None
    plain_test_error: float | None
    delta: float
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        word = "vacuous: " if self.vacuous else ""
        found = f"{word}error at most {self.bound:.3f} with probability {1 - self.delta:g}: "
        found += f"Gibbs error {self.gibbs:.3f} on {self.rows} rows, KL {self.kl:.3g}"
        if self.test_error is not None:
            found += f"; error {self.test_error:.3f} on held rows"
        failed = [
            f"\n- fails: {condition.name}: {condition.why}" for condition in self.conditions if condition.holds is False
        ]
        return found + (f"\n- {self.vacuous}" if self.vacuous else "") + "".join(failed)

    def _repr_html_(self) -> str:
        return preformatted(self)


def pac_bayes_bound(
    model: Any,
    x: ArrayLike,
    y: ArrayLike,
    prior: str | float = "half",
    *,
    held: Any = None,
    delta: float = 0.05,
    step: float | None = None,
    train: Callable[..., Any] | None = None,
    ridge: float = 1e-2,
    draws: int = 1000,
    seed: int = 0,
) -> PacBayesBound:
    """Bound the error of a classifier from its training rows alone, by PAC-Bayes.

    The model is fitted to a random half of the rows, and the prior is normal around the fitted weights. The model is
    also fitted to all rows, and the posterior is normal around a point on the line between both fits. Let m be the
    number of rows that were not used for the prior. Let R_S be the error on these rows under the posterior. Let J be
    the number of noise sizes among which delta is divided. Then, with probability 1 - delta,

        kl(R_S || error) <= (KL(posterior || prior) + ln(E J / delta)) / m,

    where E is the mean of exp(m kl(k/m || p)) for k ~ Binomial(m, p). This mean is at most 2 sqrt(m). The function
    tries five positions of the posterior and the J noise sizes, and returns the smallest bound. The error R_S is exact
    for linear rules and kernels. For networks, an upper limit from `draws` new draws of the weights replaces R_S. This
    upper limit uses a tenth of delta.

    The bound is for the error of the *noisy* rule. The unit of the noise is the root mean square of the prior's
    weights. For a kernel, the noise is a Gaussian process with the covariance sigma² times the kernel.

    Args:
        model: a linear scikit-learn classifier (LogisticRegression, RidgeClassifier, LinearSVC, Perceptron, ...), an
            MLPClassifier, a Pipeline, a lemmata kernel or an Equinox module. A Pipeline must end in a classifier of
            one of these kinds; its other steps are fitted to the prior's rows only. A kernel is used for ridge
            regression on indicators of the classes. An Equinox module must map one input to one output for each class.
        x: the training rows.
        y: the class of each row, with two or more classes of any type.
        prior: the share of the rows to which the prior is fitted, as a number or "half". Pass "free" for a prior around
            0 (linear, kernel) or around the weights of the given module. With "free", all rows remain for the bound,
            but the divergence is larger, because it measures the whole way from the prior to the fit.
        held: a pair of held-out rows and their classes. The function uses this pair only to count errors.
        delta: the largest probability that the bound fails.
        step: the position of the posterior between the prior's fit (0) and the fit to all rows (1). By default, the
            function chooses the step without the held-out rows. If no divergence above 0 lowers the bound, the step is
            0, and the bound is for the fit to the prior's rows with noise.
        train: a function of a module, rows and classes 0, 1, ... that returns the trained module. By default, the
            module is trained by 400 steps of Adam at 3e-3 on the cross-entropy. Training on all rows starts from the
            prior's weights.
        ridge: the ridge of the kernel ridge regression, if the model is a kernel.
        draws: the number of draws of the weights, for networks.
        seed: the random seed of the split and the draws.

    Raises:
        SettingError: for an unsuitable model, or an invalid prior, delta, ridge or number of draws.
        ShapeError, DataError: for rows and classes that do not fit each other; for a class that is missing in the
            prior's rows; for a single class.

    Example:
        >>> from sklearn.datasets import load_digits
        >>> from sklearn.linear_model import LogisticRegression
        >>> from sklearn.model_selection import train_test_split
        >>> from lemmata.subjects.bounds import pac_bayes_bound
        >>> x, y = load_digits(return_X_y=True)
        >>> x, x_test, y, y_test = train_test_split(x / 16, y, test_size=400, random_state=0)
        >>> print(pac_bayes_bound(LogisticRegression(max_iter=300), x, y, held=(x_test, y_test)))
        error at most 0.074 with probability 0.95: Gibbs error 0.036 on 699 rows, KL 0; error 0.051 on held rows
        >>> print(pac_bayes_bound(LogisticRegression(max_iter=300), x[:200], y[:200], prior="free"))
        vacuous: error at most 0.931 with probability 0.95: Gibbs error 0.643 on 200 rows, KL 61
        - 61 nats are too many for 200 rows: without them the bound would be 0.776
    """
    delta, ridge = inside("delta", delta, 0.0, 1.0), positive("ridge", ridge)
    draws, seed = whole("draws", draws, least=1), whole("seed", seed)
    points, labels, classes = as_labelled(x, y)
    held_rows = None if held is None else as_held(held, points, classes)
    rows = Rows(points, labels, _seen(prior, labels, len(classes), seed), len(classes))
    fits = read_model(model, rows, train, ridge)
    unseen = np.setdiff1d(np.arange(len(labels)), rows.seen)
    steps = _STEPS if step is None else (probability("step", step),)
    found = _least(fits, steps, points[unseen], labels[unseen], bool(len(rows.seen)), delta, draws, seed)
    trivial = 1 - 1 / len(classes)
    conditions = _conditions(len(rows.seen), len(unseen), fits.rules.exact, draws)
    test = plain = None
    if held_rows is not None:
        chosen = fits.rules.errors_on(*held_rows)(found.step, found.sigma, draws, seed + 2)
        test, plain = float(chosen.mean()), float(np.mean(fits.last(held_rows[0]) != held_rows[1]))
        conditions += (_of_one_law(test, len(held_rows[1]), found.bound, delta),)
    hold_out = None
    if len(rows.seen):
        wrong = int(np.sum(fits.first(points[unseen]) != labels[unseen]))
        right = len(unseen) - wrong
        hold_out = float(stats.beta.ppf(1 - delta, wrong + 1, right)) if right else 1.0
    return PacBayesBound(
        bound=found.bound,
        trivial=trivial,
        vacuous=_culprit(found, trivial) if found.bound >= trivial else "",
        kl=found.kl,
        gibbs=found.gibbs,
        gibbs_upper=found.gibbs_upper,
        rows=len(unseen),
        prior_rows=len(rows.seen),
        sigma=found.sigma,
        step=found.step,
        hold_out=hold_out,
        test_error=test,
        plain_test_error=plain,
        delta=delta,
        conditions=conditions,
    )


def _seen(prior: str | float, labels: Int[np.ndarray, " n"], classes: int, seed: int) -> Int[np.ndarray, " s"]:
    """Return the indices of the rows that are set aside to fit the prior, drawn at random.

    The array is empty for the prior "free".

    Raises:
        DataError: if a class is missing in these rows.
        SettingError: if `prior` is invalid, or if its share of the rows is no row or all rows.
    """
    if isinstance(prior, str) and prior not in ("half", "free"):
        raise SettingError(
            "prior", found=repr(prior), rule="'half', 'free', or a share of the rows above 0 and below 1"
        )
    if prior == "free":
        return np.arange(0)
    share = 0.5 if prior == "half" else inside("prior", prior, 0.0, 1.0)
    count = round(share * len(labels))
    if not 0 < count < len(labels):
        found = f"{count} of {len(labels)} rows"
        raise SettingError(
            "prior",
            found=found,
            rule="at least one row on each side of the split",
            remedy="choose a share nearer to one half",
        )
    seen = np.sort(np.random.default_rng(seed).permutation(len(labels))[:count])
    missing = classes - len(np.unique(labels[seen]))
    if missing:
        remedy = "use a larger share, more rows, or prior='free'"
        raise DataError(
            "rows of the prior",
            found=f"rows in which {missing} classes are missing",
            rule="rows of every class",
            remedy=remedy,
        )
    return seen


@dataclasses.dataclass(frozen=True, eq=False)
class _Found:
    """The smallest bound, the errors and divergences of all choices, and `rest`, the bound on kl at divergence 0."""

    bound: float
    kl: float
    gibbs: float
    gibbs_upper: float
    sigma: float
    step: float
    rest: float
    rows: int
    tried: Float[np.ndarray, " choices"]
    divergences: Float[np.ndarray, " choices"]


def _least(
    fits: Fits,
    steps: tuple[float, ...],
    x: np.ndarray,
    labels: Int[np.ndarray, " m"],
    fitted: bool,
    delta: float,
    draws: int,
    seed: int,
) -> _Found:
    """Find the smallest bound over the positions of the posterior, and over the noise sizes, which divide delta."""
    rules, sigmas = fits.rules, _AROUND_A_FIT if fitted else _AROUND_NOUGHT
    own = delta if rules.exact else (1 - _SHARE_OF_DRAWS) * delta
    rest, errors_at = pac_bayes_budget(0.0, len(labels), own, len(sigmas)), rules.errors_on(x, labels)
    choices = [(step, sigma) for sigma in sigmas for step in steps]
    divergences = np.asarray([step**2 * rules.distance / (2 * sigma**2) for step, sigma in choices])
    tried = np.asarray([errors_at(*choice, _TRIED, seed).mean() for choice in choices])
    best = int(kl_upper(tried, rest + divergences / len(labels)).argmin())
    # the choice depends on the draws above, so the bound is computed from new draws
    errors = errors_at(*choices[best], draws, seed + 1)
    gibbs, kl = float(errors.mean()), float(divergences[best])
    upper = gibbs if rules.exact else float(kl_upper(gibbs, math.log(1 / (_SHARE_OF_DRAWS * delta)) / draws))
    bound = float(kl_upper(upper, rest + kl / len(labels)))
    step, sigma = choices[best]
    return _Found(bound, kl, gibbs, upper, sigma, step, rest, len(labels), tried, divergences)


def _culprit(found: _Found, trivial: float) -> str:
    """Return the reason why a bound is vacuous: too few rows, errors at every noise size, or a large divergence."""
    nothing = float(kl_upper(0.0, found.rest))
    if nothing >= trivial:
        return f"{found.rows} rows are too few: without a single error the bound would be {nothing:.3f}"
    free = kl_upper(found.tried, found.rest)
    if free.min() >= trivial:
        least = found.tried.min()
        return f"the rule errs on {least:.3f} of the rows: without any divergence the bound would be {free.min():.3f}"
    chosen = float(kl_upper(found.gibbs_upper, found.rest))
    if chosen < trivial:
        return f"{found.kl:.3g} nats are too many for {found.rows} rows: without them the bound would be {chosen:.3f}"
    # the choice of least divergence among the choices with a bound below the trivial value at divergence 0
    cheapest = int(np.where(free < trivial, found.divergences, np.inf).argmin())
    kl, error = found.divergences[cheapest], found.tried[cheapest]
    return (
        f"noise that keeps the rule's errors small (Gibbs error {error:.3f}) costs {kl:.3g} nats, "
        f"too many for {found.rows} rows"
    )


def _of_one_law(error: float, rows: int, bound: float, delta: float) -> Condition:
    """Return the condition that the lower limit of the error on held-out rows is at most the bound."""
    lower = float(kl_lower(error, math.log(1 / delta) / rows))
    why = (
        f"the error of held rows is at least {lower:.3f}: the held rows have another distribution, or the rows were "
        "not independent"
    )
    return Condition("the held rows do not contradict the bound", error, lower <= bound, why)


def _conditions(prior_rows: int, rows: int, exact: bool, draws: int) -> tuple[Condition, ...]:
    why = "the bound holds with a probability over the draw of the rows"
    own = Condition(
        "the prior was not fitted to any of the rows that are counted",
        float(prior_rows),
        True,
        "the prior is fixed before these rows",
    )
    if exact:
        count = Condition(
            "the error of the noisy rule is exact",
            0.0,
            True,
            "the error is an integral for each row, without random draws",
        )
    else:
        count = Condition("draws of the weights", float(draws), True, "their error is bounded with a tenth of delta")
    return (
        Condition(
            "rows are independent draws of one distribution, and new rows come from the same distribution", why=why
        ),
        Condition(
            "the model and its settings were not chosen on these rows",
            why="if they were chosen on these rows, the bound must be wider",
        ),
        own,
        Condition("rows that the prior has not seen", float(rows), rows > 0, "the bound uses only these rows"),
        count,
    )
