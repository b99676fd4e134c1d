"""The laws that families of statements draw from have the means, shares and exponents that their names say."""

import numpy as np
import pytest

from lemmata.engine.claims import _laws as laws

TRIALS = 4000
RUNGS = np.asarray(laws.RUNGS)


def drawn(draw, seed=0, trials=TRIALS):
    predicted, measured = draw(np.random.default_rng(seed), trials)
    assert len(predicted) == len(measured) == trials
    return predicted, measured


def near(values, mean, sigmas=5.0):
    return abs(np.mean(values) - mean) < sigmas * np.std(values) / np.size(values) ** 0.5


def is_uniform(values, low, high):
    inside = low <= values.min() < low + 0.01 * (high - low) and high - 0.01 * (high - low) < values.max() <= high
    return inside and near(values, (low + high) / 2)


def test_rungs_are_powers_of_two_from_32_to_1024():
    assert laws.RUNGS == (32.0, 64.0, 128.0, 256.0, 512.0, 1024.0)


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_bounds_and_floors_are_of_uniform_numbers(factor):
    for law, low, high in ((laws.bound, 0, 1), (laws.floor, 1, 2)):
        predicted, measured = drawn(law(factor))
        assert is_uniform(predicted / factor, 1, 3)
        assert is_uniform(measured / predicted * factor, low, high)


def test_a_bound_fails_as_often_as_it_is_told():
    predicted, measured = drawn(laws.failing(0.15))
    assert is_uniform(predicted, 1, 3)
    assert set((measured / predicted).round(12)) == {0.5, 2.0}
    assert near(measured > predicted, 0.15)


def test_an_infinite_bound_is_of_finite_numbers():
    predicted, measured = drawn(laws.infinite)
    assert np.all(predicted == np.inf)
    assert is_uniform(measured, 1, 3)


def test_an_identity_is_off_in_its_first_component_alone():
    predicted, measured = drawn(laws.identity(0.25, 1e6))
    assert predicted.shape == measured.shape == (TRIALS, 3)
    ratio = predicted / measured / [1.25, 1.0, 1.0]
    eps = np.finfo(float).eps
    assert 2 * eps < np.abs(ratio - 1).max() < 6 * eps
    for place, size in enumerate((1.0, 1.0, 1e6)):
        assert is_uniform(measured[:, place] / size, 1 - 1e-12, 3 + 1e-12)
    assert abs(np.corrcoef(measured.T)[0, 1]) < 0.1
    assert drawn(laws.identity(0.0))[0][:, 2].max() <= 3


def test_a_mean_is_that_of_its_measurements():
    predicted, measured = drawn(laws.mean(0.8, 0.4))
    assert measured.shape == (TRIALS, 2)
    assert is_uniform(predicted / 0.8, 1, 3)
    noise = measured / predicted[:, None] * 0.8
    assert near(noise, 1.0)
    assert np.log(noise).std() == pytest.approx(0.4, rel=0.05)
    assert abs(np.corrcoef(np.log(noise).T)[0, 1]) < 0.1
    assert laws.mean(1.0, 0.4, replicates=1)(np.random.default_rng(0), 7)[1].shape == (7,)


def test_each_problem_may_have_a_mean_of_its_own():
    predicted, measured = drawn(laws.mean(1.0, 0.0, 0.5, 3))
    assert measured.shape == (TRIALS, 3)
    ratio = (measured / predicted[:, None]).round(9)
    assert set(ratio.ravel()) == {0.5, 1.5}
    assert np.all(ratio == ratio[:, :1])
    assert near(ratio[:, 0], 1.0)


def test_rare_events_have_their_probability():
    predicted, measured = drawn(laws.rare(2.0, 0.01, 50))
    assert np.all(predicted == 0.02)
    assert measured.shape == (TRIALS, 2)
    assert near(measured, 0.01)
    np.testing.assert_allclose(measured * 50, (measured * 50).round(), atol=1e-12)


def test_unseen_events_double_the_mean():
    predicted, measured = drawn(laws.unseen(1.5, 0.125))
    assert np.all(predicted == 1.5)
    assert measured.shape == (TRIALS, 2)
    assert set(measured.ravel()) == {1.0, 9.0}
    assert near(measured, 2.0)


@pytest.mark.parametrize(("law", "deviation"), [(laws.lognormal(0.5), None), (laws.pareto(4.0), None)])
def test_heavy_laws_have_the_mean_one(law, deviation):
    predicted, measured = drawn(laws.heavy(0.5, law))
    assert is_uniform(predicted / 0.5, 1, 3)
    assert measured.shape == (TRIALS, 2)
    assert near(measured / predicted[:, None] * 0.5, 1.0)


def test_heavy_laws_have_the_tails_of_their_names():
    rng = np.random.default_rng(1)
    assert np.log(laws.lognormal(2.0)(rng, (2000, 2))).std() == pytest.approx(2.0, rel=0.05)
    values = laws.pareto(1.5)(rng, (20_000, 2))
    assert values.min() == pytest.approx(1 / 3, rel=1e-3)
    assert near(values > 2 / 3, 0.5**1.5)


def slopes(measured):
    return np.polyfit(np.log(RUNGS), np.log(measured).T, 1)[0]


def test_powers_have_their_exponents():
    predicted, measured = drawn(laws.power(-0.5, -1.0))
    assert np.all(predicted == -1.0)
    assert measured.shape == (TRIALS, 6)
    assert near(slopes(measured), -0.5)
    first = np.log(measured[:, 0] * RUNGS[0] ** 0.5)
    assert first.std() == pytest.approx(
        np.hypot(0.3, np.log(np.random.default_rng(0).uniform(1, 3, 9999)).std()), rel=0.1
    )


def test_each_problem_may_have_an_exponent_of_its_own():
    predicted, measured = drawn(laws.powers((-1.0, 0.5), 0.25, 0.01))
    assert np.all(predicted == 0.25)
    assert measured.shape == (TRIALS, 6)
    found = slopes(measured)
    assert set(found.round(1)) == {-1.0, 0.5}
    assert near(found, -0.25)
    constants = measured[:, 0] / RUNGS[0] ** np.where(found > 0, 0.5, -1.0)
    assert 0.9 < constants.min() < 1.1 < 2.7 < constants.max() < 3.2
    twice = laws.powers((-1.0,), 0.25, 0.2, 2)(np.random.default_rng(0), 500)[1]
    assert twice.shape == (500, 2, 6)
    assert np.log(twice[:, 0] / twice[:, 1]).std() == pytest.approx(0.2 * 2**0.5, rel=0.05)


def test_a_bent_sequence_has_its_exponents_in_turn():
    predicted, measured = drawn(laws.bent((-1.0, -0.5, 0.0, 0.5, 1.0), -0.75))
    assert np.all(predicted == -0.75)
    steps = np.diff(np.log(measured), axis=1) / np.log(2)
    for place, wanted in enumerate((-1.0, -0.5, 0.0, 0.5, 1.0)):
        assert near(steps[:, place], wanted)
        assert steps[:, place].std() == pytest.approx(0.05 * 2**0.5 / np.log(2), rel=0.1)
    assert near(measured[:, 0], 2.0)


def test_limits_are_those_of_their_problems():
    predicted, measured = drawn(laws.limits((1.0, 3.0)))
    assert is_uniform(predicted, 1, 3)
    assert measured.shape == (TRIALS, 6)
    own = measured / predicted[:, None]
    nearest = np.where(own.mean(axis=1) > 2, 3.0, 1.0)
    assert near(nearest, 2.0)
    assert (own - nearest[:, None]).std() == pytest.approx(0.1, rel=0.05)
    assert laws.limits((1.0,), 3)(np.random.default_rng(0), 5)[1].shape == (5, 3, 6)


def test_a_sequence_approaches_its_plateau():
    predicted, measured = drawn(laws.approach(0.5, 2.0, -1.0))
    assert is_uniform(predicted, 1, 3)
    own = measured / predicted[:, None]
    for place in range(6):
        assert near(own[:, place], 1.5 + 2 * 0.5**place)
        assert own[:, place].std() == pytest.approx(0.1, rel=0.1)


def test_orders_fall_up_to_their_last_step():
    predicted, measured = drawn(laws.order(0.4))
    assert np.all(predicted == -1.0)
    for place, wanted in enumerate((-0.1, -0.2, -0.3, -0.4, -0.5, -0.1)):
        assert near(measured[:, place], wanted)
        assert measured[:, place].std() == pytest.approx(0.1, rel=0.1)
    predicted, measured = drawn(laws.orders((1.0, -1.0)))
    assert np.all(predicted == 1.0)
    assert measured.shape == (TRIALS, 3)
    steps = np.sign(measured[:, 2])
    assert near(steps, 0.0)
    assert near(measured * steps[:, None], 1.0)
    assert near(measured[:, 1] * steps, 1.0)
    assert measured[:, 0].std() == pytest.approx(0.02, rel=0.1)


def test_a_sequence_without_steps_has_rounding_alone():
    predicted, measured = drawn(laws.rounding, trials=3)
    assert predicted.tolist() == [1.0, 1.0, 1.0]
    assert measured.tolist() == [[1.0, 1 + 1e-15, 1 + 2e-15]] * 3


def test_constructions_succeed_as_often_as_they_are_told():
    predicted, measured = drawn(laws.construction(0.2, 0.6))
    assert is_uniform(predicted, 1, 3)
    own = (measured / predicted[:, None]).round(9)
    assert own.shape == (TRIALS, 2)
    assert set(own.ravel()) == {0.5, 1.5}
    assert near(own[:, 0] > 1, 0.4)
    assert near((own > 1).all(axis=1), (0.04 + 0.36) / 2), "both tries have the rate of their problem"
    predicted, measured = drawn(laws.always(0.7))
    assert measured.shape == (TRIALS,)
    assert near(measured > predicted, 0.7)
