"""Options of a command from the fields of a dataclass, so that they are typed once."""

import dataclasses
import inspect
import typing
from typing import Annotated, Any

import typer

Jobs = Annotated[int, typer.Option("--jobs", metavar="N", help="Processes, which share the cores.", min=1, max=64)]
"""How many processes of this machine a command uses."""

Dask = Annotated[
    str | None, typer.Option("--dask", metavar="ADDRESS", help="A Dask scheduler whose workers are used instead.")
]
"""The address of a scheduler, tcp://10.0.0.1:8786."""


def with_options(function: Any, kind: type) -> Any:
    """The command with the fields of a dataclass for its options, before its last two parameters.

    Args:
        function: takes the dataclass first, then its own parameters by name.
        kind: a dataclass whose fields are annotated with the words of the help.
    """
    hints = typing.get_type_hints(kind, include_extras=True)
    _, *parameters = inspect.signature(function).parameters.values()
    fields = dataclasses.fields(kind)
    several = {field.name for field in fields if field.default == ()}
    for field in fields:
        own, words = typing.get_args(hints[field.name])
        asked = Annotated[
            list[str] | None if field.name in several else own,
            typer.Option(f"--{field.name.replace('_', '-')}", help=words),
        ]
        default = None if field.name in several else field.default
        parameters.insert(
            -2,
            inspect.Parameter(field.name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=asked),
        )

    def command(**values: Any) -> None:
        told = {field.name: values.pop(field.name) for field in fields}
        told |= {name: tuple(told[name] or ()) for name in several}
        function(kind(**told), **values)

    command.__doc__ = function.__doc__
    command.__name__ = function.__name__.strip("_")
    command.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command
