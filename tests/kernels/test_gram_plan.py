"""Memory plans, matrices in tiles, matrices on disk that survive a kill, and points that cannot be used."""

import pathlib
import signal
import subprocess
import sys
import time

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.core import _memory, available_bytes
from lemmata.errors import DataError, LemmataError, MemoryPlanError, SettingError, ShapeError
from lemmata.kernels import RBF, AbstractKernel, Compose, Linear, _gram, _plan, gram, gram_on_disk, gram_plan
from lemmata.kernels._points import checked_points


def points(rows, columns=3, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(rows, columns)))


class Images(AbstractKernel):
    """The mean over pixels of the squared inner product over channels."""

    def __call__(self, x, y):
        return jnp.mean(jnp.sum(x * y, axis=-1) ** 2)

    def cross(self, x, y):
        return jnp.mean(jnp.einsum("ahwc,bhwc->abhw", x, y) ** 2, axis=(2, 3))


def test_control_groups_bound_the_free_memory(tmp_path):
    membership = tmp_path / "cgroup"
    membership.write_text("0::/job/step\n4:cpu,memory:/box\n")
    for folder, names, numbers in (
        ("job/step", _memory._V2, ("max", 700, 0)),
        ("job", _memory._V2, (1000, 900, 200)),
        ("memory/box", _memory._V1, (5000, 4600, 0)),
    ):
        place = tmp_path / "mount" / folder
        place.mkdir(parents=True, exist_ok=True)
        (place / names[0]).write_text(f"{numbers[0]}\n")
        (place / names[1]).write_text(f"{numbers[1]}\n")
        (place / "memory.stat").write_text(f"anon 5\n{names[2]} {numbers[2]}\n")
    left = _memory._group_bytes(membership, tmp_path / "mount")
    # 1000 - 900 + 200, and 5000 - 4600; the other groups have no limit
    assert [number for number in sorted(left) if number < float("inf")] == [300, 400]
    assert _memory._group_bytes(tmp_path / "missing", tmp_path) == [float("inf")]
    assert 0 < available_bytes() < 2**50


@pytest.mark.parametrize("other", [None, 31])
def test_tiles_of_a_working_set_give_the_matrix(other):
    x, y = points(50), None if other is None else points(other, seed=1)
    plan = gram_plan(RBF(), x, y, working_set=60_000)
    assert plan.working_bytes <= 60_000
    assert 1 < plan.block < 50
    matrix = gram(RBF(), x, y, working_set=60_000)
    assert np.allclose(matrix, gram(RBF(), x, y), rtol=0, atol=1e-14)
    assert np.array_equal(matrix, gram(RBF(), x, y, block=plan.block))
    if y is None:
        assert np.array_equal(matrix, matrix.T)
        assert len(plan.tiles) < (-(-50 // plan.block)) ** 2


def test_the_plan_counts_what_the_compiled_kernel_holds():
    x = points(64, 2)
    small, large = (gram_plan(Linear(), x, block=block) for block in (16, 64))
    # A product holds nothing but the tile, its copy and two sets of 16 points (and 8 bytes of the scale), three times;
    # the tile on the diagonal is divided and added to its transpose.
    assert 2 * 8 * 16**2 <= small.working_bytes / 3 <= 3 * 8 * 16**2 + 2 * 8 * 16 * 2 + 64
    assert large.output_bytes == small.output_bytes == 8 * 64**2
    # A kernel that maps its points first holds their images too.
    wide = Compose(Linear(), lambda point: jnp.tile(point, 4000))
    assert gram_plan(wide, x, block=16).working_bytes > small.working_bytes + 16 * 8000 * 8


def test_points_of_any_shape():
    images = jnp.asarray(np.random.default_rng(2).normal(size=(9, 4, 5, 2)))
    matrix = gram(Images(), images)
    assert matrix.shape == (9, 9)
    assert np.allclose(matrix, gram(Images(), images, block=4), rtol=1e-13)
    assert np.allclose(matrix[:, :6], gram(Images(), images, images[:6], working_set=30_000), rtol=1e-13)
    with pytest.raises(ShapeError, match="one shape"):
        checked_points(images, images[:, :3])


def test_a_large_matrix_is_announced_or_refused(monkeypatch, capsys):
    x = points(60)
    monkeypatch.setattr(_gram, "_SMALL", 1000)
    monkeypatch.setattr(_gram, "_LARGE", 2000)
    monkeypatch.setattr(_plan, "_ANNOUNCED", 2000)
    matrix = gram(RBF(), x)
    assert np.allclose(matrix, RBF().cross(x, x), atol=1e-14)
    assert "60 x 60 numbers of 8 bytes = 28800 bytes" in capsys.readouterr().err
    monkeypatch.setattr(_gram, "free_bytes", lambda _: 20_000)
    with pytest.raises(MemoryPlanError, match=r"28800 bytes.*20000 bytes that are free.*gram_on_disk"):
        gram(RBF(), x)


def test_settings_and_points_that_cannot_be():
    x = points(8)
    for settings, word in (({"block": 0}, "block"), ({"working_set": -1}, "working_set"),
                           ({"block": 2, "working_set": 10**6}, "both")):  # fmt: skip
        with pytest.raises(SettingError, match=word):
            gram(RBF(), x, **settings)
    with pytest.raises(MemoryPlanError, match="one entry"):
        gram_plan(RBF(), x, working_set=8)
    for half in (jnp.float16, jnp.bfloat16):
        with pytest.raises(DataError, match=r"float16.*astype\(float\)"):
            gram(RBF(), x.astype(half))
    with pytest.raises(DataError, match=r"points y; found nan in row 5"):
        gram(RBF(), x, x.at[5, 1].set(jnp.nan))
    with pytest.raises(DataError, match=r"points x; found inf in row 2"):
        gram(RBF(), x.at[2, 0].set(jnp.inf))
    huge = x.at[0].set(1e308)  # finite, though its sum is not
    assert gram(Linear(), huge[:1] / 1e300).shape == (1, 1)
    assert np.isinf(gram(Linear(), huge[:1])[0, 0])
    for empty in (gram(RBF(), x[:0]), gram(RBF(), x, x[:0]), gram(RBF(), x[:0], x)):
        assert empty.size == 0
    assert gram(RBF(), x, x[:0]).shape == (8, 0)
    for wrong in (x[0], x[:, :0]):
        with pytest.raises(ShapeError, match="points x"):
            gram(RBF(), wrong)


RUN = """
import jax, numpy as np
jax.config.update("jax_enable_x64", True)
from lemmata.kernels import RBF, gram_on_disk
x = jax.numpy.asarray(np.random.default_rng(0).normal(size=(300, 3)))
gram_on_disk(RBF(1.5), x, path={path!r}, block=10)
"""


def test_a_killed_run_is_continued_with_the_missing_tiles(tmp_path):
    pytest.importorskip("zarr", reason="the extra `disk` is not installed")
    path = tmp_path / "gram"
    process = subprocess.Popen([sys.executable, "-c", RUN.format(path=str(path))])
    done = path / "done"
    while process.poll() is None and (not done.exists() or sum(1 for _ in done.iterdir()) < 5):
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.wait()
    finished = {entry.name: entry.stat().st_mtime_ns for entry in done.iterdir()}
    assert 5 <= len(finished) < 465
    x = points(300)
    matrix = gram_on_disk(RBF(1.5), x, path=path, block=7)  # the stored tiles decide
    assert matrix.chunks == (10, 10)
    assert np.array_equal(matrix[:], gram(RBF(1.5), x, block=10))
    assert len(list(done.iterdir())) == 465
    assert all((done / name).stat().st_mtime_ns == moment for name, moment in finished.items())


def test_folders_of_something_else_are_refused(tmp_path):
    zarr = pytest.importorskip("zarr", reason="the extra `disk` is not installed")
    x, y = points(12), points(9, seed=1)
    path = tmp_path / "gram"
    matrix = gram_on_disk(Compose(RBF(), lambda u: 2 * u), x, y, path=path, block=5)
    assert np.array_equal(matrix[:], gram(Compose(RBF(), lambda u: 2 * u), x, y, block=5))
    for kernel, left, right in (
        (Compose(RBF(0.5), lambda u: 2 * u), x, y),
        (Compose(RBF(), lambda u: 2 * u), x.at[0, 0].add(1e-15), y),
        (Compose(RBF(), lambda u: 2 * u), x, None),
        (RBF(), x, y),
    ):
        with pytest.raises(DataError, match="another kernel or points"):
            gram_on_disk(kernel, left, right, path=path)
    with pytest.raises(DataError, match="finished tile with other values"):
        gram_on_disk(Compose(RBF(), lambda u: 3 * u), x, y, path=path)
    zarr.create_array(store=str(tmp_path / "other"), shape=(12, 9), chunks=(5, 5), dtype="float64")
    with pytest.raises(DataError, match="another origin"):
        gram_on_disk(RBF(), x, y, path=tmp_path / "other")
    (path / "zarr.json").write_bytes(pathlib.Path(path / "zarr.json").read_bytes()[:100])
    with pytest.raises(DataError, match="no zarr array that can be read"):
        gram_on_disk(RBF(), x, y, path=path)
    with pytest.raises(LemmataError, match="at least one row"):
        gram_on_disk(RBF(), x[:0], path=tmp_path / "none")
