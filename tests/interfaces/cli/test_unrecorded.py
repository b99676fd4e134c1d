"""A verdict that could not be written is told, wherever a run writes one, and the exit code says so."""

import types

import pytest

import lemmata.engine.catalogue as catalogue
import lemmata.engine.claims as engine
from lemmata.engine.ledger import open_ledger
from lemmata.errors import DataError
from lemmata.interfaces.cli import _judge, _verdicts
from lemmata.interfaces.cli._family_run import FamilyRun
from lemmata.interfaces.cli._judge import RunOptions
from lemmata.interfaces.cli._tightness import searched_one_by_one

NAMES = ("many.alpha", "many.beta", "many.gamma")
FULL = DataError("ledger l.sqlite", found="the disk is full", rule="a place to write")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of three claims, of which the family's level changes the last two verdicts."""
    own = object.__new__(FamilyRun)
    own.chosen = [types.SimpleNamespace(name=name) for name in NAMES]
    own.options = RunOptions(ledger=tmp_path / "l.sqlite")
    own.path, own.number, own.notes, own.known = tmp_path / "l.sqlite", 1, [], {}
    own.judged = {name: types.SimpleNamespace(name=name, status="supported", seed=3) for name in NAMES}
    held = [types.SimpleNamespace(name=name, status=status, seed=3)
            for name, status in zip(NAMES, ("supported", "inconclusive", "refuted"), strict=True)]  # fmt: skip
    monkeypatch.setattr(engine, "at_family_level", lambda verdicts, *_: held if len(verdicts) == 3 else [])
    return own


def test_the_ledger_keeps_the_command_of_a_run_without_the_path_of_the_program(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["/opt/bin/lemmata", "judge", "--subject", "a b"])
    own = FamilyRun([], RunOptions(ledger=tmp_path / "l.sqlite"))
    with open_ledger(own.path) as ledger:
        (row,) = ledger.query("SELECT id, command FROM runs")
    assert (row["id"], row["command"]) == (own.number, "lemmata judge --subject 'a b'")


@pytest.mark.parametrize("lost", [(), NAMES[1:2], NAMES[2:], NAMES[1:], NAMES])
def test_each_verdict_that_the_level_changes_is_written_or_told(run, lost, monkeypatch):
    tried = []

    def add(claim, verdict):
        tried.append((claim.name, verdict.status))
        return str(FULL) if claim.name in lost else ""

    monkeypatch.setattr(run, "_add", add)
    assert len(run.together()) == 3
    assert tried == [("many.beta", "inconclusive"), ("many.gamma", "refuted")]
    assert [note.partition(",")[0] for note in run.notes] == [name for name in NAMES[1:] if name in lost]
    assert all("seed 3: the verdict was not recorded (ledger l.sqlite" in note for note in run.notes)


@pytest.mark.parametrize("place", range(3))
def test_each_verdict_of_a_stream_is_written_or_told(run, place, monkeypatch):
    monkeypatch.setattr(run, "_add", lambda claim, verdict: str(FULL) if claim is run.chosen[place] else "")
    run.interrupted = False
    stream = (
        types.SimpleNamespace(
            task=types.SimpleNamespace(claim=claim), unrecorded="",
            verdict=types.SimpleNamespace(name=claim.name, seed=3, status="supported", interrupted=False),
        )
        for claim in run.chosen
    )  # fmt: skip
    assert len(list(run.taken(stream))) == 3
    assert run.notes == [f"{NAMES[place]}, seed 3: the verdict was not recorded ({FULL})"]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("place", range(3))
def test_a_record_that_cannot_be_written_stops_no_other(run, place, monkeypatch):
    run.options = RunOptions(ledger=run.path, write=True)
    verdicts = [types.SimpleNamespace(name=name, status="supported", seconds=0.0) for name in NAMES]
    for claim in run.chosen:
        claim.expected = "supported"
    monkeypatch.setattr(run, "judge", lambda: zip(run.chosen, verdicts, strict=True))
    written = []

    def write(claim, record):
        if claim is run.chosen[place]:
            raise FULL
        written.append(claim.name)

    monkeypatch.setattr(_verdicts, "amiss", lambda claims, found: 0)
    monkeypatch.setattr(engine, "record_of", lambda claim, verdict: {})
    monkeypatch.setattr(engine, "write_record", write)
    monkeypatch.setattr(catalogue, "give_tags", lambda names: None)
    _judge._judged(run)
    assert written == [name for name in NAMES if name != NAMES[place]]
    assert run.notes == [f"{NAMES[place]}: its record could not be written: {FULL}"]


@pytest.mark.parametrize("place", range(2))
def test_a_search_that_cannot_be_written_stops_no_other(place, monkeypatch):
    claims = list(engine.registry().values())[:2]

    def write(claim, what, found):
        assert what == "search"
        if claim is claims[place]:
            raise FULL

    found = types.SimpleNamespace(to_json=lambda: {"ratio": 0.5})
    monkeypatch.setattr(engine, "write_beside", write)
    monkeypatch.setattr("lemmata.engine.refutations.measure_tightness", lambda *words, seed: found)
    monkeypatch.setattr("lemmata.engine.refutations.from_neighbour", lambda claim, known: claim)
    known = {claim.name: {} for claim in claims}
    monkeypatch.setattr(catalogue, "records", lambda: known)
    told = dict(searched_one_by_one(claims, 0.01, 0))
    assert told[claims[place]] == f"its record could not be written: {FULL}"
    assert told[claims[1 - place]] == {"ratio": 0.5}
    del known[claims[1 - place].name]
    told = dict(searched_one_by_one(claims, 0.01, 0))
    assert told[claims[1 - place]].startswith("it has no verdict in the catalogue; first run `lemmata judge ")
