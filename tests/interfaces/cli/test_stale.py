"""`lemmata judge --stale`: three counts, all claims whose own code changed, and a part of the others."""

import pytest
from typer.testing import CliRunner

import lemmata.engine.claims as engine
from lemmata.engine.catalogue import Fingerprint, State, compared, told_state
from lemmata.errors import SettingError
from lemmata.interfaces.cli import _judge, app
from lemmata.interfaces.cli._family import Family
from lemmata.interfaces.cli._stale import _part, stale_claims
from tests.engine.refutations import untested

NOW = Fingerprint("w", "o", {"kernels": "k", "engine.claims": "c"})


def _record(**changed) -> dict:
    return {"fingerprint": {"whole": "w", "own": "o", "shared": dict(NOW.shared), **changed}}


@pytest.mark.parametrize(
    ("record", "state", "said"),
    [
        (_record(), State.CURRENT, ""),
        (_record(whole="w", own="moved", shared={}), State.CURRENT, ""),
        (_record(whole="v", own="p"), State.OWN, "judged with an earlier version of this section's own code"),
        (_record(whole="v", shared={"kernels": "old", "engine.claims": "c"}), State.SHARED,
         "judged with an earlier version of kernels"),
        (_record(whole="v", shared={"engine.claims": "c", "spectra": "s"}), State.SHARED,
         "judged with an earlier version of kernels, spectra"),
        (None, State.OWN, ""),
    ],
)  # fmt: skip
def test_a_verdict_has_one_of_three_states(record, state, said):
    assert compared(record, NOW) is state
    assert told_state(record, NOW) == said


@pytest.mark.parametrize("state", State)
def test_what_is_not_current_is_stale(state, monkeypatch):
    monkeypatch.setattr(engine._entries, "state_of", lambda claim: state)
    assert engine.is_stale(untested.Holds()) == (state != "current")


@pytest.fixture
def states(monkeypatch):
    """Of a registry of ten claims two have other code of their own, and six other shared code."""
    claims = dict(list(engine.registry().items())[:10])
    order = [State.OWN, *[State.SHARED] * 6, State.CURRENT, State.CURRENT, State.OWN]
    known = dict(zip(claims, order, strict=True))
    monkeypatch.setattr(engine, "registry", lambda: claims)
    monkeypatch.setattr(engine, "state_of", lambda claim: known[claim.name])
    return known


def test_parts_share_out_what_is_stale_beneath_and_each_takes_the_rest(states, capsys):
    own = {name for name, state in states.items() if state is State.OWN}
    shared = {name for name, state in states.items() if state is State.SHARED}
    parts = [{claim.name for claim in stale_claims(engine.registry().values(), f"{k}/4")} for k in range(1, 5)]
    assert all(own <= part for part in parts)
    assert sorted(len(part - own) for part in parts) == [1, 1, 2, 2]
    assert set().union(*parts) == own | shared == {claim.name for claim in stale_claims(engine.registry().values())}
    said = " ".join(capsys.readouterr().err.split())
    assert "Verdicts: 2 with the current code, 2 whose own code changed (about" in said
    assert "6 whose shared code changed beneath it (about" in said
    assert "this run tests 1: part 3 of 4" in said


@pytest.mark.parametrize("text", ["0/3", "4/3", "1", "a/b", "-1/2", "1/0", "1/2/3"])
def test_what_is_no_part_is_refused(text):
    with pytest.raises(SettingError, match="K/N, with whole numbers K from 1 to N"):
        _part(text)


def test_a_part_goes_with_stale():
    done = CliRunner().invoke(app, ["judge", "adamw_solves_box", "--part", "1/2"])
    assert done.exit_code == 2
    assert "--part without --stale" in done.output


@pytest.mark.parametrize("command", ["verify", "judge"])
def test_what_is_stale_is_a_family_by_either_name(command, states, monkeypatch, tmp_path):
    """`verify --stale` with every option that goes with it is `judge --stale`."""
    judged = []

    def keep(run):
        judged.append(([claim.name for claim in run.chosen], run.options))
        run.judged = {"": None}

    monkeypatch.setattr(_judge, "_judged", keep)
    monkeypatch.setattr(_judge, "tell", lambda run, stale, as_json: 7 if stale and as_json else 0)
    words = ["--stale", "--part", "2/3", "--jobs", "2", "--write", "--json", "--minutes", "5"]
    done = CliRunner().invoke(app, [command, *words, "--ledger", str(tmp_path / "l.sqlite")])
    assert done.exit_code == 7, done.output
    ((names, options),) = judged
    assert (options.jobs, options.write, options.minutes, options.trial_seconds) == (2, True, 5.0, 600.0)
    assert len(names) == 4
    assert "this run tests 2: part 2 of 3" in " ".join(done.stderr.split())


@pytest.mark.parametrize(("part", "count"), [("", 8), ("1/4", 2), ("4/4", 2)])
def test_a_part_asks_that_claims_were_judged_on_their_own_code(part, count, states, capsys):
    """A change of shared code lies beneath hundreds of claims: with their turn to come, the exit code is 0."""
    family = Family(stale=True, part=part)
    assert family.out_of_date(family.claims(None)) == count
    assert Family(everything=True).out_of_date(list(engine.registry().values())) == 0


def test_only_what_is_stale_of_a_subject_is_counted(states, capsys):
    some = list(engine.registry().values())[:3]
    assert stale_claims(some) == some
    assert "Verdicts: 0 with the current code, 1 whose own code changed" in " ".join(capsys.readouterr().err.split())
