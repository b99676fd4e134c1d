"""Problems with independently drawn fields. Each field is drawn from a named distribution ("law").

    population = Drawn(ShiftedNormal, positive("sigma"), shift=normal(), sigma=log_uniform(0.5, 2.0), n=rows(64))

A field of the problem is drawn from its law, or has the value of the setting with the field's name. Sizes and ends of
distributions are numbers or names of settings: `x=normal("n", "d")` is a table of n rows and d columns. An end or a
factor may also be a variable. This variable becomes a setting with the field's name: `beta=uniform(0.5, 1.0,
times=Real(1.5, 0.1, 8.0, "largest beta"))`.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
from lemmata.errors import UnknownNameError

Number = float | str | Real
Size = int | str
Condition = Callable[[Any], Hypothesis]


@dataclasses.dataclass(frozen=True)
class Law:
    """A distribution for an array of independent numbers.

    Args:
        drawn: a function of a key, a shape and the ends that draws the numbers.
        words: the distribution in words; {0} and {1} are the ends.
        ends: the ends or parameters of the distribution: numbers, names of settings, or variables.
        shape: the shape of the array; the name of a setting stands for its value.
        times: a factor by which all numbers are multiplied, or the name of a setting with this factor.
    """

    drawn: Callable[..., Array]
    words: str
    ends: tuple[Number, ...]
    shape: tuple[Size, ...]
    times: Number = 1.0

    def draw(self, setting: dict, key: Key[Array, ""]) -> Array:
        """Draw the array at a setting."""
        told = lambda value: setting[value] if isinstance(value, str) else value
        return told(self.times) * self.drawn(key, tuple(map(told, self.shape)), *map(told, self.ends))

    def named(self, field: str) -> "Law":
        """The distribution, with a variable replaced by the name of the field. The field's name is then a setting."""
        told = lambda value: field if isinstance(value, Real) else value
        return dataclasses.replace(self, ends=tuple(map(told, self.ends)), times=told(self.times))

    def __str__(self) -> str:
        factor = "" if self.times == 1.0 else f", times {self.times}"
        sizes = f" ({' x '.join(map(str, self.shape))})" if self.shape else ""
        return self.words.format(*self.ends) + factor + sizes


def normal(*shape: Size, times: Number = 1.0) -> Law:
    """Standard normal numbers, times a standard deviation.

    >>> print(normal("n", "d", times=3.0))
    normal, times 3.0 (n x d)
    """
    return Law(jax.random.normal, "normal", (), shape, times)


def uniform(low: Number, high: Number, *shape: Size, times: Number = 1.0) -> Law:
    """Numbers that are uniform between two ends."""
    return Law(_uniform, "uniform from {0} to {1}", (low, high), shape, times)


def log_uniform(low: Number, high: Number, *shape: Size, times: Number = 1.0) -> Law:
    """Positive numbers whose logarithm is uniform.

    >>> print(log_uniform(0.5, "most"))
    log-uniform from 0.5 to most
    """
    return Law(_log_uniform, "log-uniform from {0} to {1}", (low, high), shape, times)


def signs(*shape: Size) -> Law:
    """Independent random signs: -1 or 1, each with probability 1/2."""
    return Law(_signs, "signs", (), shape)


def _signs(key: Key[Array, ""], shape: tuple[int, ...]) -> Array:
    return jax.random.rademacher(key, shape, float)


def _uniform(key: Key[Array, ""], shape: tuple[int, ...], low: float, high: float) -> Array:
    return jax.random.uniform(key, shape, minval=low, maxval=high)


def _log_uniform(key: Key[Array, ""], shape: tuple[int, ...], low: float, high: float) -> Array:
    return low * (high / low) ** jax.random.uniform(key, shape)


def _variables(name: str, given: Law | Integer | Real | Choice) -> list[tuple[str, Integer | Real | Choice]]:
    """The variables that a field adds to the settings, with their names."""
    if isinstance(given, Law):
        return [(name, each) for each in (*given.ends, given.times) if isinstance(each, Real)]
    return [(name, given)]


def positive(field: str, why: str = "") -> Condition:
    """The condition that all numbers of a field are positive.

    Args:
        field: the name of a field of the problem.
        why: the reason for the condition.
    """
    return lambda problem: Hypothesis(f"{field} is positive", jnp.min(getattr(problem, field)), ">", 0.0, why)


class Drawn(Population[Any]):
    """Problems of one class, whose fields are drawn independently of each other.

    If only one field is drawn, it uses the problem's key. If several fields are drawn, each field has its own key. The
    keys are split off in the order of the fields.

    Args:
        of: the class of the problems.
        conditions: functions, each of which evaluates one hypothesis on a problem.
        free: fields that a search for counterexamples may move.
        pose: a function that converts a user's problem into a problem of this class, or returns None.
        rules: conditions on several settings at once: functions of a setting, by the words of the condition.
        fields: the distributions of fields, and variables, which become both settings and fields with their names.
    """

    of: type = eqx.field(static=True)
    conditions: tuple[Condition, ...] = eqx.field(static=True)
    movable: tuple[str, ...] = eqx.field(static=True)
    poser: Callable[[object], Any] | None = eqx.field(static=True)
    laws: dict[str, Law] = eqx.field(static=True)
    space: Space = eqx.field(static=True)

    def __init__(
        self,
        of: type,
        *conditions: Condition,
        free: tuple[str, ...] = (),
        pose: Callable[[object], Any] | None = None,
        rules: dict[str, Callable[[dict], bool]] | None = None,
        **fields: Law | Integer | Real | Choice,
    ):
        self.of, self.conditions, self.movable, self.poser = of, conditions, free, pose
        self.laws = {name: each.named(name) for name, each in fields.items() if isinstance(each, Law)}
        self.space = Space(**{name: each for own in fields.items() for name, each in _variables(*own)})
        for rule, holds in (rules or {}).items():
            self.space = self.space.where(rule, holds)
        known = {*self.space.variables, *(each.name for each in dataclasses.fields(of))}
        sizes = {name for law in self.laws.values() for name in (*law.shape, *law.ends, law.times)}
        for name in {*self.laws, *(name for name in sizes if isinstance(name, str))} - known:
            rule = f"a field or a setting: {', '.join(sorted(known))}"
            raise UnknownNameError(f"'{name}' of {of.__name__}", rule=rule, remedy="use one of these names")

    @property
    def problem(self) -> type:
        """The class of the problems."""
        return self.of

    @property
    def free(self) -> tuple[str, ...]:
        """Fields that a search for counterexamples may move."""
        return self.movable

    def settings(self) -> Space:
        return self.space

    def sample(self, setting: dict, key: Key[Array, ""]) -> Any:
        keys = [key] if len(self.laws) == 1 else jax.random.split(key, max(len(self.laws), 1))
        drawn: dict[str, Any] = {
            name: law.draw(setting, own) for (name, law), own in zip(self.laws.items(), keys, strict=False)
        }
        for field in dataclasses.fields(self.of):
            if field.name in setting and field.name not in drawn:
                given = setting[field.name]
                arrays = isinstance(given, float) and not field.metadata.get("static")
                drawn[field.name] = jnp.asarray(given) if arrays else given
        return self.of(**drawn)

    def pose(self, problem: object) -> Any:
        """Convert a user's problem to a problem of this class; None if that is impossible."""
        return None if self.poser is None else self.poser(problem)

    def hypotheses(self, problem: Any) -> list[Hypothesis]:
        return [condition(problem) for condition in self.conditions]
