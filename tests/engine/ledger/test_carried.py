"""Trials on workers that cannot read the ledger: stored trials are not run again, and new ones come back."""

from lemmata.engine.ledger._carried import CarriedTrials

from . import slow

CLAIM = slow.SquareIsSmaller()


def test_a_worker_runs_only_the_trials_that_the_ledger_lacks(tmp_path):
    path = tmp_path / "ledger.sqlite"
    setting = CLAIM.population.settings().default
    at_home = CarriedTrials(path, 1)
    at_home(CLAIM, setting, 4, 0)
    worker = at_home.sent(CLAIM, 0)
    assert len(worker.rows) == 4
    found = worker(CLAIM, setting, 6, 0)
    assert len(found.numbers) == 6
    assert len(worker.rows) == 6
    known = {row["number"]: row for row in at_home.sent(CLAIM, 0).rows}
    for row in worker.rows:
        if row["number"] in known:
            assert row["seconds"] == known[row["number"]]["seconds"], "a stored trial is not run again"
    at_home.add(worker)
    assert len(at_home.sent(CLAIM, 0).rows) == 6
    assert at_home.sent(CLAIM, 1).rows == []
