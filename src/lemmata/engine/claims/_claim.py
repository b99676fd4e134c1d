"""The parts that a result of theory needs so that lemmata can test it as a claim."""

import dataclasses
import enum
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

import equinox as eqx
from jaxtyping import Array, Key

from lemmata.engine.catalogue import spelled

from ._answers import answer_by_values
from ._hypothesis import Hypothesis
from ._kind import Kind
from ._passage import Passage, Reading
from ._population import Population
from ._question import Question
from ._relations import Relation
from ._source import Source

P = TypeVar("P")


class Status(enum.StrEnum):
    """The possible results of a verification."""

    SUPPORTED = "supported"
    VACUOUS = "vacuous"
    REFUTED = "refuted"
    INCONCLUSIVE = "inconclusive"
    INAPPLICABLE = "inapplicable"
    OUTSIDE = "outside"
    FAILS_OUTSIDE = "fails outside"
    FAILED = "failed"

    @property
    def remedy(self) -> str:
        """The advice for the next step."""
        return {
            "supported": (
                'Nothing to do. "Supported" does not mean "proved": the verdict covers only the sampled problems.'
            ),
            "vacuous": (
                "The bound held, but it is no better than the trivial value here. Sample larger "
                "problems, or state a sharper bound."
            ),
            "refuted": ("Replay the worst trial by its seed and number. Check the statement first, and then the code."),
            "inconclusive": (
                "If the reason names a number of trials, raise the budget. Otherwise sample more informative problems."
            ),
            "inapplicable": "Change the setting or the problem so that the named hypothesis holds.",
            "outside": "A hypothesis is known to be false here, but the conclusion still holds.",
            "fails outside": "A hypothesis is known to be false here, and the conclusion is false, too.",
            "failed": (
                "The claim's code, a solver or the machine failed. The reason says how. The failure says nothing about "
                "the statement."
            ),
        }[self.value]


@dataclasses.dataclass(frozen=True)
class Control:
    """A false statement near a claim. The trials of the claim must refute this statement.

    Args:
        statement: the false statement in words.
        predict: a function that computes the false prediction from the claim's own prediction and the problem.
        loose: the reason why the trials refute no false statement that is nearer to the claim. The reason is required
            if the control is farther from the claim than a factor 4 (or 1/2 in an exponent). The reason is also
            required if the control leaves a component unchanged, or if fewer than a tenth of the trials refute the
            control.
    """

    statement: str
    predict: Callable[[Any, Any], Any]
    loose: str = ""


class Claim(eqx.Module, Generic[P]):
    """A result of theory as code that can be tested.

    A claim is a final class. Its docstring is the statement, which must be understandable alone. Class attributes give
    the source of the claim and the way in which it is judged. Methods compute the prediction and the measurement.
    `predict` and `measure` share only the problem.

    A claim must define `predict`, and either `measure` or `measure_at`. A bound must also define `trivial`.

    * predict(problem): the value that the theorem gives.
    * measure(problem, key): the true value, by an algorithm that shares no code with `predict`. For a sequence of
      sizes, define measure_at(problem, key, rung) instead: the value at one size, with its own key.
    * trivial(problem): the value that holds without the theorem, such as 1 for a probability. A bound beyond this value
      is vacuous. If there is no such value, state the reason: `trivial = "the quantity has no bound of its own"`.
    * hypotheses(problem): conditions of the theorem, in addition to the conditions of the population. Optional.
    * condition(problem): the condition number of the computation, as one number or as one number for each component.
      Rounding errors of a few eps times this number do not count as misses. Optional; 1 if it is not given.

    `predict`, `trivial` and `condition` may be numbers or tuples of numbers if they are equal for all problems:
    `predict = -0.5`.

    Attributes:
        title: a short name in words.
        source: the place in the literature that states the result.
        population: the generator of test problems that the claim is about.
        relation: the rule by which prediction and measurement are compared, such as `AtMost()`.
        control: a false statement near the claim, which the same trials must refute.
        controls: the quantity that the result predicts or bounds.
        unexplained: what the result does not explain.
        reading: how words of the source were interpreted, for example O(.) as a factor 1; empty if no word needed an
            interpretation.
        passage: the source's own words, if the claim refutes them.
        readings: the ways in which the source's words may be read, each with the result of testing this reading.
        stated: the kind of the statement, if the source's locator does not show it.
        trials: the number of trials if support depends on the spread of a measurement; bounds and identities compute
            this number themselves.
        traced: True if the methods are JAX functions, so that trials run as jit(vmap) over keys.
        of_data: False if the population accepts a user's data, but the claim says nothing about them. Examples are
            steps of a proof and numerical facts.
        expected: the status with which a verification must end. Set it to refuted for false words of a source, for
            false folklore, and for a false statement of our own. False words of a source also need `passage`.
        corrects: the claim that this claim corrects. The corrected claim states the words as printed in the source.
    """

    title: ClassVar[str] = ""
    source: ClassVar[Source]
    population: ClassVar[Population]
    relation: ClassVar[Relation]
    control: ClassVar[Control]
    controls: ClassVar[str] = ""
    unexplained: ClassVar[str] = ""
    reading: ClassVar[str] = ""
    passage: ClassVar[Passage | None] = None
    readings: ClassVar[tuple[Reading, ...]] = ()
    stated: ClassVar[Kind | None] = None
    trials: ClassVar[int | None] = None
    traced: ClassVar[bool] = True
    of_data: ClassVar[bool] = True
    expected: ClassVar[Status] = Status.SUPPORTED
    corrects: "ClassVar[type[Claim] | None]" = None

    if TYPE_CHECKING:  # not class variables, because for type checkers, a method cannot override a class variable
        predict: Any = eqx.field(init=False)
        measure: Question[[P, Key[Array, ""]], Any] | None = eqx.field(init=False)
        measure_at: Question[[P, Key[Array, ""], Any], Any] | None = eqx.field(init=False)
        hypotheses: Question[[P], Sequence[Hypothesis]] | None = eqx.field(init=False)
        trivial: Any = eqx.field(init=False)
        condition: Any = eqx.field(init=False)
    else:
        predict: ClassVar[Any] = None
        measure: ClassVar[Any] = None
        measure_at: ClassVar[Any] = None
        hypotheses: ClassVar[Any] = None
        trivial: ClassVar[Any] = None
        condition: ClassVar[Any] = None

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        answer_by_values(cls, ("predict", "trivial", "condition"))

    @property
    def name(self) -> str:
        """The public name: the path of the section, then the name of the class in snake case."""
        return name_of(type(self))

    @property
    def statement(self) -> str:
        """The statement in words: the docstring of the class."""
        return inspect.cleandoc(type(self).__doc__ or "")

    @property
    def kind(self) -> Kind:
        """The kind of the statement: theorem, lemma, step, ...

        A claim that corrects another claim is a repair. Otherwise, `stated` or the source's locator gives the kind.
        """
        if self.corrects is not None:
            return Kind.REPAIR
        return self.stated or self.source.kind or Kind.STEP


def name_of(claim: type[Claim]) -> str:
    """The public name of a claim's class: the path of the section, then the class name in snake case."""
    section = claim.__module__.removeprefix("lemmata.subjects.")
    return f"{section}.{spelled(claim.__name__)}"
