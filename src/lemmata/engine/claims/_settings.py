"""Named, typed and bounded settings of a population (a generator of test problems), and extra settings to test."""

import dataclasses
import difflib
import math
from collections.abc import Callable, Mapping

import numpy as np

from lemmata.errors import SettingError, UnknownNameError

_DRAWS = 200  # attempts to draw a corner that satisfies the rules of a space


@dataclasses.dataclass(frozen=True)
class Integer:
    """A whole number between `low` and `high`, both included.

    Args:
        default: the value of the setting if none is given.
        low, high: the ends of the range in which the claims hold.
        meaning: the meaning of the number, in words.
        step: the number must be a multiple of `step`.
        corners: the ends of the cheap part of the range. Verifications draw extra settings from this part. None means
            from half to twice the default.
    """

    default: int
    low: int
    high: int
    meaning: str = ""
    step: int = 1
    corners: tuple[int, int] | None = None

    def check(self, name: str, value: object) -> int:
        """Return the value as an integer, or raise SettingError."""
        try:
            number = int(str(value)) if not isinstance(value, bool) else None
        except ValueError:
            number = None
        if number is not None and number % self.step:
            number = None
        kind = "a whole number" if self.step == 1 else f"a multiple of {self.step}"
        return _bounded(self, name, value, number, kind)

    def corner(self, rng: np.random.Generator) -> int:
        """Draw a number from the range of extra settings, uniformly on a log scale if the range is positive."""
        low, high = _region(self)
        drawn = round(_between(rng, low, high) / self.step) * self.step
        return int(min(max(drawn, math.ceil(low / self.step) * self.step), math.floor(high / self.step) * self.step))


@dataclasses.dataclass(frozen=True)
class Real:
    """A finite number between `low` and `high`, both included; `corners` has the same meaning as for `Integer`."""

    default: float
    low: float
    high: float
    meaning: str = ""
    corners: tuple[float, float] | None = None

    def check(self, name: str, value: object) -> float:
        """Return the value as a float, or raise SettingError."""
        try:
            number = float(str(value))
        except ValueError:
            number = None
        return _bounded(self, name, value, number, "a number")

    def corner(self, rng: np.random.Generator) -> float:
        """Draw a number of three digits from the range of extra settings, on a log scale if the range is positive."""
        low, high = _region(self)
        return min(max(float(f"{_between(rng, low, high):.3g}"), low), high)


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of a few named options. Verifications draw extra settings from `corners`, by default from all options."""

    default: str
    options: tuple[str, ...]
    meaning: str = ""
    corners: tuple[str, ...] = ()

    def check(self, name: str, value: object) -> str:
        """Return the value as one of the options, or raise SettingError."""
        if str(value) not in self.options:
            raise SettingError(f"setting {name}", found=repr(value), rule=f"one of {', '.join(self.options)}")
        return str(value)

    def corner(self, rng: np.random.Generator) -> str:
        """Draw one of the options for extra settings."""
        options = self.corners or self.options
        return options[int(rng.integers(len(options)))]


Variable = Integer | Real | Choice


def _region(variable: Integer | Real) -> tuple[float, float]:
    """The range of extra settings: the declared `corners`, or else from half to twice the default within the bounds."""
    if variable.corners is not None:
        return float(variable.corners[0]), float(variable.corners[1])
    ends = sorted((variable.default / 2, variable.default * 2))
    return float(max(variable.low, ends[0])), float(min(variable.high, ends[1]))


def _between(rng: np.random.Generator, low: float, high: float) -> float:
    share = rng.uniform()
    return low * (high / low) ** share if low > 0 else low + (high - low) * share


def _bounded(variable, name: str, value: object, number, kind: str):
    if number is None or not variable.low <= number <= variable.high:
        raise SettingError(
            f"setting {name}",
            found=repr(value),
            rule=f"{kind} from {variable.low} to {variable.high}",
            remedy=f"choose a value in this range; the default is {variable.default}",
        )
    return number


class Space:
    """The named settings of a population, and rules that they must satisfy together.

    >>> Space(n=Integer(100, 2, 1000)).resolve({"n": "50"})
    {'n': 50}
    """

    def __init__(self, **variables: Variable):
        self.variables = variables
        self.rules: dict[str, Callable[[dict], bool]] = {}

    def where(self, rule: str, holds: Callable[[dict], bool]) -> "Space":
        """Return the space with one more rule on several settings.

        `rule` is the rule in words. `holds` is a function of a setting that returns whether the rule holds.

        >>> space = Space(n=Integer(8, 1, 64), d=Integer(4, 1, 64)).where("n is above d", lambda s: s["n"] > s["d"])
        >>> space.resolve({"n": 3})
        Traceback (most recent call last):
        ...
        lemmata.errors.SettingError: settings n=3, d=4; rule: n is above d
        """
        narrowed = Space(**self.variables)
        narrowed.rules = {**self.rules, rule: holds}
        return narrowed

    @property
    def default(self) -> dict:
        """The default values of all settings."""
        return {name: variable.default for name, variable in self.variables.items()}

    def resolve(self, given: Mapping[str, object] | None) -> dict:
        """The default setting, with the given values in place of the defaults.

        Each value is checked. The method raises SettingError for a wrong value, and UnknownNameError for a wrong name.
        """
        setting = self.default
        for name, value in (given or {}).items():
            if name not in self.variables:
                near = difflib.get_close_matches(name, self.variables, n=1)
                raise UnknownNameError(
                    f"setting '{name}'",
                    rule=f"one of {', '.join(self.variables)}"
                    if self.variables
                    else "no settings: this claim has none",
                    remedy=f"did you mean '{near[0]}'?" if near else None,
                )
            setting[name] = self.variables[name].check(name, value)
        for rule, holds in self.rules.items():
            if not holds(setting):
                shown = ", ".join(f"{name}={value}" for name, value in setting.items())
                raise SettingError(f"settings {shown}", rule=rule)
        return setting

    def corners(self, count: int, seed: int) -> list[dict]:
        """Draw distinct settings other than the default from the ranges of extra settings.

        The result may have fewer than `count` settings if not enough settings are found.
        """
        rng, found = np.random.default_rng(seed), []
        for _ in range(_DRAWS if self.variables and count else 0):
            setting = {name: variable.corner(rng) for name, variable in self.variables.items()}
            allowed = all(holds(setting) for holds in self.rules.values())
            if allowed and setting != self.default and setting not in found:
                found.append(setting)
            if len(found) == count:
                break
        return found
