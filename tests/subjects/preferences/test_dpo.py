"""Reports on direct preference optimisation: automatic gradients of another library, exact limits, bad input."""

import numpy as np
import pytest
from scipy.stats import binomtest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.preferences import dpo_report

PAIRS, ANSWERS, FEATURES, BETA = 40, 6, 4, 0.3


def log_linear(seed):
    """Features of prompts' answers, of which 0 was chosen and 1 rejected, close to each other; two weights."""
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(PAIRS, ANSWERS, FEATURES))
    phi[:, 1] = phi[:, 0] + 0.5 * phi[:, 1]
    return phi, rng.normal(size=FEATURES), rng.normal(size=FEATURES)


def logs(phi, weights):
    scores = phi @ weights
    return scores - np.log(np.exp(scores).sum(axis=1, keepdims=True))


def report(seed=0):
    phi, weights, reference = log_linear(seed)
    policy, ref = logs(phi, weights), logs(phi, reference)
    margins = (policy[:, 0] - policy[:, 1]) - (ref[:, 0] - ref[:, 1])
    mean = np.einsum("pa,pad->pd", np.exp(policy), phi)
    found = dpo_report(margins, policy[:, 0], ref[:, 0], beta=BETA, features=(phi[:, 0], phi[:, 1], mean))
    return phi, weights, policy, ref, margins, found


def test_chosen_answers_that_must_fall_are_those_of_automatic_gradients():
    torch = pytest.importorskip("torch")
    phi, weights, _, ref, _, found = report()
    falls, losses = [], []
    for pair in range(PAIRS):
        own = torch.tensor(phi[pair])
        theta = torch.tensor(weights, requires_grad=True)
        chosen = torch.log_softmax(own @ theta, 0)
        loss = -torch.nn.functional.logsigmoid(BETA * (chosen[0] - chosen[1] - (ref[pair, 0] - ref[pair, 1])))
        losses.append(loss.item())
        (step,) = torch.autograd.grad(loss, theta)
        after = torch.log_softmax(own @ (theta - 1e-5 * step), 0)
        falls.append((after[0] < chosen[0]).item())
    assert 0 < sum(falls) < PAIRS
    assert found.must_fall[0] == pytest.approx(np.mean(falls))
    assert found.loss[0] == pytest.approx(np.mean(losses), rel=1e-12)


def test_shares_are_counted_with_exact_limits():
    _, _, policy, ref, margins, found = report(1)
    moved = policy - ref
    fallen = moved[:, 0] < 0
    assert found.fallen[0] == np.mean(fallen)
    assert found.both_fallen[0] == np.mean(fallen & (moved[:, 1] < 0))
    ends = binomtest(int(fallen.sum()), PAIRS).proportion_ci(0.95, "exact")
    assert found.fallen[1:] == pytest.approx((ends.low, ends.high), rel=1e-9)
    assert found.accuracy[0] == np.mean(margins > 0)
    assert found.moved[0] == pytest.approx(moved[:, 0].mean())
    assert found.label == pytest.approx(np.mean(1 / (1 + np.exp(-BETA * margins))))
    assert found.pull + found.label == pytest.approx(1.0)


def test_at_the_reference_nothing_has_moved():
    found = dpo_report(np.zeros(5), np.full(5, -3.0), np.full(5, -3.0), beta=0.1)
    assert found.pull == 0.5
    assert found.fallen == (0.0, 0.0, pytest.approx(1 - 0.025**0.2))
    assert found.loss == (pytest.approx(np.log(2)),) * 3
    assert found.must_fall is None


def test_large_margins_are_spent():
    found = dpo_report([100.0, 1.0], [-1.0, -1.0], [-1.0, -1.0], beta=0.1)
    assert found.spent[0] == 0.5
    assert np.isfinite(dpo_report([1e4, -1e4], [-1.0, -1.0], [-1.0, -1.0], beta=1.0).loss[0])


ZEROS = [-1.0, -1.0]


@pytest.mark.parametrize(
    ("margins", "options", "error", "said"),
    [
        ([1.0, np.inf], {}, DataError, "margins"),
        ([1.0, 2.0, 3.0], {}, ShapeError, "margins 3"),
        ([1.0], {}, ShapeError, "at least 2"),
        ([1.0, 2.0], {"beta": 0.0}, SettingError, "beta"),
        ([1.0, 2.0], {"level": 2.0}, SettingError, "level"),
        ([1.0, 2.0], {"features": (np.ones((2, 3)), np.ones((2, 2)), np.ones((2, 3)))}, ShapeError, "rejected"),
        ([1.0, 2.0], {"features": (np.ones((2, 3)), np.full((2, 3), np.nan), np.ones((2, 3)))}, DataError, "rejected"),
    ],
)
def test_bad_input_is_refused_in_one_line(margins, options, error, said):
    with pytest.raises(error, match=said) as caught:
        dpo_report(margins, ZEROS, ZEROS, **{"beta": 0.1, **options})
    assert "\n" not in str(caught.value)


def test_log_probabilities_above_zero_are_refused():
    with pytest.raises(DataError, match="logp_chosen"):
        dpo_report([1.0, 2.0], [0.5, -1.0], ZEROS, beta=0.1)
