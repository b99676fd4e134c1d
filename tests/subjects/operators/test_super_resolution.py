"""Galerkin attention by kernels, the operator by loops, interpolation by SciPy and Pillow, and what is refused."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import map_coordinates

import lemmata.subjects.operators._photographs as room
from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.operators import (
    SuperResolutionOperator,
    bilinear,
    galerkin_attention,
    galerkin_weights,
    peak_signal_to_noise,
    photographs,
    pixel_centres,
    resize,
    super_resolve,
    train_super_resolution,
)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def model():
    """An operator whose head is not 0."""
    own = SuperResolutionOperator(jax.random.key(3), channels=4, width=8, heads=2)
    return eqx.tree_at(lambda m: m.head[1].weight, own, jax.random.normal(jax.random.key(4), (8, 3)))


def test_attention_point_by_point_is_a_mean_of_kernel_values_times_values(rng):
    own = galerkin_weights(jax.random.key(0), 6, 2)
    x, far = rng.normal(size=(5, 6)), rng.normal(size=(7, 6))
    norm = lambda row: (row - row.mean()) / (row.std(ddof=1) + 1e-5)
    expected = x.copy()
    for i in range(5):
        for head in (slice(0, 3), slice(3, 6)):
            q = (x[i] @ np.asarray(own.query.weight))[head]
            for row in far:
                k, v = (norm((row @ np.asarray(m.weight))[head]) for m in (own.key, own.value))
                expected[i, head] += (q @ k) * v / 7
    assert np.allclose(galerkin_attention(jnp.asarray(x), own, over=jnp.asarray(far)), expected, atol=1e-12)


def test_attention_is_equivariant_and_a_cubic_form_only_without_norms(rng):
    own = galerkin_weights(jax.random.key(0), 8, 2)
    x, order = jnp.asarray(rng.normal(size=(9, 8))), rng.permutation(9)
    assert np.allclose(galerkin_attention(x[order], own), galerkin_attention(x, own)[order], atol=1e-13)
    added = lambda x, normed: np.asarray(galerkin_attention(x, own, normed=normed) - x)
    assert np.allclose(added(2 * x, False), 8 * added(x, False))
    assert np.allclose(added(2 * x, True), 2 * added(x, True), rtol=1e-3)


def test_the_other_points_of_a_mean_weigh_one_over_their_number(rng):
    """d z_i / d x_r of an infinitely small change at one other point is of order 1/m, by autodiff."""
    own, norms = galerkin_weights(jax.random.key(0), 4, 1), []
    x = jnp.asarray(rng.normal(size=(64, 4)))
    for m in (4, 64):
        repeated = jnp.tile(x[:4], (m // 4, 1))  # the same mean at both sizes
        jacobian = jax.jacobian(lambda row, rest=repeated: galerkin_attention(rest.at[1].set(row), own)[0])(repeated[1])
        norms.append(float(jnp.linalg.norm(jacobian)))
    assert norms[0] == pytest.approx(16 * norms[1])


def test_an_operator_whose_head_is_0_is_bilinear_interpolation(rng):
    image, places = rng.uniform(size=(5, 7, 3)), rng.uniform(size=(40, 2))
    at = places.T * np.array([[5], [7]]) - 0.5
    exact = np.stack([map_coordinates(image[..., c], at, order=1, mode="nearest") for c in range(3)], axis=1)
    assert np.allclose(bilinear(jnp.asarray(image), jnp.asarray(places)), exact, atol=1e-12)
    for attention in (True, False):
        start = SuperResolutionOperator(jax.random.key(0), channels=4, width=8, attention=attention)
        called = eqx.filter_jit(start)(jnp.asarray(image), jnp.asarray(places), jnp.full(2, 0.5))
        assert np.allclose(called, exact, atol=1e-12)
        assert np.allclose(super_resolve(start, image, 1.0), image, atol=1e-12)
    assert super_resolve(start, image, 2.5).shape == (12, 18, 3)


def test_the_operator_with_loops(model, rng):
    """Convolutions, corners, shares and blocks one by one, at one position and the points of the mean."""
    image, places = rng.uniform(size=(4, 5, 3)), rng.uniform(size=(3, 2))
    value = lambda own, x: np.asarray(own.weight).T @ x + np.asarray(own.bias)

    def convolve(own, x):
        h, w, _ = x.shape
        found = np.zeros((h, w, len(own.bias)))
        for i in range(h):
            for j in range(w):
                near = [x[np.clip(i + a, 0, h - 1), np.clip(j + b, 0, w - 1)] for a in (-1, 0, 1) for b in (-1, 0, 1)]
                found[i, j] = value(own, np.concatenate(near))
        return found

    first = convolve(model.encoder[0], 2 * image - 1)
    features = first + convolve(
        model.encoder[2], np.asarray(jax.nn.gelu(jnp.asarray(convolve(model.encoder[1], first))))
    )
    rows = []
    for y, x in places * [4, 5] - 0.5:
        parts = []
        for i in (np.floor(y), np.floor(y) + 1):
            for j in (np.floor(x), np.floor(x) + 1):
                share = (1 - abs(y - i)) * (1 - abs(x - j))
                at = int(np.clip(i, 0, 3)), int(np.clip(j, 0, 4))
                parts += [*(share * features[at]), y - at[0], x - at[1]]
        rows.append(value(model.lift, np.array([*parts, 0.5, 0.25])))
    x, block = jnp.asarray(rows), model.blocks[0]
    hidden = jax.nn.gelu(block.inner(galerkin_attention(x, block.attention)))
    x = x + block.outer(hidden)
    exact = model.head[1](jax.nn.gelu(model.head[0](x))) + bilinear(jnp.asarray(image), jnp.asarray(places))
    found = eqx.filter_jit(model)(jnp.asarray(image), jnp.asarray(places), jnp.array([0.5, 0.25]))
    assert np.allclose(found, exact, atol=1e-12)


def test_pointwise_networks_add_functions_that_attention_alone_cannot(model, rng):
    x = jnp.asarray(rng.normal(size=(60, 8)))
    beyond = lambda made: np.linalg.lstsq(np.c_[x, np.ones(60)], np.asarray(made))[1].sum()
    block = model.blocks[0]
    assert beyond(galerkin_attention(galerkin_attention(x, block.attention), block.attention)) < 1e-20
    assert beyond(block(x)) > 1e-2


def test_colours_of_tiles_differ_and_do_not_where_the_mean_is_named(model, rng):
    image, places = jnp.asarray(rng.uniform(size=(6, 6, 3))), jnp.asarray(pixel_centres(12, 12))
    called, cell = eqx.filter_jit(model), jnp.full(2, 0.5)
    tiles = lambda **more: jnp.concatenate([called(image, part, cell, **more) for part in jnp.split(places, 4)])
    whole = called(image, places, cell)
    assert float(jnp.abs(tiles() - whole).max()) > 1e-3
    assert np.allclose(tiles(over=places), whole, atol=1e-12)


@pytest.mark.parametrize("shape", [(20, 9), (53, 31), (7, 31)])
def test_cubic_resizing_is_that_of_pillow_and_of_jax(rng, shape):
    image = rng.uniform(size=(20, 31, 3)).astype(np.float32)
    found = resize(image, shape)
    assert np.allclose(found, jax.image.resize(jnp.asarray(image), (*shape, 3), "cubic"), atol=1e-5)
    for c in range(3):
        taken = Image.fromarray(image[..., c]).resize(shape[::-1], Image.Resampling.BICUBIC)
        assert np.allclose(found[..., c], np.asarray(taken), atol=1e-5)


def test_bytes_are_rounded_and_clipped_where_interpolation_overshoots():
    edge = np.repeat(np.array([0, 0, 255, 255], np.uint8)[None, :, None], 4, axis=0)
    exact = resize(edge.astype(float), (4, 12))
    assert exact.min() < -10
    assert exact.max() > 265
    found = resize(edge, (4, 12))
    assert found.dtype == np.uint8
    assert np.array_equal(found, np.clip(exact, 0, 255).round())


def test_decibels_by_hand(rng):
    image = np.zeros((6, 6, 3))
    image[0, 0, 0] = 0.6
    exact = 10 * np.log10(108 / 0.36)
    assert peak_signal_to_noise(image, np.zeros((6, 6, 3))) == pytest.approx(exact)
    assert peak_signal_to_noise(image, np.zeros((6, 6, 3)), border=1) == np.inf
    with pytest.raises(ShapeError, match="the same shape"):
        peak_signal_to_noise(image, np.zeros((6, 5, 3)))
    with pytest.raises(ShapeError, match="inside the border"):
        peak_signal_to_noise(image, image, border=3)


def test_training_learns_a_sharp_edge_that_interpolation_blurs():
    """Vertical and horizontal bars of four pixels."""
    i, j = np.mgrid[:96, :96]
    bars = np.repeat(np.where((i // 48 + j // 48) % 2, i // 4 % 2, j // 4 % 2)[..., None], 3, axis=2).astype(float)
    start = SuperResolutionOperator(jax.random.key(0), channels=4, width=8, heads=2)
    asked = {"side": 12, "points": 64, "scales": (2.0, 2.0), "learning_rate": 0.02}
    own, losses = train_super_resolution(start, [bars], steps=150, **asked)
    assert losses.shape == (150,)
    small = resize(bars, (48, 48))
    error = lambda m: peak_signal_to_noise(super_resolve(m, small, 2.0), bars)
    assert error(own) > error(start) + 0.5


def test_photographs_are_those_of_scikit_learn_or_a_named_error(monkeypatch):
    found = photographs()
    # sizes and means of the files as Pillow decodes them, to what decoders may differ by
    assert [image.shape for image in found.values()] == [(427, 640, 3)] * 2
    assert [float(image.mean()) for image in found.values()] == pytest.approx([0.5635, 0.2428], abs=2e-3)
    assert all(image.dtype == np.float32 and 0 <= image.min() < image.max() <= 1 for image in found.values())
    for error in (ImportError("no Pillow"), FileNotFoundError("no china.jpg")):

        def missing(name, error=error):
            raise error

        monkeypatch.setattr(room, "load_sample_image", missing)
        with pytest.raises(DataError, match=r"pip install 'lemmata\[photographs\]'"):
            photographs()


def test_what_makes_no_sense_is_refused(model, rng):
    image, places = jnp.asarray(rng.uniform(size=(6, 6, 3))), jnp.asarray(rng.uniform(size=(4, 2)))
    with pytest.raises(SettingError, match=r"scale; found 0\.5"):
        super_resolve(model, image, 0.5)
    with pytest.raises(SettingError, match="1 <= low <= high"):
        train_super_resolution(model, [np.asarray(image)], steps=1, scales=(0.5, 2.0))
    with pytest.raises(ShapeError, match="at least 96 pixels on each side"):
        train_super_resolution(model, [np.asarray(image)], steps=1)
    with pytest.raises(ShapeError, match="at least one"):
        train_super_resolution(model, [], steps=1)
    with pytest.raises(SettingError, match="points"):
        train_super_resolution(model, [np.asarray(image)], steps=1, points=0)
    with pytest.raises(DataError, match="between 0 and 1"):
        model(image, 2 * places, (0.5, 0.5))
    with pytest.raises(ShapeError, match="rows, columns, 3"):
        model(image[..., :1], places, (0.5, 0.5))
    with pytest.raises(SettingError, match="a multiple of the heads"):
        galerkin_weights(jax.random.key(0), 8, 3)
    with pytest.raises(SettingError, match="gives each head at least two channels"):
        galerkin_weights(jax.random.key(0), 8, 8)
    with pytest.raises(SettingError, match="shape, rows; found 0"):
        resize(np.asarray(image), (0, 3))
    with pytest.raises(DataError):
        galerkin_attention(jnp.full((3, 8), jnp.nan), model.blocks[0].attention)


IMAGE, PLACES = np.full((6, 6, 3), 0.5), np.full((2, 2), 0.5)


# Types and shapes are refused by the checker of types, too, where it is on.
@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: bilinear(jnp.asarray(IMAGE), jnp.asarray(3 * PLACES)), DataError, "positions; found 1.5 to 1.5"),
        (lambda: bilinear(jnp.asarray(IMAGE), jnp.full((2, 2), jnp.nan)), DataError, "positions; found 4"),
        (lambda: bilinear(jnp.full((6, 6, 3), jnp.nan), jnp.asarray(PLACES)), DataError, "image; found 108"),
        (lambda: peak_signal_to_noise(IMAGE, IMAGE, border=-1), SettingError, "border; found -1"),
        (lambda: peak_signal_to_noise(255 * IMAGE, 255 * IMAGE), DataError, "reference; found values from 128 to 128"),
        (lambda: pixel_centres(-1, 3), SettingError, "height; found -1"),
        (lambda: pixel_centres(2.5, 3), (SettingError, TypeError), "height"),
        (lambda: resize(IMAGE, (2.5, 3)), (SettingError, TypeError), "shape"),
        (lambda: resize(IMAGE, (3, 3, 3)), (SettingError, TypeError), "shape"),
        (lambda: resize(IMAGE > 0, (3, 3)), (DataError, TypeError), "image"),
    ],
)
def test_images_and_positions_that_are_refused(call, error, told):
    with pytest.raises(error, match=told):
        call()


@pytest.mark.parametrize("cell", [(0.0, 0.0), (-1.0, -1.0), (np.nan, 0.5)])
def test_a_cell_is_two_numbers_above_0(model, cell):
    with pytest.raises(SettingError, match="cell; found"):
        model(jnp.asarray(IMAGE), jnp.asarray(PLACES), cell)


@pytest.mark.parametrize("image", [255 * IMAGE, (255 * IMAGE).astype(np.uint8)])
def test_images_of_bytes_are_refused(model, image):
    asked = {"steps": 1, "side": 4, "points": 4, "scales": (1.0, 1.0)}
    for call in (
        lambda: model(jnp.asarray(image), jnp.asarray(PLACES), (0.5, 0.5)),
        lambda: super_resolve(model, image, 2),
        lambda: train_super_resolution(model, [image], **asked),
    ):
        with pytest.raises((DataError, TypeError), match="image"):
            call()


@pytest.mark.parametrize(
    ("change", "error", "told"),
    [
        ({"learning_rate": -1.0}, SettingError, "learning_rate; found -1"),
        ({"learning_rate": np.nan}, SettingError, "learning_rate; found nan"),
        ({"scales": (1.0, 1.2, 1.5)}, (SettingError, TypeError), "scales"),
        ({"scales": (1.0,)}, (SettingError, TypeError), "scales"),
        ({"seed": -1}, SettingError, "seed; found -1"),
        ({"seed": 0.5}, (SettingError, TypeError), "seed"),
        ({"images": IMAGE}, (ShapeError, TypeError), "images"),
        ({"images": IMAGE[None][:0]}, (ShapeError, TypeError), "images"),
    ],
)
def test_settings_of_training_that_are_refused(model, change, error, told):
    asked = {"images": [IMAGE], "steps": 1, "side": 4, "points": 4, "scales": (1.0, 1.5)} | change
    with pytest.raises(error, match=told):
        train_super_resolution(model, **asked)


def test_a_stack_of_images_trains_like_a_list_of_them(model):
    stack, asked = np.random.default_rng(0).uniform(size=(2, 6, 6, 3)), {"side": 4, "points": 4, "scales": (1.0, 1.0)}
    losses = [train_super_resolution(model, own, steps=2, **asked)[1] for own in (list(stack), stack)]
    assert np.array_equal(*losses)
