"""Parities and statistical queries: elimination by brute force, noise that spoils it, and bent functions."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.functions import walsh_hadamard
from lemmata.subjects.boolean import _hidden_parities as hidden
from lemmata.subjects.boolean import parities, statistical_queries


def _examples(rng, secret: int, d: int, n: int, eta: float = 0.0) -> list[int]:
    labels = lambda x: (x & secret).bit_count() & 1 ^ int(rng.random() < eta)
    return [x | labels(x) << d for x in rng.integers(0, 2**d, n).tolist()]


def test_elimination_stops_when_one_set_is_left():
    """Against all sets: after the examples that were used one set fits, and one example earlier several do."""
    rng, d = np.random.default_rng(4), 5
    for secret in (0, 7, 19, 31):
        examples = _examples(rng, secret, d, 60)
        used, found = hidden.eliminated(examples, d)
        fits = lambda n, own: all((e & own).bit_count() & 1 == e >> d for e in examples[:n])  # noqa: B023
        assert [own for own in range(2**d) if fits(used, own)] == [found] == [secret]
        assert sum(fits(used - 1, own) for own in range(2**d)) == 2


@pytest.mark.parametrize("d", [1, 2, 3])
def test_mean_number_of_examples(d):
    """By the chain of ranks: from rank r, a new example raises the rank with probability 1 - 2^(r-d)."""
    extra = sum(1 / (1 - 2.0 ** (r - d)) for r in range(d)) - d
    problem = hidden.UnknownParity(jnp.asarray(0), d)
    assert float(parities.ParityByElimination().predict(problem)) == pytest.approx(extra)


def test_noise_spoils_elimination_but_not_blocks():
    """A tenth of the labels flipped: elimination on 21 bits is nearly always wrong, and blocks are not."""
    rng, secret = np.random.default_rng(8), 0b101100111000101101011
    wrong = [hidden.eliminated(_examples(rng, secret, 21, 60, 0.1), 21)[1] != secret for _ in range(20)]
    assert np.mean(wrong) > 0.7
    problem = hidden.NoisyParity(jnp.asarray(secret), jnp.asarray(0.1), 3, 7)
    for _ in range(5):
        assert hidden.parity_by_blocks(*problem.examples(rng, 40 << 7), 3, 7) == secret
    coin = hidden.NoisyParity(jnp.asarray(secret), jnp.asarray(0.5), 3, 7)
    assert hidden.parity_by_blocks(*coin.examples(rng, 40 << 7), 3, 7) != secret


def test_reduced_examples_are_sums_of_examples():
    rng = np.random.default_rng(2)
    problem = hidden.NoisyParity(jnp.asarray(0b110101), jnp.asarray(0.0), 2, 3)
    inputs, labels = hidden.reduced(*problem.examples(rng, 100), 1, 3)
    assert len(inputs) == 92
    assert np.all(inputs >> 3 == 0)
    assert np.array_equal(labels, np.bitwise_count(inputs & 0b101) & 1)


def test_piling_up_is_the_odd_part_of_a_binomial_law():
    problem = hidden.NoisyLabels(jnp.full(9, 0.2))
    odd = stats.binom.pmf(np.arange(1, 10, 2), 9, 0.2).sum()
    assert float(parities.PilingUp().predict(problem)) == pytest.approx(odd)
    assert odd == pytest.approx(0.5 - 0.6**9 / 2)


def test_bent_queries_are_flat(key):
    population = statistical_queries.Queries()
    bent = 0
    for own in jax.random.split(key, 24):
        problem = population.sample({"d": 6}, own)
        spectrum = np.abs(np.asarray(walsh_hadamard(problem.values)))
        if np.all(np.abs(problem.values) == 1):
            bent += 1
            assert set(np.unique(spectrum)) == {0.0, float(problem.tau)}
            assert np.sum(spectrum > 0) == float(problem.tau) ** -2
    assert 4 < bent < 20


def test_product_of_pairs_is_bent_by_hand():
    """h = -1 where both bits are 1: all four coefficients are 1/2 in absolute value, so tau = 1/2 and 1/tau^2 = 4."""
    values = [1.0, 1.0, 1.0, -1.0]
    found = [abs(np.mean([v * (-1) ** ((p & s).bit_count()) for p, v in enumerate(values)])) for s in range(4)]
    assert found == [0.5] * 4


def test_expectations_of_the_sampled_queries():
    """The deviation is that of plain averages of y chi_S(x)."""
    rng = np.random.default_rng(0)
    problem = statistical_queries.LabelledCube(jnp.asarray(rng.choice([-1.0, 1.0], 8)), 30)
    key = jax.random.key(3)
    drawn = np.asarray(jax.random.randint(key, (30,), 0, 8))
    labels, worst = np.asarray(problem.labels), 0.0
    for s in itertools.product([0, 1], repeat=3):
        chi = np.array([(-1) ** sum(b * (p >> i & 1) for i, b in enumerate(s)) for p in range(8)])
        worst = max(worst, abs(np.mean((labels * chi)[drawn]) - np.mean(labels * chi)))
    assert float(statistical_queries.SampledQueries().measure(problem, key)) == pytest.approx(worst)
