"""Backdoors in distilled data: where bounds are attained, floors by hand, and images that carry triggers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.adversaries import conflict_loss, distilled_backdoors, projection_loss, square_trigger
from lemmata.subjects.adversaries._poisoned_digits import SHAPE, DigitsToPoison, digits, regression
from lemmata.subjects.adversaries.distilled_backdoors import ContradictedLabels, LabelledFeatures


def apart(ridge: float) -> ContradictedLabels:
    """Four orthogonal rows, a support that is orthogonal to them."""
    own = jnp.eye(5)
    y = jnp.array([[0.5, -0.5], [0.5, -0.5], [-0.5, 0.5], [0.5, -0.5]])
    return ContradictedLabels(own[:4], own[4:], y, jnp.arange(4.0), jnp.asarray(ridge))


@pytest.mark.parametrize("ridge", [0.01, 0.5])
def test_the_bound_with_roots_is_attained_where_nothing_is_represented(ridge):
    problem, key = apart(ridge), jax.random.key(0)
    claim = distilled_backdoors.RiskOfProjection()
    assert float(claim.measure(problem, key)) == pytest.approx(float(claim.predict(problem)))
    # nothing is represented, so that the risk is that of 0
    assert float(claim.measure(problem, key)) == pytest.approx(0.5**0.5)


def test_the_risk_is_the_sum_and_a_term_that_is_never_negative(key):
    population, claim = LabelledFeatures(), distilled_backdoors.RiskOfProjection()
    for own in jax.random.split(key, 12):
        problem = population.sample(population.settings().resolve(None), own)
        alpha, cross, support = problem.coefficients, problem.features @ problem.support.T, problem.support
        rest = problem.gram - cross @ jnp.linalg.solve(support @ support.T, cross.T)
        more = 2 * float(problem.ridge) * float(jnp.sum(alpha * (rest @ alpha))) / len(alpha)
        assert more >= 0
        total = conflict_loss(problem.gram, problem.y, problem.ridge)
        total += projection_loss(problem.gram, cross, support @ support.T, problem.y, problem.ridge, floor=0.0)
        assert float(claim.measure(problem, own)) ** 2 == pytest.approx(float(total) + more, rel=1e-6)


def test_the_floor_of_copies_by_hand():
    own = jnp.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    y = jnp.array([[0.5, -0.5], [-0.5, 0.5], [0.5, -0.5], [0.5, -0.5]])
    problem = ContradictedLabels(own, jnp.eye(2), y, jnp.array([0.0, 0.0, 1.0, 1.0]), jnp.asarray(1e-9))
    claim = distilled_backdoors.ConflictOfCopies()
    assert float(claim.predict(problem)) == pytest.approx(0.25)  # two of four rows are off by (1/2, 1/2)
    assert float(claim.measure(problem, jax.random.key(0))) == pytest.approx(0.25)


def test_poisoned_digits_carry_their_square(key):
    population = DigitsToPoison()
    problem = population.sample({"n": 200, "poisoned": 10}, key)
    trigger = square_trigger(SHAPE, 2)
    found = problem.poisoned(trigger)
    changed = np.asarray(found.triggered)
    assert changed.sum() == 20
    assert np.all(np.asarray(found.x)[changed].reshape(-1, 8, 8)[:, 6:, 6:] == 1)
    assert np.array_equal(np.asarray(problem.y)[problem.start].argmax(1), np.arange(10))
    rows = {row.tobytes() for row in digits()[0]}
    assert all(row.tobytes() in rows for row in np.asarray(problem.x)[:5])
    # regression on all digits calls its own
    whole = regression(problem.x, problem.y, problem.x)
    assert np.array_equal(whole.argmax(1), problem.y.argmax(1))
    assert problem.accuracy(problem.x, problem.y) > 0.85
    assert problem.success(problem.x, problem.y, trigger) < 0.3
