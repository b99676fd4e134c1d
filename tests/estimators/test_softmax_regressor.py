"""The softmax regressor: scikit-learn's conformance, its kernel and its network against each other, and bad input."""

import pickle
import unittest

import jax
import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from lemmata.errors import DataError, SettingError
from lemmata.estimators import KernelRegressor, SoftmaxRegressor
from lemmata.kernels import Linear, SoftmaxTangent

EPS = np.finfo(float).eps


def rows(n=12, d=3, k=2, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    return x / np.linalg.norm(x, axis=1).max(), rng.normal(size=(n, k))


ESTIMATORS = [SoftmaxRegressor(), SoftmaxRegressor(width=64, time=5.0, normalise=True)]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    try:
        check(estimator)
    except unittest.SkipTest as reason:
        if "pandas" not in str(reason) and "array_api" not in str(reason):
            pytest.fail(f"skipped: {reason}")
        raise


def test_the_contract_has_many_parts():
    assert all(len(list(estimator_checks_generator(estimator))) > 40 for estimator in ESTIMATORS)


def test_infinite_width_is_the_flow_of_the_limit_kernel():
    x, y = rows()
    mine = SoftmaxRegressor(sigma=0.7, time=3.0).fit(x, y)
    with jax.enable_x64(True):
        peer = KernelRegressor(SoftmaxTangent(sigma=0.7), time=3.0).fit(x, y)
    np.testing.assert_allclose(mine.predict(x), peer.predict(x), atol=1e3 * EPS)
    assert mine.steps_ == 0


def test_a_wide_network_trains_like_the_limit_and_wider_is_nearer():
    x, y = rows()
    limit = SoftmaxRegressor(sigma=0.5, time=4.0).fit(x, y)

    def distance(width):
        apart = []
        for seed in range(4):
            network = SoftmaxRegressor(width, sigma=0.5, time=4.0, random_state=seed).fit(x, y)
            apart.append(np.linalg.norm(network.predict(x) - limit.predict(x)))
        return np.sqrt(np.mean(np.square(apart))) / np.linalg.norm(limit.predict(x) - y.mean(axis=0))

    near, far = distance(4096), distance(256)
    # The kernel of a network is m^(-1/2) from its limit: a ratio of 4 between these widths, of 4 draws each.
    assert near < far / 2
    assert near < 0.1


@pytest.mark.parametrize("width", [None, 128])
def test_predictions_at_other_times_are_the_same_training(width):
    x, y = rows()
    long = SoftmaxRegressor(width, time=3.0, random_state=1).fit(x, y)
    np.testing.assert_array_equal(long.predict_at(3.0, x), long.predict(x))
    rounding = 0 if width else 1e3 * EPS
    np.testing.assert_allclose(long.predict_at(0.0, x), np.broadcast_to(y.mean(axis=0), y.shape), rtol=1e-14)
    several = long.predict_at([1.0, 3.0, 7.0], x)
    assert several.shape == (3, *y.shape)
    np.testing.assert_allclose(several[0], long.predict_at(1.0, x), rtol=0, atol=rounding)
    # From the first weights to a time in the middle, or to the end of a shorter training: steps differ a little.
    short = SoftmaxRegressor(width, time=1.0, random_state=1).fit(x, y)
    apart = np.abs(short.predict(x) - several[0]).max()
    assert apart <= (1e-12 if width is None else 0.05)
    residual = [np.linalg.norm(outputs - y) for outputs in several]
    assert residual[0] > residual[1] > residual[2]


def test_a_network_between_two_steps_moves_continuously():
    x, y = rows()
    network = SoftmaxRegressor(64, time=2.0, random_state=0).fit(x, y)
    step = 2.0 / network.steps_
    for moment in (3 * step, 2.0):  # 2.0 is where `fit` ends
        left, middle, right = network.predict_at([moment * (1 - 1e-9), moment, moment * (1 + 1e-9)], x)
        assert np.abs(left - right).max() < 1e-6
        assert np.abs(left - middle).max() < 1e-6


@pytest.mark.parametrize("width", [None, 32])
@pytest.mark.parametrize("targets", [lambda n: np.zeros(n), lambda n: np.full((n, 1), 7.0)])
def test_constant_targets_and_a_single_row(width, targets):
    x, _ = rows()
    y = targets(12)
    np.testing.assert_allclose(SoftmaxRegressor(width, random_state=0).fit(x, y).predict(x), y, atol=1e-12)
    np.testing.assert_allclose(SoftmaxRegressor(width, random_state=0).fit(x[:1], y[:1]).predict(x), y, atol=1e-12)


@pytest.mark.parametrize("width", [None, 32])
def test_inputs_that_are_all_zero_predict_the_mean(width):
    _, y = rows()
    fitted = SoftmaxRegressor(width, random_state=0, normalise=True).fit(np.zeros((12, 3)), y)
    np.testing.assert_allclose(fitted.predict(np.zeros((2, 3))), np.broadcast_to(y.mean(axis=0), (2, 2)), atol=1e-13)


def test_sigma_zero_is_the_linear_kernel_and_the_network_agrees():
    x, y = rows()
    mine = SoftmaxRegressor(sigma=0.0, time=2.0).fit(x, y)
    with jax.enable_x64(True):
        peer = KernelRegressor(Linear(1.0), time=2.0).fit(x, y)
    np.testing.assert_allclose(mine.predict(x), peer.predict(x), atol=1e3 * EPS)
    # One output: all units follow their signs, and F = m tanh(<v, x>), within 1/m² of a linear function.
    one = SoftmaxRegressor(sigma=0.0, time=2.0).fit(x, y[:, 0])
    network = SoftmaxRegressor(4096, sigma=0.0, time=2.0, random_state=0).fit(x, y[:, 0])
    assert np.abs(one.predict(x) - network.predict(x)).max() < 0.3 / network.steps_


def test_long_rows_are_divided_with_a_warning_or_refused():
    x, y = rows()
    with pytest.warns(UserWarning, match=r"divided by .*normalise=True .* scale the inputs"):
        warned = SoftmaxRegressor(time=1.0).fit(5 * x, y)
    said = SoftmaxRegressor(time=1.0, normalise=True).fit(5 * x, y)
    assert warned.scale_ == said.scale_ == pytest.approx(5.0, rel=1e-12)
    np.testing.assert_array_equal(warned.predict(x), said.predict(x))
    x[3] *= 4 / np.linalg.norm(x[3])
    with pytest.raises(DataError, match=r"training row 3 .*norm 4"):
        SoftmaxRegressor(normalise=False).fit(x, y)
    with pytest.raises(DataError, match="training row 3"):
        SoftmaxRegressor(normalise=np.False_).fit(x, y)
    assert SoftmaxRegressor(normalise=np.True_, time=1.0).fit(x, y).scale_ == pytest.approx(4.0)
    assert SoftmaxRegressor(normalise=False, time=1.0).fit(x / 4, y).scale_ == 1.0
    assert SoftmaxRegressor(time=1.0).fit(x / 8, y).scale_ == 1.0
    assert SoftmaxRegressor(normalise=True, time=1.0).fit(x / 8, y).scale_ == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"width": 7}, "even"),
        ({"width": 2.5}, "even integer"),
        ({"width": True}, "width"),
        ({"sigma": "a"}, "sigma"),
        ({"sigma": None}, "sigma"),
        ({"sigma": [1.0]}, "sigma"),
        ({"sigma": np.inf}, "sigma"),
        ({"time": "a"}, "time"),
        ({"time": [1.0]}, "time"),
        ({"sigma": -1.0}, "sigma"),
        ({"sigma": np.nan}, "sigma"),
        ({"sigma": 40.0}, "smaller sigma"),
        ({"time": -1.0}, "time"),
        ({"time": np.nan}, "time"),
        ({"time": np.inf, "width": 8}, "width=None"),
        ({"time": 1e9, "width": 8}, "1000000 steps"),
        ({"normalise": "yes"}, "normalise"),
        ({"normalise": 0}, "normalise"),
        ({"normalise": 1.0}, "normalise"),
        ({"normalise": np.array(True)}, "normalise"),
        ({"normalise": np.array([True, False])}, "normalise"),
    ],
)
def test_settings_that_cannot_be(settings, message):
    with pytest.raises(SettingError, match=message):
        SoftmaxRegressor(**settings).fit(*rows())


@pytest.mark.parametrize("width", [None, 8])
def test_times_that_cannot_be_and_numbers_that_are_not_finite(width):
    x, y = rows()
    fitted = SoftmaxRegressor(width, time=1.0, random_state=0).fit(x, y)
    for wrong in (-1.0, np.ones((1, 1)), np.nan, "a", None, ["a"], [1.0, None], [[1.0], [2.0, 3.0]], 1j):
        with pytest.raises(SettingError, match="time"):
            fitted.predict_at(wrong, x)
    x[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        SoftmaxRegressor(width).fit(x, y)


def test_infinite_time_interpolates_at_infinite_width():
    x, y = rows()
    np.testing.assert_allclose(SoftmaxRegressor(time=np.inf).fit(x, y).predict(x), y, atol=1e-8)


def test_the_default_time_is_the_same_at_every_width_and_stops_early_on_noise():
    rng = np.random.default_rng(3)
    x, _ = rows(60, 2)
    clean, noisy = x[:, 0], x[:, 0] + 2 * rng.normal(size=60)
    limit, network = SoftmaxRegressor().fit(x, noisy), SoftmaxRegressor(16, random_state=0).fit(x, noisy)
    assert limit.time_ == network.time_
    assert limit.time_ < SoftmaxRegressor().fit(x, clean).time_


@pytest.mark.parametrize(("width", "time", "times"), [(None, np.inf, [0.3, np.inf]), (16, 1.0, [0.3, 1.0, 2.5])])
def test_a_copy_made_without_x64_is_the_same_to_the_last_bit(width, time, times):
    x, y = rows()
    fitted = SoftmaxRegressor(width, time=time, random_state=0).fit(x, y)
    expected, at_times = fitted.predict(x), fitted.predict_at(times, x)
    with jax.enable_x64(False):
        loaded = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(loaded.predict(x), expected)
        np.testing.assert_array_equal(loaded.predict_at(times, x), at_times)


# Powers of 2, which no rounding sees; squares of such numbers overflow or underflow.
@pytest.mark.parametrize("factor", [2.0**700, 2.0**-700])
def test_units_do_not_matter_however_large_or_small(factor):
    x, y = rows()
    plain = SoftmaxRegressor(normalise=True).fit(x, y)
    inputs = SoftmaxRegressor(normalise=True).fit(factor * x, y)
    assert inputs.scale_ == factor * plain.scale_
    np.testing.assert_array_equal(inputs.predict(factor * x), plain.predict(x))
    targets = SoftmaxRegressor(normalise=True).fit(x, factor * y)
    assert targets.target_scale_ == factor * plain.target_scale_
    np.testing.assert_array_equal(targets.predict(x), factor * plain.predict(x))


def test_a_mean_whose_sum_overflows():
    x, y = rows()
    huge = 1e308 + 1e300 * y
    fitted = SoftmaxRegressor(time=1.0).fit(x, huge)
    np.testing.assert_allclose(fitted.offset_, huge[0], rtol=1e-7)
    assert np.isfinite(fitted.predict(x)).all()


@pytest.mark.parametrize("normalise", [None, True, False])
def test_norms_that_overflow_name_their_row(normalise):
    x, y = rows()
    long, far = x.copy(), y.copy()
    long[5], far[7] = 1.5e308, 1.5e308
    with pytest.raises(DataError, match="inputs of training row 5"):
        SoftmaxRegressor(normalise=normalise).fit(long, y)
    with pytest.raises(DataError, match="targets of training row 7"):
        SoftmaxRegressor(normalise=normalise).fit(x, far)


def test_a_kernel_that_underflows_is_refused_where_it_would_set_the_time():
    x, y = rows()
    longest = int(np.argmax(np.linalg.norm(x, axis=1)))
    with pytest.raises(DataError, match=rf"row {longest} .*normalise=True"):
        SoftmaxRegressor().fit(1e-170 * x, y)
    predicted = SoftmaxRegressor(time=1.0).fit(1e-170 * x, y).predict(x)
    np.testing.assert_allclose(predicted, np.broadcast_to(y.mean(axis=0), y.shape), rtol=1e-14)


@pytest.mark.parametrize("width", [None, 16])
def test_outputs_that_are_not_finite_name_their_row(width):
    x, y = rows()
    fitted = SoftmaxRegressor(width, sigma=2.0, time=1.0, random_state=0).fit(x, y)
    far = x.copy()
    far[2] = [1.7e308, -1.7e308, 1.7e308]
    far[9] = far[2]
    with pytest.raises(DataError, match=r"row 2 .*1\.7e\+308"):
        fitted.predict(far)
    with pytest.raises(DataError, match=r"row 0 .*not finite"):
        SoftmaxRegressor(time=1.0).fit(x, y).predict_at([0.5, 1.0], [[1e4, 0.0, 0.0]])


def test_a_network_trained_shortly_goes_on_in_stable_steps():
    x, y = rows()
    short, untrained, long = (SoftmaxRegressor(64, time=time, random_state=0).fit(x, y) for time in (1e-9, 0.0, 5.0))
    assert (short.steps_, untrained.steps_) == (1, 0)
    outputs = short.predict_at(5.0, x)
    # The steps of the two are 1e-9 apart, and outputs move by about one target in a unit of time.
    np.testing.assert_allclose(outputs, untrained.predict_at(5.0, x), rtol=0, atol=1e-8)
    assert np.abs(outputs - long.predict(x)).max() < 0.05
    np.testing.assert_array_equal(short.predict_at([9.0, 0.0, 5.0], x)[2], outputs)
    with pytest.raises(SettingError, match="1000000 steps"):
        short.predict_at(1e9, x)


def test_inputs_that_are_all_zero_need_no_steps_but_no_network_trains_for_ever():
    _, y = rows()
    zeros = np.zeros((12, 3))
    fitted = SoftmaxRegressor(8, time=1.0, random_state=0).fit(zeros, y)
    np.testing.assert_allclose(fitted.predict_at(1e30, zeros[:1])[0], y.mean(axis=0), rtol=1e-14)
    with pytest.raises(SettingError, match="width=None"):
        SoftmaxRegressor(8, time=np.inf, random_state=0).fit(zeros, y)


def test_targets_that_are_text():
    x, _ = rows(3)
    with pytest.raises(ValueError, match="could not convert"):
        SoftmaxRegressor().fit(x, ["a", "b", "c"])
    numbers = SoftmaxRegressor(time=1.0).fit(x, [1.0, 2.0, 4.0])
    np.testing.assert_array_equal(SoftmaxRegressor(time=1.0).fit(x, ["1", "2", "4"]).predict(x), numbers.predict(x))


def test_a_random_state_draws_the_network_of_its_seed():
    x, y = rows()
    seed, state = (SoftmaxRegressor(8, time=1.0, random_state=r).fit(x, y) for r in (3, np.random.RandomState(3)))
    np.testing.assert_array_equal(seed.predict(x), state.predict(x))
