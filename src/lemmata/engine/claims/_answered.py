"""Check what a claim's methods return on a sampled problem (their answers), before the trials of the claim run."""

import weakref
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.errors import ClaimError, shortened

from ._claim import Claim
from ._declared import check_declared
from ._hypothesis import Hypothesis
from ._registry import file_of
from ._trials import trial_key


def check_answers(claim: Claim, file: str | None = None) -> None:
    """Check the answers of a claim's methods.

    For a claim in JAX, only shapes and types are checked. For other claims, the values are checked.

    If a method raises an error, the check ends, because the trials of the claim will report this error.

    Args:
        claim: the claim.
        file: the file of the claim, for error messages.

    Raises:
        ClaimError: for the first answer that no trial can use. The message names the method.
    """
    name = f"claim {type(claim).__name__}" + (f" in {file}" if file else "")
    try:
        _check_answers(claim, partial(_asked, name, claim.traced))
    except _RaisedError:
        return


class _RaisedError(Exception):
    """Raised if a method of the claim raised an exception or tried to end the process."""


def _check_answers(claim: Claim, told: Callable[..., Any]) -> None:
    kind, wanted = type(claim.population).__name__, claim.population.problem
    setting = claim.population.settings().resolve(None)
    keys = jax.random.split(trial_key(claim, 0, 0))
    is_problem = lambda value: None if isinstance(value, wanted) else _told(value)
    sample = lambda key: claim.population.sample(setting, key)
    problem = told(f"population {kind}, sample", sample, keys[0], check=is_problem, rule=f"a {wanted.__name__}")
    conditions = {"check": _conditions, "rule": "a list of Hypothesis"}
    told(f"population {kind}, hypotheses", claim.population.hypotheses, problem, **conditions)
    if claim.hypotheses is not None:
        told("hypotheses", claim.hypotheses, problem, **conditions)
    predicted = told("predict", claim.predict, problem)
    told("control (predict)", claim.control.predict, predicted, problem)
    for method in ("condition", "trivial"):
        if callable(getattr(claim, method)):
            told(method, getattr(claim, method), problem)
    if claim.measure is not None:
        told("measure", claim.measure, problem, keys[1])
    for rung in claim.relation.rungs if claim.measure_at is not None else ():
        own: Any = lambda problem, key, rung=rung: claim.measure_at(problem, key, rung)  # pyright: ignore
        told("measure_at", own, problem, keys[1])


def _numbers(value: Any) -> str | None:
    """The fault of an answer that should consist of numbers; None if there is no fault."""
    if value is None or isinstance(value, str | bytes | dict | set):
        return _told(value)
    try:
        found = value if hasattr(value, "dtype") else np.asarray(value)
    except ValueError:
        return "lists of different lengths"
    if jnp.issubdtype(found.dtype, jnp.complexfloating):
        return f"complex numbers, {found.dtype}"
    real = jnp.issubdtype(found.dtype, jnp.number) or found.dtype == np.bool_
    return None if real else f"an array of {found.dtype}"


def _conditions(value: Any) -> str | None:
    if not isinstance(value, list | tuple):
        return _told(value)
    strange = [own for own in value if not isinstance(own, Hypothesis)]
    return f"a list that contains {_told(strange[0])}" if strange else None


def _asked(
    name: str, traced: bool, method: str, function: Callable[..., Any], *arguments: Any,
    check: Callable[[Any], str | None] = _numbers, rule: str = "a number, or an array of real numbers",
) -> Any:  # fmt: skip
    """Return the answer of a method, or only its shapes and types. Raise ClaimError if no trial can use the answer.

    A function that JAX traces cannot return a value that is not an array. So the value is checked inside the function.
    """
    wrong: list[str | None] = []

    def answered(*given: Any) -> Any:
        value = function(*given)
        wrong.append(check(value))
        if wrong[-1] or check is _conditions:
            return None
        return jnp.asarray(value, float) if check is _numbers else value

    try:
        answer = jax.eval_shape(answered, *arguments) if traced else answered(*arguments)
    except (Exception, SystemExit) as error:  # a claim's own code may raise any error, or end the process
        raise _RaisedError from error
    if wrong and wrong[-1]:
        raise ClaimError(f"{name}, {method}", found=wrong[-1], rule=rule, remedy=f"return {rule} from this method")
    return answer


def _told(value: Any) -> str:
    return "None" if value is None else shortened(f"{type(value).__name__} {value!r}")


def check_foreign(claim: Claim, calling: bool = True) -> None:
    """Check the declarations and answers of a claim. Claims of lemmata are skipped, because the tests check them.

    Args:
        claim: the claim.
        calling: whether methods that are not written in JAX are called, too. Such a method may hang or end the process.
            So if other processes wait for this process, leave these calls to the process that runs the trials.

    Raises:
        ClaimError: for the first fault that is found.
    """
    if type(claim).__module__.startswith("lemmata.") or type(claim) in _CHECKED:
        return
    check_declared(type(claim), file_of(claim))
    if not (calling or claim.traced):
        return
    check_answers(claim, file_of(claim))
    _CHECKED.add(type(claim))


_CHECKED = weakref.WeakSet[type]()
"""Classes of claims that passed the check. Such a class is not checked again, because the check may take long."""
