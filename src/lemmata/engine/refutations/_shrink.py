"""Simplify a counterexample by smaller settings, rounder numbers and zeros, as long as it stays a counterexample."""

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import numpy as np

from lemmata.engine.claims import Choice, Claim, Integer, Real, Space
from lemmata.errors import LemmataError

from ._ascent import Ascent
from ._confirm import confirm
from ._pressure import allowed, contradicts
from ._problem import Place, facts, with_fields

_ENTRIES = 64  # in a field with at most this number of entries, the entries are also changed one at a time
Again = Callable[[dict[str, Any]], Place | None]


def shrink(
    claim: Claim,
    place: Place,
    said: str,
    again: Again,
    until: float,
    fixed: frozenset[str],
    without: str | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> tuple[Place, str, int]:
    """A simpler counterexample, how it was confirmed, and how many simplifications were found.

    Args:
        claim: the claim.
        place: a counterexample.
        said: a text that says how the counterexample was confirmed.
        again: a function that runs a short search at another setting, and returns a counterexample or None.
        until: the time of the clock at which to stop.
        fixed: settings that are fixed.
        without: a hypothesis that need not hold.
        clock: a clock that counts seconds.
    """
    chain, found, tried = [place], True, set()
    space = claim.population.settings()
    while found and clock() < until:
        found = False
        for setting in smaller(space, chain[-1].setting, fixed):
            if clock() > until:
                break
            if tuple(setting.items()) in tried:
                continue
            tried.add(tuple(setting.items()))
            other = again(setting)
            if other is not None:
                chain.append(other)
                found = True
                break
    rounder, more = _rounder(claim, chain[-1], until, without, clock)
    simplest = [(rounder, len(chain) - 1 + more), *((chain[i], i) for i in reversed(range(1, len(chain))))]
    for other, steps in simplest if more else simplest[1:]:
        confirmed = confirm(claim, other, without)
        if confirmed is not None:
            return other, confirmed, steps
    return place, said, 0


def _rounder(
    claim: Claim, place: Place, until: float, without: str | None, clock: Callable[[], float]
) -> tuple[Place, int]:
    """The place of a problem with more zeros and rounder numbers, and the number of changes that led to it."""
    steps, found = 0, True
    holds = holds_up(claim, place, without)
    while found and clock() < until:
        found = False
        for fields in simpler(place.fields):
            if clock() > until:
                break
            if holds(fields):
                place, steps, found = dataclasses.replace(place, fields=fields), steps + 1, True
                break
    return place, steps


def holds_up(claim: Claim, place: Place, without: str | None = None) -> Callable[[dict[str, np.ndarray]], bool]:
    """Return a function of the free fields that tests whether the hypotheses hold and the claim fails."""
    problem, key = place.problem(claim), place.keys(claim)[1]
    if claim.traced and place.fields:
        ascent, arrays = Ascent(claim, problem, without), eqx.filter(problem, eqx.is_array)

        def compiled(fields: dict[str, np.ndarray]) -> bool:
            here = ascent.at(ascent.point_of(with_fields(problem, fields)), arrays, key)
            return here.holds and contradicts(claim, here.predicted, here.measured, here.condition)

        return compiled

    def plain(fields: dict[str, np.ndarray]) -> bool:
        try:
            own = facts(claim, with_fields(problem, fields), key)
        except Exception:  # a claim's own code may raise any error for numbers that were not drawn
            return False
        return allowed(own.hypotheses, without) and contradicts(claim, own.predicted, own.measured, own.condition)

    return plain


def smaller(space: Space, setting: dict[str, Any], fixed: frozenset[str]) -> Iterator[dict[str, Any]]:
    """Simpler settings that the rules allow: first with all variables or all sizes changed, then with one changed."""
    least = {name: _simpler(one, setting[name]) for name, one in space.variables.items() if name not in fixed}
    whole = {name: values[0] for name, values in least.items() if values}
    sizes = {name: value for name, value in whole.items() if isinstance(space.variables[name], Integer)}
    for bold in (whole, sizes):
        try:
            if bold:
                yield space.resolve({**setting, **bold})
        except LemmataError:
            continue
    for name, variable in space.variables.items():
        for value in [] if name in fixed else _simpler(variable, setting[name]):
            try:
                yield space.resolve({**setting, name: value})
            except LemmataError:
                continue


def _simpler(variable: Integer | Real | Choice, value: Any) -> list[Any]:
    if isinstance(variable, Choice):
        return [variable.options[0]] if value != variable.options[0] else []
    if isinstance(variable, Integer):
        step = variable.step
        low = -(-variable.low // step) * step
        tried = [low, (low + value) // 2 // step * step, value - step]
        return [one for one in dict.fromkeys(tried) if low <= one < value]
    rounder = [float(f"{value:.{digits}g}") for digits in (1, 2, 3)]
    own = len(f"{value!r}")
    return [one for one in [1.0, variable.default, *rounder] if one != value and len(f"{one!r}") < own]


def simpler(fields: dict[str, np.ndarray]) -> Iterator[dict[str, np.ndarray]]:
    """Values of fields with more zeros and rounder numbers than the given values, with the largest change first."""
    for name, value in fields.items():
        size = float(np.max(np.abs(value), initial=0.0))
        if not size > 0:
            continue
        changed = [
            np.abs(value),
            value / size,
            np.abs(value) / size,
            np.round(value),
            *(np.round(value, digits) for digits in (1, 2, 3)),
        ]
        changed += [np.where(np.abs(value) < share * size, 0.0, value) for share in (0.5, 0.2, 0.05, 1e-3)]
        if value.size <= _ENTRIES:
            for at in np.ndindex(value.shape):
                for rounded in (0.0, round(float(value[at])), round(float(value[at]), 1), round(float(value[at]), 3)):
                    other = np.array(value)
                    other[at] = rounded
                    changed.append(other)
        for other in map(np.asarray, changed):  # for an array without axes, NumPy's functions return numbers
            if _weight(other) < _weight(value):
                yield {**fields, name: other}


def _weight(value: np.ndarray) -> int:
    """The total length of the numbers of an array, written out: 0 for a zero, 1 for a small whole number."""
    return sum(0 if one == 0 else len(f"{float(one):.12g}") for one in np.ravel(value))
