"""Conjugate gradients and the direct solver on centres by workers: the same bits, whoever dies, and what is refused."""

import os
import pathlib
from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError, SolverError
from lemmata.kernels import RBF, Compose, Matern, gram, gram_on_disk
from lemmata.solvers import (
    ExecutorOperator,
    KernelOperator,
    StoredOperator,
    conjugate_gradients,
    subset_of_regressors,
)
from lemmata.solvers._shared_vectors import runs_of_rows
from tests.executors import killed_when, small_disk, two_dask_workers, two_processes

RNG = np.random.default_rng(3)
X, V = jnp.asarray(RNG.normal(size=(157, 3))), jnp.asarray(RNG.normal(size=(157, 2)))
KERNEL = RBF(1.5) + 0.5 * Matern(1.5, 2.0)


def files(folder, pattern, count=1):
    """Whether so many files of that name are there."""
    return lambda: sum(1 for _ in pathlib.Path(folder).rglob(pattern)) >= count


@pytest.mark.parametrize("rows", [1, 7, 64, 100])
@pytest.mark.parametrize("block", [1, 3, 8, 100])
@pytest.mark.parametrize("most", [1, 4, 1000])
def test_runs_are_whole_blocks_that_cover_every_row_once(rows, block, most):
    runs = runs_of_rows(rows, block, most)
    assert len(runs) <= most
    assert [row for start, end in runs for row in range(start, end)] == list(range(rows))
    assert all(start % block == 0 for start, _ in runs)


@pytest.mark.parametrize(("block", "tasks", "dtype"), [(20, 3, "float64"), (157, 9, "float32"), (8, 100, "float64")])
def test_products_are_those_of_one_process_to_the_bit(block, tasks, dtype):
    x, v = X.astype(dtype), V.astype(dtype)
    alone = KernelOperator(KERNEL, x, block=block)
    with ThreadPoolExecutor(3) as three, ExecutorOperator(KERNEL, x, three, block=block, tasks=tasks) as operator:
        for given in (v, v[:, 0]):
            found = operator(given)
            assert found.dtype == given.dtype
            assert np.array_equal(found, alone(given))
        assert np.allclose(operator(v), gram(KERNEL, x) @ v, atol=1e-4 if dtype == "float32" else 1e-11)
        assert np.array_equal(operator.columns(jnp.array([3, 5])), alone.columns(jnp.array([3, 5])))
        assert np.array_equal(operator.diagonal(), alone.diagonal())
        ours, theirs = (conjugate_gradients(one, v, 1.0) for one in (operator, alone))
        assert np.array_equal(ours.coefficients, theirs.coefficients)
        with pytest.raises(ShapeError, match=r"vector v; found shape \(156, 2\)"):
            operator(v[1:])
        folder = operator._folder
        assert [entry.name for entry in folder.iterdir()] == ["x.npy"]  # no vector is left
    assert not folder.exists()
    with pytest.raises(SettingError, match="must be used inside its `with` block"):
        operator(v)


def test_conjugate_gradients_run_over_stored_tiles(tmp_path):
    pytest.importorskip("zarr", reason="the extra `disk` is not installed")
    gram_on_disk(KERNEL, X, path=tmp_path / "gram", block=20)
    alone, whole = StoredOperator(tmp_path / "gram"), gram(KERNEL, X)
    with ThreadPoolExecutor(3) as three:
        shared = StoredOperator(tmp_path / "gram", executor=three, tasks=3)
        for given in (V, V[:, 0]):
            assert np.array_equal(shared(given), alone(given))
            assert np.allclose(shared(given), whole @ given, rtol=0, atol=1e-11)
        found = conjugate_gradients(shared, V, 0.5)
        assert np.array_equal(found.coefficients, conjugate_gradients(alone, V, 0.5).coefficients)
    expected = np.linalg.solve(np.asarray(whole) + 0.5 * np.eye(157), V)
    assert np.allclose(found.coefficients, expected, atol=1e-6)
    assert not list((tmp_path / "gram" / "vectors").iterdir())
    for operator in (alone, shared):
        with pytest.raises(ShapeError, match="v"):
            operator(V[1:])
    with pytest.raises(SolverError, match=r"rows 0 to \d+ of the product on a worker; found RuntimeError"):
        shared(V)  # the executor is shut down
    gram_on_disk(KERNEL, X, X[:90], path=tmp_path / "cross", block=20)
    with pytest.raises(ShapeError, match=r"cross matrix of shape \(157, 90\)"):
        StoredOperator(tmp_path / "cross")
    # Damage that keeps the size does not pass as a number.
    (tmp_path / "gram" / "c" / "1" / "1").write_bytes(np.full(400, np.nan).tobytes())
    with pytest.raises(DataError, match="not finite"):
        alone(V)


@pytest.mark.parametrize("ridge", [0.3, [0.1, 2.0]])
@pytest.mark.parametrize("tolerance", [0.0, 1e-2])
def test_the_direct_solver_does_not_depend_on_the_workers(tmp_path, ridge, tolerance):
    settings = {"block": 20, "tolerance": tolerance}
    alone = subset_of_regressors(KERNEL, X, V, X[:30], ridge, **settings)
    found = []
    for workers, folder in ((1, None), (3, tmp_path / "sums")):
        with ThreadPoolExecutor(workers) as executor:
            shared = {"executor": executor, "tasks": 4, "folder": folder}
            found.append(subset_of_regressors(KERNEL, X, V, X[:30], ridge, **settings, **shared))
    assert np.array_equal(found[0].coefficients, found[1].coefficients)
    assert np.array_equal(found[0].error, found[1].error)
    # Sums in another order: some n eps, times the condition, of the fit.
    allowed = 157 * np.finfo(float).eps * float(jnp.max(alone.condition)) * float(jnp.abs(V).max())
    moved = float(jnp.abs(found[0](X) - alone(X)).max())
    assert moved <= max(allowed, tolerance * float(jnp.linalg.norm(V)))
    assert not list((tmp_path / "sums").iterdir())


def test_sums_of_a_killed_worker_are_computed_by_the_next_call(tmp_path):
    work = tmp_path / "sums"
    settings = {"block": 2, "tasks": 79, "folder": work}
    with two_processes() as two:
        two.submit(int).result()
        pid = next(iter(two._processes))
        with (
            killed_when(files(work, "rows-*.npy", 3), pid) as killed,
            pytest.raises(SolverError, match=r"the sum over rows \d+ to \d+ on a worker; found BrokenProcessPool"),
        ):
            subset_of_regressors(KERNEL, X, V, X[:30], 0.3, executor=two, **settings)
        assert killed
    (folder,) = work.iterdir()
    finished = {entry: entry.stat().st_mtime_ns for entry in folder.glob("rows-*.npy")}
    assert 3 <= len(finished) < 79
    damaged = next(iter(finished))
    damaged.write_bytes(damaged.read_bytes()[:200])  # what is not whole is computed again
    kept = {entry: moment for entry, moment in finished.items() if entry != damaged}
    with ThreadPoolExecutor(2) as two:
        kernel = Compose(KERNEL, lambda u: u)  # another problem: it has a folder of its own
        subset_of_regressors(kernel, X, V, X[:30], 0.3, executor=two, **settings)
        assert all(entry.stat().st_mtime_ns == moment for entry, moment in kept.items())
        counted = Counting(two)
        found = subset_of_regressors(KERNEL, X, V, X[:30], 0.3, executor=counted, **settings)
        assert counted.tasks == 79 - len(kept)
        again = subset_of_regressors(KERNEL, X, V, X[:30], 0.3, executor=two, **settings | {"folder": None})
    # a process has threads of its own, which sum in their own order: what was kept is right to rounding
    cross, own = gram(KERNEL, X[:30], X), gram(KERNEL, X[:30])
    bound = 157 * np.finfo(float).eps * np.linalg.cond(cross @ cross.T + 0.3 * own) * jnp.abs(again.coefficients).max()
    assert jnp.abs(found.coefficients - again.coefficients).max() <= bound < 1e-3
    assert not list(work.iterdir())


class Counting(ThreadPoolExecutor):
    """An executor that hands on, and counts."""

    def __init__(self, inner):
        super().__init__(1)
        self.inner, self.tasks = inner, 0

    def submit(self, *task):
        self.tasks += 1
        return self.inner.submit(*task)


def test_dask_goes_on_when_a_worker_is_killed(tmp_path):
    """Every product and every sum is that of one process, to the bit, though a worker dies in each of them."""
    shared = tmp_path / "shared"
    alone = conjugate_gradients(KernelOperator(KERNEL, X, block=20), V, 1.0)
    with ThreadPoolExecutor(1) as one:
        sums = subset_of_regressors(KERNEL, X, V, X[:30], 0.3, block=4, executor=one, tasks=40)
    with two_dask_workers() as client, client.get_executor() as executor:
        pid = client.submit(os.getpid, pure=False).result()
        with ExecutorOperator(KERNEL, X, executor, block=20, folder=shared) as operator:
            seen = []

            def product(v):
                seen.append(None)
                return operator(v)

            with killed_when(lambda: len(seen) >= 3, pid) as killed:
                found = conjugate_gradients(product, V, 1.0)
            assert killed == [pid]
        assert np.array_equal(found.coefficients, alone.coefficients)
        assert not list(shared.iterdir())
        pid = client.submit(os.getpid, pure=False).result()
        with killed_when(files(shared, "rows-*.npy", 3), pid) as killed:
            direct = subset_of_regressors(
                KERNEL, X, V, X[:30], 0.3, block=4, executor=executor, tasks=40, folder=shared
            )
        assert killed == [pid]
    assert np.array_equal(direct.coefficients, sums.coefficients)


def test_a_full_disk_is_named_and_the_same_call_goes_on(tmp_path):
    x, y, z = X, V, X[:40]
    work = tmp_path / "disk" / "work"
    with small_disk(tmp_path / "disk", 2**17) as enlarge, ThreadPoolExecutor(1) as one:
        settings = {"block": 8, "tasks": 20, "executor": one}
        with pytest.raises(DataError, match=r"found (No space left on device|File too large).*remedy: free space"):
            subset_of_regressors(KERNEL, x, y, z, 0.3, folder=work, **settings)
        with pytest.raises(DataError, match=r"found (No space left on device|File too large).*remedy: free space"):
            ExecutorOperator(KERNEL, jnp.ones((10_000, 3)), one, folder=work)
        enlarge()
        found = subset_of_regressors(KERNEL, x, y, z, 0.3, folder=work, **settings)
        assert not list(work.iterdir())
        expected = subset_of_regressors(KERNEL, x, y, z, 0.3, **settings)
    assert np.array_equal(found.coefficients, expected.coefficients)
    (tmp_path / "file").write_text("no folder")
    with ThreadPoolExecutor(1) as one, pytest.raises(DataError, match=r"folder .*file; found .*; rule"):
        ExecutorOperator(KERNEL, X, one, folder=tmp_path / "file")


def test_wrong_arguments_are_refused():
    with ThreadPoolExecutor(1) as one:
        for tasks in (0, True):
            with pytest.raises(SettingError, match="tasks"):
                subset_of_regressors(KERNEL, X, V, X[:3], 1.0, executor=one, tasks=tasks)
            with pytest.raises(SettingError, match="tasks"):
                ExecutorOperator(KERNEL, X, one, tasks=tasks)
        with pytest.raises(SettingError, match="block"):
            ExecutorOperator(KERNEL, X, one, block=0)
        with pytest.raises(DataError, match="points x"):
            ExecutorOperator(KERNEL, X.at[0, 0].set(jnp.nan), one)
