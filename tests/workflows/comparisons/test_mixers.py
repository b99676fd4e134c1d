"""The four mixers by their definitions, and that each honours a mask: a padded row is the row alone."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.options import ComparisonOptions
from lemmata.workflows.comparisons import _mixers as mixers
from lemmata.workflows.comparisons import load_sequences
from lemmata.workflows.comparisons._mixers import FAMILIES, MODES, mixed, mixer
from lemmata.workflows.comparisons._run import _candidate
from lemmata.workflows.comparisons._wide import SETTINGS


@pytest.fixture
def row():
    return np.random.default_rng(1).standard_normal((7, 2))


def apply(of, x, mask=None):
    return np.asarray(of(jnp.asarray(x), jnp.ones(len(x), bool) if mask is None else jnp.asarray(mask)))


@pytest.mark.parametrize("mean", [False, True])
@pytest.mark.parametrize("family", [family.name for family in FAMILIES])
def test_a_padded_row_is_the_row_alone(row, family, mean):
    """Absent tokens hold garbage, which no mixer may see."""
    setting = mixers.BY_NAME[family].values[1]
    of = mixer(family, setting, 12, 2, mean=mean)
    padded = np.concatenate([np.full((5, 2), -1e3), row])
    mask = np.arange(12) >= 5
    alone = apply(of, row)
    if family == "mlp":
        alone = np.concatenate([np.zeros(10), alone])
    assert np.allclose(apply(of, padded, mask), alone, atol=1e-10)
    assert not np.allclose(apply(of, padded), apply(of, padded, mask), atol=1e-3), "without the mask it is seen"


def test_rows_in_blocks_are_the_rows_one_by_one():
    rng = np.random.default_rng(3)
    x, mask = rng.standard_normal((mixers.ROWS_AT_ONCE + 9, 5, 1)), np.ones((mixers.ROWS_AT_ONCE + 9, 5), bool)
    of = mixer("attention", 4.0, 5, 1)
    each = np.stack([apply(of, x[i]) for i in (0, 63, 64, 72)])
    assert np.allclose(mixed(of, x, mask)[[0, 63, 64, 72]], each, atol=1e-12)


def test_states_are_sums_of_exponentials(row):
    """h_T = sum_s a^(T-s) x_s, by powers and not by a recurrence."""
    step = 4.0 / 7
    poles = -0.5 + 1j * np.pi * np.arange(MODES)
    powers = np.exp(step * np.multiply.outer(poles, 6 - np.arange(7)))
    states = powers @ row
    expected = np.concatenate([states.real.ravel(), states.imag.ravel()])
    assert np.allclose(apply(mixer("recurrent", 4.0, 7, 2), row), expected, atol=1e-10)


def test_the_mean_of_states_is_over_positions(row):
    each = [apply(mixer("recurrent", 4.0 * t / 7, t, 2), row[:t]) for t in range(1, 8)]
    assert np.allclose(apply(mixer("recurrent", 4.0, 7, 2, mean=True), row), np.mean(each, axis=0), atol=1e-10)


@pytest.mark.parametrize("mean", [False, True])
def test_attention_by_its_definition(row, mean):
    beta, found = 4.0, []
    for t in range(7):
        weights = [np.exp(beta * row[t] @ row[s] / 2) for s in range(t)]
        seen = sum((w * row[s] for s, w in enumerate(weights)), np.zeros(2)) / max(sum(weights), 1e-300)
        found.append(np.concatenate([seen, row[t]]))
    expected = np.mean(found, axis=0) if mean else found[-1]
    assert np.allclose(apply(mixer("attention", beta, 7, 2, mean=mean), row), expected, atol=1e-10)


def test_attention_survives_huge_logits(row):
    found = apply(mixer("attention", 16.0, 7, 2), 1e3 * row)
    nearest = int(np.argmax(row[:6] @ row[6]))
    assert np.allclose(found[:2], 1e3 * row[nearest])


def test_convolution_is_a_mean_over_whole_windows(row):
    of = mixer("conv", 1.0, 7, 2)
    weights, phases = of.keywords["weights"], of.keywords["phases"]
    windows = np.stack([row[t : t + 3].ravel() for t in range(5)])
    expected = (np.sqrt(2) * np.cos(windows @ weights + phases)).mean(axis=0)
    assert np.allclose(apply(of, row), expected, atol=1e-10)
    assert weights.shape == (6, 300)
    shuffled = np.concatenate([row[3:6], row[:3]])
    assert not np.allclose(apply(of, row), apply(of, shuffled), atol=1e-3), "order within windows is seen"


def test_convolution_of_rows_shorter_than_a_window(row):
    of = mixer("conv", 1.0, 7, 2)
    alone = np.concatenate([np.zeros((1, 2)), row[5:]])
    mask = np.arange(7) >= 5
    assert np.allclose(apply(of, row, mask), apply(of, alone), atol=1e-10)


@pytest.mark.parametrize("family", ["conv", "recurrent"])
def test_no_array_of_length_by_length(family):
    """The largest array of the compiled mixer grows as the length."""
    held = []
    for length in (512, 2048):
        of = mixer(family, 1.0, length, 1, mean=True)
        compiled = jax.jit(of).lower(jnp.zeros((length, 1)), jnp.ones(length, bool)).compile()
        held.append(compiled.memory_analysis().temp_size_in_bytes)
    assert held[1] < 6 * max(held[0], 2**12)


@pytest.mark.parametrize(("family", "kernels"), [*((name, "fixed") for name in mixers.BY_NAME), ("mlp", "wide")])
def test_a_familys_kernels_are_those_of_its_name(family, kernels):
    data = load_sequences("motif", ComparisonOptions(max_rows=40))
    candidate = _candidate(family, data, ComparisonOptions(kernels=kernels))
    assert candidate.setting == (mixers.BY_NAME[family].setting if kernels == "fixed" else SETTINGS[family][0])
    kernel = np.asarray(candidate.kernel(0, np.arange(30)))
    assert kernel.shape == (40, 30)
    assert np.ptp(kernel) > 0
