"""The plan of work by workers, counted: tasks, entries and bytes of a small run of each kind; and what it refuses."""

from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.kernels import RBF, _stored_tiles, _tiles, gram_on_disk
from lemmata.solvers import (
    ExecutorOperator,
    StoredOperator,
    _kernel_rows,
    _operators,
    _shared_equations,
    _shared_vectors,
    subset_of_regressors,
    workers_plan,
)

SIZES = [(48, 3, 6, 8, 8, 5, 1), (50, 2, 5, 7, 7, 3, 2)]  # n, d, p, rows of a tile, of a block, tasks, outputs
HEADER = 128  # bytes that a file of NumPy begins with


class Counted(ThreadPoolExecutor):
    """One thread that counts its tasks and the entries of the arrays that they bring back."""

    def __init__(self):
        super().__init__(1)
        self.tasks, self.answered = 0, 0

    def submit(self, *task):
        self.tasks += 1
        future = super().submit(*task)
        future.add_done_callback(lambda done: self._add(done.result()))
        return future

    def _add(self, answer):
        self.answered += answer.nbytes if isinstance(answer, np.ndarray) else 0


@pytest.fixture
def counts(monkeypatch):
    """Entries that were evaluated, bytes of points that tiles read, and bytes that were written to shared files."""
    found = {"entries": 0, "written": 0, "read": 0}

    def counting(module, name, entries):
        function = getattr(module, name)

        def counted(*given):
            found["entries"] += entries(*given)
            return function(*given)

        monkeypatch.setattr(module, name, counted)

    counting(_tiles, "cross_tile", lambda kernel, x, y: len(x) * len(y))
    counting(_tiles, "diagonal_tile", lambda kernel, x: len(x) ** 2 if len(x) > 2 else 0)
    counting(_operators, "_multiplied", lambda kernel, x, y, v: len(x) * len(y))
    # of rows at centres; the matrix of the centres alone is no part of the plan
    counting(_kernel_rows.KernelRows, "__call__", lambda rows, x: 0 if len(x) == len(rows) else len(x) * len(rows))
    rows = _stored_tiles._rows

    def read(*given):
        points, before = rows(*given)
        found["read"] += points.nbytes
        return points, before

    monkeypatch.setattr(_stored_tiles, "_rows", read)
    for module in (_shared_vectors, _shared_equations):
        write = module.write_array

        def written(path, array, write=write):
            found["written"] += array.nbytes
            write(path, array)

        monkeypatch.setattr(module, "write_array", written)
    return found


def problem(n, d, p, outputs):
    rng = np.random.default_rng(n)
    return jnp.asarray(rng.normal(size=(n, d))), jnp.asarray(rng.normal(size=(n, outputs)))


@pytest.mark.parametrize(("n", "d", "p", "block", "rows", "tasks", "outputs"), SIZES)
def test_the_matrix_and_products_cost_what_the_plan_says(tmp_path, counts, n, d, p, block, rows, tasks, outputs):
    pytest.importorskip("zarr", reason="the extra `disk` is not installed")
    x, v = problem(n, d, p, outputs)
    matrix, stored, fly, _ = workers_plan(n, d, 1, centres=p, outputs=outputs, block=block, rows=rows, tasks=tasks)
    path = tmp_path / "gram"
    with Counted() as one:
        gram_on_disk(RBF(), x, path=path, block=block, executor=one)
        assert (one.tasks, counts["entries"], counts["read"]) == (matrix.tasks, matrix.entries, matrix.read)
    size = sum(entry.stat().st_size for entry in path.rglob("*") if entry.is_file() and entry.name != "zarr.json")
    assert size == matrix.written + HEADER == matrix.kept + HEADER
    counts.update(entries=0, written=0)
    with Counted() as one:
        operator = StoredOperator(path, executor=one, tasks=tasks)
        operator(v)
    assert (one.tasks, counts["entries"], counts["written"]) == (stored.tasks, 0, stored.written)
    assert one.answered == stored.answered
    assert stored.read == matrix.kept - x.nbytes + v.nbytes
    counts.update(entries=0, written=0)
    with Counted() as one, ExecutorOperator(RBF(), x, one, block=rows, tasks=tasks) as operator:
        operator(v)
    assert (one.tasks, counts["entries"], one.answered) == (fly.tasks, fly.entries, fly.answered)
    assert counts["written"] + x.nbytes == fly.written  # the points are written by the operator itself, once


@pytest.mark.parametrize(("n", "d", "p", "block", "rows", "tasks", "outputs"), SIZES)
def test_the_direct_solution_costs_what_the_plan_says(counts, n, d, p, block, rows, tasks, outputs):
    x, y = problem(n, d, p, outputs)
    direct = workers_plan(n, d, 1, centres=p, outputs=outputs, rows=rows, tasks=tasks)[-1]
    with Counted() as one:
        subset_of_regressors(RBF(), x, y, x[:p], 1.0, block=rows, tolerance=1e6, executor=one, tasks=tasks)
    assert (one.tasks, counts["written"]) == (direct.tasks, direct.written)
    assert direct.read == direct.written  # by one machine, each file once
    # The next block is asked for before it is known to be the last one; blocks are whole where the rows are theirs.
    assert counts["entries"] == direct.entries or n % rows
    assert counts["entries"] <= direct.entries


def test_machines_multiply_what_each_of_them_reads_and_rates_divide():
    one, many = (workers_plan(10_000, 10, machines, centres=100) for machines in (1, 50))
    assert [a.written == b.written for a, b in zip(one, many, strict=True)] == [True] * 4
    x, v, factor = 10_000 * 10 * 8, 10_000 * 8, 8 * (100**2 + 100 * 10)
    assert [b.read - a.read for a, b in zip(one, many, strict=True)] == [0, 49 * v, 49 * (x + v), 49 * factor]
    work = many[2]
    assert work.network == work.read + work.written + work.answered
    seconds = work.seconds(10, entry=1e-8, operations=1e9, storage=1e6)
    assert np.isclose(seconds, work.entries * 1e-9 + work.operations / 1e10 + work.network / 1e6)
    assert "product, on the fly: 10 tasks" in str(work)


def test_what_is_no_size_is_refused():
    for wrong in ({"points": 0}, {"columns": 0}, {"machines": 0}, {"block": 0}, {"tasks": 0}, {"itemsize": 0}):
        (name,) = wrong
        with pytest.raises(SettingError, match=name):
            workers_plan(**{"points": 10, "columns": 2, "machines": 3, "centres": 4} | wrong)
    with pytest.raises(SettingError, match="centres; found 11; rule: at most 10, the number of points"):
        workers_plan(10, 2, 3, centres=11)
