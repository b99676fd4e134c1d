"""Trials in other processes: what is done if the processes end."""

from concurrent.futures import BrokenExecutor, Executor, Future

from lemmata.engine.claims._apart import TrialExecutor
from lemmata.engine.claims._trials import _untraced
from tests.engine.ledger.slow import SquareIsSmaller


class Waiting(Executor):
    """An executor whose tasks wait until the test ends them."""

    def __init__(self):
        self.tasks = []

    def submit(self, fn, /, *args, **kwargs):
        self.tasks.append(Future())
        return self.tasks[-1]


def asked(executor, count):
    return [executor.submit(_untraced, SquareIsSmaller(), {}, 0, number, True) for number in range(count)]


def test_after_two_trials_that_lose_their_processes_no_other_begins():
    inner = Waiting()
    outer = asked(TrialExecutor(inner), 6)
    inner.tasks[0].set_result("trial 0: done")
    inner.tasks[1].set_exception(BrokenExecutor("3 processes ended"))
    assert [one.done() for one in outer] == [True, True, False, False, False, False]
    inner.tasks[2].set_running_or_notify_cancel()
    inner.tasks[3].set_exception(BrokenExecutor("3 processes ended"))
    assert [one.done() for one in outer] == [True, True, False, True, True, True]
    assert [outer[k].result() for k in (1, 3)] == [f"trial {k}: BrokenExecutor: 3 processes ended" for k in (1, 3)]
    assert {outer[k].result() for k in (4, 5)} == {
        f"trial {k}: cancelled because earlier trials lost their processes" for k in (4, 5)
    }
    inner.tasks[2].set_result("trial 2: done")
    assert outer[2].result() == "trial 2: done"


def test_errors_of_the_claim_itself_cancel_nothing():
    inner = Waiting()
    outer = asked(TrialExecutor(inner), 4)
    for task in inner.tasks[:3]:
        task.set_exception(ValueError("no number"))
    assert [one.done() for one in outer] == [True, True, True, False]
