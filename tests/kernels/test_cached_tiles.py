"""Gram matrices of JAX and NumPy from tiles that stay in the cache: the values, the work, the copies, the messages."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import (
    AngularKernel,
    Conv,
    Dense,
    Erf,
    Flatten,
    GlobalAveragePool,
    LeakyRelu,
    NNGPKernel,
    Relu,
    Serial,
    TangentKernel,
    _tiling,
    erf_network,
    relu_network,
)
from lemmata.errors import SettingError
from lemmata.kernels import (
    RBF,
    AbstractKernel,
    Compose,
    ExponentialDotProduct,
    Laplace,
    Linear,
    Matern,
    OddEvenKernel,
    Periodic,
    PolyharmonicCovariance,
    Polynomial,
    TorusSobolev,
    _base,
    _filled,
    _gram,
    gram,
    squared_distances,
    writable_gram,
)

SIDE = 24
KERNELS = [
    RBF(3.0),
    RBF(jnp.linspace(1.0, 4.0, 10)),
    Laplace(3.0),
    Matern(0.8, 3.0),
    Matern(1.5, 3.0),
    PolyharmonicCovariance(),
    Linear(),
    Polynomial(3, offset=1.0),
    ExponentialDotProduct(10.0),
    OddEvenKernel(3.0),
    Periodic(5.0, 2.0),
    TorusSobolev(2),
    RBF(3.0) * Linear() + 2.0 * Laplace(3.0) ** 2,
    NNGPKernel(relu_network(3)),
    AngularKernel(TangentKernel(erf_network(2, bias_std=0.1)), norm=2.0, dimension=10),
    TangentKernel(relu_network(2, bias_std=0.1)),
    TangentKernel(erf_network(2, bias_std=0.1)),
]


@pytest.fixture
def in_tiles(monkeypatch):
    """Every matrix in tiles of 24 rows, those of fields in tiles of few pairs."""
    monkeypatch.setattr(_gram, "_AT_ONCE", 0)
    monkeypatch.setattr(_gram, "_FEW_TILES", 0)
    monkeypatch.setattr(_tiling, "_FIELD_TILE", 2**10)
    monkeypatch.setattr(_base, "_TILE_ROWS", SIDE)


def points(rows: int, columns: int = 10, seed: int = 0) -> jax.Array:
    """Normal points, of which some are equal and some near to each other."""
    x = np.random.default_rng(seed).normal(size=(rows, columns))
    if rows > 20:
        x[11], x[12], x[rows - 1] = x[3], x[5] + 1e-7, x[7] - 1e-9
    return jnp.asarray(x)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_the_matrix_is_that_of_the_whole(kernel, in_tiles):
    # tests/laws compare `cross` with single pairs.
    x = points(61)
    if isinstance(kernel, AngularKernel):
        x = 2.0 * x / jnp.linalg.norm(x, axis=1, keepdims=True)
    whole, found = np.asarray(kernel.cross(x, x + 0.0)), gram(kernel, x)
    near: dict = {"rtol": 1e-12, "atol": 1e-12 * np.abs(whole).max()}
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(found, writable_gram(kernel, x), **near)
    np.testing.assert_allclose(found, whole, **near)
    np.testing.assert_allclose(gram(kernel, x, x[:43] + 0.0), whole[:, :43], **near)


FIELDS = [
    ((4, 4, 2), NNGPKernel(Serial([*[Conv(4, (3, 3), 1.4, 0.1), Relu()] * 2, Flatten(), Dense(1)]))),
    ((4, 4, 2), TangentKernel(Serial([*[Conv(4, (3, 3), 1.4), LeakyRelu(0.3)] * 2, GlobalAveragePool(), Dense(1)]))),
    ((9, 10), TangentKernel(Serial([Conv(4, 3, 1.4, 0.1, padding="CIRCULAR"), Erf(), Flatten(), Dense(1, 1.0, 0.1)]))),
]


@pytest.mark.parametrize(("shape", "kernel"), FIELDS, ids=["images", "pooled", "sequences"])
def test_the_matrix_of_fields_is_that_of_the_whole(shape, kernel, in_tiles, monkeypatch):
    x = points(29, int(np.prod(shape))).reshape(-1, *shape)
    whole, tiles = np.asarray(kernel.cross(x, x + 0.0)), []
    tile = _filled.cross_tile
    monkeypatch.setattr(_filled, "cross_tile", lambda *given: tiles.append(given[1].shape) or tile(*given))
    found = gram(kernel, x)
    near: dict = {"rtol": 1e-10, "atol": 1e-10 * np.abs(whole).max()}
    assert 0.5 <= sum(rows * rows for rows, *_ in tiles) / 29**2 <= 0.85
    assert len(tiles) > 3
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diagonal(found), kernel.diagonal(x))
    np.testing.assert_allclose(found, whole, **near)
    np.testing.assert_allclose(gram(kernel, x, x[:13] + 0.0), whole[:, :13], **near)


@pytest.mark.parametrize("kernel", [RBF(3.0), Matern(0.8, 3.0), FIELDS[0][1]], ids=lambda kernel: type(kernel).__name__)
def test_no_entry_has_two_writers(kernel, in_tiles):
    shape = (4, 4, 2) if isinstance(kernel, NNGPKernel) else (10,)
    x = points(61, int(np.prod(shape))).reshape(-1, *shape).astype(jnp.float32)
    first = gram(kernel, x)
    for _ in range(4):
        np.testing.assert_array_equal(first, gram(kernel, x))


@pytest.mark.parametrize("kernel", [RBF(3.0), Linear(), Polynomial(3)], ids=lambda kernel: type(kernel).__name__)
def test_the_setting_of_the_caller_reaches_the_threads(kernel, in_tiles):
    x = np.asarray(points(61))
    expected = np.asarray(kernel.cross(jnp.asarray(x), jnp.asarray(x) + 0.0))
    jax.config.update("jax_enable_x64", False)
    try:
        with jax.enable_x64(True):
            found = gram(kernel, jnp.asarray(x))
    finally:
        jax.config.update("jax_enable_x64", True)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(1, 1), (1, 200), (200, 1), (24, 25), (25, 24), (23, 49), (100, 3)])
def test_every_shape_is_filled(shape, in_tiles):
    x, y = points(shape[0]), points(shape[1], seed=1)
    np.testing.assert_allclose(gram(Linear(), x, y), np.asarray(x) @ np.asarray(y).T, rtol=0, atol=1e-13)
    np.testing.assert_allclose(gram(Linear(), x), np.asarray(x) @ np.asarray(x).T, rtol=0, atol=1e-13)


@pytest.mark.parametrize("kernel", [RBF(1.0), Laplace(1.0), Matern(2.5)], ids=repr)
@pytest.mark.parametrize("width", [0.0, 1e-9, 1e-3])
def test_clusters_keep_their_distances(kernel, width, in_tiles):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4, 12))[rng.integers(0, 4, 70)] + width * rng.normal(size=(70, 12)) + 5.0
    exact = np.sum((x[:, None] - x[None]) ** 2, axis=-1)
    expected = jax.vmap(kernel._profile)(jnp.asarray(exact))
    for found in (gram(kernel, x), gram(kernel, x, x.copy())):
        np.testing.assert_allclose(found, expected, rtol=1e-11)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("rows", [24, 60, 61])
def test_the_type_is_that_of_the_points(dtype, rows, in_tiles):
    x = points(rows).astype(dtype)
    assert gram(Matern(1.5), x).dtype == gram(Linear(), x, x + 1).dtype == dtype


@pytest.mark.parametrize(
    "kernel", [RBF(), Linear(), PolyharmonicCovariance()], ids=lambda kernel: type(kernel).__name__
)
@pytest.mark.parametrize("rows", [240, 263])
def test_a_symmetric_matrix_is_little_more_than_half_the_work(kernel, rows, in_tiles, monkeypatch):
    x, entries = points(rows), []
    for name in ("cross_tile", "diagonal_tile"):
        tile = getattr(_filled, name)
        counted = lambda *given, tile=tile: entries.append(len(given[1]) * len(given[-1])) or tile(*given)
        monkeypatch.setattr(_filled, name, counted)
    gram(kernel, x)
    assert 0.5 <= sum(entries) / rows**2 <= 0.6


@pytest.mark.parametrize("kernel", [RBF(), Linear(), Laplace()], ids=lambda kernel: type(kernel).__name__)
def test_jax_takes_the_matrix_over_without_a_copy(kernel, in_tiles, monkeypatch):
    made = []
    fill = _gram.filled
    monkeypatch.setattr(_gram, "filled", lambda *given: made.append(fill(*given)) or made[0])
    matrix = gram(kernel, points(100))
    assert matrix.unsafe_buffer_pointer() == made[0].ctypes.data


@pytest.mark.parametrize("symmetric", [True, False])
@pytest.mark.parametrize("tiles", [{}, {"block": 20}])
@pytest.mark.parametrize("row", [2, 37, 60])
def test_an_error_names_the_row_among_all_rows(symmetric, tiles, row, in_tiles):
    x, y = points(61).at[row].set(1e200), points(43, seed=1).at[30].set(1e200)
    column = row if symmetric else 30
    with pytest.raises(SettingError, match=f"inf at row {row} of x and row {column} of y"):
        gram(Linear(), x, None if symmetric else y, **tiles)


class Leaning(AbstractKernel):
    """No kernel: its value depends on which point comes first."""

    cheap_points = True

    def __call__(self, x, y):
        return x[0] - y[0]


@pytest.mark.parametrize(
    "kernel", [Leaning(), Linear() + Leaning(), Compose(Leaning(), lambda point: point + 1)], ids=repr
)
def test_a_kernel_that_is_not_symmetric_is_refused(kernel, in_tiles):
    with pytest.raises(SettingError, match="symmetric function"):
        gram(kernel, points(61))


def test_traced_values_go_by_the_whole_matrix(in_tiles):
    x = points(30)
    number = lambda length: jnp.sum(gram(RBF(length), x))
    hidden = lambda length: jnp.sum(gram(Compose(RBF(), lambda point: point / length), x))
    expected = jnp.sum(jax.vmap(lambda a: jax.vmap(lambda b: jnp.sum((a - b) ** 2))(x))(x) * gram(RBF(2.0), x)) / 8
    for function in (number, hidden, jax.jit(number)):
        np.testing.assert_allclose(jax.grad(function)(2.0), expected, rtol=1e-9)
    np.testing.assert_allclose(jax.vmap(number)(jnp.array([1.0, 2.0]))[1], number(2.0), rtol=1e-12)


def test_a_map_of_the_inputs_sees_every_point_once(in_tiles):
    seen = []
    kernel = Compose(
        Compose(RBF(), lambda point: point * 2), lambda point: jax.debug.callback(seen.append, point[0]) or point
    )
    x, y = points(61), points(40, seed=1)
    gram(kernel, x).block_until_ready()
    assert len(seen) == 61
    gram(kernel, x, y).block_until_ready()
    assert len(seen) == 61 + 61 + 40
    np.testing.assert_allclose(gram(kernel, x), gram(RBF(0.5), x), rtol=1e-12)


@pytest.mark.parametrize("d", [9, 40, 300])
def test_one_array_given_twice_is_the_same_as_a_copy(d):
    x = points(50, d)
    found = squared_distances(x, x)
    np.testing.assert_allclose(found, squared_distances(x, x + 0.0), rtol=1e-12, atol=1e-25)
    assert np.all(np.diagonal(found) == 0)
    assert found[3, 11] == 0
    moved = lambda x: jnp.sum(jnp.sin(squared_distances(x, x)))
    other = lambda x: jnp.sum(jnp.sin(squared_distances(x, x + 0.0)))
    np.testing.assert_allclose(jax.grad(moved)(x), jax.grad(other)(x), rtol=1e-9, atol=1e-9)
