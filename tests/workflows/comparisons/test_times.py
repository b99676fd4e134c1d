"""What a comparison does when its time is over."""

import types

import pytest

from lemmata.workflows.comparisons import _run


@pytest.mark.parametrize(
    ("limit", "now", "late"),
    [(None, 1e9, False), (10.0, 105.0, False), (10.0, 105.001, True), (10.0, 99.0, False), (0.0, 100.001, True)],
)
def test_it_is_late_once_the_share_of_the_limit_is_over(limit, now, late, monkeypatch):
    monkeypatch.setattr(_run.time, "monotonic", lambda: now)
    job = types.SimpleNamespace(options=types.SimpleNamespace(time_limit=limit), started=100.0)
    assert _run._Job.late(job, 0.5) is late


@pytest.mark.parametrize("done", [0, 1, 2])
def test_what_is_finished_stays_and_the_rest_is_named(done, monkeypatch):
    job = object.__new__(_run._Job)
    job.executor, job.names, job.notes, job.measured = None, list(_run.FAMILY_NAMES[:3]), [], {}
    job.late = lambda share: len(job.measured) >= max(done, 1)
    job.data = job.options = job.splits = None
    job.progress = lambda *words: None
    job.keep = lambda name, own: job.measured.update({name: own})
    monkeypatch.setattr(_run, "_fitted_family", lambda name, *rest: f"results of {name}")
    job.families()
    finished = max(done, 1)  # the first is measured, whatever the limit is
    assert job.measured == {name: f"results of {name}" for name in job.names[:finished]}
    titles = ", ".join(_run.BY_NAME[name].title for name in job.names[finished:])
    assert job.notes == [f"The time limit was reached before these families were finished: {titles}."]
