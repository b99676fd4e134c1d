"""Whether a measurement is random is read from its code: it is where the code reads its key."""

import functools
import types

import pytest

from lemmata.engine.claims._draws import _names, draws_nothing
from tests.engine.refutations.statements import SumBelowRoot


def unread(self, problem, key):
    return problem.sum(axis=("of", "rows"))


def read(self, problem, key):
    return problem + key


def passed_on(self, problem, key):
    return read(self, problem, key)


def inside(self, problem, key):
    return [number + key for number in problem]


def dropped(self, problem, key):
    del key
    return problem


def any_arguments(*given):
    return given[1]


@functools.wraps(unread)
def wrapped(*given):
    return unread(*given)


@pytest.mark.parametrize(
    ("measure", "nothing"),
    [
        (unread, True), (wrapped, True), (read, False), (passed_on, False), (inside, False), (dropped, False),
        (any_arguments, False), (max, False),
    ],
)  # fmt: skip
@pytest.mark.parametrize("method", ["measure", "measure_at"])
def test_a_measurement_that_does_not_read_its_key_draws_nothing(measure, nothing, method):
    claim = SumBelowRoot()
    for name in ("measure", "measure_at"):
        own = measure if measure is max else types.MethodType(measure, claim)
        object.__setattr__(claim, name, own if name == method else None)
    assert draws_nothing(claim) is nothing


@pytest.mark.parametrize(
    ("argument", "named"),
    [("key", True), ("keys", False), (("problem", "key"), True), (("problem", "keys"), False), (None, False)],
)
def test_an_instruction_may_name_one_variable_or_two(argument, named):
    assert _names(argument, "key") is named
