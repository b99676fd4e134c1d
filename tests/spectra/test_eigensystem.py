import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.core import check_gram
from lemmata.errors import DataError, NotPositiveDefiniteError, PrecisionError, SettingError, ShapeError
from lemmata.spectra import condition_number, cumulative_alignment, effective_dimension, spectrum, target_power

EPS = np.finfo(float).eps


def wishart(seed, n, rank):
    z = np.random.default_rng(seed).normal(size=(n, rank))
    return jnp.asarray(z @ z.T)


def test_the_eigensystem_rebuilds_the_matrix_largest_eigenvalue_first():
    matrix = wishart(0, 40, 60)
    found = spectrum(matrix)
    values, vectors = found.eigenvalues, found.eigenvectors
    assert np.all(np.diff(values) <= 0)
    bound = 40 * EPS * float(values[0])
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, rtol=0, atol=bound)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(np.asarray(matrix))[::-1], rtol=0, atol=bound)


def test_a_singular_matrix_is_clipped_reported_and_has_infinite_condition():
    found = spectrum(wishart(1, 30, 12))
    assert found.rank == 12
    assert float(found.eigenvalues[-1]) >= 0
    assert found.clipped == int(np.sum(np.linalg.eigvalsh(np.asarray(wishart(1, 30, 12))) < 0)) or found.clipped > 0
    assert float(found.most_negative) < 0
    assert np.isinf(condition_number(found))
    assert float(effective_dimension(found, 0.0)) == 12.0


@pytest.mark.parametrize(("eigenvalues", "ridge", "dimension"), [
    ([3.0, 2.0, 0.0], 0.0, 2.0), ([0.0, 0.0], 0.0, 0.0), ([3.0, 1e-20, 0.0], 0.0, 1.0), ([0.0, 0.0], 1.0, 0.0),
    ([3.0, 1.0, 0.0], 1.0, 1.25),
])  # fmt: skip
def test_zero_eigenvalues_count_for_nothing_with_a_ridge_or_without(eigenvalues, ridge, dimension):
    assert float(effective_dimension(spectrum(jnp.diag(jnp.asarray(eigenvalues))), ridge)) == dimension


def test_the_condition_number_is_that_of_numpy():
    matrix = wishart(2, 20, 50)
    expected = np.linalg.cond(np.asarray(matrix))
    np.testing.assert_allclose(condition_number(spectrum(matrix)), expected, rtol=20 * EPS * expected)


def test_the_effective_dimension_is_the_trace_of_the_smoother():
    matrix = wishart(3, 25, 40)
    smoother = matrix @ jnp.linalg.inv(matrix + 3.0 * jnp.eye(25))
    condition = float(jnp.linalg.cond(matrix + 3.0 * jnp.eye(25)))
    found = effective_dimension(spectrum(matrix), 3.0)
    np.testing.assert_allclose(found, jnp.trace(smoother), rtol=25 * EPS * condition)


def test_the_target_power_obeys_parseval_and_alignment_ends_at_one():
    found = spectrum(wishart(4, 25, 40))
    y = jnp.asarray(np.random.default_rng(4).normal(size=(25, 3)))
    np.testing.assert_allclose(jnp.sum(target_power(found, y)), jnp.sum(y**2), rtol=25 * EPS)
    path = cumulative_alignment(found, y)
    assert np.all(np.diff(path) >= 0)
    np.testing.assert_allclose(path[-1], 1.0, rtol=25 * EPS)
    np.testing.assert_array_equal(cumulative_alignment(found, 0 * y), 0)
    np.testing.assert_allclose(target_power(found, y[:, 0]), (found.eigenvectors.T @ y[:, 0]) ** 2, rtol=1e-12)


def test_an_indefinite_matrix_names_its_smallest_eigenvalue():
    with pytest.raises(NotPositiveDefiniteError, match=r"smallest eigenvalue -0\.25"):
        spectrum(jnp.diag(jnp.array([2.0, 1.0, -0.25])))


UNSOUND = [
    (jnp.full((3, 3), jnp.nan), DataError, "9 entries that are not finite"),
    (jnp.eye(3, dtype=jnp.float16), PrecisionError, "float16"),
    (jnp.eye(3)[:2], ShapeError, "square"),
    (jnp.eye(3)[:0, :0], ShapeError, "no axis of length 0"),
    (jnp.ones(3), ShapeError, "square"),
    (jnp.eye(3).at[0, 2].set(1e-12), ShapeError, "symmetric"),
    (jnp.eye(3, dtype=int), PrecisionError, "int"),
    (np.full((2, 2), "a"), DataError, "real numbers"),
    (np.eye(2) * 1j, DataError, "real numbers"),
    ([[1.0]], DataError, "a list"),
]


@pytest.mark.parametrize(("matrix", "error", "word"), UNSOUND)
def test_an_unsound_matrix_is_refused(matrix, error, word):
    with pytest.raises(error, match=word):
        check_gram("the matrix", matrix)
    if np.ndim(matrix) == 2 and getattr(matrix, "dtype", None) in (jnp.float16, jnp.float64):
        with pytest.raises(error, match=word):
            spectrum(matrix)


def test_the_rounding_of_large_matrices_is_no_asymmetry():
    matrix = np.ones((700, 700))
    matrix[650, 3] += 15 * 700 * EPS * 700
    check_gram("the matrix", matrix)
    matrix[650, 3] += 2 * 700 * EPS * 700
    with pytest.raises(ShapeError, match="symmetric"):
        check_gram("the matrix", matrix)
    jax.jit(lambda traced: check_gram("the matrix", traced))(jnp.asarray(matrix))


def test_an_asymmetric_matrix_and_a_negative_ridge_are_refused():
    with pytest.raises(ShapeError, match="symmetric"):
        spectrum(jnp.array([[1.0, 0.5], [0.0, 1.0]]))
    with pytest.raises(SettingError, match="ridge"):
        effective_dimension(spectrum(jnp.eye(2)), -1.0)


def test_float32_is_refused():
    with jax.enable_x64(False), pytest.raises(PrecisionError):
        spectrum(jnp.eye(2))
