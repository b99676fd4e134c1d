"""Checks of user input for a Markov decision process: probabilities, rewards, policies and steps.

Every function converts its input, and raises an error if the input is invalid.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from lemmata.core import array_of, numbers_of
from lemmata.errors import DataError, SettingError, ShapeError

SUMS = 1e-6  # largest distance of a sum of probabilities from 1; probabilities are divided by their sum


def as_discount(value: Any) -> float:
    """Return the discount, which must be at least 0 and below 1."""
    if isinstance(value, bool | str | bytes) or np.ndim(value) != 0:
        raise SettingError("discount", found=" ".join(repr(value).split())[:60], rule="a number")
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise SettingError("discount", found=" ".join(repr(value).split())[:60], rule="a number") from error
    if not 0 <= number < 1:
        raise SettingError("discount", found=f"{number:g}", rule="at least 0 and below 1",
                           remedy="use a value near 1, such as 0.999, for sums that are not discounted")  # fmt: skip
    return number


def as_laws(name: str, table: Float[np.ndarray, "... k"]) -> Float[np.ndarray, "... k"]:
    """Check that the last axis holds probability distributions, and return them, each divided by its sum.

    The sum must be within 1e-6 of 1.
    """
    places = np.argwhere(table < 0)
    if places.size:
        place = tuple(int(index) for index in places[0])
        where = ", ".join(map(str, place))
        raise DataError(f"{name}[{where}]", found=f"{table[place]:g}", rule="a probability between 0 and 1")
    sums = table.sum(axis=-1)
    worst = np.unravel_index(np.abs(sums - 1).argmax(), sums.shape) if sums.ndim else ()
    if not abs(float(sums[worst]) - 1) <= SUMS:
        where = f"[{', '.join(str(int(index)) for index in worst)}]" if worst else ""
        raise DataError(f"{name}{where}", found=f"probabilities with the sum {sums[worst]:.6g}", rule="the sum 1",
                        remedy="divide them by their sum, or add the next state that is missing")  # fmt: skip
    return table / sums[..., None]


def as_transitions(given: Any) -> Float[np.ndarray, "s a s"]:
    """Return the probabilities of next states, by state and action."""
    table = numbers_of("transitions", given).astype(float)
    if table.ndim != 3 or table.shape[0] != table.shape[2]:
        swapped = table.ndim == 3 and table.shape[1] == table.shape[2]
        remedy = "use numpy.moveaxis(transitions, 0, 1)" if swapped else None
        raise ShapeError("transitions", found=f"shape {table.shape}", rule="shape (states, actions, states)",
                         remedy=remedy)  # fmt: skip
    return as_laws("transitions", table)


def as_rewards(given: Any, transitions: Float[np.ndarray, "s a s"]) -> Float[np.ndarray, "s a"]:
    """Return mean rewards by state and action. Given rewards may depend on the state, on state and action, or on state,
    action and next state.
    """
    table = numbers_of("rewards", given).astype(float)
    states, actions = transitions.shape[:2]
    if table.shape == (states,):
        return np.repeat(table[:, None], actions, axis=1)
    if table.shape == (states, actions):
        return table.copy()
    if table.shape == transitions.shape:
        size = np.abs(table).max() or 1.0
        return np.sum(transitions * (table / size), axis=2) * size
    rule = f"shape ({states}, {actions}), ({states},) or {transitions.shape}"
    raise ShapeError("rewards", found=f"shape {table.shape}", rule=rule)


def as_start(given: Any, states: int) -> Float[np.ndarray, " s"]:
    """Return the distribution of the first state, by default the uniform distribution."""
    if given is None:
        return np.full(states, 1 / states)
    law = numbers_of("start", given).astype(float)
    if law.shape != (states,):
        raise ShapeError("start", found=f"shape {law.shape}", rule=f"shape ({states},), one probability for each state")
    return as_laws("start", law)


def as_policy(given: Any, states: int, actions: int) -> Float[np.ndarray, "s a"]:
    """Return the probabilities of actions, from a table of probabilities or from one action for each state."""
    array = array_of("policy", given)
    if array.shape == (states,) and array.dtype.kind in "iu":
        wrong = array[(array < 0) | (array >= actions)]
        if wrong.size:
            raise DataError("policy", found=f"the action {wrong[0]}", rule=f"actions from 0 to {actions - 1}")
        return np.eye(actions)[array]
    if array.shape != (states, actions):
        rule = f"shape ({states}, {actions}) of probabilities, or ({states},) of whole numbers"
        found = f"shape {array.shape} of {array.dtype}"
        raise ShapeError("policy", found=found, rule=rule)
    return as_laws("policy", numbers_of("policy", array).astype(float))


def as_values(name: str, given: Any, states: int) -> Float[np.ndarray, " s"]:
    """Check that the input is one finite number for each state, and return these numbers."""
    values = numbers_of(name, given).astype(float)
    if values.shape != (states,):
        raise ShapeError(name, found=f"shape {values.shape}", rule=f"shape ({states},), one number for each state")
    return values


def as_features(given: Any, states: int) -> Float[np.ndarray, "s k"]:
    """Return the features as a matrix with one row for each state."""
    table = numbers_of("features", given).astype(float)
    if table.ndim != 2 or len(table) != states:
        rule = f"shape ({states}, k), one row for each state"
        raise ShapeError("features", found=f"shape {table.shape}", rule=rule)
    return table


def _is_table(part: Any) -> bool:
    try:
        return np.ndim(part) == 2
    except ValueError:  # rows of different lengths
        return False


def as_steps(given: Any) -> tuple[Int[np.ndarray, "n 3"], Float[np.ndarray, " n"], np.ndarray, np.ndarray]:
    """Return four arrays: state, action and next state of each step; the rewards; and two masks of steps.

    The first mask marks steps that end an episode. The second mask marks the first step of each table.
    """
    tables = list(given) if isinstance(given, list | tuple) and len(given) and _is_table(given[0]) else [given]
    parts = [numbers_of("steps", table) for table in tables]
    if any(part.ndim != 2 or part.shape[1] not in (4, 5) or part.shape[1] != parts[0].shape[1] for part in parts):
        shapes = ", ".join(str(part.shape) for part in parts[:3])
        raise ShapeError("steps", found=f"shape {shapes}",
                         rule="4 columns (state, action, reward, next state), or 5, of which the last marks the "
                              "end")  # fmt: skip
    table = np.concatenate(parts).astype(float)
    whole = table[:, [0, 1, 3]]
    wrong = np.argwhere((whole != np.floor(whole)) | (whole < 0) | (whole > 2**31))
    if wrong.size:
        row, column = wrong[0]
        name = ("state", "action", "next state")[column]
        raise DataError(f"steps[{row}], {name}", found=f"{whole[row, column]:g}", rule="whole numbers from 0",
                        remedy="number them, for example with numpy.unique(..., return_inverse=True)")  # fmt: skip
    ended = table[:, 4] if table.shape[1] == 5 else np.zeros(len(table))
    if not np.isin(ended, (0, 1)).all():
        raise DataError("steps, end", found=f"{ended[~np.isin(ended, (0, 1))][0]:g}", rule="0 or 1")
    first = np.zeros(len(table), bool)
    first[np.cumsum([0, *(len(part) for part in parts[:-1])])] = True
    return whole.astype(np.int64), table[:, 2].copy(), ended.astype(bool), first
