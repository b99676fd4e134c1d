"""Parallel searches in an executor, for several claims, or for one claim from several seeds."""

import dataclasses
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor
from typing import Any

from lemmata.engine.claims import Claim, received, sent
from lemmata.errors import SolverError
from lemmata.workers import Lost, finished

from ._found import Counterexample, Searched, Survived, Untested

_APART = 10_007
"""The difference between the seeds of two successive searches for the same claim."""


def seed_of(seed: int, number: int) -> int:
    """The seed of a search. The first search has the caller's seed."""
    return seed + number * _APART


def searches(
    executor: Executor | None, search: Callable[..., Searched], claims: Iterable[Claim], budget: float,
    *, each: int = 1, seed: int = 0, told: Callable[[str], None] = lambda name: None, **options: Any,
) -> Iterator[tuple[str, Searched | Lost]]:  # fmt: skip
    """Search each claim several times with different seeds. Yield the outcome of a claim as soon as it is known.

    The outcome is the first counterexample. If none is found, the outcome has the total number of searched settings,
    and the largest ratio of all searches. A search that is lost with its worker is left out with a warning. If all
    searches of a claim are lost, the outcome is `Lost`.

    Args:
        executor: where searches run, one task for each search; None means in this process.
        search: `refute`.
        claims: claims with different names.
        budget: the seconds for each search.
        each: the number of searches for each claim.
        seed: the seed of all randomness.
        told: a function that is called after each search with the name of its claim.
        options: further arguments of `refute`.
    """
    tasks = [
        ((claim.name, number), (search, sent(claim), budget, {"seed": seed_of(seed, number), **options}))
        for claim in claims
        for number in range(each)
    ]
    found: dict[str, list[Searched | Lost]] = {}
    for (name, number), own in finished(executor, _searched, tasks):
        told(name)
        known = found.setdefault(name, [])
        if any(isinstance(other, Counterexample) for other in known):
            continue
        known.append(own)
        if isinstance(own, Lost) and each > 1:
            what = f"{name}: search {number} of {each} failed ({own.error}), but the other searches continue"
            warnings.warn(what, RuntimeWarning, stacklevel=2)
        if isinstance(own, Counterexample) or len(known) == each:
            yield name, _together(name, known)


def _searched(search: Callable[..., Searched], claim: Claim | str, budget: float, options: dict[str, Any]) -> Searched:
    return search(received(claim), budget, **options)


def _together(name: str, found: list[Searched | Lost]) -> Searched | Lost:
    """Combine the results of several searches for one claim."""
    for own in found:
        if isinstance(own, Counterexample):
            return own
    survived = [own for own in found if isinstance(own, Survived)]
    if not survived:
        untested = [own for own in found if isinstance(own, Untested)]
        if untested:
            return untested[0]
        lost = next(own for own in found if isinstance(own, Lost))
        return Lost(name, lost.error)
    best = max(survived, key=lambda own: -1.0 if own.ratio is None else own.ratio)
    total = lambda field: sum(getattr(own, field) for own in survived)
    return dataclasses.replace(
        best, settings=total("settings"), trials=total("trials"), climbed=total("climbed"), failed=total("failed"),
        seconds=max(own.seconds for own in survived), unstored=max(own.unstored for own in survived),
    )  # fmt: skip


def widely(
    executor: Executor, search: Callable[..., Searched], claim: Claim, budget: float, **options: Any
) -> Searched:
    """Search one claim several times in an executor, with a seed for each worker.

    Raises:
        SolverError: if all searches failed.
    """
    each = getattr(executor, "_max_workers", 2)
    for _, found in searches(executor, search, [claim], budget, each=each, **options):
        if isinstance(found, Lost):
            raise SolverError(
                f"the search for a counterexample to {claim.name}",
                found=found.error,
                rule="a search that ends without an error",
            )
        return found
    raise AssertionError("a claim must have an outcome")
