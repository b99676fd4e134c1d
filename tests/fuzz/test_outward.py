"""Bounds lie on their side of the truth, which 60 digits tell: divergences of coins, privacy, limits of shares."""

import itertools

import mpmath
import numpy as np
import pytest
from scipy.special import ndtri

from lemmata.answers import least_share, share_interval
from lemmata.errors import SettingError
from lemmata.subjects.bounds import binary_kl, kl_lower, kl_moment, kl_upper, pac_bayes_budget
from lemmata.subjects.privacy import gaussian_delta, gaussian_eps, gaussian_sigma, privacy_spent
from lemmata.subjects.privacy._accountants import accountants, by_divergences, sampled_steps
from lemmata.subjects.robustness import certify, largest_radius, smooth, smoothed_radius

DRAWS = 40
wide = mpmath.workdps(60)


def exact_kl(q, p):
    part = lambda a, b: a * mpmath.log(a / b) if a > 0 else mpmath.mpf(0)
    return part(q, p) + part(1 - q, 1 - p)


def share(draw):
    """Ordinary ones, some near 0 and near 1, and both ends."""
    near = 10.0 ** draw.uniform(-20, 0)
    return float(draw.choice([draw.uniform(), near, 1 - near, 0.0, 1.0]))


@pytest.mark.parametrize("seed", range(20))
def test_the_ends_of_a_divergence_are_outside_and_near(seed):
    draw = np.random.default_rng(seed)
    for _ in range(DRAWS):
        q, budget = share(draw), 10 ** draw.uniform(-18, 1.5)
        with wide:
            known = mpmath.mpf(q)
            for end, sense in ((float(kl_upper(q, budget)), 1), (float(kl_lower(q, budget)), -1)):
                if 0 < end < 1:
                    assert exact_kl(known, mpmath.mpf(end)) >= budget, (q, budget, sense)
                    moved = abs(mpmath.mpf(end) - known) * (1 - mpmath.mpf(10) ** -12) - 4 * float(np.spacing(end))
                    if moved > 0:
                        assert exact_kl(known, known + sense * moved) <= budget, (q, budget, sense)


EXTREME = (5e-324, 1e-310, 3e-308, 1e-300, 1e-20, 1e-5, 0.3, 1 - 1e-12, 1.0)
BUDGETS = (5e-324, 1e-310, 1e-300, 1e-16, 0.1, 30.0)


@pytest.mark.parametrize("q", EXTREME)
def test_the_ends_of_a_divergence_are_outside_for_tiny_shares_and_budgets(q):
    ends = [(budget, float(end(q, budget))) for budget in BUDGETS for end in (kl_upper, kl_lower)]
    with mpmath.workdps(700):
        for budget, end in ends:
            assert not 0 < end < 1 or exact_kl(mpmath.mpf(q), mpmath.mpf(end)) >= budget, (q, budget, end)
        if q < 1e-20:
            assert float(kl_upper(q, 0.1)) == pytest.approx(-np.expm1(-0.1), rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_divergence_of_tiny_probabilities_does_not_cancel(seed):
    draw = np.random.default_rng(seed)
    for _ in range(DRAWS):
        q, p = 10 ** draw.uniform(-30, 0, 2)
        for one, two in ((q, p), (q, min(3 * q, 1.0)), (q, 0.45 * q), (1 - q, 1 - min(1.5 * q, 1.0)), (0.0, p)):
            with wide:
                truth = exact_kl(mpmath.mpf(one), mpmath.mpf(two)) if 0 < two < 1 else mpmath.inf
                assert truth == mpmath.inf or abs(float(binary_kl(one, two)) - truth) <= 1e-14 * truth, (one, two)


@pytest.mark.parametrize("n", [1, 3, 16, 50])
def test_the_moment_and_the_budget_of_pac_bayes_round_up(n):
    with wide:
        exact = 1 + mpmath.fsum(mpmath.fprod(1 - mpmath.mpf(j) / n for j in range(k + 1)) for k in range(n))
        assert 0 <= kl_moment(n) - exact <= exact * mpmath.mpf(2) ** -51
        for divergence, delta in ((0.0, 0.05), (3.7, 1e-9), (1e-3, 0.999)):
            truth = (mpmath.mpf(divergence) + mpmath.log(exact * 7 / mpmath.mpf(delta))) / n
            assert truth <= pac_bayes_budget(divergence, n, delta, 7) <= truth * (1 + mpmath.mpf(10) ** -14)


@pytest.mark.parametrize("seed", range(3))
def test_a_radius_of_smoothing_rounds_down(seed):
    draw = np.random.default_rng(seed)
    for _ in range(10):
        p = float(draw.choice([1 - 10 ** draw.uniform(-14, -0.4), 0.5 + 10 ** draw.uniform(-9, -0.4)]))
        rival = float((1 - p) * draw.uniform(0.1, 1))
        with wide:
            upper = lambda tail: -mpmath.findroot(lambda z: mpmath.log(mpmath.ncdf(z) / tail), ndtri(float(tail)))
            truth = (upper(1 - mpmath.mpf(p)) + upper(mpmath.mpf(rival))) / 2
            found = smoothed_radius(p, 1.0, rival)
            assert truth * (1 - mpmath.mpf(10) ** -7) <= found <= truth, (p, rival)


@pytest.mark.parametrize(("eps", "ratio"), [(700.0, 10.0), (1.0, 1e-3), (1e300, 1e-300), (1.0, 5e-324)])
def test_a_delta_below_all_numbers_is_not_0(eps, ratio):
    assert 0 < gaussian_delta(eps, ratio, 1.0) <= 1e-300
    assert 0 < gaussian_delta(eps, ratio, 1e300) <= 1e-300


@pytest.mark.parametrize("delta", [5e-324, 1e-310, 1e-200, 1e-5, 0.9])
def test_privacy_of_extreme_noise_has_an_end(delta):
    for sensitivity, sigma in itertools.product((5e-324, 1e-162, 1.0, 1e154, 1.7e308), repeat=2):
        assert 0 <= gaussian_eps(delta, sensitivity, sigma) <= np.inf
    assert gaussian_eps(delta, 1.0, 1e-300) == np.inf
    for eps in (1e-100, 1.0, 1e300, 1.7e308):
        noise = gaussian_sigma(eps, delta)
        assert 0 < noise < np.inf
        assert delta < 1e-300 or gaussian_delta(eps, 1.0, noise) <= delta
    if delta < 0.5:
        with pytest.raises(SettingError, match="larger"):
            gaussian_sigma(5e-324, delta, 1.7e308)


@pytest.mark.parametrize("noise", [1e-300, 1e300])
def test_noise_that_overflows_is_accounted_or_refused(noise):
    assert privacy_spent(noise, 1.0, 10, 1e-5).eps == (np.inf if noise < 1 else 0.0)
    pytest.importorskip("dp_accounting")
    with pytest.raises(SettingError, match="1e-150 to 1e150"):
        privacy_spent(noise, 0.01, 10, 1e-5)


@pytest.mark.parametrize("seed", range(10))
def test_the_divergence_of_neighbours_does_not_cancel(seed):
    draw = np.random.default_rng(seed)
    for _ in range(DRAWS):
        q = draw.uniform(1e-3, 0.999)
        p = q + draw.choice([-1, 1]) * min(q, 1 - q) * 10 ** draw.uniform(-14, 0)
        with wide:
            truth = exact_kl(mpmath.mpf(q), mpmath.mpf(p))
            assert p == q or abs(float(binary_kl(q, p)) / truth - 1) < 1e-13, (q, p)


def exact_delta(eps, ratio):
    tail = lambda t: mpmath.erfc(t / mpmath.sqrt(2)) / 2
    return tail(eps / ratio - ratio / 2) - mpmath.exp(eps) * tail(eps / ratio + ratio / 2)


@pytest.mark.parametrize("seed", range(10))
def test_privacy_of_normal_noise_is_kept_at_every_number_that_is_returned(seed):
    draw = np.random.default_rng(seed)
    for _ in range(DRAWS):
        delta, ratio, eps = 10 ** draw.uniform(-30, -0.01), 10 ** draw.uniform(-6, 2), 10 ** draw.uniform(-8, 3)
        with wide:
            kept = gaussian_eps(delta, ratio, 1.0)
            assert exact_delta(mpmath.mpf(kept), mpmath.mpf(ratio)) <= delta, (delta, ratio)
            if kept > 0:  # and the least such number, to 1e-8
                assert exact_delta(mpmath.mpf(kept) * (1 - mpmath.mpf(10) ** -8), mpmath.mpf(ratio)) > delta
            noise = gaussian_sigma(eps, delta)
            assert exact_delta(mpmath.mpf(eps), 1 / mpmath.mpf(noise)) <= delta, (eps, delta)
            truth = exact_delta(mpmath.mpf(eps), mpmath.mpf(ratio))
            assert truth < 1e-290 or truth <= gaussian_delta(eps, ratio, 1.0) <= truth * (1 + 1e-9), (eps, ratio)


@pytest.mark.parametrize("seed", range(10))
def test_limits_of_a_share_are_outside(seed):
    draw = np.random.default_rng(seed)
    for _ in range(8):
        n, level = int(draw.integers(1, 120)), float(draw.choice([0.9, 0.99, 1 - 2e-10]))
        k = int(draw.integers(0, n + 1))
        low, high = share_interval(float(k), float(n - k), level)
        with wide:
            tail = (1 - mpmath.mpf(level)) / 2
            at_least = lambda p, least, n=n: mpmath.fsum(
                mpmath.binomial(n, j) * mpmath.mpf(p) ** j * (1 - mpmath.mpf(p)) ** (n - j) for j in range(least, n + 1)
            )
            assert (low == 0.0) if k == 0 else tail * (1 - 1e-9) <= at_least(low, k) <= tail, (k, n, level)
            assert (high == 1.0) if k == n else 1 - at_least(high, k + 1) <= tail, (k, n, level)


@pytest.mark.parametrize("tail", [1e-3, 1e-9, 1e-15, 1e-16, 1e-30, 1e-200])
def test_a_small_tail_is_not_lost_in_a_level_near_1(tail):
    with wide:
        low = mpmath.mpf(least_share(300.0, 0.0, tail))
        assert tail * (1 - mpmath.mpf(10) ** -9) <= low**300 <= tail
    always = lambda x: np.ones(len(x), int)
    assert smooth(always, np.zeros(2), 1.0, n=300, alpha=tail).p_lower == least_share(300.0, 0.0, tail)


@pytest.mark.parametrize(("noise", "delta", "steps"), [(8.0, 1e-18, 100), (8.0, 1e-30, 100), (4.0, 1e-14, 10)])
def test_orders_are_as_fine_as_a_small_delta_needs(noise, delta, steps):
    package = pytest.importorskip("dp_accounting")
    event = sampled_steps(noise, 0.001, steps, accountants(needed=True))
    with_orders = lambda orders: package.rdp.RdpAccountant(orders).compose(event).get_epsilon(delta)
    found = by_divergences(event, delta, package)
    assert found <= 1.01 * with_orders([2 + int(1.3**power) for power in range(4, 28)])


def network(draw, sizes, last_bias=1.0):
    layers = [(draw.normal(size=(b, a)), draw.normal(size=b)) for a, b in itertools.pairwise(sizes)]
    layers[-1] = (layers[-1][0], last_bias * layers[-1][1])
    return layers


def exact_outputs(layers, x):
    z = [mpmath.mpf(v) for v in x]
    for position, (weight, bias) in enumerate(layers):
        if position:
            z = [max(v, mpmath.mpf(0)) for v in z]
        z = [mpmath.fdot(map(mpmath.mpf, row), z) + mpmath.mpf(b) for row, b in zip(weight, bias, strict=True)]
    return z


@pytest.mark.parametrize("seed", range(12))
def test_a_certificate_is_below_the_outputs_at_its_own_adversary(seed):
    """Where no unit switches all bounds are exact but for rounding, and the adversary is the worst input."""
    draw = np.random.default_rng(seed)
    layers = network(draw, (4, 5, 5, 3), last_bias=10.0 ** draw.uniform(-3, 8))
    x = draw.normal(size=4)
    for method in ("interval", "crown", "alpha"):
        found = certify(layers, x, 1e-9 * 10 ** draw.uniform(0, 8), method=method)
        with wide:
            outputs = exact_outputs(layers, found.adversary)
            for margin, rival in zip(found.margins, found.rivals, strict=True):
                assert margin <= outputs[found.label] - outputs[rival], (method, rival)


OFF = (np.eye(2), np.array([-5.0, -5.0]))


@pytest.mark.parametrize("method", ["interval", "crown", "alpha", "lp", "exact"])
@pytest.mark.parametrize(
    ("layers", "label"),
    [
        ([OFF, (np.eye(2), np.array([0.3, 0.3]))], 0),
        ([OFF, (np.ones((1, 2)), np.zeros(1))], 0),
        ([(np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]]), np.array([0.1, 0.1, -9.0]))], 0),
    ],
)
def test_a_tie_is_no_attack_where_the_class_stays(layers, label, method):
    found = certify(layers, [0.5, 0.5], 0.25, method=method)
    assert (found.label, found.verdict) == (label, "robust")
    assert certify(layers, [0.5, 0.5], 0.25, method=method, label=1).verdict == "attacked"
    assert largest_radius(layers, [0.5, 0.5], method="crown") > 0.25


@pytest.mark.parametrize("seed", range(12))
def test_an_adversary_has_another_class(seed):
    """Weights of -1, 0 and 1: ties are frequent."""
    draw = np.random.default_rng(seed)
    layers = [(draw.integers(-1, 2, (b, a)).astype(float), np.zeros(b)) for a, b in ((2, 3), (3, 3))]
    for _ in range(10):
        x = draw.integers(-1, 2, 2).astype(float)
        found = certify(layers, x, float(draw.choice([0.25, 0.5, 1.0])), method="crown")
        answer = lambda point: np.maximum(point @ layers[0][0].T, 0.0) @ layers[1][0].T
        grid = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 9)]), axis=-1).reshape(-1, 2)
        if found.verdict == "attacked":
            assert answer(found.adversary).argmax() != found.label
        if found.verdict == "robust":
            assert (answer(x + found.radius * grid).argmax(axis=1) == found.label).all()
