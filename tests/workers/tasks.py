"""What tests send to workers: tasks that say that they have begun, and claims of which one trial waits to be killed.

A directory beside the data of the tests is how worker and test see each other: nothing here goes by the clock.
"""

import os
import pathlib
import time

import jax
import numpy as np

from lemmata.engine.claims import AtMost, EqualInMean
from tests.engine.claims.synthetic import Synthetic

PATIENCE = 200.0


def folder() -> pathlib.Path:
    return pathlib.Path(os.environ["LEMMATA_DATA_DIR"]) / "marks"


def wait_until(condition, patience=PATIENCE):
    """Until what is awaited is there; a test that waits in vain fails, and does not go on."""
    end = time.monotonic() + patience
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("what was awaited did not happen")
        time.sleep(0.01)


def victim() -> pathlib.Path:
    return folder() / "victim"


def wait_to_be_killed() -> None:
    """The first call anywhere writes the number of its process and never returns; later ones return at once."""
    if not victim().exists():
        own = folder() / f"process-{os.getpid()}"
        own.write_text(str(os.getpid()))
        try:
            os.link(own, victim())  # whole once it can be seen, and of one process alone
        except FileExistsError:
            return
        wait_until(lambda: False)


def square(number: int) -> int:
    return number * number


def square_after_a_death(number: int) -> int:
    wait_to_be_killed()
    return number * number


def killed_each_time(number: int) -> int:
    if number == 2:
        os.kill(os.getpid(), 9)
    return number * number


def refused(number: int) -> int:
    if number == 2:
        raise ValueError("two\nis refused")
    return number * number


def until_told(number: int) -> int:
    """Says that it has begun, and ends when the test says so."""
    (folder() / f"begun-{number}").touch()
    wait_until((folder() / "go").exists)
    return number * number


def unsendable(number: int):
    return lambda: number


def threads(number: int) -> tuple[int, bool]:
    """How many threads JAX computes with, of those that bear its name, and whether float64 is on."""
    import jax.numpy as jnp

    jnp.ones((64, 64)).sum().block_until_ready()
    names = [(path / "comm").read_text().strip() for path in pathlib.Path("/proc/self/task").iterdir()]
    return sum("XLAEigen" in name for name in names), bool(jax.config.jax_enable_x64)


class Fragile(Synthetic):
    """A mean in ordinary Python; its first trial anywhere waits to be killed."""

    traced = False
    relation = EqualInMean()
    trials = 24

    def predict(self, problem):
        return problem

    def measure(self, problem, key):
        wait_to_be_killed()
        return float(problem) + np.random.default_rng(np.asarray(jax.random.key_data(key))).normal()


class Deadly(Fragile):
    """A trial ends whatever process it runs in."""

    trials = 8
    relation = AtMost()
    trivial = "a number has no bound"

    def measure(self, problem, key):
        os.kill(os.getpid(), 9)
