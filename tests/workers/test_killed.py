"""Killing a worker in the middle changes no result and loses none: processes of this machine, and Dask's workers."""

import os
import signal
import threading

import pytest

from lemmata.engine.claims import verdicts_of, verify
from lemmata.engine.ledger import CarriedTrials, open_ledger, recorded_trials
from lemmata.workers import finished, workers
from tests.engine.claims.synthetic import Identity, SureBound, TightBound

from . import tasks

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")


@pytest.fixture(params=["processes", "dask"])
def executor(request, clean):
    """Two workers in processes of their own."""
    if request.param == "processes":
        yield request.getfixturevalue("processes")
    else:
        with workers(dask=request.getfixturevalue("cluster")) as found:
            yield found


@pytest.fixture
def killer(clean):
    """Kills the first worker that waits for it."""
    thread = threading.Thread(target=kill)
    thread.start()
    yield thread
    thread.join()


def kill():
    tasks.wait_until(tasks.victim().exists)
    os.kill(int(tasks.victim().read_text()), signal.SIGKILL)


def serially(function):
    """What it returns where no trial waits."""
    tasks.victim().touch()
    found = function()
    tasks.victim().unlink()
    return found


def told(verdict):
    """A verdict but for the seconds that it took."""
    return verdict.to_json() | {"seconds": None}


def test_results_are_those_of_no_executor_key_by_key(executor):
    given = [(("key", number), (number,)) for number in range(30)]
    assert dict(finished(executor, tasks.square, given)) == dict(finished(None, tasks.square, given))


def test_a_killed_worker_costs_no_task(executor, killer):
    given = [(number, (number,)) for number in range(12)]
    found = list(finished(executor, tasks.square_after_a_death, given))
    assert sorted(found) == [(number, number**2) for number in range(12)]  # each once
    assert tasks.victim().exists()


def test_a_verdict_with_a_killed_worker_is_the_verdict(executor, killer):
    claim = tasks.Fragile()
    found = verify(claim, executor=executor, seed=5, progress=False)
    assert tasks.victim().read_text() != str(os.getpid())
    assert found.executed == claim.trials
    assert told(found) == told(serially(lambda: verify(claim, seed=5, progress=False)))


def test_a_verdict_on_a_claim_in_jax_is_the_verdict(executor):
    for claim in (TightBound(), SureBound(shift=0.5)):
        assert told(verify(claim, executor=executor, progress=False)) == told(verify(claim, progress=False))


@pytest.mark.parametrize("carried", [False, True])
def test_a_killed_worker_loses_no_row_of_the_ledger(executor, killer, carried, tmp_path):
    claims = [tasks.Fragile(), SureBound(), Identity()]
    runs = []
    for name in ("apart", "here"):
        path = tmp_path / f"{name}.sqlite"
        with open_ledger(path):
            runs.append(
                CarriedTrials(path, 1) if carried else lambda *given, path=path: recorded_trials(path, 1, *given)
            )
    if not carried:
        import functools

        runs[0] = functools.partial(recorded_trials, tmp_path / "apart.sqlite", 1)
    apart = {verdict.name: verdict for verdict in verdicts_of(claims, 3, executor, run=runs[0])}
    here = serially(lambda: {verdict.name: verdict for verdict in verdicts_of(claims, 3, run=runs[1], progress=False)})
    assert {name: told(verdict) for name, verdict in apart.items()} == {n: told(v) for n, v in here.items()}
    rows = []
    for name in ("apart", "here"):
        with open_ledger(tmp_path / f"{name}.sqlite") as ledger:
            columns = "claim, fingerprint, setting, seed, number, holds, hypotheses, arrays, shapes"
            rows.append([tuple(row) for row in ledger.query(f"SELECT {columns} FROM trials")])
    assert rows[0] == rows[1]
    assert len(rows[0]) == sum(verdict.executed for verdict in here.values()) + corner_rows(claims, here)


def corner_rows(claims, verdicts):
    """The trials at the other settings, of which a verdict tells how many there are."""
    return sum(min(32, verdicts[claim.name].requested) * len(verdicts[claim.name].corners) for claim in claims)
