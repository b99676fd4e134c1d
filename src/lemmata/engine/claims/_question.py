"""The type of a method of claims that subclasses may define or leave out."""

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

Asked = ParamSpec("Asked")
Answer = TypeVar("Answer", covariant=True)


class Question(Protocol[Asked, Answer]):
    """The type of a method, given by the types of its arguments and of its answer.

    A class may declare `measure: Question[[P, Key[Array, ""]], Any] | None`. Its subclasses can then define the method
    `measure(self, problem, key)` with any names of the arguments, or leave this method out. `Callable` cannot express
    this, because type checkers would take `self` for the first argument of such a method.
    """

    def __call__(self, owner: Any, /, *asked: Asked.args, **named: Asked.kwargs) -> Answer: ...

    def __get__(self, owner: object, kind: type | None = None, /) -> Callable[Asked, Answer]: ...
