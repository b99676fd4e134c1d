"""Every layer and kernel where formulas cancel, overflow or vanish: right to rounding, or refused by name.

Tolerances: a kernel that is evaluated stably is that of points moved in their last digit, up to a few roundings of its
size. So entry (i, j) may differ from the truth by a multiple of eps sqrt(K_ii K_jj) and of the largest change that
such moves make, drawn independently on both sides: a pair of equal points is then at an angle of eps, and a kink shows
it. The truth has up to 750 digits, or float64 for float32 where there is no formula.
"""

import collections

import jax
import jax.numpy as jnp
import mpmath as mp
import numpy as np
import pytest

from lemmata.architectures import (
    Conv,
    Dense,
    Embedding,
    Erf,
    ExpNormalized,
    GlobalAveragePool,
    Identity,
    LayerNorm,
    LeakyRelu,
    Masked,
    NNGPKernel,
    OnGraphs,
    RectifiedMonomial,
    Relu,
    RMSNorm,
    Serial,
    Sign,
    TangentKernel,
    fully_connected,
)
from lemmata.errors import SettingError
from lemmata.kernels import Matern, gram
from tests.laws import test_fields
from tests.laws.architectures_cases import ACTIVATIONS, LAYERS, STRUCTURES, Activation
from tests.laws.hard_points import (
    OFFSETS,
    SCALES,
    D,
    digits,
    exact,
    kernel_value,
    moved,
    network_kernels,
    normalised,
    offset,
    spread,
)
from tests.laws.kernels_cases import ATOMS
from tests.laws.test_fields_attention import NETWORKS

FACES = {"nngp": NNGPKernel, "ntk": TangentKernel}
# Roundings of a layer or kernel; a product of D terms has D more. Draws of moved points.
OPERATIONS, DRAWS = 32, 2
COUNTED = collections.Counter()

both_precisions = pytest.mark.parametrize("dtype", ["float32", "float64"])


def hard_points(dtype):
    """Names, and points of a precision."""
    yield from ((f"scale {scale:g}", spread(dtype, scale)) for scale in SCALES[dtype])
    yield from ((f"offset {size:g}", offset(dtype, size)) for size in OFFSETS[dtype])


def near_the_end(largest, dtype):
    """Whether a number comes near the end of the precision's range, where a refusal is right."""
    return largest > mp.mpf(float(np.finfo(dtype).max)) * 1e-3


def judge(name, kernel, x, truth, neighbours, *, layers=1):
    """Compare the Gram matrix with the truth, or accept a refusal where the truth leaves the range of the precision.

    The truth and its neighbours are known on and above the diagonal.
    """
    limits, largest = np.finfo(x.dtype), max(abs(value) for value in truth.reshape(-1))
    refusal = found = None
    try:
        found = np.asarray(gram(kernel, jnp.asarray(x)))
    except SettingError as error:
        refusal = error
    if found is None:
        assert near_the_end(largest, x.dtype), f"{name}: refused, at most {mp.nstr(largest, 3)}: {refusal}"
        COUNTED["refused"] += 1
        return
    assert found.dtype == x.dtype
    assert np.isfinite(found).all(), f"{name}: entries that are not finite"
    assert (found == found.T).all(), (
        f"{name}: not symmetric {np.argwhere(found != found.T)} {np.abs(found - found.T).max()} {np.abs(found).max()}"
    )
    roots = [mp.sqrt(abs(truth[i, i])) for i in range(len(x))]
    steps, multiple = D * mp.mpf(float(limits.eps)), OPERATIONS * layers
    for i, j in zip(*np.triu_indices(len(x)), strict=True):
        move = max(abs(near[i, j] - truth[i, j]) for near in neighbours)
        allowed = multiple * (steps * roots[i] * roots[j] + move + mp.mpf(float(limits.tiny)))
        excess = abs(mp.mpf(float(found[i, j])) - truth[i, j]) / allowed
        assert excess <= 1, (
            f"{name}: entry {i, j}, {found[i, j]:.6g}, is off by {mp.nstr(excess, 3)} of what is allowed"
        )
    COUNTED["compared"] += len(x) * (len(x) + 1) // 2


def judged_network(name, layers, x, *, depth=1, first=None):
    with mp.workdps(digits(x)):
        _judged_network(name, layers, x, depth, first)


def _judged_network(name, layers, x, depth, first):
    rng, limits = np.random.default_rng(0), np.finfo(x.dtype)
    rows = exact(x) if first is None else [normalised(first, row) for row in exact(x)]
    truth = network_kernels(layers, rows, rows)
    # A mean is subtracted exactly, so that with it the points after the normalisation are moved.
    before = isinstance(first, RMSNorm)
    after = lambda: [
        normalised(first, row) if before else row for row in moved(exact(x) if before else rows, limits, rng)
    ]
    near = [network_kernels(layers, after(), after()) for _ in range(DRAWS)]
    network = Serial(layers if first is None else (first, *layers))
    for face, kind in FACES.items():
        judge(f"{name} {face}", kind(network), x, truth[face], [draw[face] for draw in near], layers=depth)


# Other degrees of the recurrence, and what is no function of one coordinate.
BESIDE = [
    Activation(name, layer, layer.apply)
    for name, layer in (("exponential", ExpNormalized(0.6, -0.8)), ("fifth", RectifiedMonomial(5)))
]
CLOSED = [*(a for a in ACTIVATIONS if a.name != "tanh"), *BESIDE]


@pytest.mark.parametrize("bias", [0.0, 0.3])
@both_precisions
@pytest.mark.parametrize("activation", CLOSED, ids=lambda a: a.name)
def test_activations(activation, dtype, bias):
    layers = fully_connected(activation.layer, 1, 8, weight_std=1.1, bias_std=bias).layers
    before = COUNTED.total()
    for name, x in hard_points(dtype):
        judged_network(f"{activation.name} {name}", layers, x)
    assert COUNTED.total() > before


@both_precisions
@pytest.mark.parametrize(("bias", "scale"), [(0.0, 1.0), (0.1, 1.0), (0.1, 1e3)])
@pytest.mark.parametrize("activation", [Relu(), LeakyRelu(0.2), LeakyRelu(-1.0)], ids=["relu", "leaky", "absolute"])
def test_deep_piecewise_linear_networks(activation, bias, scale, dtype):
    # Through 30 layers with biases an angle of 1e-6 is still known, which a correlation has lost in float32.
    layers = fully_connected(activation, 30, 8, weight_std=1.2, bias_std=bias).layers
    judged_network(f"{activation} scale {scale:g}", layers, spread(dtype, scale), depth=30)


@both_precisions
@pytest.mark.parametrize("activation", [Sign(), RectifiedMonomial(0), RectifiedMonomial(2), ExpNormalized()], ids=repr)
def test_networks_of_layers_that_tell_the_angle(activation, dtype):
    # A jump takes the root of an angle in every layer: what the layer before has rounded would be seen.
    layers = fully_connected(activation, 3, 8, weight_std=0.9).layers
    judged_network(f"{activation}", layers, spread(dtype, 1.0), depth=3)


@both_precisions
@pytest.mark.parametrize("weight_std", [1.0, 2.0])
def test_variances_beyond_the_range_of_their_products(dtype, weight_std):
    # Half of the variance is lost, or twice of it gained, in each of 66 layers; the product of two leaves float32.
    layers = fully_connected(Relu(), 66, 8, weight_std=weight_std).layers
    judged_network(f"depth 66, {weight_std}", layers, spread(dtype, 1.0), depth=66)


@both_precisions
@pytest.mark.parametrize("first", [LayerNorm(), LayerNorm(0.1), RMSNorm(), RMSNorm(0.1)], ids=repr)
def test_normalisations_at_the_inputs(first, dtype):
    layers = (Dense(8, 1.1, 0.3), Relu(), Dense(1))
    for name, x in hard_points(dtype):
        if first.epsilon == 0 or "offset" in name:
            judged_network(f"{first} {name}", layers, x, first=first)


# Bessel functions of hundreds of digits take minutes: other nu are held to 40 digits in tests/kernels/test_matern.py.
WITH_FORMULA = [case for case in ATOMS if not isinstance(case.kernel, Matern) or case.kernel.nu in (0.5, 1.5, 2.5, 3.5)]


@both_precisions
@pytest.mark.parametrize("case", WITH_FORMULA, ids=lambda case: case.name)
def test_kernels(case, dtype):
    rng, limits = np.random.default_rng(0), np.finfo(dtype)
    # one lengthscale for each of the columns there are
    kernel = jax.tree.map(lambda leaf: jnp.resize(leaf, D) if jnp.ndim(leaf) else leaf, case.kernel)
    value = kernel_value(kernel)
    matrix = lambda x, y: np.array([[value(u, v) for v in y] for u in x], object)
    for name, x in hard_points(dtype):
        with mp.workdps(digits(x)):
            rows = exact(x)
            near = [matrix(moved(rows, limits, rng), moved(rows, limits, rng)) for _ in range(DRAWS)]
            judge(f"{case.name} {name}", kernel, x, matrix(rows, rows), near)


# What has no formula here is compared with itself in float64, where its layers lose eps of a correlation: an angle of
# sqrt(eps), which a tangent kernel with a kink shows.
WITHOUT_FORMULA = [
    *((case.name, lambda case=case: case.network(8), (D,)) for case in STRUCTURES),
    ("tanh", lambda: fully_connected(next(a.layer for a in ACTIVATIONS if a.name == "tanh"), 1, 8), (D,)),
    *((case.name, lambda case=case: test_fields.network(case), case.shape) for case in test_fields.CASES[:-1]),
    *((name, lambda name=name: NETWORKS[name](8), (3, 2)) for name in ("softmax-fixed", "relu", "identity")),
    ("offset", lambda: Serial([LayerNorm(), Conv(8, 2), Relu(), GlobalAveragePool(), Dense(1)]), (4, 3)),
    ("masked", lambda: Masked(Serial([Conv(8, 2, 1.2, 0.3), Erf(), GlobalAveragePool(), Dense(1)])), (4, 2)),
]  # fmt: skip


@pytest.mark.parametrize("named", WITHOUT_FORMULA, ids=lambda named: named[0])
def test_networks_without_a_formula(named):
    name, build, shape = named
    network, tolerance = build(), 8 * np.sqrt(np.finfo(np.float32).eps)
    rows = np.random.default_rng(5).normal(size=(3, *shape))
    moved, long = (rows[:1] + 1e-4 * rows[1:2]), 3.0 * rows[2:]
    rows = np.concatenate([rows, rows[:1], -rows[1:2], rows[2:] * (1 + 1e-4), moved, long, 0 * rows[:1]])
    for scale in (1e-10, 1e-3, 1.0, 1e3, 1e5):
        x = (scale * (rows + (1e3 if name == "offset" else 0.0))).astype("float32")
        if isinstance(network, Masked):
            mask = np.ones(x.shape[:-1])
            mask[1::2, -1] = 0.0
            x = np.concatenate([x, mask[..., None].astype("float32")], axis=-1)
        for face, kind in FACES.items():
            refused, pair = [], {}
            for dtype in ("float32", "float64"):
                try:
                    pair[dtype] = np.asarray(gram(kind(network), jnp.asarray(x, dtype)), float)
                except SettingError:
                    refused.append(dtype)
            if refused:
                assert "float32" in refused, f"{name} {face} {scale}: refused in float64 alone"
                COUNTED["refused"] += 1
                continue
            size = np.sqrt(np.abs(np.diagonal(pair["float64"])))
            error = np.abs(pair["float32"] - pair["float64"])
            assert (error <= tolerance * np.outer(size, size)).all(), f"{name} {face} {scale}: {error.max():.3g}"
            COUNTED["compared"] += error.size


def test_every_public_layer_and_kernel_is_judged():
    covered = {type(layer) for activation in ACTIVATIONS for layer in (activation.layer,)}
    covered |= {type(part) for _, build, _ in WITHOUT_FORMULA for part in parts(build())}
    covered |= {LayerNorm, RMSNorm}
    # What adds nothing of its own, and tokens, whose values are no moments of points; the laws of fields have these.
    apart = {Serial, Identity, Embedding, OnGraphs}
    assert {type(layer) for layer in LAYERS} - covered <= apart, {type(layer) for layer in LAYERS} - covered - apart
    assert all(kernel_value(case.kernel) for case in ATOMS)


def parts(layer):
    yield layer
    for part in (*getattr(layer, "layers", ()), *getattr(layer, "branches", ()), getattr(layer, "network", None)):
        if part is not None:
            yield from parts(part)
