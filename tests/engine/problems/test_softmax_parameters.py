"""The parameters of the theory of softmax networks, written out from the statements with Python's own arithmetic."""

import math

import pytest

from lemmata.engine.problems import softmax_parameters as own

N, K, M, SIGMA, DELTA, LAMBDA, BOUND = 3, 2, 64, 0.5, 0.1, 0.25, 1.5
e = math.e


@pytest.mark.parametrize(
    ("exponent", "wanted"), [(0.0, 1.0), (1.0, e), (-1.0, 1 / e), (709.0, e**709.0), (710.0, math.inf), (-800.0, 0.0)]
)
def test_growth_is_exponential_and_at_last_infinite(exponent, wanted):
    assert own.growth(exponent) == pytest.approx(wanted, rel=1e-12)


def test_the_bound_of_logits_is_ten_standard_deviations_of_a_maximum_and_at_least_one():
    assert own.logit_bound(N, K, SIGMA, DELTA) == pytest.approx(5 * math.log(60.0) ** 0.5, rel=1e-14)
    assert own.logit_bound(N, K, SIGMA, DELTA, 3.0) == pytest.approx(1.5 * math.log(60.0) ** 0.5, rel=1e-14)
    assert own.logit_bound(N, K, 1e-3, DELTA) == 1.0


def test_the_parameters_are_those_of_the_theorems():
    n_k = N * K
    step = LAMBDA / 10 / M / n_k**2 * e ** (-16 * BOUND)
    assert own.step_size(LAMBDA, M, N, K, BOUND) == pytest.approx(step, rel=1e-12)
    assert own.radius(LAMBDA, N, K, BOUND) == pytest.approx(LAMBDA / 2 / n_k * e ** (-10 * BOUND), rel=1e-12)
    moved = 4 * e ** (3 * BOUND) * n_k**0.5 * 7.0 / M / LAMBDA
    assert own.displacement(LAMBDA, M, N, K, BOUND, 7.0) == pytest.approx(moved, rel=1e-12)
    width = (n_k / LAMBDA * math.log(n_k / DELTA)) ** 2 * e ** (18 * BOUND)
    assert own.required_width(LAMBDA, N, K, BOUND, DELTA) == pytest.approx(width, rel=1e-12)
    steps = 2 * math.log(n_k / 0.01) / (M * step * LAMBDA)
    assert float(own.required_steps(LAMBDA, N, K, BOUND, 0.01)) == pytest.approx(steps, rel=1e-12)
