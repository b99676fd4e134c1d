"""Fitted scaling laws: against other routes to the same numbers, and intervals against simulated truth."""

import numpy as np
import pytest
from scipy.optimize import curve_fit, minimize_scalar
from scipy.stats import binom
from scipy.stats import t as student

from lemmata.engine.claims import registry
from lemmata.errors import DataError, LemmataError, SettingError, ShapeError
from lemmata.subjects.scaling import extrapolation_interval, fit_scaling_law
from lemmata.subjects.scaling._fit import fit_law, without_each_scale
from lemmata.subjects.scaling._laws import Design
from lemmata.subjects.scaling._numbers import loss_at
from lemmata.subjects.scaling._profile import both_intervals, jackknife_interval
from lemmata.subjects.scaling._residuals import runs_test

from . import curves

SIZES = np.logspace(6, 9.5, 8)
LAW = lambda n: 1.7 + 400 * np.asarray(n) ** -0.34
LEVEL = 0.9


def noisy(seed=0, spread=0.003, law=LAW, sizes=SIZES):
    return law(sizes) * np.exp(spread * np.random.default_rng(seed).normal(size=len(sizes)))


def test_a_law_without_noise_is_found():
    law = fit_scaling_law(SIZES, LAW(SIZES))
    for name, true in {"floor": 1.7, "A": 400, "alpha": 0.34}.items():
        assert law.constants[name] == pytest.approx(true, rel=1e-6)
    assert law.extrapolate(1e12).value == pytest.approx(LAW(1e12), rel=1e-9)


@pytest.mark.parametrize("unit", [1e-300, 1e-30, 1e30, 1e200])
def test_the_unit_of_the_loss_does_not_matter(unit):
    losses = noisy()
    law, scaled = (fit_scaling_law(SIZES, losses * factor) for factor in (1.0, unit))
    for name in ("alpha", "floor", "A"):
        factor = 1.0 if name == "alpha" else unit
        assert scaled.constants[name] / factor == pytest.approx(law.constants[name], rel=1e-6)
        ends = [end / factor for end in scaled.intervals[name]]
        assert ends == pytest.approx(law.intervals[name], rel=1e-4)


def test_losses_that_fall_at_the_end_alone_make_no_overflow():
    law = fit_scaling_law([10, 20, 40, 80, 160, 320, 640], [1, 1.02, 0.99, 1.01, 1, 0.98, 0.6])
    assert law.intervals["A"][0] == 0
    assert not law.told["alpha"]


def test_an_amplitude_without_end_is_infinite():
    law = fit_scaling_law([10, 20, 40, 80, 160, 320, 640], [5, 1.01, 0.99, 1.01, 1, 0.98, 0.99])
    assert law.intervals["A"][1] == np.inf


def test_least_squares_agree_with_curve_fit_and_its_delta_method():
    losses = noisy(spread=5e-4)
    law = fit_scaling_law(SIZES, losses, robust=False)
    model = lambda x, e, a, alpha: np.log(e + a * np.exp(-alpha * x))
    found, covariance = curve_fit(model, np.log(SIZES), np.log(losses), p0=[1.5, 300, 0.3], maxfev=20_000)
    assert [law.constants[name] for name in ("floor", "A", "alpha")] == pytest.approx(found, rel=1e-4)
    half = 1.06 * student.ppf(0.95, 5) * np.sqrt(covariance[2, 2])
    assert np.array(law.intervals["alpha"]) == pytest.approx([found[2] - half, found[2] + half], abs=0.2 * half)


def test_outliers_move_least_squares_and_not_the_robust_fit():
    sizes, errors = np.logspace(6, 9.5, 12), {True: [], False: []}
    for seed in range(8):
        losses = noisy(seed, spread=0.002, sizes=sizes)
        losses[seed + 2] *= 1.1
        for robust, found in errors.items():
            fit = fit_law(Design.of(np.log(sizes)[:, None], True, np.log(losses)), np.log(losses), robust)
            found.append(abs(fit.design.constants(fit.theta)["alpha"] - 0.34))
    assert np.mean(errors[True]) < 0.02
    assert np.mean(errors[False]) > 2 * np.mean(errors[True])


LEAST = 2.3e-4  # a normal number is 3.5 standard errors below its mean as rarely


def fitted(curve):
    """A curve's fit, and the law's logarithm at a size."""
    design = Design.of(np.log(curve.sizes)[:, None], True, np.log(curve.losses))
    return fit_law(design, np.log(curve.losses)), lambda at: loss_at(design, np.log([at]))


def test_the_interval_alone_is_that_of_the_law():
    curve = curves.drawn(np.random.default_rng(1))
    at = 100 * curve.sizes[-1]
    fit, law_at = fitted(curve)
    alone = extrapolation_interval(curve.sizes, curve.losses, at, level=LEVEL)
    whole = fit_scaling_law(curve.sizes, curve.losses, level=LEVEL).extrapolate(at)
    assert alone == pytest.approx(whole.interval)
    assert both_intervals(fit, without_each_scale(fit), law_at(at), LEVEL) == (
        pytest.approx(alone),
        pytest.approx(whole.leave_one_out),
    )


@pytest.mark.parametrize("noise", ["normal", "heavy", "normal outlier"])
def test_intervals_hold_the_law_as_often_as_the_docstring_says(noise):
    """In turn at 10 and 100 times the largest size, between 0.90 and 0.94, by the binomial law of so many curves."""
    rng, count, held = np.random.default_rng(30_001), 80, np.zeros(2, int)
    for number in range(2 * count):
        curve = curves.drawn(rng, noise)
        fit, law_at = fitted(curve)
        at = (10, 100)[number % 2] * curve.sizes[-1]
        low, high = both_intervals(fit, [], law_at(at), LEVEL)[0]
        held[number % 2] += low <= curve.law(at) <= high
    print(f"{noise}: {held} of {count} held at 10 and 100 times the largest size")
    assert (binom.cdf(held, count, 0.90) > LEAST).all()
    assert binom.sf(held.sum() - 1, 2 * count, 0.94) > LEAST


def test_leaving_sizes_out_holds_the_law_too():
    rng, held, count = np.random.default_rng(40_001), 0, 60
    for _ in range(count):
        curve = curves.drawn(rng)
        at = 100 * curve.sizes[-1]
        fit, law_at = fitted(curve)
        low, high = np.exp(jackknife_interval(fit, without_each_scale(fit), law_at(at), LEVEL))
        held += bool(low <= curve.law(at) <= high)
    assert binom.cdf(held, count, LEVEL) > LEAST, f"{held} of {count}"


def test_allocations_hold_the_best_one():
    rng, held, count = np.random.default_rng(50_001), [], 16
    for _ in range(count):
        law, (n, d), losses = curves.surface(rng)
        plan = fit_scaling_law(n, losses, d).allocate(1e23)
        best = minimize_scalar(lambda log, law=law: law(np.exp(log), 1e23 / 6 / np.exp(log)), bounds=(15, 40)).x
        least = law(np.exp(best), 1e23 / 6 / np.exp(best))
        held.append(
            (plan.n_interval[0] <= np.exp(best) <= plan.n_interval[1], plan.interval[0] <= least <= plan.interval[1])
        )
    assert (binom.cdf(np.sum(held, axis=0), count, LEVEL) > LEAST).all(), "of n and of the loss"


def test_a_fit_without_the_floor_is_wrong_and_says_why():
    law = fit_scaling_law(SIZES, noisy(), floor=False)
    assert law.extrapolate(1e12).interval[1] < LAW(1e12)
    assert any("local_slope" in note for note in law.notes)


def test_what_the_data_cannot_tell_is_said():
    sizes = np.logspace(6, 7, 6)
    law = fit_scaling_law(sizes, noisy(spread=0.03, sizes=sizes))
    assert not law.told["floor"]
    assert any("floor is not significantly above zero" in note for note in law.notes)
    assert law.intervals["floor"][0] == pytest.approx(0, abs=1e-6)
    assert "the data do not determine it" in str(law)


def test_several_runs_of_one_size_are_left_out_together():
    sizes = np.repeat(SIZES[::2], 3)
    law = fit_scaling_law(sizes, noisy(sizes=sizes))
    assert len(law.others) == 4
    assert {len(other.log_loss) for other in law.others} == {9}
    low, high = law.leave_one_out["alpha"]
    assert low < law.constants["alpha"] < high
    few = fit_scaling_law(SIZES[:4], noisy(sizes=SIZES[:4]))
    assert np.isfinite(few.leave_one_out["alpha"]).all()
    assert any("fewer than 3 points" in note for note in few.notes)


def test_extrapolation_says_that_it_is_one():
    law = fit_scaling_law(SIZES, noisy())
    assert law.extrapolate(1e8).notes == ()
    assert any("valid only if the same law continues there" in note for note in law.extrapolate(1e11).notes)
    assert any("coverage" in note for note in law.extrapolate(1e14).notes)


def test_a_broken_law_is_noticed_and_a_good_one_is_not():
    sizes = np.logspace(6, 10, 17)
    design = Design.of(np.log(sizes)[:, None], True, np.log(LAW(sizes)))
    broken = lambda n: np.where(n < 1e8, 5 * n**-0.05, 5 * 1e8**-0.05 * (n / 1e8) ** -0.3)
    tested = lambda law, seed: runs_test(fit_law(design, np.log(noisy(seed, 0.01, law, sizes))))
    assert max(tested(broken, seed)[1] for seed in range(6)) < 0.05
    runs, probabilities = zip(*(tested(LAW, seed) for seed in range(60)), strict=True)
    # a fit of three parameters changes the sign of its residuals three times, or nearly always
    assert np.mean(np.array(runs) >= 4) > 0.95
    assert np.mean(np.array(probabilities) < 0.05) < 0.05 + 3.5 * np.sqrt(0.05 * 0.95 / 60)


def test_needed_inverts_extrapolate():
    law = fit_scaling_law(SIZES, noisy())
    answer = law.needed(1.8)
    assert law.extrapolate(answer.value).value == pytest.approx(1.8, rel=1e-3)
    for end in answer.interval:
        interval = law.extrapolate(end).interval
        assert min(abs(np.log(side / 1.8)) for side in interval) < 2e-3
    floor = law.constants["floor"]
    assert law.needed(floor * 0.999).value == np.inf
    with pytest.raises(SettingError, match="at least"):
        law.needed(0.5)


@pytest.mark.parametrize("served", [0.0, 1e12])
def test_an_allocation_is_the_minimum_of_the_fitted_law(served):
    _, (n, d), losses = curves.surface(np.random.default_rng(3))
    law = fit_scaling_law(n, losses, d)
    plan = law.allocate(1e23, served=served)
    assert 6 * plan.n * plan.d + 2 * plan.n * served == pytest.approx(1e23)
    c = law.constants
    loss = lambda log: (
        c["floor"]
        + c["A"] * np.exp(log) ** -c["alpha"]
        + c["B"] * ((1e23 / np.exp(log) - 2 * served) / 6) ** -c["beta"]
    )
    found = minimize_scalar(loss, bounds=(18, 25), options={"xatol": 1e-9})
    assert np.log(plan.n) == pytest.approx(found.x, abs=1e-5)
    assert plan.value == pytest.approx(found.fun)
    assert plan.n_interval[0] < plan.n < plan.n_interval[1]
    assert plan.d_interval[0] < plan.d < plan.d_interval[1]


def test_answers_name_claims_that_exist():
    law = fit_scaling_law(SIZES, noisy())
    _, (n, d), losses = curves.surface(np.random.default_rng(3))
    both = fit_scaling_law(n, losses, d)
    answers = [law, law.extrapolate(1e9), both.allocate(1e22), both.allocate(1e22, served=1e11)]
    assert {answer.claim for answer in answers} <= set(registry())
    assert all(answer.hypotheses for answer in answers)


EIGHT = np.arange(1.0, 9.0)


@pytest.mark.parametrize(
    ("n", "loss", "d", "error", "message"),
    [
        ([1, 2], [3, 2], None, DataError, "at least 4 points for 3 parameters"),
        ([1, 2, 3], [3, 2, 1], None, DataError, "at least 4 points for 3 parameters"),
        ([1, 1, 2, 2, 2], [3, 2, 1, 1, 1], None, DataError, "different values of n"),
        ([1, 2, 3, 4], [3, 2, 1, -1], None, DataError, "loss in row 3,"),
        ([1, 2, 3, 4], [3, 2, 1, 0], None, DataError, "loss in row 3,"),
        ([1, 2, 3, np.nan], [3, 2, 1, 1], None, DataError, "n in row 3,"),
        ([1, 2, 3, 4], [3, 2, np.inf, 1], None, DataError, "loss in row 2,"),
        ([0, 2, 3, 4], [3, 2, 1, 1], None, DataError, "n in row 0,"),
        (["a"], [1], None, DataError, "n; found the entry 'a'"),
        (EIGHT.astype(str), 1 / EIGHT, None, DataError, "n; found the entry '1.0'"),
        (np.ma.masked_array(EIGHT, EIGHT > 7), 1 / EIGHT, None, DataError, "n; found 1 masked"),
        (EIGHT.astype("datetime64[s]"), 1 / EIGHT, None, DataError, "n; found entries of type datetime64"),
        ([[1, 2]], [1, 2], None, ShapeError, "shape"),
        ([1, 2, 3], [1, 2], None, ShapeError, "3 and 2"),
        (EIGHT, 1 / EIGHT, 20 * EIGHT, DataError, "on one line"),
        (EIGHT, np.ones(8), None, DataError, "does not fall"),
        (EIGHT, EIGHT, None, DataError, "does not fall"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_line(n, loss, d, error, message):
    with pytest.raises(error, match=message) as caught:
        fit_scaling_law(n, loss, d)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "ask",
    [
        lambda law: law.extrapolate(-1),
        lambda law: law.extrapolate(np.nan),
        lambda law: law.extrapolate(1e9, d=1e9),
        lambda law: law.needed(0),
        lambda law: law.allocate(1e20),
        lambda law: fit_scaling_law(SIZES, LAW(SIZES), level=1.0),
    ],
)
def test_questions_that_have_no_answer_are_refused(ask):
    law = fit_scaling_law(SIZES, noisy())
    with pytest.raises(LemmataError):
        ask(law)
