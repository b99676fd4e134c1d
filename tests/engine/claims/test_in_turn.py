"""A claim's settings are judged in turn: which share of the level each has, and what ends the turn."""

import dataclasses

import pytest

from lemmata.engine.claims import Status, Trials, Verdict, _verify
from lemmata.engine.claims._verify import judged_in_turn
from lemmata.errors import MissingDataError
from tests.engine.claims import synthetic

CLAIM = synthetic.SureBound()
DEFAULT, OTHERS = {"n": 40}, [{"n": 2}, {"n": 3}, {"n": 5}, {"n": 7}]


def judged(monkeypatch, statuses, interrupted=(), others=OTHERS, reason="said"):
    """The verdict on settings with these statuses, and the settings and levels that were judged."""
    asked, trials = [], [Trials(9, interrupted=place in interrupted) for place in range(len(statuses))]

    def judge(claim, setting, own, seed, level, seconds):
        place = next(place for place, each in enumerate(trials) if each is own)
        asked.append((setting, level, seed))
        return Verdict(
            claim.name, claim.source, setting, seed, level, 9, 9, seconds, statuses[place], reason,
            interrupted=own.interrupted,
        )  # fmt: skip

    monkeypatch.setattr(_verify, "judge_trials", judge)
    found = judged_in_turn(CLAIM, [(DEFAULT, 9), *((own, 9) for own in others)], iter(trials), 3, 0.08)
    return found, asked


def test_half_of_the_level_is_for_the_default_and_the_other_settings_share_the_rest(monkeypatch):
    found, asked = judged(monkeypatch, [Status.SUPPORTED] * 5)
    assert [own for own, _, _ in asked] == [DEFAULT, *OTHERS]
    assert [level for _, level, _ in asked] == [0.04] + [0.01] * 4
    assert {seed for _, _, seed in asked} == {3}
    assert found.level == 0.08
    assert [own.setting for own in found.corners] == OTHERS
    assert sum(level for _, level, _ in asked) == pytest.approx(0.08)
    assert not found.interrupted


@pytest.mark.parametrize(
    ("status", "count"),
    [
        (Status.REFUTED, 1), (Status.FAILED, 1), (Status.INCONCLUSIVE, 5), (Status.INAPPLICABLE, 5),
        (Status.VACUOUS, 5), (Status.OUTSIDE, 5),
    ],
)  # fmt: skip
def test_a_refuted_or_failed_default_needs_no_other_setting(status, count, monkeypatch):
    assert len(judged(monkeypatch, [status] + [Status.SUPPORTED] * 4)[1]) == count


def test_an_interruption_ends_the_turn(monkeypatch):
    found, asked = judged(monkeypatch, [Status.INCONCLUSIVE] * 5, interrupted=(0,))
    assert (len(asked), found.interrupted, found.corners) == (1, True, ())
    found, asked = judged(monkeypatch, [Status.SUPPORTED] * 5, interrupted=(2,))
    assert (len(asked), found.interrupted, len(found.corners)) == (3, True, 2)


def test_no_other_setting_is_judged_where_there_is_none(monkeypatch):
    found, asked = judged(monkeypatch, [Status.SUPPORTED], others=[])
    assert (len(asked), found.status, found.corners) == (1, Status.SUPPORTED, ())


ERROR = f"trial 3: {MissingDataError.__name__}: data are not installed"


@pytest.mark.parametrize(
    ("errors", "seen"), [([], True), ([ERROR], False), ([ERROR, ERROR], False), ([ERROR, "ValueError: no"], True)]
)
def test_data_that_are_not_installed_make_a_claim_inapplicable(errors, seen):
    verdict = Verdict(CLAIM.name, CLAIM.source, DEFAULT, 0, 1e-3, 9, 0, 0.0, Status.FAILED, "every trial raised")
    found = _verify._seen(verdict, Trials(9, errors=errors))
    if seen:
        assert found is verdict
    else:
        reason = f"{_verify.UNSEEN}: data are not installed"
        assert found == dataclasses.replace(verdict, status=Status.INAPPLICABLE, reason=reason)


def test_an_end_of_the_users_code_is_told_by_the_trials():
    def ends(claim, setting, trials, *rest):
        raise SystemExit(3)

    def raises(claim, setting, trials, *rest):
        raise ValueError("no")

    for run, said in ((ends, "the claim's own code called sys.exit(3)"), (raises, "ValueError: no")):
        found = _verify._stayed(run, CLAIM, DEFAULT, 7)
        assert (found.requested, found.errors) == (7, [said])
    kept = Trials(7)
    assert _verify._stayed(lambda *given: kept, CLAIM, DEFAULT, 7) is kept
    for error in (MemoryError, MissingDataError("data", found="none", rule="some")):
        with pytest.raises(type(error) if isinstance(error, Exception) else error):
            _verify._stayed(lambda *given, own=error: (_ for _ in ()).throw(own), CLAIM, DEFAULT, 7)


def test_progress_counts_the_trials_of_earlier_settings():
    told = []

    def run(claim, setting, trials, seed, executor, moved):
        moved(1, 99)
        moved(trials)
        return Trials(trials)

    wanted = [(DEFAULT, 5), (OTHERS[0], 2), (OTHERS[1], 2)]
    found = list(_verify._in_turn(CLAIM, wanted, 0, None, run, lambda done, total: told.append((done, total))))
    assert [own.requested for own in found] == [5, 2, 2]
    assert told == [(1, 99), (5, 0), (6, 99), (7, 0), (8, 99), (9, 0)]
