"""Matrices on disk whose tiles workers write: equal to one process's to the bit, whoever dies and whatever is full."""

import os
import types
from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.core import check_executor, completed
from lemmata.errors import DataError, SettingError, SolverError
from lemmata.kernels import RBF, AbstractKernel, Compose, Linear, Matern, _disk, gram_on_disk, open_gram
from tests.executors import killed_when, small_disk, two_dask_workers, two_processes

pytest.importorskip("zarr", reason="the extra `disk` is not installed")
SUM = RBF(1.5) + 0.5 * Matern(1.5, 2.0)


def points(rows, columns=3, seed=0, dtype="float64"):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(rows, columns)), dtype)


def tiles(path, count):
    """Whether so many tiles of a matrix are finished."""
    done = path / "done"
    return lambda: done.exists() and sum(1 for _ in done.iterdir()) >= count


def marks(path):
    return {entry.name: entry.stat().st_mtime_ns for entry in (path / "done").iterdir()}


@pytest.mark.parametrize(
    ("rows", "others", "block", "dtype"),
    [(50, None, 7, "float64"), (50, 31, 8, "float64"), (23, None, 23, "float32"), (9, None, 1, "float64"),
     (12, 5, 30, "float32")],
)  # fmt: skip
def test_the_matrix_is_that_of_one_process_to_the_bit(tmp_path, rows, others, block, dtype):
    x, y = points(rows, dtype=dtype), None if others is None else points(others, seed=1, dtype=dtype)
    alone = gram_on_disk(SUM, x, y, path=tmp_path / "alone", block=block)
    with ThreadPoolExecutor(3) as three:
        shared = gram_on_disk(SUM, x, y, path=tmp_path / "shared", block=block, executor=three)
    assert shared.dtype == alone.dtype == dtype
    assert np.array_equal(shared[:], alone[:])
    assert marks(tmp_path / "shared").keys() == marks(tmp_path / "alone").keys()
    assert np.array_equal(open_gram(tmp_path / "shared")[:], alone[:])
    chunks = [[entry.read_bytes() for entry in sorted((tmp_path / name / "c").rglob("*")) if entry.is_file()]
              for name in ("alone", "shared")]  # fmt: skip
    assert chunks[0] == chunks[1]


class Leaning(AbstractKernel):
    """x_0 y_0 and a little of x_0 - y_0, as rounding might leave it."""

    def __call__(self, x, y):
        return x[0] * y[0] + 1e-10 * (x[0] - y[0])


def test_tiles_on_the_diagonal_are_symmetric_on_workers_too(tmp_path):
    x = points(20)
    alone = gram_on_disk(Leaning(), x, path=tmp_path / "alone", block=6)[:]
    with ThreadPoolExecutor(2) as two:
        shared = gram_on_disk(Leaning(), x, path=tmp_path / "shared", block=6, executor=two)[:]
    assert np.array_equal(shared, alone)
    assert np.array_equal(shared, shared.T)


def test_a_killed_process_ends_the_call_and_the_next_one_goes_on(tmp_path):
    x, path = points(200), tmp_path / "gram"
    with two_processes() as two:
        two.submit(int).result()
        pid = next(iter(two._processes))
        with (
            killed_when(tiles(path, 5), pid) as killed,
            pytest.raises(
                SolverError, match=r"tile \d+\.\d+ in .*gram on a worker; found BrokenProcessPool.*repeat the call"
            ),
        ):
            gram_on_disk(SUM, x, path=path, block=10, executor=two)
        assert killed
    finished = marks(path)
    assert 5 <= len(finished) < 210
    with pytest.raises(DataError, match=r"found \d+ of 400 tiles; the first missing tile .*computes the missing"):
        open_gram(path)
    with two_processes() as two:
        found = gram_on_disk(SUM, x, path=path, executor=two)[:]
    assert np.array_equal(found, gram_on_disk(SUM, x, path=tmp_path / "alone", block=10)[:])
    after = marks(path)
    assert len(after) == 210
    assert all(after[name] == moment for name, moment in finished.items())


def test_dask_gives_the_tiles_of_a_killed_worker_to_another(tmp_path):
    x, path = points(200), tmp_path / "gram"
    with two_dask_workers() as client:
        pid = client.submit(os.getpid).result()
        with client.get_executor() as executor, killed_when(tiles(path, 5), pid) as killed:
            found = gram_on_disk(SUM, x, path=path, block=10, executor=executor)[:]
        assert killed == [pid]
    assert np.array_equal(found, gram_on_disk(SUM, x, path=tmp_path / "alone", block=10)[:])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_full_disk_is_named_and_the_same_call_goes_on(tmp_path, monkeypatch, workers):
    x = points(300)
    # The disk has room when the call begins, and fills while it runs.
    monkeypatch.setattr(_disk.shutil, "disk_usage", lambda _: types.SimpleNamespace(free=2**40))
    executor = ThreadPoolExecutor(workers) if workers else None
    with small_disk(tmp_path / "disk", 2**18) as enlarge:
        path = tmp_path / "disk" / "gram"
        said = r"(tile \d+\.\d+ in|file|folder) .*found (No space left on device|File too large).*remedy: free space"
        with pytest.raises(DataError, match=said):
            gram_on_disk(SUM, x, path=path, block=30, executor=executor)
        if executor is not None:
            executor.shutdown()
            executor = ThreadPoolExecutor(workers)
        assert not list(path.rglob("*.partial"))
        enlarge()
        finished = marks(path) if (path / "done").exists() else {}
        assert len(finished) < 55
        found = gram_on_disk(SUM, x, path=path, block=30, executor=executor)[:]
        assert marks(path).items() >= finished.items()
    assert np.array_equal(found, gram_on_disk(SUM, x, path=tmp_path / "alone", block=30)[:])


def test_what_a_killed_writer_left_is_no_tile(tmp_path):
    x, path = points(38), tmp_path / "gram"  # the last tiles are smaller than their chunks
    alone = gram_on_disk(SUM, x, path=path, block=10)[:]
    chunk, transposed = path / "c" / "1" / "3", path / "c" / "3" / "1"
    with ThreadPoolExecutor(2) as two:
        for damage in (b"?" * 800, b"?" * 30):  # of the size of a tile, and of another
            chunk.write_bytes(damage)
            transposed.unlink()
            (path / "done" / "1.3").unlink()
            draft = chunk.with_name("3.abc.partial")
            draft.write_bytes(damage)
            assert np.array_equal(gram_on_disk(SUM, x, path=path, executor=two)[:], alone)
            assert not draft.exists()
        # A whole chunk whose writer was taken for dead stays while another writes it.
        (path / "points" / "x.npy").write_bytes(b"?")
        (path / "done" / "0.3").unlink()
        assert np.array_equal(gram_on_disk(SUM, x, path=path, executor=two)[:], alone)


class OnlyHere(Linear):
    """A kernel that other processes cannot find, as the module names another."""


OnlyHere.__module__ = "nowhere"


def test_what_goes_wrong_on_a_worker_is_named(tmp_path):
    x = points(12)
    for wrong in (3, "threads", ThreadPoolExecutor):
        with pytest.raises(SettingError, match=r"executor; found a .*rule: a concurrent\.futures\.Executor"):
            check_executor(wrong)
    check_executor(None)
    two = ThreadPoolExecutor(2)
    holes = Compose(RBF(), lambda u: jnp.where(u[0] > x[:, 0].max() - 1e-9, jnp.nan, u))
    with pytest.raises(SettingError, match=r"^tile \d\.\d in .*: kernel; found K\(x, y\) = nan"):
        gram_on_disk(holes, x, path=tmp_path / "b", block=5, executor=two)
    two.shutdown()
    with pytest.raises(
        SolverError, match=r"tile 0\.0 .*RuntimeError: cannot schedule.*remedy: repeat the call with a wor"
    ):
        gram_on_disk(RBF(), x, path=tmp_path / "c", block=5, executor=two)
    with two_processes() as two, pytest.raises(SolverError, match=r"tile \d\.\d .*top level of a module"):
        gram_on_disk(OnlyHere(), x, path=tmp_path / "d", block=5, executor=two)


def test_only_a_finished_matrix_is_opened(tmp_path):
    with pytest.raises(DataError, match="without a readable zarr array"):
        open_gram(tmp_path)
    import zarr

    zarr.create_array(store=str(tmp_path / "other"), shape=(12, 9), chunks=(5, 5), dtype="float64")
    with pytest.raises(DataError, match="gram_on_disk did not write"):
        open_gram(tmp_path / "other")
    path = tmp_path / "gram"
    gram_on_disk(RBF(), points(12), points(8, seed=1), path=path, block=5)
    (path / "c" / "2" / "1").write_bytes(b"?")
    with pytest.raises(DataError, match=r"found 5 of 6 tiles; the first missing tile is 2\.1"):
        open_gram(path)


def test_tasks_are_taken_in_portions_and_the_first_error_ends_them(monkeypatch):
    monkeypatch.setattr("lemmata.core._workers.WAITING", 3)
    asked = []

    def tasks():
        for number in range(10):
            asked.append(number)
            yield (number,)

    with ThreadPoolExecutor(2) as two:
        found = completed(two, str, tasks(), str)
        first = next(found)[1]
        assert len(asked) == 3
        assert sorted([first, *(answer for _, answer in found)]) == list("0123456789")
        assert len(asked) == 10
        with pytest.raises(SolverError, match="task 5 on a worker; found ZeroDivisionError: division by zero"):
            list(
                completed(
                    two,
                    lambda number: 1 / (number - 5),
                    ((number,) for number in range(9)),
                    lambda task: f"task {task[0]}",
                )
            )
