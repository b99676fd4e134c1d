"""The best of n: by listing every outcome, by leaving out each draw, and on simulated truth."""

import itertools

import numpy as np
import pytest
from scipy import stats

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.preferences import best_of_n
from lemmata.subjects.preferences._selection_curve import best_of, log_factorials, ranked, win_rate, without_each
from lemmata.subjects.preferences._tails import tail_index


def listed(rewards, gold, chance, n):
    """Reward, gold, law and win rate of the best of n by all k^n draws, ties decided by chance."""
    k = len(rewards)
    law = np.zeros(k)
    for drawn in itertools.product(range(k), repeat=n):
        top = [i for i in drawn if rewards[i] == max(rewards[j] for j in drawn)]
        for i in top:
            law[i] += np.prod(chance[list(drawn)]) / len(top)
    beats = (rewards[:, None] > rewards) + 0.5 * (rewards[:, None] == rewards)
    return law @ rewards, law @ gold, law, law @ beats @ chance


@pytest.mark.parametrize("rewards", [[0.3, -1.0, 2.0, 1.0], [1.0, 0.0, 1.0, 0.5], [0.0, 0.0, 0.0, 1.0]])
def test_a_list_with_probabilities_is_exact(rewards):
    rng = np.random.default_rng(0)
    rewards, gold, chance = np.array(rewards), rng.normal(size=4), rng.dirichlet(np.ones(4))
    found = best_of_n(rewards, 4, gold=gold, logp=np.log(chance))
    for n in range(1, 5):
        reward, worth, law, wins = listed(rewards, gold, chance, n)
        assert found.reward[n - 1] == pytest.approx(reward, rel=1e-12)
        assert found.gold[n - 1] == pytest.approx(worth, rel=1e-12)
        assert found.win_rate[n - 1] == pytest.approx(wins, rel=1e-12)
        assert found.divergence[n - 1] == pytest.approx(np.sum(law * np.log(law / chance)), rel=1e-10, abs=1e-14)
    assert found.peak == int(np.argmax(found.gold)) + 1
    assert found.tail is None


def test_bounds_hold_and_are_attained_by_many_answers():
    rng = np.random.default_rng(1)
    few = best_of_n(rng.normal(size=3), 100, logp=np.log([0.5, 0.3, 0.2]))
    assert (few.divergence <= few.divergence_bound + 1e-15).all()
    assert (few.win_rate <= few.win_rate_bound + 1e-15).all()
    many = best_of_n(rng.normal(size=20_000), 8, logp=np.full(20_000, -np.log(20_000)))
    assert np.allclose(many.divergence[1:], many.divergence_bound[1:], rtol=1e-3)
    assert np.allclose(many.win_rate, many.win_rate_bound, rtol=1e-3)


def test_a_bound_beyond_that_of_the_best_answer_is_called_vacuous():
    found = best_of_n([0.0, 1.0], 20, logp=np.log([0.5, 0.5]))
    trivial = np.log(2.0)
    assert (found.vacuous == ((found.divergence_bound >= trivial) & (found.n > 1))).all()
    assert found.vacuous[-1]
    assert not found.vacuous[1]
    assert (found.divergence <= trivial).all()


@pytest.mark.parametrize("ties", [False, True])
def test_a_sample_averages_over_all_choices(ties):
    rng = np.random.default_rng(2)
    rewards = rng.integers(0, 3, 7).astype(float) if ties else rng.normal(size=7)
    gold = rng.normal(size=7)
    found = best_of_n(rewards, 6, gold=gold)
    for m in range(1, 7):
        worth, reward = [], []
        for chosen in itertools.combinations(range(7), m):
            top = [i for i in chosen if rewards[i] == max(rewards[list(chosen)])]
            reward.append(rewards[top[0]])
            worth.append(np.mean(gold[top]))
        wins = []
        for one in range(7):
            for chosen in itertools.combinations([i for i in range(7) if i != one], m):
                best = max(rewards[list(chosen)])
                wins.append((best > rewards[one]) + 0.5 * (best == rewards[one]))
        assert found.reward[m - 1] == pytest.approx(np.mean(reward), rel=1e-12)
        assert found.gold[m - 1] == pytest.approx(np.mean(worth), rel=1e-12)
        assert found.win_rate[m - 1] == pytest.approx(np.mean(wins), rel=1e-12)
    if not ties:
        assert np.allclose(found.win_rate, found.win_rate_bound, rtol=1e-12)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("m", [1, 3, 10])
def test_leaving_out_each_draw_is_computing_without_it(ties, m):
    rng = np.random.default_rng(3)
    rewards = rng.integers(0, 4, 11).astype(float) if ties else rng.normal(size=11)
    order = np.argsort(rewards, kind="stable")
    columns = np.stack([rewards, rng.normal(size=11)], axis=1)
    quick = without_each(ranked(rewards, columns), m, log_factorials(11))
    for place, left in enumerate(order):
        kept = np.arange(11) != left
        slow = best_of(ranked(rewards[kept], columns[kept]), m, log_factorials(10))
        assert np.allclose(quick[place], slow, rtol=1e-10, atol=1e-13)


def test_the_win_rate_of_equal_rewards_is_one_half():
    sample = ranked(np.zeros(9), np.zeros((9, 1)))
    assert win_rate(sample, 4, log_factorials(9)) == pytest.approx(0.5, rel=1e-12)


def test_intervals_cover_simulated_truth():
    """Proxy = gold + noise, all normal: the truth is rho² E max z. 250 samples of 400 draws, n = 2, 8, 20."""
    rng, n, hits, runs = np.random.default_rng(4), [2, 8, 20], [], 250
    z = np.linspace(-9, 9, 4001)
    maxima = [np.trapezoid(z * k * stats.norm.pdf(z) * stats.norm.cdf(z) ** (k - 1), z) for k in n]
    for _ in range(runs):
        gold = rng.normal(size=400)
        proxy = gold + rng.normal(size=400)
        found = best_of_n(proxy, 20, gold=gold)
        truth = np.stack([np.sqrt(2.0) * np.array(maxima), np.array(maxima) / np.sqrt(2.0)])
        at = np.array(n) - 1
        ends = np.stack([found.reward_interval[at], found.gold_interval[at]])
        hits.append((ends[..., 0] <= truth) & (truth <= ends[..., 1]))
    covered = np.mean(hits, axis=0)
    print("coverage of 95 % intervals (reward, gold) at n =", n, covered.round(3).tolist())
    # four standard errors of a share of 0.95 over 250 runs are 0.055
    assert (np.abs(covered - 0.95) <= 0.055).all()


def test_the_peak_of_a_heavy_tailed_proxy_is_found_and_called_a_fall():
    """With 2.5 degrees of freedom gold peaks near n = 16, at 0.79, and is 0.39 at n = 256, by quadrature."""
    rng, inside, falls = np.random.default_rng(5), [], []
    for _ in range(8):
        gold = rng.normal(size=12_000)
        found = best_of_n(gold + rng.standard_t(2.5, size=12_000), 256, gold=gold)
        inside.append(found.peak_interval[0] <= 16 <= found.peak_interval[1])
        falls.append(found.falls)
    print("peak within its interval", np.mean(inside), "fall shown", np.mean(falls))
    assert sum(inside) >= 7
    assert sum(falls) >= 6


def test_normal_errors_are_seldom_called_a_fall():
    rng, falls = np.random.default_rng(6), []
    for _ in range(60):
        gold = rng.normal(size=600)
        falls.append(best_of_n(gold + rng.normal(size=600), 20, gold=gold).falls)
    assert np.mean(falls) <= 0.1


def test_tails_are_told_apart():
    rng = np.random.default_rng(7)
    assert best_of_n(rng.standard_t(2.5, size=20_000), 2).tail[1] > 0
    assert best_of_n(rng.normal(size=20_000), 2).tail[1] < 0
    assert best_of_n(rng.normal(size=100), 2).tail is None


@pytest.mark.parametrize("shape", [-0.2, 0.1, 0.3])
def test_the_interval_of_the_tail_index_covers(shape):
    rng, hits = np.random.default_rng(8), []
    for _ in range(300):
        _, low, high = tail_index(stats.genpareto.rvs(shape, size=4000, random_state=rng), 0.95)
        hits.append(low <= shape <= high)
    print("coverage of the tail index", shape, np.mean(hits))
    assert abs(np.mean(hits) - 0.95) <= 0.05


def test_large_samples_do_not_lose_digits():
    size = 200_000
    found = best_of_n(np.arange(size, dtype=float), 3)
    exact = [(m * (size + 1) / (m + 1)) - 1 for m in (1, 2, 3)]  # E of the largest of m of 1..K
    assert np.allclose(found.reward, exact, rtol=1e-8)
    assert found.win_rate[2] == pytest.approx(0.75, rel=1e-8)


def test_conditions_say_when_intervals_are_too_short():
    found = best_of_n(np.arange(50.0), 10)
    by_name = {condition.name: condition for condition in found.conditions}
    assert by_name["draws for each best of n"].holds is False
    assert by_name["draws for each best of n"].value == 5.0
    assert best_of_n(np.arange(500.0), 10).conditions[0].holds is True
    assert found.conditions[-1].value is None


@pytest.mark.parametrize(
    ("arguments", "options", "error", "said"),
    [
        (([1.0, 2.0], 0), {}, SettingError, "n; found 0; rule: at least 1"),
        (([1.0, 2.0], 2), {}, SettingError, "below 2, the number of draws"),
        (([1.0, np.nan], 1), {}, DataError, "not finite"),
        (([1.0], 1), {}, ShapeError, "at least 2"),
        (([[1.0, 2.0]], 1), {}, ShapeError, "shape"),
        (([1.0, 2.0], 1), {"gold": [1.0]}, ShapeError, "at least 2"),
        (([1.0, 2.0], 1), {"gold": [1.0, 2.0, 3.0]}, ShapeError, "rewards 2, gold 3"),
        (([1.0, 2.0], 1), {"logp": [0.1, -3.0]}, DataError, "none of them above 0"),
        (([1.0, 2.0], 1), {"logp": [-1.0, -3.0]}, DataError, "add up to"),
        (([1.0, 2.0], 1), {"logp": [0.0, -np.inf]}, DataError, "not finite"),
        (([1.0, 2.0], 1), {"level": 95.0}, SettingError, "between 0 and 1"),
    ],
)
def test_bad_input_is_refused_in_one_line(arguments, options, error, said):
    with pytest.raises(error, match=said) as caught:
        best_of_n(*arguments, **options)
    assert "\n" not in str(caught.value)
