"""Check the arguments with which claims are verified or searched in Python."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from lemmata.core import check_executor, check_real, check_whole
from lemmata.errors import SettingError, shortened

from ._claim import Claim

MOST_SEED = 2**32 - 1
"""The largest seed that every random number generator accepts."""


def check_asked(claim: object, setting: object, seed: Any, executor: Any) -> None:
    """Raise an error if an argument of a verification or a search has a wrong type or is out of bounds.

    Args:
        claim: the claim.
        setting: values of settings by name; None for the defaults.
        seed: the seed of all randomness.
        executor: where trials run; None for this process.

    Raises:
        SettingError: for the first argument that cannot be used.
    """
    _check_claim(claim)
    if setting is not None and not isinstance(setting, Mapping):
        found, remedy = shortened(repr(setting)), "pass a dictionary, such as setting={'n': 3}"
        raise SettingError("setting", found=found, rule="values by the names of settings", remedy=remedy)
    check_whole("seed", seed, 0, "any kind")
    if seed > MOST_SEED:
        raise SettingError("seed", found=seed, rule=f"a whole number from 0 to {MOST_SEED}")
    if executor is not None:
        check_executor(executor)


def check_judging(budget: Any, corners: Any, level: Any) -> None:
    """Raise an error if a number of a verification has a wrong type or is out of bounds.

    Args:
        budget: the number of trials; None for the default.
        corners: the number of extra settings at which the claim is also tested; None for the default.
        level: the probability of refuting a true statement.

    Raises:
        SettingError: for the first number that cannot be used.
    """
    if budget is not None:
        check_whole("budget", budget, 1, "trials")
    if corners is not None:
        check_whole("corners", corners, 0, "extra settings")
    rule = "a probability above 0 and below 0.5"
    check_real("level", level, rule, lambda numbers: (numbers > 0) & (numbers < 0.5))


def checked_claims(claims: object) -> list[Claim]:
    """The argument `claims` as a list.

    Args:
        claims: an argument of any type.

    Raises:
        SettingError: for a single claim, or for a list with an entry that is not a claim.
    """
    if isinstance(claims, Claim | str) or inspect.isclass(claims) or not isinstance(claims, Iterable):
        found = "a single claim" if isinstance(claims, Claim) else f"a {type(claims).__name__}"
        remedy = "put the single claim into a list, as in [claim], or pass find(NAME)"
        raise SettingError("claims", found=found, rule="a list of claims", remedy=remedy)
    own = list(claims)
    for claim in own:
        _check_claim(claim)
    return own


def _check_claim(claim: object) -> None:
    if isinstance(claim, Claim):
        return
    found, remedy = f"a {type(claim).__name__}", "pass a claim, such as find(NAME)[0]"
    if isinstance(claim, str):
        found, remedy = f"the text {shortened(claim)!r}", f"pass find({shortened(claim)!r})[0]"
    elif inspect.isclass(claim):
        found, remedy = f"the class {claim.__name__}", f"pass an object of the class: {claim.__name__}()"
    elif isinstance(claim, list | tuple):
        remedy = "pass the claims one at a time, or call verify_all"
    raise SettingError("claim", found=found, rule="an object whose class derives from Claim", remedy=remedy)
