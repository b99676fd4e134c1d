"""Populations: the problems to which a claim applies, how they are drawn, and which hypotheses they satisfy."""

import abc
import typing
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Key

from ._answers import answer_by_values
from ._hypothesis import Hypothesis
from ._question import Question

P = TypeVar("P")


class Population(eqx.Module, Generic[P]):
    """A generator of the test problems of claims, with its settings, a sampler, and the problems' hypotheses.

    A population is a final, frozen class. Its fields contain values that differ between claims, such as a default size
    or a distribution. A claim names its population by, for example, `population = LinearDesigns(rows=40)`, and can add
    hypotheses.

    `settings` is the space of the named settings of a sampled problem. The space has the default setting, the allowed
    ranges, and the ranges of the extra settings that a verification visits. `settings` is a value (`settings =
    Space(n=...)`), or a method if it depends on fields. `hypotheses(problem)` evaluates every condition on a problem.
    The problem may come from a user. Two methods are optional. `pose(problem)` converts a user's data or model into a
    problem of this population, or returns None if this is impossible. `culprit(problem)` names, in words, the likely
    cause of a failed hypothesis.

    Attributes:
        drops: the share of sampled problems that may fail a hypothesis. A larger share is an error of the sampler,
            because a verdict on selected problems does not hold for the whole population.
    """

    if TYPE_CHECKING:  # not class variables, for the same reason as in `Claim`
        settings: Any = eqx.field(init=False)
        drops: ClassVar[float]
        pose: Question[[Any], P | None] | None = eqx.field(init=False)
        culprit: Question[[P], str | None] | None = eqx.field(init=False)
    else:
        settings: ClassVar[Any]
        drops: ClassVar[float] = 0.05
        pose: ClassVar[Any] = None
        culprit: ClassVar[Any] = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        answer_by_values(cls, ("settings",))

    @abc.abstractmethod
    def sample(self, setting: dict, key: Key[Array, ""]) -> P:
        """Draw a random problem at a setting."""

    @abc.abstractmethod
    def hypotheses(self, problem: P) -> list[Hypothesis]:
        """Evaluate the conditions on a problem."""

    @property
    def problem(self) -> type:
        """The type of the population's problems, from `class LinearDesigns(Population[LinearDesign])`."""
        for base in getattr(type(self), "__orig_bases__", ()):
            for argument in typing.get_args(base):
                if isinstance(argument, type):
                    return argument
        return object

    def posed(self, problem: Any) -> P | None:
        """The problem itself if it belongs to the population; otherwise the result of `pose`, or None."""
        if isinstance(problem, self.problem):
            return typing.cast(P, problem)
        return None if self.pose is None else self.pose(problem)

    def cause(self, problem: P) -> str | None:
        """The likely cause in this problem when a hypothesis fails, for example duplicate rows; None if unknown."""
        return None if self.culprit is None else self.culprit(problem)
