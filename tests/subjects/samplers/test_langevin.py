"""Langevin dynamics against the exact law of its own steps on a quadratic, against a naive twin, and bad input."""

import jax
import jax.numpy as jnp
import jaxtyping
import numpy as np
import pytest
from scipy import stats

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.samplers import langevin, mala

PRECISION = jnp.array([0.5, 2.0, 6.0])


def normal(x):
    return -0.5 * jnp.sum(PRECISION * x**2)


def quartic(x):
    return -jnp.sum(x**4) / 4


def spread(points):
    """Variances of the coordinates, with standard errors from chains, which are independent."""
    own = jnp.mean(points**2, axis=0)
    return np.asarray(own.mean(axis=0)), np.asarray(own.std(axis=0) / np.sqrt(own.shape[0]))


def test_unadjusted_steps_have_their_own_variance_and_not_the_target_s():
    h = 0.2
    chains = langevin(normal, jnp.zeros((400, 3)), h, 1200, jax.random.key(0), every=2)
    found, error = spread(chains.points[100:])
    own = 1 / (PRECISION * (1 - h * PRECISION / 2))
    assert np.all(np.abs(found - own) < 5 * error)
    assert found[2] > 1 / PRECISION[2] + 20 * error[2]
    assert np.array_equal(chains.acceptance, np.ones(400))


def test_adjusted_steps_have_the_target_s_variance():
    chains = mala(normal, jnp.zeros((400, 3)), 0.2, 1200, jax.random.key(1), every=2)
    found, error = spread(chains.points[100:])
    assert np.all(np.abs(found - 1 / PRECISION) < 5 * error)
    assert 0.5 < chains.acceptance.mean() < 0.999


def test_adjusted_steps_keep_a_law_that_is_not_normal():
    """x^4/4 has E x² = 2 Gamma(3/4)/Gamma(1/4)."""
    start = jnp.asarray(stats.gennorm.rvs(4, scale=4**0.25, size=(2000, 1), random_state=0))
    chains = mala(quartic, start, 0.5, 40, jax.random.key(2))
    last = np.asarray(chains.points[-1, :, 0])
    assert stats.kstest(last, stats.gennorm(4, scale=4**0.25).cdf).pvalue > 1e-3
    assert np.mean(last**2) == pytest.approx(0.6760, abs=5 * last.std() / np.sqrt(2000))


def test_a_step_is_the_formula():
    h, start = 0.3, jnp.array([[1.0, -2.0]])
    found = langevin(quartic, start, h, 1, jax.random.key(3)).points[0] - start + h * start**3
    many = langevin(quartic, jnp.tile(start, (4000, 1)), h, 1, jax.random.key(4)).points[0] - start + h * start**3
    assert np.abs(found).max() < 5 * np.sqrt(2 * h)
    assert np.asarray(many).var() == pytest.approx(2 * h, rel=5 * np.sqrt(2 / 8000))


def test_a_chain_that_would_run_off_stays_with_the_correction():
    start = jnp.full((4, 1), 10.0)
    assert not np.isfinite(langevin(quartic, start, 0.5, 20, jax.random.key(5)).points[-1]).all()
    chains = mala(quartic, start, 0.5, 20, jax.random.key(5))
    assert np.isfinite(chains.points).all()


@pytest.fixture
def types_unchecked():
    """Users run without the annotations' checker, which would otherwise speak first."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("sampler", [langevin, mala])
def test_bad_input_is_refused(sampler):
    key, start = jax.random.key(0), jnp.zeros((2, 3))
    with pytest.raises(SettingError, match="step; found 0"):
        sampler(normal, start, 0.0, 4, key)
    with pytest.raises(SettingError, match="steps"):
        sampler(normal, start, 0.1, 0, key)
    with pytest.raises(SettingError, match="divisor of 4, the number of steps"):
        sampler(normal, start, 0.1, 4, key, every=3)
    with pytest.raises(DataError, match="start"):
        sampler(normal, start.at[0, 0].set(jnp.nan), 0.1, 4, key)
    with pytest.raises(ShapeError, match="start"):
        sampler(normal, jnp.zeros((0, 3)), 0.1, 4, key)


@pytest.mark.parametrize("sampler", [langevin, mala])
@pytest.mark.parametrize(
    ("changed", "error", "match"),
    [
        ({"start": "here"}, DataError, "start; found the entry .here"),
        ({"start": jnp.zeros(3)}, ShapeError, r"start; found shape \(3,\)"),
        ({"step": jnp.full(2, 0.1)}, SettingError, r"step; found shape \(2,\)"),
        ({"step": "a"}, SettingError, "step; found 'a'"),
        ({"step": float("nan")}, SettingError, "step; found nan"),
        ({"log_density": 3.0}, SettingError, "log_density; found a float"),
        ({"log_density": lambda x: -(x**2)}, ShapeError, r"log_density; found shape \(3,\)"),
        ({"log_density": lambda x: (normal(x), x)}, ShapeError, "log_density; found a tuple"),
        ({"log_density": lambda x: jnp.sum(x > 0)}, DataError, "log_density; found values of type int"),
        ({"log_density": lambda x: -jnp.linalg.norm(x)}, DataError, "gradient of the log density of .* in row 0"),
    ],
)
def test_mistakes_are_named(types_unchecked, sampler, changed, error, match):
    call = {"log_density": normal, "start": jnp.zeros((2, 3)), "step": 0.1, "steps": 2, "key": jax.random.key(0)}
    with pytest.raises(error, match=match):
        sampler(**call | changed)


@pytest.mark.parametrize("outside", [-np.inf, np.nan])
def test_a_start_without_density_is_refused_where_no_chain_would_move(outside):
    density = lambda x: jnp.where(x[0] > 0, normal(x), outside)
    start = jnp.array([[1.0, 0, 0], [-1.0, 0, 0]])
    with pytest.raises(DataError, match=r"a log density of .* in row 1"):
        mala(density, start, 0.1, 2, jax.random.key(0))
    traced = jax.jit(lambda start: mala(density, start, 0.1, 2, jax.random.key(0)))(start)
    assert traced.acceptance[1] == 0


@pytest.mark.parametrize("start", [np.ones((2, 3), np.float32), np.ones((2, 3), int), [[1, 1, 1], [1, 1, 1]]])
def test_starts_of_other_types_are_those_of_double_precision(types_unchecked, start):
    wanted = mala(normal, jnp.ones((2, 3)), 0.1, 3, jax.random.key(0))
    assert np.array_equal(mala(normal, start, 0.1, 3, jax.random.key(0)).points, wanted.points)


def test_steps_are_mapped():
    last = lambda step: langevin(normal, jnp.ones((2, 3)), step, 3, jax.random.key(0)).points[-1]
    assert np.allclose(jax.vmap(last)(jnp.array([0.1, 0.2]))[1], last(0.2))
