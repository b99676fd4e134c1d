"""The push of an activation whose moments are known functions of the covariance and the two variances."""

import math
from collections.abc import Callable
from typing import Any

from lemmata.errors import SettingError

from ._state import Means, State


def push_moments(
    state: State, moments: Callable[[Any, Any, Any], tuple[Any, Any]], mean: Callable[[Any], Any] | None = None
) -> State:
    """A push from moments(k, a, b) -> (E[phi phi], E[phi' phi']) for covariance k and variances a and b.

    `mean` gives E[phi] for a variance; an odd function has none.
    """
    law = state.law.activated(odd=mean is None)
    nngp, dot = moments(state.nngp, state.xx, state.yy)
    xx, yy = (moments(v, v, v)[0] for v in (state.xx, state.yy))
    means = None if mean is None else Means(mean(state.xx), mean(state.yy))
    return state.replace(nngp=nngp, ntk=state.ntk * dot, xx=xx, yy=yy, law=law, means=means)


def check_finite(name: str, *values: float) -> None:
    """Refuses a setting that is infinite or not a number."""
    if not all(math.isfinite(value) for value in values):
        raise SettingError(name, found=values, rule="finite numbers")
