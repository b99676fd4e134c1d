"""Memory plans, matrices in tiles, matrices on disk that survive a kill, and points that cannot be used."""

import pathlib
import signal
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, LemmataError, MemoryPlanError, SettingError, ShapeError
from lemmata.kernels import RBF, AbstractKernel, Compose, Linear, _gram, _plan, gram, gram_on_disk, gram_plan
from lemmata.kernels._plan import check_blocks
from lemmata.kernels._points import checked_problem


def points(rows, columns=3, seed=0):
    return jnp.asarray(np.random.default_rng(seed).normal(size=(rows, columns)))


class Images(AbstractKernel):
    """The mean over pixels of the squared inner product over channels."""

    def __call__(self, x, y):
        return jnp.mean(jnp.sum(x * y, axis=-1) ** 2)

    def cross(self, x, y):
        return jnp.mean(jnp.einsum("ahwc,bhwc->abhw", x, y) ** 2, axis=(2, 3))


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
        checked_problem(Images(), images, images[:, :3])


class Skew(AbstractKernel):
    """x_0 + (1 - lean) y_0, of which only lean = 0 is symmetric."""

    lean: float

    def __call__(self, x, y):
        return x[0] + (1 - self.lean) * y[0]


@pytest.mark.parametrize("settings", [{}, {"block": 3}, {"block": 1}, {"working_set": 20_000}])
def test_an_asymmetric_kernel_is_refused_in_every_form(settings):
    x = points(8)
    # |K(x, y) - K(y, x)| = lean |x_0 - y_0|, over the tile: all points, the first three, the first two.
    seen = x[: {3: 3, 1: 2}.get(settings.get("block"), 8), 0]
    gap = 3 * float(seen.max() - seen.min())
    with pytest.raises(SettingError, match=rf"kernel; found .* up to {gap:.3g}, with entries.*symmetric function"):
        gram(Skew(3.0), x, **settings)
    matrix = gram(Skew(1e-9), x, **settings)  # below the root of d eps, so it may be rounding
    assert np.array_equal(matrix, matrix.T)
    assert gram(Skew(3.0), x, x, **settings).shape == (8, 8)  # nothing is said of cross matrices


def test_the_bound_on_asymmetry_is_the_root_of_the_rounding():
    x = points(8)
    bound = 2 * np.sqrt(3 * np.finfo(float).eps)
    largest, spread = 2 * np.abs(x[:, 0]).max(), float(x[:, 0].max() - x[:, 0].min())
    gram(Skew(0.99 * bound * largest / spread), x)
    with pytest.raises(SettingError, match="symmetric"):
        gram(Skew(1.01 * bound * largest / spread), x)
    # Where values are unknown nothing is refused; numbers beyond the largest are no asymmetry, and refused as such.
    assert jax.jit(lambda p: gram(Skew(3.0), p))(x).shape == (8, 8)
    assert np.isfinite(jax.grad(lambda p: gram(RBF(), p).sum())(x)).all()
    with pytest.raises(SettingError, match=r"found K\(x, y\) = -?inf"):
        gram(Linear(), 1e200 * x)


class Outer(AbstractKernel):
    """A function of two points that is no kernel: it returns a matrix."""

    def __call__(self, x, y):
        return jnp.outer(x, y)

    def cross(self, x, y):
        return jax.vmap(lambda a: jax.vmap(lambda b: jnp.outer(a, b))(y))(x)


def test_kernels_and_points_that_do_not_fit_each_other():
    x, images = points(6), jnp.ones((6, 4, 4, 3))
    for settings in ({}, {"block": 2}, {"working_set": 10**6}):
        with pytest.raises(
            ShapeError, match=r"kernel; found values of shape .*3, 3\) for .*one number for each pair.*one number"
        ):
            gram(Outer(), x, **settings)
        for kernel in (RBF(), Linear(), RBF() + Linear()):
            with pytest.raises(ShapeError, match=r"4, 4, 3\).*x\.reshape\(len\(x\), -1\)"):
                gram(kernel, images, **settings)
    with pytest.raises(TypeError, match="own mistake"):  # a mistake inside a kernel of vectors stays visible
        gram(Compose(Linear(), own_mistake), x)


def own_mistake(point):
    raise TypeError("own mistake")


def test_what_is_no_kernel_or_no_points():
    x = points(4)
    for wrong, word in ((own_mistake, "a function"), (RBF, "the class RBF"), (None, "a NoneType")):
        with pytest.raises(SettingError, match=rf"kernel; found {word}; rule: .*AbstractKernel.*TangentKernel\(net"):
            checked_problem(wrong, x, None)
    rows, other, known = checked_problem(RBF(), [[1, 2], [3, 4]], np.ones((3, 2), int))
    assert (rows.dtype, other.dtype, known) == (x.dtype, x.dtype, True)
    assert np.array_equal(gram(RBF(), rows), gram(RBF(), jnp.asarray([[1.0, 2.0], [3.0, 4.0]])))
    for wrong, error, text in (
        (x + 0j, DataError, "complex128; rule: real numbers"),
        (np.array([["a", "b"]]), DataError, "real numbers"),
        ([[1.0, 2.0], [3.0]], DataError, "a list that cannot become an array"),
        (jnp.ones((4, 0)), ShapeError, "axis 1 has length 0"),
        (jnp.ones((4, 2, 0)), ShapeError, "axis 2 has length 0"),
        (jnp.ones((0, 0)), ShapeError, "axis 1 has length 0"),
    ):
        with pytest.raises(error, match=rf"points x.*{text}"):
            checked_problem(RBF(), wrong, None)
    with pytest.raises(DataError, match=r"points y.*real numbers"):
        checked_problem(RBF(), x, x + 0j)
    for block, working_set in ((2.5, None), (True, None), (None, "1G"), (None, 1e9)):
        with pytest.raises(SettingError, match=r"a whole number of (rows|bytes)"):
            check_blocks(block, working_set)
    check_blocks(np.int64(2), None)


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
                           ({"block": 2, "working_set": 10**6}, "at most one of the two")):  # fmt: skip
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
    with pytest.raises(SettingError, match=r"found K\(x, y\) = inf at row 0"):
        gram(Linear(), huge[:1])
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


def test_a_killed_run_is_continued_with_the_missing_tiles(tmp_path, capsys):
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
    assert (
        "already has tiles of 10 x 10. These tiles are kept, and not replaced by tiles of 7 x 7"
        in capsys.readouterr().err
    )
    assert np.array_equal(matrix[:], gram(RBF(1.5), x, block=10))
    assert len(list(done.iterdir())) == 465
    assert all((done / name).stat().st_mtime_ns == moment for name, moment in finished.items())


def test_damaged_tiles_are_named_and_computed_again(tmp_path, capsys):
    pytest.importorskip("zarr", reason="the extra `disk` is not installed")
    x, path = points(12), tmp_path / "gram"
    whole = gram_on_disk(RBF(), x, path=path, block=5)[:]
    capsys.readouterr()
    for chunk, tile, content in (
        ("0/0", "0.0", b"?" * 20), ("2/1", "1.2", b"?" * 20), ("1/2", "1.2", None), ("2/2", "2.2", b"?" * 300),
    ):  # fmt: skip
        damaged = path / "c" / chunk
        damaged.unlink() if content is None else damaged.write_bytes(content)
        found = "no file" if content is None else f"a damaged array: {len(content)} bytes"
        with pytest.raises(DataError, match=rf"tile {tile} .*{found}; rule: 200 bytes .*remove .*done.{tile}, and"):
            gram_on_disk(RBF(), x, path=path)
        (path / "done" / tile).unlink()
        assert np.array_equal(gram_on_disk(RBF(), x, path=path, block=5)[:], whole)
    assert capsys.readouterr().err == ""
    # What is not finite is refused before it is written.
    with pytest.raises(SettingError, match=r"found K\(x, y\) = nan"):
        gram_on_disk(Compose(RBF(), lambda u: jnp.nan * u), x, path=tmp_path / "nan", block=5)
    # Damage that keeps the size shows in the tile that is compared.
    first = path / "c" / "0" / "0"
    first.write_bytes(b"?" * 20 + first.read_bytes()[20:])
    with pytest.raises(DataError, match="other values"):
        gram_on_disk(RBF(), x, path=path)


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
        with pytest.raises(DataError, match="another kernel or of other points"):
            gram_on_disk(kernel, left, right, path=path)
    with pytest.raises(DataError, match="finished tile with other values"):
        gram_on_disk(Compose(RBF(), lambda u: 3 * u), x, y, path=path)
    zarr.create_array(store=str(tmp_path / "other"), shape=(12, 9), chunks=(5, 5), dtype="float64")
    with pytest.raises(DataError, match="gram_on_disk did not write"):
        gram_on_disk(RBF(), x, y, path=tmp_path / "other")
    (path / "zarr.json").write_bytes(pathlib.Path(path / "zarr.json").read_bytes()[:100])
    with pytest.raises(DataError, match="without a readable zarr array"):
        gram_on_disk(RBF(), x, y, path=path)
    with pytest.raises(LemmataError, match="at least one row"):
        gram_on_disk(RBF(), x[:0], path=tmp_path / "none")
