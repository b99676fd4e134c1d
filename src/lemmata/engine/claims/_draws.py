"""Find out whether a claim's measurement is random."""

import dis
import inspect
from collections.abc import Callable
from typing import Any

from ._claim import Claim


def draws_nothing(claim: Claim) -> bool:
    """Whether a claim's measurement does not use its random key. If so, the measurement has no sampling error.

    A key that is read counts as used, even if it is only passed on to another function.
    """
    method = claim.measure if claim.measure is not None else claim.measure_at
    return method is not None and not _reads(inspect.unwrap(getattr(method, "__func__", method)), 2)


def _reads(function: Callable[..., Any], number: int) -> bool:
    """Whether the code of a function may read its argument at the position `number`."""
    code = getattr(function, "__code__", None)
    if code is None or code.co_argcount <= number:
        return True
    name = code.co_varnames[number]
    loaded = (each for each in dis.get_instructions(code) if each.opname.startswith(("LOAD", "DELETE", "STORE")))
    return name in code.co_cellvars or any(_names(each.argval, name) for each in loaded)


def _names(argument: object, name: str) -> bool:
    """Whether an instruction names this variable. Some instructions load two variables at once."""
    return name in argument if isinstance(argument, tuple) else argument == name
