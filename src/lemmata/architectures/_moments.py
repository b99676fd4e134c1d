"""The push of an activation whose moments are known functions of the covariance and the two variances."""

import math
from collections.abc import Callable
from typing import Any

from lemmata.errors import SettingError

from ._state import State


def push_moments(state: State, moments: Callable[[Any, Any, Any], tuple[Any, Any]], odd: bool = False) -> State:
    """A push from moments(k, a, b) -> (E[phi phi], E[phi' phi']) for covariance k and variances a and b."""
    law = state.law.activated(odd)
    nngp, dot = moments(state.nngp, state.xx, state.yy)
    xx, yy = (moments(v, v, v)[0] for v in (state.xx, state.yy))
    return State(nngp, state.ntk * dot, xx, yy, state.fan_in, law)


def check_finite(name: str, *values: float) -> None:
    """Refuses a setting that is infinite or not a number."""
    if not all(math.isfinite(value) for value in values):
        raise SettingError(name, found=values, rule="finite numbers")
