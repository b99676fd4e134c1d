"""The exit code of `lemmata judge`, from the verdicts alone: no part of the way from them to it is replaced."""

import types

import pytest

from lemmata.engine.claims import Status
from lemmata.interfaces.cli._family_report import _code

pytestmark = pytest.mark.usefixtures("unchecked")
S, R, U, F, V = Status.SUPPORTED, Status.REFUTED, Status.INCONCLUSIVE, Status.FAILED, Status.VACUOUS


def code(*statuses, expected=(), notes=(), write=False, continued=False, left=(), out_of_date=0):
    """Of a run whose claims have these verdicts; all are expected to be supported but where another is given."""
    expected = dict(enumerate(expected))
    chosen = [types.SimpleNamespace(name=str(n), expected=expected.get(n, S)) for n in range(len(statuses))]
    held = [types.SimpleNamespace(name=str(n), status=status) for n, status in enumerate(statuses)]
    options = types.SimpleNamespace(write=write, continued=continued)
    run = types.SimpleNamespace(chosen=chosen, options=options, notes=list(notes), judged={})
    return _code(run, {"left": list(left)}, held, out_of_date)


@pytest.mark.parametrize(("status", "number"), [(S, 0), (R, 1), (U, 3), (F, 4), (V, 5)])
def test_one_claim_has_the_code_of_its_verdict(status, number):
    assert code(status) == number
    assert code(status, expected=[R]) == number  # also where it is the expected one


@pytest.mark.parametrize(
    ("statuses", "expected", "number"),
    [
        ((S, S), (), 0), ((S, R), (S, R), 0), ((S, R), (), 1), ((S, S), (S, R), 1), ((S, U), (), 3), ((S, V), (), 5),
        ((S, F), (), 4), ((R, F), (), 4), ((F, R), (F, R), 4),
    ],
)  # fmt: skip
def test_several_claims_have_0_only_where_each_verdict_is_the_expected_one(statuses, expected, number):
    assert code(*statuses, expected=expected) == number


def test_what_could_not_be_kept_is_4_whatever_the_verdicts_are():
    assert code(S, S, notes=["the ledger is full"]) == 4
    assert code(S, notes=["the ledger is full"]) == 4


def test_a_catalogue_out_of_date_is_1_unless_it_is_written(capsys):
    assert code(S, S, out_of_date=2) == 1
    assert "out of date for 2 claims" in " ".join(capsys.readouterr().err.split())
    assert code(S, S, out_of_date=2, write=True) == 0


def test_claims_that_a_continued_run_leaves_are_3():
    assert code(S, S, continued=True, left=["2"]) == 3
    assert code(S, S, continued=True) == 0
    assert code(S, R, continued=True, left=["2"]) == 3
