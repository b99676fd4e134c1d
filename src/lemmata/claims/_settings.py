"""Settings of a claim: named, typed, bounded; the default case and the region in which it speaks."""

import dataclasses
import difflib
from collections.abc import Mapping

from lemmata.errors import SettingError, UnknownNameError


@dataclasses.dataclass(frozen=True)
class Integer:
    """A whole number between `low` and `high`, both included."""

    default: int
    low: int
    high: int
    meaning: str = ""

    def check(self, name: str, value: object) -> int:
        """The value as an integer, or SettingError."""
        try:
            number = int(str(value)) if not isinstance(value, bool) else None
        except ValueError:
            number = None
        return _bounded(self, name, value, number, "a whole number")


@dataclasses.dataclass(frozen=True)
class Real:
    """A finite number between `low` and `high`, both included."""

    default: float
    low: float
    high: float
    meaning: str = ""

    def check(self, name: str, value: object) -> float:
        """The value as a float, or SettingError."""
        try:
            number = float(str(value))
        except ValueError:
            number = None
        return _bounded(self, name, value, number, "a number")


@dataclasses.dataclass(frozen=True)
class Choice:
    """One of a few named options."""

    default: str
    options: tuple[str, ...]
    meaning: str = ""

    def check(self, name: str, value: object) -> str:
        """The value as one of the options, or SettingError."""
        if str(value) not in self.options:
            raise SettingError(f"setting {name}", found=repr(value), rule=f"one of {', '.join(self.options)}")
        return str(value)


def _bounded(variable, name: str, value: object, number, kind: str):
    if number is None or not variable.low <= number <= variable.high:
        raise SettingError(
            f"setting {name}",
            found=repr(value),
            rule=f"{kind} from {variable.low} to {variable.high}",
            remedy=f"the default is {variable.default}",
        )
    return number


class Space:
    """The named settings of a claim.

    >>> Space(n=Integer(100, 2, 1000)).resolve({"n": "50"})
    {'n': 50}
    """

    def __init__(self, **variables: Integer | Real | Choice):
        self.variables = variables

    @property
    def default(self) -> dict:
        """Every setting at its default."""
        return {name: variable.default for name, variable in self.variables.items()}

    def resolve(self, given: Mapping[str, object] | None) -> dict:
        """The default with the given values in their places, each checked; SettingError or UnknownNameError."""
        setting = self.default
        for name, value in (given or {}).items():
            if name not in self.variables:
                near = difflib.get_close_matches(name, self.variables, n=1)
                raise UnknownNameError(
                    f"setting '{name}'",
                    rule=f"one of {', '.join(self.variables) or '(this claim has none)'}",
                    remedy=f"did you mean '{near[0]}'?" if near else None,
                )
            setting[name] = self.variables[name].check(name, value)
        return setting
