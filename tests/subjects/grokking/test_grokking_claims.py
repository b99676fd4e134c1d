"""Numbers of the claims on grokking by other routes: all pairs, NumPy's transform, matrix exponentials, descent."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, linalg

from lemmata.subjects.grokking import clocks, fourier, lazy, selection

SETTING = {"kernel": "tangent", "p": 7, "share": 0.6}


@pytest.mark.parametrize("kernel", lazy.KERNELS)
def test_a_lazy_network_predicts_additive_tables(kernel, key):
    """Mixed second differences of a rectangle of pairs that were not seen are 0."""
    problem = lazy.TablesOfPairs().sample(SETTING | {"kernel": kernel}, key)
    unseen = np.asarray(problem.order)[problem.n :]
    found = dict(zip(unseen.tolist(), lazy.predictions(problem, np.asarray(problem.values)), strict=True))
    rectangles = [
        (7 * a + b, 7 * a + d, 7 * c + b, 7 * c + d)
        for a, c in itertools.combinations(range(7), 2)
        for b, d in itertools.combinations(range(7), 2)
    ]
    whole = [[found[place] for place in four] for four in rectangles if all(place in found for place in four)]
    assert len(whole) > 3
    for first, second, third, fourth in whole:
        assert first - second == pytest.approx(third - fourth, abs=1e-11)


def test_the_right_class_comes_last_with_one_pair_left_out(key):
    problem = lazy.TablesOfPairs(share=None).sample({"kernel": "gaussian", "p": 7}, key)
    outputs = lazy.predictions(problem, np.eye(7)[lazy.sums(problem)])[0]
    right = lazy.sums(problem)[int(problem.order[-1])]
    assert outputs.argmin() == right
    assert np.allclose(lazy.LazyRanksTheAnswerLast().predict(problem), [outputs.min(), outputs.max()])


def test_margins_over_all_pairs_are_those_of_the_transform():
    powers = np.array([0.0, 2.0, 0.0, 1.0, 0.0, 0.5])  # of the frequencies 1 to 6 modulo 13
    spectrum = np.zeros(13)
    spectrum[1:7], spectrum[:6:-1] = powers / 2, powers / 2
    wave = np.fft.fft(spectrum).real
    wanted = (wave[0] - wave[1:].max()) / powers.sum()
    assert fourier.least_margin(powers, 13, firsts=13) == pytest.approx(wanted)
    assert fourier.least_margin(powers, 13, firsts=1) == pytest.approx(wanted)


def test_waves_modulo_a_composite_may_tie():
    assert fourier.least_margin(np.array([0.0, 1.0, 0.0]), 6) == pytest.approx(0.0, abs=1e-12)


def test_random_phases_leave_no_margin():
    rng, p = np.random.default_rng(0), 31
    phases = rng.uniform(size=12)
    wave = np.cos(2 * np.pi * (np.outer(np.arange(p), rng.permutation(15)[:12] + 1) / p + phases)).sum(axis=1)
    assert wave.argmax() != 0


def test_the_variances_of_random_units_by_quadrature():
    """Over a grid of both phases, for every frequency modulo 5: trigonometric polynomials are summed exactly."""
    u, v = np.meshgrid(*[np.arange(12) * 2 * np.pi / 12] * 2)
    moments = {0: [], 1: []}
    for s, a, b, c in itertools.product(range(1, 5), range(5), range(5), range(5)):
        turn = 2 * np.pi * s / 5
        term = 2 * (np.cos(turn * a + u) + np.cos(turn * b + v)) ** 2 * np.cos(turn * c + u + v)
        moments[int((a + b - c) % 5 == 0)].append((term.mean(), (term**2).mean()))
    right, other = (np.mean(moments[kind], axis=0) for kind in (1, 0))
    predicted = fourier.QuadraticUnitsAdd().predict(fourier.RandomUnits(jnp.ones(()), 2, 50))
    assert right[0] == pytest.approx(1.0)
    assert other[0] == pytest.approx(-0.25)
    assert np.allclose(predicted, [1.0, right[1] - right[0] ** 2, other[1] - other[0] ** 2])


def test_both_clocks_by_plain_descent():
    rng = np.random.default_rng(3)
    x, truth = rng.normal(size=(8, 50)), rng.normal(size=50)
    start, decay, rate = 20 * rng.normal(size=50), 0.02, 0.01
    problem = clocks.DecayedFlow(*map(jnp.asarray, (x, truth, start, decay)))
    null = np.eye(50) - np.linalg.pinv(x) @ x
    weights, times = start.copy(), {}
    for step in itertools.count():
        if "fit" not in times and np.mean((x @ (weights - truth)) ** 2) <= 0.01 * np.mean((x @ truth) ** 2):
            times["fit"] = rate * step
        if np.sum((null @ (weights - truth)) ** 2) <= 2 * np.sum((null @ truth) ** 2):
            times["test"] = rate * step
            break
        weights = weights - rate * (x.T @ (x @ (weights - truth)) / 8 + decay * weights)
    assert times["test"] == pytest.approx(float(-jnp.log(clocks.slow_share(problem)) / decay), rel=0.01)
    assert times["fit"] == pytest.approx(float(clocks.fit_time(problem)), rel=0.05)
    free = linalg.expm(-times["test"] * x.T @ x / 8) @ (start - truth)
    assert free @ free == pytest.approx(np.sum((null @ (start - truth)) ** 2), rel=1e-2)


def test_the_lazy_network_becomes_sparse_late(key):
    """The network itself, u and v, by SciPy's solver of the flow."""
    x = np.asarray(jax.random.normal(key, (16, 30)))
    alpha, decay = 6.0, 0.05
    signs = jnp.asarray([1.0, -1.0])
    problem = clocks.SparseTruth(jnp.asarray(x), signs, jnp.asarray(alpha), jnp.asarray(2.0), jnp.asarray(decay))
    truth = np.zeros(30)
    truth[:2] = [1.0, -1.0]
    lazy_error = np.sum((np.linalg.pinv(x) @ (x @ truth) - truth) ** 2)

    def flow(t, state):
        u, v = state[:30], state[30:]
        slope = x.T @ (x @ (u**2 - v**2 - truth)) / 16
        return np.concatenate([-2 * u * slope - decay * u, 2 * v * slope - decay * v])

    learned = lambda t, state: np.sum((state[:30] ** 2 - state[30:] ** 2 - truth) ** 2) - lazy_error / 2
    learned.terminal = True
    found = integrate.solve_ivp(flow, (0, 1e3), np.full(60, alpha), "LSODA", events=learned, rtol=1e-8, atol=1e-10)
    assert found.t_events[0][0] == pytest.approx(clocks.rich_time(problem, alpha)[0], rel=0.01)


def test_delays_by_hand():
    problem = clocks.TwoErrors(jnp.asarray(1.0), jnp.asarray(0.1), jnp.asarray(23.0))
    found = clocks.DelayByThreshold().predict(problem)
    assert float(found[1]) == pytest.approx((23 + 10 * np.log(10)) / np.log(10))
    once = clocks.TwoErrors(jnp.asarray(1.0), jnp.asarray(0.1), jnp.asarray(-1.0))
    assert np.allclose(clocks.DelayByThreshold().predict(once), 10.0)


def test_the_rule_by_descent():
    own, shared, labels = 2.0, 0.7, np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    features = np.hstack([own * np.eye(5), shared * labels[:, None]])
    weights = np.zeros(6)
    for _ in range(4000):
        weights -= 0.05 * features.T @ (features @ weights - labels)
    problem = selection.LookupAndRule(*map(jnp.asarray, (labels, own, shared)))
    assert np.allclose(selection.LookupOrRule().predict(problem), [shared * weights[-1], weights @ weights])


def test_dimensions_by_singular_values(key):
    for own in jax.random.split(key, 8):
        problem = selection.RandomSums().sample({"p": 7, "share": 0.5}, own)
        rows = selection.equations(problem, every=True)
        rank = np.linalg.matrix_rank(rows) if len(rows) else 0
        assert selection.nullity(selection.equations(problem, every=False)) == 7 - rank


def test_equations_of_unequal_sums_free_no_line():
    rows = np.eye(6, dtype=int)
    wrong = np.array([rows[0] + rows[1] - rows[2] - rows[3], rows[1] + rows[2] - rows[4] - rows[0]])
    assert np.any(wrong @ np.arange(6) != 0)
    assert selection.nullity(np.vstack([wrong, wrong])) == 4
