"""Layers that change the grid against second routes: sums written out, JAX's own layers, fields without masks."""

import itertools

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest

from lemmata.architectures import (
    AveragePool,
    ConvTranspose,
    Dense,
    Flatten,
    GlobalAveragePool,
    Grid,
    ImageResize,
    Index,
    Masked,
    NNGPKernel,
    Patches,
    Relu,
    Serial,
    State,
    TangentKernel,
    TransposedWindow,
    padded,
)
from lemmata.architectures._state import Centred, Means
from lemmata.errors import SettingError, ShapeError
from lemmata.storage import load, save

EPS = np.finfo(np.float64).eps


@pytest.fixture
def shapes_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def positive(size, seed):
    factor = draw(size, size, seed=seed)
    return factor @ factor.T


def state(sites, pairs):
    """The state of one pair of fields, with arbitrary numbers; those of each with itself are others."""
    size, ones = int(np.prod(sites)), (1,) * len(sites)

    def of(nngp, ntk, x, y, **sides):
        if pairs:
            two = [jnp.asarray(values).reshape(*sites, *sites) for values in (nngp, ntk)]
            one = [jnp.diag(x).reshape(*sites, *ones), jnp.diag(y).reshape(*ones, *sites)]
        else:
            two, one = ([jnp.diag(v).reshape(sites) for v in values] for values in ((nngp, ntk), (x, y)))
        means, centred = Means(one[0] + 1, one[1] + 2), Centred(two[0] + 3, one[0] + 4, one[1] + 5, two[0] + 6)
        return State(*two, *one, 7, means=means, grid=Grid(sites, pairs, **sides), versine=two[0] + 8, centred=centred)

    nngp, ntk, x, y = (positive(size, seed) for seed in range(4))
    return of(nngp, ntk, x, y, **({"left": of(x, ntk, x, x), "right": of(y, ntk, y, y)} if pairs else {}))


def assert_linear(layer, sites, pairs, picks=True):
    """The moments after a layer are those of the matrix that the finite layer is on fields with one coordinate."""
    size, before = int(np.prod(sites)), state(sites, pairs)
    basis = jax.vmap(lambda one: layer.apply((), one))(jnp.eye(size).reshape(size, *sites, 1))
    new, matrix = basis.shape[1:-1], np.asarray(basis).reshape(size, -1).T
    pushed = layer.push(before)
    assert pushed.grid.sites == new
    assert (pushed.grid.left is None) == (not pairs or not new)

    def compare(found, values, axes):
        found, values = np.ravel(found), np.ravel(values)
        both = axes == 2 and pairs
        values = np.ravel(matrix @ values.reshape(size, size) @ matrix.T) if both else matrix @ values
        np.testing.assert_allclose(found, values, atol=100 * EPS * size)

    def compare_all(found, values):
        assert found.nngp.ndim == found.xx.ndim == found.yy.ndim == found.grid.axes
        compare(found.means.x, values.means.x, 1)
        compare(found.means.y, values.means.y, 1)
        compare(found.nngp, values.nngp, 2)
        compare(found.ntk, values.ntk, 2)
        if picks:
            parts = [(found, values), (found.centred, values.centred)]
            for name, axes in {"nngp": 2, "xx": 1, "yy": 1, "versine": 2}.items():
                for one, other in parts:
                    compare(getattr(one, name), getattr(other, name), axes)
        else:
            assert found.versine is None
            assert found.centred is None

    compare_all(pushed, before)
    if pairs:
        for name, variances in (("left", pushed.xx), ("right", pushed.yy)):
            side = getattr(before.grid, name).nngp.reshape(size, size)
            np.testing.assert_allclose(np.ravel(variances), np.diag(matrix @ side @ matrix.T), atol=100 * EPS * size)
            if new:
                compare_all(getattr(pushed.grid, name), getattr(before.grid, name))
                np.testing.assert_array_equal(np.ravel(getattr(pushed.grid, name).xx), np.ravel(variances))


@pytest.mark.parametrize("antialias", [True, False])
@pytest.mark.parametrize("method", ["nearest", "linear", "cubic", "lanczos3"])
def test_resizing_pushes_moments_through_its_own_matrix(method, antialias):
    layer = ImageResize((2, 5), method, antialias)
    assert_linear(layer, (4, 3), True, method == "nearest")
    assert layer.needs_pairs(False) == (method != "nearest")
    if method == "nearest":
        assert_linear(layer, (4, 3), False)
    x = jnp.asarray(draw(4, 3, 2))
    np.testing.assert_array_equal(layer.apply((), x), jax.image.resize(x, (2, 5, 2), method, antialias))


def test_resizing_to_the_same_grid_changes_nothing():
    before = state((3, 2), pairs=False)
    layer = ImageResize((None, None), "linear")
    assert not layer.needs_pairs(False)
    np.testing.assert_array_equal(layer.push(before).nngp, before.nngp)


@pytest.mark.parametrize("pairs", [True, False])
@pytest.mark.parametrize(
    "index", [np.s_[1:, ::-2], np.s_[-1], np.s_[..., 0], np.s_[-1, 2], np.s_[::3, ..., 1:]], ids=str
)
def test_indexing_pushes_moments_through_its_own_matrix(index, pairs):
    assert_linear(Index(index), (4, 3), pairs)
    x = draw(4, 3, 2)
    with_channels = index if index is Ellipsis else (*(index if isinstance(index, tuple) else (index,)),)
    shown = with_channels if Ellipsis not in with_channels else (*with_channels, slice(None))
    np.testing.assert_array_equal(Index(index).apply((), jnp.asarray(x)), x[shown])
    assert Index(index).init(jax.random.key(0), (4, 3, 2))[1] == (x[shown].shape if x[shown].ndim > 1 else 2)


def places(size, stride, dilation, padding, n):
    """For every position and place of a window the position that it shows, or None: the formula of TransposedWindow."""
    extent = (size - 1) * dilation + 1
    length = n * stride + (max(extent - stride, 0) if padding == "VALID" else 0)
    offset = extent - 1 if padding == "VALID" else min(extent - 1, -(-(extent + stride - 2) // 2))
    found = np.arange(length)[:, None] + dilation * np.arange(size) - offset
    if padding == "CIRCULAR":
        found = found % (n * stride)
    inside = (found % stride == 0) & (found >= 0) & (found // stride < n)
    return np.where(inside, found // stride, -1)


WINDOWS = [
    (size, stride, dilation, padding)
    for padding in ("SAME", "VALID", "CIRCULAR")
    for size, stride, dilation in (
        (1, 1, 1),
        (3, 1, 1),
        (2, 2, 1),
        (3, 2, 1),
        (2, 3, 1),
        (5, 2, 1),
        (2, 2, 3),
        (11, 2, 1),
    )
]


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_transposed_windows_show_what_the_transposed_convolution_of_jax_does(window):
    size, stride, dilation, padding = window
    n, c = 4, 2
    shown = places(size, stride, dilation, padding, n)
    x, w = draw(n, c), draw(size, c, 3, seed=1)
    layer = ConvTranspose(3, size, strides=stride, dilation=dilation, padding=padding)
    params = ((), {"weight": jnp.asarray(w.reshape(-1, 3).T)})
    rows = np.where(shown[..., None] < 0, 0.0, x[shown])
    by_sums = np.einsum("poc,ocd->pd", rows, w) / np.sqrt(size * c)
    found = layer.apply(params, jnp.asarray(x))
    np.testing.assert_allclose(found, by_sums, atol=100 * EPS)
    assert layer.init(jax.random.key(0), (n, c))[1] == found.shape
    if padding != "CIRCULAR":
        options = {"rhs_dilation": (dilation,), "dimension_numbers": ("NWC", "WIO", "NWC")}
        theirs = jax.lax.conv_transpose(jnp.asarray(x)[None], jnp.asarray(w), (stride,), padding, **options)[0]
        np.testing.assert_allclose(found, theirs / np.sqrt(size * c), atol=100 * EPS)


@pytest.mark.parametrize("padding", ["SAME", "VALID", "CIRCULAR"])
def test_transposed_windows_push_means_over_their_places(padding):
    sites, size, strides = (3, 2), (3, 2), (2, 1)
    before = state(sites, pairs=True)
    first, second = (places(k, s, 1, padding, n) for k, s, n in zip(size, strides, sites, strict=True))
    pushed = Patches(TransposedWindow(size, strides, padding=padding)).push(before)
    new = (len(first), len(second))
    assert pushed.grid.sites == new
    for name in ("nngp", "ntk"):
        values, expected = np.asarray(getattr(before, name)), np.zeros((*new, *new))
        for p, q, r, t in itertools.product(*map(range, (*new, *new))):
            for o, u in itertools.product(*map(range, size)):
                at = first[p, o], second[q, u], first[r, o], second[t, u]
                expected[p, q, r, t] += 0.0 if min(at) < 0 else values[at] / np.prod(size)
        np.testing.assert_allclose(getattr(pushed, name), expected, atol=100 * EPS)


SHORT, LONG = jnp.asarray(draw(3, 2)), jnp.asarray(draw(5, 2, seed=1))


@pytest.mark.parametrize(
    "layers",
    [
        [ConvTranspose(4, 3, 1.2, 0.3, strides=2), Relu(), ConvTranspose(4, 2, 1.2, 0.3), GlobalAveragePool()],
        [ConvTranspose(4, 4, 1.2, 0.3, strides=3, padding="VALID"), Relu(), GlobalAveragePool()],
        [ConvTranspose(4, 2, 1.2, 0.3, strides=3, padding="VALID"), Relu(), Index(slice(1, None)), GlobalAveragePool()],
        [Dense(4, 1.2, 0.3), Index(2), Relu()],
    ],
    ids=["same", "valid", "gaps", "one"],
)
def test_padded_sequences_have_the_kernels_of_those_alone(layers):
    network, x = Serial([*layers, Dense(1, 1.1, 0.2)]), padded([SHORT, LONG])
    params, _ = Masked(network).init(jax.random.key(0), (5, 3))
    for kind in (NNGPKernel, TangentKernel):
        masked, alone = kind(Masked(network)).diagonal(x), kind(network)
        np.testing.assert_allclose(masked[0], alone.diagonal(SHORT[None])[0], rtol=1e-12)
        np.testing.assert_allclose(masked[1], alone.diagonal(LONG[None])[0], rtol=1e-12)
    for one, point in zip((SHORT, LONG), x, strict=True):
        np.testing.assert_allclose(Masked(network).apply(params, point), network.apply(params, one), rtol=1e-12)


def test_a_position_that_is_empty_is_the_vector_zero():
    network, x = Masked(Serial([Dense(4, 1.2, 0.3), Index(4), Dense(1, 1.1, 0.2)])), padded([SHORT, LONG])
    assert NNGPKernel(network).diagonal(x)[0] == pytest.approx(0.2**2, rel=1e-12)
    params, _ = network.init(jax.random.key(0), (5, 3))
    np.testing.assert_allclose(network.apply(params, x[0]), 0.2 * params[2]["bias"], rtol=1e-12)


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (ImageResize(4, "nearest"), "ImageResize.*masks"),
        (ImageResize(4, "linear"), "ImageResize.*masks"),
        (Index(-1), "index on masked fields; found -1"),
        (Index(slice(None, None, -1)), "nonnegative positions"),
        (ConvTranspose(4, 3, padding="CIRCULAR"), "window on masked fields"),
    ],
)
def test_what_depends_on_where_a_padded_sequence_ends_is_refused(layer, words):
    network, x = Masked(Serial([Dense(4), layer, Flatten(), Dense(1)])), padded([SHORT, LONG])
    params, _ = network.init(jax.random.key(0), (5, 3))
    for call in (lambda: NNGPKernel(network).diagonal(x), lambda: network.apply(params, x[0])):
        with pytest.raises(SettingError, match=words):
            call()


def test_layers_come_back_from_files(tmp_path):
    layers = [ConvTranspose(4, 3, strides=2), ImageResize((None,), "cubic", False), Index(np.s_[1:, ...]), Flatten()]
    network = Serial([*layers, Dense(1)])
    save(network, tmp_path / "network")
    again = load(tmp_path / "network")
    assert jax.tree.structure(again) == jax.tree.structure(network)
    assert hash(jax.tree.structure(again)) == hash(jax.tree.structure(network))


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: ConvTranspose(4, 0), "size of a window"),
        (lambda: ConvTranspose(4, (3, 3), strides=(1,)), "strides of a window"),
        (lambda: ConvTranspose(4, 3, padding="FULL"), "padding of a window"),
        (lambda: ImageResize((4, 0), "linear"), "shape of ImageResize"),
        (lambda: ImageResize((), "linear"), "shape of ImageResize"),
        (lambda: ImageResize((4, 2.5), "linear"), "shape of ImageResize"),
        (lambda: ImageResize((4, 4), "area"), "method of ImageResize; found area"),
        (lambda: ImageResize((4, 4), ["linear"]), "method of ImageResize"),
        (lambda: Index(1.5), "index of Index; found 1.5"),
        (lambda: Index(True), "index of Index"),
        (lambda: Index(None), "index of Index"),
        (lambda: Index(slice(0, 4, 0)), "step other than 0"),
        (lambda: Index(slice(0, 1.5)), "index of Index"),
        (lambda: Index((..., 0, ...)), "at most one"),
    ],
)
def test_settings_out_of_bounds(build, words):
    with pytest.raises(SettingError, match=words):
        build()


@pytest.mark.usefixtures("shapes_unchecked")
@pytest.mark.parametrize(
    ("layer", "shape", "words"),
    [
        (ConvTranspose(4, 3), (4, 3, 2), r"Patches; found a grid of shape \(4, 3\).*1 dimensions"),
        (ConvTranspose(4, 3, padding="VALID"), (0, 2), "found .*0.*; rule: .*at least one position along each axis"),
        (
            ImageResize((2, 2), "linear"),
            (4, 2),
            r"ImageResize; found a grid of shape \(4,\); rule: fields on a grid of 2",
        ),
        (ImageResize(2, "nearest"), (0, 2), "found .*0.*; rule: .*at least one position along each axis"),
        (Index((0, 0)), (4, 2), r"Index; found a grid of shape \(4,\).*2 indices are given; remedy: give the layer"),
        (Index(4), (4, 2), "found 4 positions for the index 4; rule: a position from -4 to 3"),
        (Index(-5), (4, 2), "found 4 positions for the index -5"),
        (
            Index(slice(4, None)),
            (4, 2),
            r"found 4 positions for the slice\(4, None, None\); rule: an index that selects at least one",
        ),
    ],
)
def test_grids_that_do_not_fit(layer, shape, words):
    network = Serial([layer, Flatten(), Dense(1)])
    with pytest.raises(ShapeError, match=words):
        NNGPKernel(network).diagonal(jnp.ones((2, *shape)))
    with pytest.raises(ShapeError, match=words):
        network.init(jax.random.key(0), shape)
    with pytest.raises(ShapeError, match=words):
        layer.apply((((),) * 2), jnp.ones(shape))


@pytest.mark.parametrize("layer", [ConvTranspose(4, 3), ImageResize(2, "linear"), ImageResize(2, "nearest"), Index(0)])
def test_vectors_are_refused(layer):
    network = Serial([Dense(3), layer, Dense(1)])
    with pytest.raises(ShapeError, match="vectors"):
        NNGPKernel(network).diagonal(jnp.eye(3))
    with pytest.raises(ShapeError, match="vectors"):
        network.init(jax.random.key(0), 3)


def test_sums_of_positions_without_all_pairs_are_refused():
    for layer in (ImageResize((2, 2), "linear"), AveragePool((2, 2))):
        with pytest.raises(SettingError, match="at the same position, on a grid"):
            layer.push(state((4, 3), pairs=False))
