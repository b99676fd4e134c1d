"""An audit of the differential privacy of a training algorithm, by many runs with and without a canary (a test row)."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lemmata.answers import Condition, inside, whole
from lemmata.core import answer_of
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.printable import preformatted

from ._accountants import budgets
from ._attack import ThresholdAttack, threshold_attack
from ._spent import PrivacySpent, privacy_spent

_CLAIMS = ("stability.audits.audit_below_budget", "stability.audits.audit_of_training")
_DELTAS = (1e-4, 1e-3, 0.003, 0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)


@dataclasses.dataclass(frozen=True)
class PrivacyAudit:
    """A lower bound on eps from runs with and without a canary, and the eps that an accountant promises.

    Args:
        lower: the lower bound: with confidence 1 - alpha, the training is not (e, delta)-private for any e below it.
        upper: the eps of the accountant; None if no noise was given.
        broken: whether the lower bound is above the accountant's eps at some delta. If True, the training differs from
            its description. None if no noise was given.
        contradicted: three numbers: the delta at which the lower bound most exceeds the accountant's eps, and both at
            this delta. None if `broken` is not True.
        attack: the threshold attack, with its event, its counts, and the largest lower bound that this number of runs
            can give.
        spent: the result of `privacy_spent`; None if no noise was given.
        trainings: the number of training runs.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    lower: float
    upper: float | None
    broken: bool | None
    contradicted: tuple[float, float, float] | None
    attack: ThresholdAttack
    spent: PrivacySpent | None
    trainings: int
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS

    def __str__(self) -> str:
        own = self.attack
        failed = "".join(f"\n- {condition}" for condition in self.conditions if condition.holds is False)
        text = (
            f"eps >= {self.lower:.3g} at delta = {own.delta:g} with confidence {1 - own.alpha:g}, "
            f"from {own.hits} of {own.trials} against {own.false_hits} of {own.false_trials} runs (at "
            f"most {own.ceiling:.3g} can be shown)"
        )
        if self.upper is None:
            return text + failed
        text = f"{text}; the accountant's eps is {self.upper:.4g}"
        if self.contradicted is None:
            return f"{text}: no contradiction{failed}"
        delta, lower, upper = self.contradicted
        broken = f"BROKEN, at delta = {delta:.2g} eps is at least {lower:.3g}, but {upper:.3g} was promised"
        return f"{text}: {broken}{failed}"

    def _repr_html_(self) -> str:
        return preformatted(self)


def privacy_audit(
    train: Callable[[np.ndarray, np.ndarray | None, int], Any],
    x: ArrayLike,
    y: ArrayLike | None = None,
    canaries: tuple[ArrayLike, ArrayLike | None] | None = None,
    *,
    score: Callable[[Any, np.ndarray, Any], float] | None = None,
    trainings: int = 1000,
    noise: float | None = None,
    rate: float = 1.0,
    steps: int = 1,
    delta: float = 1e-5,
    alpha: float = 0.05,
    seed: int = 0,
) -> PrivacyAudit:
    """Train many times with and without a canary, and compare a lower bound on eps with an accountant's eps.

    The bound follows from the rates at which a score distinguishes the runs with a canary from the runs without. Each
    run draws one of the canaries. Half of the runs append this canary to the data. At a delta of 1e-5, a few runs give
    only a small lower bound, so the lower bound and the accountant's eps are compared at many deltas. The accountant's
    eps must hold at every delta, and the confidence limits of one event hold for all deltas together. So this
    comparison is valid. A lower bound above the accountant's eps shows that the implementation is wrong. A lower bound
    of 0 does not show privacy, because the attack may be weak.

    Args:
        train: train(x, y, seed) returns a model; all of its randomness must follow from the seed.
        x: the training rows.
        y: the targets of the rows; None if there are none.
        canaries: rows (k, ...) and their targets (k, ...), or None for the targets. By default, the canary is the row
            with the largest norm, combined with the target that differs most from the row's own target.
        score: a function score(model, row, target) that measures the fit of a model to a row, for example minus the
            loss. By default, the score is model(row, target).
        trainings: the number of training runs in all, at least 8.
        noise: the standard deviation of the noise in units of the clipping norm (see `privacy_spent`), if the training
            is meant to be private. With a noise, `rate` and `steps` describe the training, too.
        rate: the probability with which a row takes part in a step.
        steps: the number of steps.
        delta: the delta of (eps, delta)-privacy, inside (0, 1).
        alpha: the largest allowed probability that the lower bound is above the true eps.
        seed: the random seed of the choice of canaries and of all training runs.

    Raises:
        SettingError: for settings outside their range, for a `train` or `score` that cannot be called or that fails,
            and for the same reasons as `privacy_spent`.
        ShapeError: for rows, targets and canaries that do not fit each other.
        DataError: for scores that are not finite numbers.

    Example:
        >>> rows = np.random.default_rng(0).normal(size=(50, 3))
        >>> rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        >>> release = lambda x, y, seed: x.sum(axis=0) + 0.5 * np.random.default_rng(seed).normal(size=3)
        >>> found = privacy_audit(release, rows, score=lambda total, row, target: total @ row, noise=1.0)
        >>> print(found.broken, round(found.lower, 2), round(found.upper, 2))  # half the noise that it says
        True 1.81 4.38
    """
    trainings, delta, alpha = (
        whole("trainings", trainings, 8),
        inside("delta", delta, 0.0, 1.0),
        inside("alpha", alpha, 0.0, 1.0),
    )
    for name, function in (("train", train), ("score", train if score is None else score)):
        if not callable(function):
            raise SettingError(name, found=type(function).__name__, rule="a function")
    rows, targets = _table(x, y)
    chosen = _outlier(rows, targets) if canaries is None else _given(canaries, rows, targets)
    spent = None if noise is None else privacy_spent(noise, rate, steps, delta)
    judge: Callable[[Any, np.ndarray, Any], Any] = _called if score is None else score
    trained = lambda *given: answer_of("train", train, *given, rule="a function train(x, y, seed) that returns a model")
    judged = lambda *given: answer_of(
        "score" if score else "the model", judge, *given, rule="one number for a model, a row and its target"
    )
    draw = np.random.default_rng(whole("seed", seed))
    numbers = draw.choice(2**31, trainings, replace=False)
    scores: tuple[list[float], list[float]] = ([], [])
    for number, own in enumerate(numbers):
        place = int(draw.integers(len(chosen[0])))
        canary, target = chosen[0][place], None if chosen[1] is None else chosen[1][place]
        member = number % 2 == 0
        data: tuple = (_with(rows, canary), _with(targets, target)) if member else (rows, targets)
        scores[0 if member else 1].append(_number(judged(trained(*data, int(own)), canary, target)))
    attack = threshold_attack(np.array(scores[0]), np.array(scores[1]), delta, alpha)
    found = None if spent is None else _contradiction(attack, spent)
    return PrivacyAudit(
        lower=attack.eps,
        upper=None if spent is None else spent.eps,
        broken=None if spent is None else found is not None,
        contradicted=found,
        attack=attack,
        spent=spent,
        trainings=trainings,
        conditions=_conditions(scores, spent),
    )


def _contradiction(attack: ThresholdAttack, spent: PrivacySpent) -> tuple[float, float, float] | None:
    """Return the delta at which the bound most exceeds the accountant's eps, the bound and the eps, or None."""
    deltas = sorted({spent.delta, *_DELTAS})
    promised = budgets(spent.noise, spent.rate, spent.steps, deltas)
    found = [(delta, attack.at(delta), eps) for delta, eps in zip(deltas, promised, strict=True)]
    worst = max(found, key=lambda row: row[1] - row[2])
    return worst if worst[1] > worst[2] else None


def _called(model: Any, row: np.ndarray, target: Any) -> Any:
    return model(row, target)


def _table(x: ArrayLike, y: ArrayLike | None) -> tuple[np.ndarray, np.ndarray | None]:
    rows, targets = np.asarray(x), None if y is None else np.asarray(y)
    if rows.ndim < 1 or not len(rows):
        raise ShapeError("x", found=f"shape {rows.shape}", rule="at least one row")
    if targets is not None and (targets.ndim < 1 or len(targets) != len(rows)):
        raise ShapeError("y", found=f"shape {targets.shape}", rule=f"{len(rows)} targets, one for each row")
    return rows, targets


def _given(canaries: Any, rows: np.ndarray, targets: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    if not (isinstance(canaries, tuple | list) and len(canaries) == 2):
        raise ShapeError("canaries", found=type(canaries).__name__, rule="a pair (rows, targets), or (rows, None)")
    own, wanted = _table(*canaries)
    if own.shape[1:] != rows.shape[1:]:
        raise ShapeError(
            "canaries",
            found=f"rows of shape {own.shape[1:]}",
            rule=f"rows of shape {rows.shape[1:]}, the shape of the rows of x",
        )
    if (wanted is None) != (targets is None) or (wanted is not None and wanted.shape[1:] != targets.shape[1:]):  # pyright: ignore
        found = "none" if wanted is None else f"shape {wanted.shape[1:]}"
        expected = "none" if targets is None else f"shape {targets.shape[1:]}"
        raise ShapeError(
            "targets of canaries", found=found, rule=f"targets of shape {expected}, the shape of the targets y"
        )
    return own, wanted


def _outlier(rows: np.ndarray, targets: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the row with the largest norm, combined with the target that differs most from the row's own target."""
    size = np.abs(rows.reshape(len(rows), -1).astype(float)) ** 2
    place = int(size.sum(axis=1).argmax())
    if targets is None:
        return rows[place : place + 1], None
    own = targets[place]
    numeric = np.issubdtype(targets.dtype, np.number) and not np.issubdtype(targets.dtype, np.complexfloating)
    apart = np.abs(targets.astype(float) - own) if numeric else (targets != own).astype(float)
    other = int(apart.reshape(len(targets), -1).sum(axis=1).argmax())
    return rows[place : place + 1], targets[other : other + 1]


def _with(values: np.ndarray | None, extra: Any) -> Any:
    return None if values is None else np.concatenate([values, np.asarray(extra)[None]])


def _number(value: Any) -> float:
    try:
        number = float(np.asarray(value).item())
    except (TypeError, ValueError) as error:
        raise DataError(
            "score",
            found=repr(value)[:80],
            rule="one number for each model and row",
            remedy="let score return one number",
        ) from error
    if not math.isfinite(number):
        raise DataError("score", found=f"{number}", rule="a finite number", remedy="clip the loss to finite values")
    return number


def _conditions(scores: tuple[list, list], spent: PrivacySpent | None) -> tuple[Condition, ...]:
    distinct = len(set(scores[1]))
    why = "if training ignores its seed, all runs are the same run"
    found = (
        Condition("different scores without a canary", float(distinct), distinct > 1, why),
        Condition("runs with different seeds are independent", why="the exact limits"),
    )
    return found if spent is None else found + spent.conditions
