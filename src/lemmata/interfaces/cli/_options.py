"""Make the options of a command from the fields of a dataclass, so that each option is written only once."""

import dataclasses
import inspect
import typing
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from lemmata.errors import SettingError

Jobs = Annotated[
    int, typer.Option("--jobs", metavar="N", help="Number of processes; they share the cores.", min=1, max=64)
]
"""The number of processes of this machine that a command uses."""

Dask = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS",
        help=(
            "Address HOST:PORT of a Dask scheduler, or its scheduler file. The scheduler's workers then do the "
            "computation."
        ),
    ),
]
"""The address of a scheduler, such as tcp://10.0.0.1:8786, or the scheduler's file."""


def with_options(function: Any, *kinds: type) -> Any:
    """Return a command with the fields of dataclasses as options.

    These options come before the command's last two parameters.

    Args:
        function: a function that takes one instance of each dataclass first, then its own parameters by name.
        kinds: dataclasses whose fields are annotated with their help text or with a `typer.Option`. A field that two
            dataclasses share becomes one option.
    """
    parameters = list(inspect.signature(function).parameters.values())[len(kinds) :]
    found = {field.name: (kind, field) for kind in kinds for field in dataclasses.fields(kind)}
    several = {name for name, (_, field) in found.items() if field.default == ()}
    for name, (kind, field) in found.items():
        own, words = typing.get_args(typing.get_type_hints(kind, include_extras=True)[name])
        option = words if isinstance(words, OptionInfo) else typer.Option(f"--{name.replace('_', '-')}", help=words)
        own = str | None if own is Any else own  # in Python, the option also accepts objects
        asked = Annotated[list[str] | None if name in several else own, option]
        default = None if name in several else field.default
        parameters.insert(
            -2, inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default, annotation=asked)
        )

    def command(**values: Any) -> None:
        told = {name: values.pop(name) for name in found}
        told |= {name: tuple(told[name] or ()) for name in several}
        options = [kind(**{field.name: told[field.name] for field in dataclasses.fields(kind)}) for kind in kinds]
        function(*options, **values)

    command.__doc__ = function.__doc__
    command.__name__ = function.__name__.strip("_")
    command.__signature__ = inspect.Signature(parameters)  # pyright: ignore[reportFunctionMemberAccess]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def parse_settings(pairs: list[str] | None) -> dict[str, str]:
    """Return NAME=VALUE pairs as a dictionary; raise SettingError if an equals sign is missing or a name repeats."""
    setting = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise SettingError("--set", found=repr(pair), rule="NAME=VALUE, such as --set n=100")
        if name.strip() in setting:
            raise SettingError(
                f"--set {name.strip()}",
                found="two values",
                rule="one value for each setting",
                remedy="leave one of them out",
            )
        setting[name.strip()] = value.strip()
    return setting
