"""The region of settings that a search for counterexamples covers, and settings in this region."""

from typing import Any

import numpy as np
import optuna

from lemmata.engine.claims import Choice, Integer, Real, Space
from lemmata.errors import LemmataError

_TRIES = 100
Variable = Integer | Real | Choice


def ends(variable: Variable, reach: float = 4.0) -> tuple[Any, Any]:
    """The ends of the search region of a setting's variable, within its declared range.

    The lower end is the smallest value of the declared range. The upper end is `reach` times the default, or the upper
    end of the extra settings if this is larger.
    """
    if isinstance(variable, Choice):
        return variable.options[0], variable.options[-1]
    corner = variable.corners[1] if variable.corners else 0
    high = min(variable.high, max(corner, reach * abs(variable.default), variable.low))
    if isinstance(variable, Real):
        return variable.low, high
    return -(-variable.low // variable.step) * variable.step, int(high) // variable.step * variable.step


def beginnings(space: Space) -> list[dict[str, Any]]:
    """The first settings of a search: the default, the smallest, and both of these with each option of each choice."""
    smallest = {name: ends(one)[0] for name, one in space.variables.items()}
    found = [space.default, smallest]
    for name, variable in space.variables.items():
        for option in variable.options if isinstance(variable, Choice) else ():
            found += [{**smallest, name: option}, {**space.default, name: option}]
    return [own for i, own in enumerate(found) if own not in found[:i]]


def anywhere(space: Space, fixed: dict[str, Any], reach: float, rng: np.random.Generator) -> dict[str, Any] | None:
    """A random setting, uniform or log-uniform in the region; None if the rules exclude nearly all settings."""
    for _ in range(_TRIES):
        even, own = rng.random() < 0.5, {}
        for name, variable in space.variables.items():
            low, high = ends(variable, reach)
            if name in fixed:
                own[name] = fixed[name]
                continue
            if isinstance(variable, Choice):
                own[name] = str(rng.choice(variable.options))
                continue
            value = float(
                rng.uniform(low, high) if even or low <= 0 else np.exp(rng.uniform(np.log(low), np.log(high)))
            )
            whole = isinstance(variable, Integer)
            own[name] = max(low, round(value) // variable.step * variable.step) if whole else min(max(value, low), high)
        if (found := _resolved(space, own)) is not None:
            return found
    return None


def steps_of(space: Space, setting: dict[str, Any]) -> dict[str, Any]:
    """A setting in the units in which Optuna stores it: a whole number is divided by the step of its variable."""
    pairs = ((name, value, space.variables[name]) for name, value in setting.items())
    return {name: value // one.step if isinstance(one, Integer) else value for name, value, one in pairs}


def suggested(space: Space, asked: optuna.Trial, fixed: dict[str, Any], reach: float) -> dict[str, Any] | None:
    """A setting that Optuna suggests; None if the suggestion breaks the rules of the space."""
    own: dict[str, Any] = {}
    for name, variable in space.variables.items():
        low, high = ends(variable, reach)
        if name in fixed:
            own[name] = fixed[name]
        elif isinstance(variable, Choice):
            own[name] = asked.suggest_categorical(name, variable.options)
        elif isinstance(variable, Integer):
            step = variable.step
            own[name] = step * asked.suggest_int(name, low // step, high // step, log=low // step >= 1)
        else:
            own[name] = asked.suggest_float(name, low, high, log=low > 0)
    return _resolved(space, own)


def beside(
    space: Space, setting: dict[str, Any], moved: list[str], count: int, rng: np.random.Generator
) -> list[dict[str, Any]]:
    """Return `count` settings that differ from a given setting only in some of its real numbers.

    The list `moved` contains the names of these numbers. A new number is near the given number, or anywhere in the
    region. If the rules of the space forbid a new setting, the given setting takes its place.
    """
    found = []
    for _ in range(count if moved else 0):
        other = dict(setting)
        for name in moved:
            low, high = ends(space.variables[name])
            if rng.random() < 0.5:
                other[name] = float(np.clip(other[name] * np.exp(0.1 * rng.normal()), low, high))
            elif low > 0 and rng.random() < 0.5:
                other[name] = float(np.exp(rng.uniform(np.log(low), np.log(high))))
            else:
                other[name] = float(rng.uniform(low, high))
        found.append(_resolved(space, other) or setting)
    return found or [setting] * count


def _resolved(space: Space, setting: dict[str, Any]) -> dict[str, Any] | None:
    try:
        return space.resolve(setting)
    except LemmataError:
        return None
