import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import examine
from lemmata.spectra import effective_dimension, spectrum
from lemmata.subjects.attention._attention_kernels import AttentionKernel, NarrowHeads, TokenHeads, inertia
from lemmata.subjects.attention._feature_pairs import FeaturePair
from lemmata.subjects.attention.depth import NormalStacks, token_dimensions
from lemmata.subjects.attention.effective_dimension import degrees_of_freedom
from lemmata.subjects.attention.expansions import ExpansionsTakeEveryPositiveNorm, UnseenShifts
from lemmata.subjects.attention.kernel_signature import ExponentialNegativeSquares, NarrowHeadsAreIndefinite, Reals
from lemmata.subjects.attention.narrow_heads import FunctionsOfUnseenDirections
from lemmata.subjects.attention.positive_features import positive_estimates, trigonometric_estimates
from lemmata.subjects.attention.smoothers import TiedHeadsAreReversible

KEY = jax.random.key(0)


def drawn(population, **given):
    return population.sample(population.settings().resolve(given), KEY)


def test_a_narrow_head_has_a_gram_matrix_with_negative_eigenvalues_and_a_tied_one_has_not():
    for tied in (False, True):
        head = drawn(TokenHeads(tied=tied, d=2, p=6), tokens=20)
        gram = np.exp(np.asarray(head.tokens @ head.symmetric @ head.tokens.T))
        least = np.linalg.eigvalsh(gram)[0] / np.linalg.eigvalsh(gram)[-1]
        assert (least > -1e-12) == tied
        assert int(inertia(head.symmetric)[1]) == (0 if tied else 2)


def test_equal_queries_and_keys_are_not_in_general_position():
    head = drawn(NarrowHeads())
    tied = AttentionKernel(head.query, head.query, head.tokens)
    claim = NarrowHeadsAreIndefinite()
    assert bool(jnp.array_equal(claim.predict(head), claim.measure(head, KEY)))
    assert not bool(NarrowHeads().hypotheses(tied)[0].holds)
    assert claim.measure(tied, KEY).tolist() == [4.0, 0.0]


def test_exact_pivots_count_the_negative_eigenvalues_of_a_gram_matrix():
    values = jnp.array([1.9, -1.1, 0.3, -2.0, 0.9])
    gram = np.exp(-np.outer(values, values))
    expected = [int(np.sum(np.linalg.eigvalsh(gram[:n, :n]) < 0)) for n in range(2, 6)]
    assert ExponentialNegativeSquares().measure(Reals(values), KEY).tolist() == expected == [1, 1, 2, 2]


def test_two_expansions_of_one_function_have_norms_that_differ():
    problem = drawn(UnseenShifts())
    head, x = problem.head, problem.head.tokens[0]
    other = x + 3 * problem.unseen
    kappa = lambda x, y: jnp.exp(x @ head.exponent @ y)
    for z in head.tokens:
        np.testing.assert_allclose(kappa(z, other), kappa(z, x), rtol=1e-12)
    assert not np.isclose(kappa(other, other), kappa(x, x), rtol=1e-3)
    assert examine(ExpansionsTakeEveryPositiveNorm(), problem, KEY).agrees


def test_the_trace_without_a_spectrum_is_the_effective_dimension():
    rows = jax.random.normal(KEY, (30, 12))
    for ridge in (1e-3, 0.1, 10.0):
        expected = effective_dimension(spectrum(rows @ rows.T), ridge)
        assert float(degrees_of_freedom(rows @ rows.T, ridge)) == pytest.approx(float(expected), rel=1e-9)


def test_token_dimensions_do_not_depend_on_the_scale_and_count_directions():
    layers = jnp.stack([jnp.eye(6, 4), 5 * jnp.eye(6, 4), jnp.ones((6, 4))])
    four, same, one = token_dimensions(layers, 1e-6)
    assert float(four) == pytest.approx(4, abs=1e-4)
    assert float(same) == pytest.approx(float(four), rel=1e-12)
    assert float(one) == pytest.approx(1, abs=1e-5)


def test_layers_are_those_of_a_loop_over_tokens():
    stack = drawn(NormalStacks(skip=1.0), tokens=16, p=8)
    length = lambda x: x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True))
    x = np.asarray(stack.tokens)
    for query, key, value, found in zip(stack.query, stack.key, stack.value, stack.layers[1:], strict=True):
        y, new = length(x), []
        for token in y:
            mass = np.exp([np.dot(query @ token, key @ other) / 8**0.5 for other in y])
            new.append(sum(m * (value @ other) for m, other in zip(mass / mass.sum(), y, strict=True)))
        x = x + np.array(new)
        np.testing.assert_allclose(found, length(x), rtol=1e-9, atol=1e-12)


def test_a_tied_head_is_reversible_and_an_untied_one_is_not():
    for tied in (True, False):
        head = drawn(TokenHeads(tied=tied))
        sums = np.exp(np.asarray(head.tokens @ head.exponent @ head.tokens.T)).sum(axis=1)
        flow = sums[:, None] * np.asarray(head.attention)
        assert np.allclose(flow, flow.T, rtol=1e-10) == tied
        assert examine(TiedHeadsAreReversible(), head, KEY).agrees == tied


def test_sections_of_a_narrow_head_take_equal_values_on_pairs_and_those_of_a_full_one_do_not():
    for full in (False, True):
        problem = drawn(FunctionsOfUnseenDirections(full=full))
        first, second = jnp.split(problem.sections, 2)
        assert np.allclose(first, second, rtol=1e-10) != full


@pytest.mark.parametrize("estimates", [positive_estimates, trigonometric_estimates])
def test_features_are_unbiased(estimates):
    pair = FeaturePair(jnp.array([0.3, -0.2, 0.1]), jnp.array([0.1, 0.4, 0.2]))
    found = estimates(pair, pair.frequencies(KEY, 200_000))
    error = 5 * float(found.std()) / len(found) ** 0.5
    assert float(found.mean()) == pytest.approx(float(pair.kernel), abs=error)
