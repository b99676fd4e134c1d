"""Every tool says so where its answer says nothing: an input of that kind for each tool, and the words."""

import numpy as np
import pytest

from lemmata.subjects.emergence import emergence_report, plateaus, transition_order
from lemmata.subjects.features import feature_significance, patching_report, readable, superposition
from lemmata.subjects.generation import (
    Mixture,
    bits,
    couple,
    effective_support,
    guided,
    memorisation,
    recover,
    speciation,
    straightness,
    wasserstein,
)
from lemmata.subjects.grokking import fourier_progress, grokking_report, predict_delay
from lemmata.subjects.interaction import TabularMDP
from lemmata.subjects.robustness import robust_floor
from lemmata.subjects.routing import attention_report, retrieval, which_algorithm

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(200, 3)), RNG.normal(size=(200, 3))
LINE = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]])
MDP = TabularMDP(LINE, [[1.0, 0.0], [0.0, 2.0]], 0.9)
PROMPTS = RNG.normal(size=(60, 8, 2)), RNG.normal(size=(60, 8)), RNG.normal(size=(60, 2))
WAVE = np.linspace(-1, 1, 401)
FLAT = {n: (WAVE, 1 / (1 + np.exp(-((n + 3 * (k % 2)) ** 0.5) * 9 * WAVE))) for k, n in enumerate((4, 5, 6, 8))}
LOG = {"step": [1, 10, 100], "train_acc": [0.1, 0.9, 1.0], "val_acc": [0.1, 0.1, 0.1]}
SCALES = np.array([1e7, 1e8, 1e9, 1e10])


def far_noise():
    """Noise in the measurements that is larger than the signal."""
    a = RNG.normal(size=(6, 40))
    return recover(lambda z: np.eye(40)[:, :4] @ z, a, 100 * RNG.normal(size=6), 4, restarts=3)


def small_steps():
    """A jump beyond the largest model."""
    share = 0.7 * (1 - np.exp(-((SCALES / 1e11) ** 0.4)))
    return emergence_report(SCALES, np.round(share * 2000) / 2000, 2000, length=4)


VACUOUS = {
    "wasserstein": (lambda: wasserstein(X, Y), "indistinguishable from sampling"),
    "wasserstein, level": (lambda: wasserstein(X, Y, level=0.99999), "the test can find a difference"),
    "effective_support": (lambda: effective_support(np.arange(50)), "the effective support is above"),
    "effective_support, few": (lambda: effective_support([0, 0, *range(30)]), "number of pairs that are the same"),
    "recover": (far_noise, "the expected error is below the length of the signal (share): fails"),
    "recover, few": (
        lambda: recover(lambda z: z, np.eye(3)[:2], np.ones(2), 3),
        "no bound on the expected error is known",
    ),
    "memorisation": (lambda: memorisation(np.repeat(X, 2, axis=0)), "rows are different"),
    "speciation": (lambda: speciation(X), "the largest eigenvalue is above that of pure noise"),
    "bits": (lambda: bits(lambda x, s: x / (1 + s**2), X, noise=0.1), "the code is shorter than a code without"),
    "bits, grid": (lambda: bits(lambda x, s: x * 0, X > 0, spacing=1), "the code is shorter than a code without"),
    "straightness": (lambda: straightness(lambda x, t: 0 * x, X), "the rows move (energy): fails (0)"),
    "straightness, few": (lambda: straightness(lambda x, t: x, X[:50]), "number of rows in the optimal pairing: fails"),
    "couple": (lambda: couple(X, Y, 1), "pairs are nearer than independent pairs"),
    "guided": (lambda: guided(Mixture([0.0], 4.0), Mixture([0.0], 1.0), 2), "no such distribution exists"),
    "greedy_loss_bound": (lambda: MDP.greedy_loss_bound([9.0, -9.0]), "is below the loss of the worst policy: fails"),
    "td_solution": (
        lambda: MDP.td_solution([[1.0], [1.0]], np.full((2, 2), 0.5)),
        "below the error of the best constant: fails",
    ),
    "occupancy": (lambda: TabularMDP(LINE, np.eye(2), 0.0).occupancy([0, 0]), "the policy influences the shares"),
    "advantage": (lambda: MDP.advantage(MDP.optimal().policy), "no action gains"),
    "from_trajectories": (
        lambda: TabularMDP.from_trajectories([[0, 0, 1.0, 0]], 0.9),
        "at least 5 steps (fewest of a pair): fails (1)",
    ),
    "robust_floor": (
        lambda: robust_floor(X, X[:, 0] > 0, 1e-9),
        "some rows are in conflict at the largest radius: fails (0)",
    ),
    "retrieval": (lambda: retrieval(1000, 2, 4), "may never reach this weight"),
    "attention_report": (lambda: attention_report(40 * np.eye(5)), "the span limits the weight of one key"),
    "attention_report, rank": (
        lambda: attention_report(40 * np.eye(5)),
        "reduces the spread of values (factor below 1): fails (1)",
    ),
    "which_algorithm": (
        lambda: which_algorithm(lambda x, y, q: 50.0 + q[0], PROMPTS, lengths=8),
        "the nearest algorithm is near",
    ),
    "which_algorithm, ties": (
        lambda: which_algorithm(lambda x, y, q: np.sign(q[0]), PROMPTS, lengths=8),
        "not shown to be farther",
    ),
    "superposition": (lambda: superposition(3, 1, 1.0), "one feature per dimension"),
    "readable": (lambda: readable(np.eye(30)[:20], 3), "so few directions can be orthogonal"),
    "feature_significance": (lambda: feature_significance(0.9, 10**6, 3, 3), "no AUC is enough"),
    "feature_significance, low": (lambda: feature_significance(0.4, 10, 30, 30), "the AUC is above 1/2"),
    "patching_report": (
        lambda: patching_report(lambda x, site: 1.0 + 0 * site("a", x), 0.0, 1.0, ["a"]),
        "outputs on the clean and corrupted input differ",
    ),
    "grokking_report": (lambda: grokking_report(LOG), "the validation accuracy never reaches"),
    "predict_delay": (lambda: predict_delay(X[:2], [1.0, -1.0], 0.0, [5.0, 5.0, 5.0]), "it does not generalise later"),
    "fourier_progress": (
        lambda: fourier_progress(RNG.normal(size=(31, 8))),
        "have more power than in random embeddings: fails",
    ),
    "fourier_progress, all": (lambda: fourier_progress(RNG.normal(size=(7, 8)), top=3), "pass a smaller top"),
    "emergence_report": (small_steps, "the jump lies between the sizes: fails"),
    "transition_order": (lambda: transition_order(FLAT), "these sizes cannot tell these explanations apart"),
    "plateaus": (
        lambda: plateaus(np.full((3, 3), 1 / 3)),
        "the last symbol carries information about the next symbol (nats): fails (0)",
    ),
}


@pytest.mark.parametrize("name", VACUOUS)
def test_an_answer_that_says_nothing_is_named(name):
    make, words = VACUOUS[name]
    said = str(make())
    assert words in said, said
