"""Decision processes by search, functions of bits by definitions, values on a grid by rolling out, and refusals."""

import itertools

import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError, SolverError
from lemmata.subjects.decisions import (
    CONTROLS,
    BitProcess,
    essential_terms,
    grid_values,
    majority_process,
    optimal_values,
    parity_process,
    prime_implicants,
    scrambled_process,
    total_influence,
    walsh_coefficients,
    weight_by_degree,
)

MASKS = np.array([0, 13, 7, 14])


@pytest.mark.parametrize(
    "process", [parity_process(3, 5), majority_process(2), scrambled_process(4, MASKS)], ids=lambda p: p.name
)
def test_best_values_are_those_of_all_sequences_of_actions(process):
    horizon = 4
    values, quality = optimal_values(process, horizon)
    for state in range(len(process.reward)):
        best = {}
        for actions in itertools.product(range(len(process.following)), repeat=horizon - 1):
            seen = [state]
            for action in actions:
                seen.append(int(process.following[action, seen[-1]]))
            total = process.reward[seen].sum()
            best[actions[0]] = max(best.get(actions[0], 0.0), total)
        assert values[state] == max(best.values())
        assert all(quality[action, state] == own for action, own in best.items())


def test_a_counter_stays_at_its_end():
    process = majority_process(3)
    ends = np.arange(8) | 3 << 3
    assert (process.following[0, ends] == ends).all()
    assert (process.following[1, ends] == ends).all()


@pytest.fixture
def function():
    return np.random.default_rng(0).normal(size=32)


def test_walsh_coefficients_by_their_definition(function):
    states = np.arange(32)
    signs = 1.0 - 2.0 * (np.bitwise_count(states[:, None] & states) % 2)
    assert walsh_coefficients(function) == pytest.approx(signs @ function / 32, abs=1e-14)
    weights = weight_by_degree(function)
    assert weights.sum() == pytest.approx(np.mean(function**2))
    assert weights[5] == pytest.approx((signs[31] @ function / 32) ** 2)


def test_influence_is_four_times_the_weight_times_the_degree(function):
    truth = function > 0.3
    assert total_influence(truth) == pytest.approx(4 * np.arange(6) @ weight_by_degree(truth.astype(float)))


def implicants(truth):
    """By trying all terms: those that imply f, and no longer term of which does."""
    bits, states = len(truth).bit_length() - 1, np.arange(len(truth))
    holds = {
        (free, value): bool(truth[(states & ~free) == value].all())
        for free in range(2**bits) for value in range(2**bits) if value & free == 0
    }  # fmt: skip
    wider = lambda free, value: any(
        holds[free | 1 << bit, value & ~(1 << bit)] for bit in range(bits) if not free >> bit & 1
    )
    return {term for term, own in holds.items() if own and not wider(*term)}


@pytest.mark.parametrize("seed", range(4))
def test_prime_implicants_are_the_terms_that_cannot_be_shortened(seed):
    truth = np.random.default_rng(seed).random(16) < 0.6
    assert {tuple(map(int, term)) for term in prime_implicants(truth)} == implicants(truth)


def test_essential_terms_of_a_majority_and_of_nothing():
    ones = np.bitwise_count(np.arange(32))
    assert essential_terms(ones >= 3) == 10
    assert essential_terms(np.zeros(8, bool)) == 0
    assert essential_terms(np.ones(8, bool)) == 1


def collected(problem, quality, state, discount):
    """What the best forces by a table of values collect."""
    total = np.zeros(len(state))
    for step in range(120):
        choices = np.array([quality(state, np.full(len(state), force)) for force in problem.forces])
        force = np.array(problem.forces)[choices.argmax(axis=0)]
        total += discount**step * problem.reward(state, force)
        state = problem.step(state, force)
    return total


def test_values_on_a_grid_tend_to_what_their_forces_collect():
    problem, discount = CONTROLS["pendulum"], 0.9
    start = np.array([[0.4, 0.0], [-0.3, 1.0], [3.0, 0.5]])
    errors = []
    for points in (101, 401):
        quality = grid_values(problem, points=points, discount=discount)
        told = np.max([quality(start, np.full(3, force)) for force in problem.forces], axis=0)
        errors.append(np.abs(told / collected(problem, quality, start, discount) - 1))
    assert (errors[1] < 0.15).all()
    assert errors[1].max() < 0.5 * errors[0].max()


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda: parity_process(1), "bits; found 1"),
        (lambda: parity_process(3, 8), "goal; found 8"),
        (lambda: parity_process(30), "bits; found 30"),
        (lambda: majority_process(2, 4), "goal; found 4"),
        (lambda: majority_process(17), "bits; found 22"),
        (lambda: optimal_values(parity_process(2), 0), "horizon; found 0"),
        (lambda: prime_implicants(np.ones(2**13, bool)), "13 bits"),
        (lambda: BitProcess("own", np.array([[0, 4]]), np.zeros(2)), "following; found 4"),
        (lambda: grid_values(CONTROLS["pendulum"], points=2), "points; found 2"),
        (lambda: grid_values(CONTROLS["pendulum"], discount=1.0), "discount; found 1.0"),
    ],
)
def test_settings_that_are_refused(call, told):
    with pytest.raises(SettingError, match=told):
        call()


def test_shapes_that_are_refused():
    with pytest.raises(ShapeError, match="3 rewards"):
        BitProcess("own", np.array([[0, 1, 2]]), np.zeros(3))
    with pytest.raises(ShapeError, match="masks"):
        scrambled_process(3, np.array([1, 2]))
    with pytest.raises(ShapeError, match="function of bits"):
        walsh_coefficients(np.ones(6))
    with pytest.raises(ShapeError, match="no actions"):
        BitProcess("own", np.zeros((0, 2), int), np.zeros(2))


STAYING = np.array([[0, 1]])


# Types are refused by the checker of types, too, where it is on.
@pytest.mark.parametrize(
    ("call", "error", "told"),
    [
        (lambda: grid_values("pendulum"), (SettingError, TypeError), "pendulum"),
        (lambda: grid_values(CONTROLS["pendulum"], points=5.5), (SettingError, TypeError), "points"),
        (lambda: prime_implicants(np.array([0.0, 0.5])), (DataError, TypeError), "truth|the value 0.5"),
        (lambda: prime_implicants(np.array(["a", "b"])), (DataError, TypeError), "truth|real numbers"),
        (lambda: total_influence(np.array([0.0, np.nan])), (DataError, TypeError), "truth|not finite"),
        (lambda: essential_terms(np.array([0, 2])), (DataError, TypeError), "truth|the value 2"),
        (lambda: walsh_coefficients(np.array([1.0, np.nan])), DataError, "values; found 1"),
        (lambda: walsh_coefficients(np.array([1.0, 1.0j])), (DataError, TypeError), "values"),
        (lambda: weight_by_degree(np.array([1.0, np.inf])), DataError, "values; found 1"),
        (lambda: parity_process(3, goal=0.5), (SettingError, TypeError), "goal"),
        (lambda: parity_process(3.0), (SettingError, TypeError), "bits"),
        (lambda: majority_process(2.5), (SettingError, TypeError), "bits"),
        (lambda: scrambled_process(3, np.array([0.0, 7.5, 6.0])), (DataError, TypeError), "masks"),
        (lambda: optimal_values(parity_process(2), 1.5), (SettingError, TypeError), "horizon"),
        (lambda: optimal_values(parity_process(2), np.nan), (SettingError, TypeError), "horizon"),
        (lambda: BitProcess("own", STAYING + 0.5, np.zeros(2)), (DataError, TypeError), "following"),
        (lambda: BitProcess("own", STAYING, np.array([0.0, np.nan])), DataError, "reward; found 1"),
        (lambda: BitProcess("own", STAYING - 1, np.zeros(2)), SettingError, "following; found -1"),
    ],
)
def test_what_is_no_number_of_the_kind_is_refused(call, error, told):
    with pytest.raises(error, match=told):
        call()


def test_values_that_still_change_in_the_last_pass_are_an_error():
    with pytest.raises(SolverError, match=r"in pass 2000; .*remedy: use a smaller discount"):
        grid_values(CONTROLS["pendulum"], points=4, discount=0.999)
