"""Finite classes, codes, thresholds and random labels: exact laws, simulations, learners of another library."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.subjects.generalisation import finite_classes, memorisation, uniform_convergence
from lemmata.subjects.generalisation._labelled_points import Memorised
from lemmata.subjects.generalisation._random_labels import FiniteLaw, Learners, Lunch, PowerDraws, RareKinds, SignClass
from lemmata.subjects.generalisation.finite_classes import FiniteClass, PrunedNetworks, RealisableClasses


def _rate(claim, problem, key, repeats):
    """How often the bound is exceeded."""
    measured = jax.vmap(lambda own: claim.measure(problem, own))(jax.random.split(key, repeats))
    return float(jnp.mean(measured > claim.predict(problem)))


def test_a_finite_class_fails_as_often_as_binomials_say(key):
    problem = finite_classes.FiniteClassDeviation.population.sample({"classifiers": 60, "rows": 50}, key)
    radius = float(finite_classes.FiniteClassDeviation().predict(problem))
    p, n = np.asarray(problem.errors), problem.rows
    inside = lambda r: np.prod(
        stats.binom.cdf(np.floor(n * (p + r)), n, p) - stats.binom.cdf(np.ceil(n * (p - r)) - 1, n, p)
    )
    assert radius == pytest.approx(math.sqrt(math.log(120 / 0.05) / 100))
    assert 1 - inside(radius) < finite_classes.DELTA
    shorter = 0.7 * radius
    measured = jax.vmap(lambda own: finite_classes.FiniteClassDeviation().measure(problem, own))(
        jax.random.split(key, 1500)
    )
    assert float(jnp.mean(measured > shorter)) == pytest.approx(1 - inside(shorter), abs=0.05)


@pytest.mark.parametrize("share", [0.7, 0.9, 1.01])
def test_consistent_members_fail_as_often_as_geometry_says(share, key):
    allowed = math.log(100 / 0.05) / 120
    problem = FiniteClass(jnp.full(100, share * allowed).at[0].set(0.0), 120)
    exact = 1 - (1 - (1 - share * allowed) ** 120) ** 99
    claim = finite_classes.ConsistentClassifiers()
    measured = jax.vmap(lambda own: claim.measure(problem, own))(jax.random.split(key, 500))
    assert float(jnp.mean(measured > 0)) == pytest.approx(exact, abs=0.08)
    assert share < 1 or exact < 0.05
    assert float(claim.predict(problem)) == pytest.approx(allowed)


def test_realisable_problems_lie_on_both_sides_of_the_bound(key):
    shares = [
        float(problem.errors.max() / finite_classes.ConsistentClassifiers().predict(problem))
        for own in jax.random.split(key, 40)
        for problem in [RealisableClasses().sample({"classifiers": 50, "rows": 300}, own)]
    ]
    assert min(shares) < 0.8
    assert max(shares) > 1


def test_codes_of_networks_are_a_prefix_code():
    """Kraft's sum over all networks of one shape is 1, and no word begins with another."""
    words = [
        "".join({0: "0", 1: "10", -1: "11"}[w] for w in weights) for weights in itertools.product((-1, 0, 1), repeat=4)
    ]
    assert sum(2.0 ** -len(word) for word in words) == 1
    assert len(set(words)) == len(words)
    assert not any(a != b and b.startswith(a) for a in words for b in words)


def test_bits_and_errors_of_networks_are_those_of_plain_loops(key):
    problem = PrunedNetworks().sample({"inputs": 4, "units": 2, "rows": 30}, key)
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=4)))[:, ::-1]
    for number in (0, 17, 599):
        hidden, readout = np.asarray(problem.hidden[number]), np.asarray(problem.readout[number])
        answers = np.maximum(corners @ hidden.T, 0) @ readout > 0
        assert np.array_equal(answers, problem.answers[number])
        assert float(problem.bits[number]) == 10 + np.count_nonzero(hidden) + np.count_nonzero(readout)
        wrong = np.mean(answers[np.asarray(problem.rows)] != np.asarray(problem.labels))
        assert float(problem.empirical_errors[number]) == pytest.approx(wrong)


def test_true_errors_of_chosen_networks_are_those_of_fresh_rows(key):
    """On noise the chosen ones are not the network that the labels come from, and err as often as a coin."""
    rng, claim, others = np.random.default_rng(1), finite_classes.DescriptionLength(), 0

    @jax.jit
    def judge(own):
        problem = PrunedNetworks().sample({"inputs": 4, "units": 2, "rows": 30}, own)
        chosen = finite_classes._chosen(problem)
        answers = problem.answers[jnp.append(0, chosen)]
        return answers, problem.flips, claim.measure(problem, own) + problem.empirical_errors[chosen]

    for own in jax.random.split(key, 6):
        (truth, *chosen), flips, errors = map(np.asarray, judge(own))
        rows = rng.integers(16, size=100_000)
        labels = truth[rows] ^ (rng.random(100_000) < flips)
        for answers, error in zip(chosen, errors, strict=True):
            assert error == pytest.approx(np.mean(answers[rows] != labels), abs=0.008)
            others += not np.array_equal(answers, truth)
    assert 2 <= others <= 10


def test_the_best_network_on_noise_needs_the_price_of_its_code(key):
    claim, setting = finite_classes.DescriptionLength(), {"inputs": 5, "units": 3, "rows": 200}

    def gap(own):
        problem = PrunedNetworks().sample(setting, own)
        return claim.measure(problem, own)[0], problem.flips == 0.5

    gaps, noise = map(np.asarray, jax.vmap(gap)(jax.random.split(key, 60)))
    over = gaps[noise] > math.sqrt(math.log(20) / 400)
    assert len(over) > 10
    assert np.mean(over) > 0.2


@pytest.mark.parametrize("rows", [5, 10, 40])
def test_thresholds_fail_as_often_as_kolmogorov_says(rows, key):
    problem = PowerDraws(jnp.asarray(3.0), rows)
    claim = uniform_convergence.ThresholdDeviation()
    radius = float(claim.predict(problem))
    exact = float(stats.kstwo(rows).sf(radius))
    assert 0.02 < exact < 0.05
    assert _rate(claim, problem, key, 4000) == pytest.approx(exact, abs=0.015)
    counted = math.sqrt(8 / rows * math.log(4 * (2 * rows + 1) / 0.05))
    print("rows", rows, "radius", round(radius, 3), "from the growth function alone", round(counted, 3))
    assert counted > 4 * radius


def test_symmetrisation_by_simulation(key):
    problem = RareKinds().sample({"rows": 3, "functions": 4}, key)
    claim = uniform_convergence.Symmetrisation()
    rng, p, values = np.random.default_rng(2), np.asarray(problem.probabilities), np.asarray(problem.values)
    kinds = rng.choice(3, size=(200_000, 3), p=p / p.sum())
    gaps = ((values @ p)[:, None] - values[:, kinds].mean(axis=2)).max(axis=0)
    signs = rng.choice([-1.0, 1.0], size=kinds.shape)
    complexity = (values[:, kinds] * signs).mean(axis=2).max(axis=0)
    for exact, drawn in ((claim.measure(problem, key), gaps), (claim.predict(problem) / 2, complexity)):
        assert float(exact) == pytest.approx(drawn.mean(), abs=5 * drawn.std() / math.sqrt(200_000) + 1e-12)


@pytest.mark.parametrize("rare", [0.1, 0.01, 0.0001])
def test_the_factor_two_is_approached_by_rare_rows(rare, key):
    problem = FiniteLaw(jnp.array([1 - rare, rare, 0.0]), jnp.array([[0.0, 1.0, 0.0], [0.0, -1.0, 0.0]]), 4)
    claim = uniform_convergence.Symmetrisation()
    share = float(claim.measure(problem, key) / claim.predict(problem))
    assert 1 - 10 * rare < share < 1


def _consistent(problem: Lunch) -> Lunch:
    return Lunch(problem.votes + 1e3 * jnp.eye(len(problem.bias)), problem.bias)


def test_errors_of_learners_by_plain_loops(key):
    for make in (_consistent, lambda problem: problem):
        problem = make(Learners(consistent=0.0).sample({"half": 2}, key))
        votes, bias, wrong = np.asarray(problem.votes), np.asarray(problem.bias), []
        for labels in itertools.product((-1, 1), repeat=4):
            for drawn in itertools.product(range(4), repeat=2):
                said = [np.sign(bias[j] + sum(votes[j, i] * labels[i] for i in drawn)) for j in range(4)]
                wrong.append(np.mean(np.array(said) != np.array(labels)))
        assert float(memorisation._expected_error(problem)) == pytest.approx(np.mean(wrong), abs=1e-14)


def test_learners_of_another_library_and_who_is_above_the_consistent_ones():
    """Nearest neighbour, tree and network repeat seen labels; the majority does not, and errs more."""
    neighbors, tree = pytest.importorskip("sklearn.neighbors"), pytest.importorskip("sklearn.tree")
    rng, m = np.random.default_rng(0), 5
    exact = 0.5 * (1 - 1 / (2 * m)) ** m
    learners = {
        "nearest": lambda: neighbors.KNeighborsClassifier(1),
        "tree": lambda: tree.DecisionTreeClassifier(random_state=0),
    }
    errors = {name: [] for name in (*learners, "majority")}
    for _ in range(400):
        x, y = rng.normal(size=(2 * m, 3)), rng.integers(2, size=2 * m)
        drawn = rng.integers(2 * m, size=m)
        for name, make in learners.items():
            errors[name].append(np.mean(make().fit(x[drawn], y[drawn]).predict(x) != y))
        errors["majority"].append(np.mean((y[drawn].mean() > 0.5) != y))
    means = {name: float(np.mean(values)) for name, values in errors.items()}
    print("exact for consistent learners", round(exact, 4), means)
    for name in learners:
        assert means[name] == pytest.approx(exact, abs=float(5 * np.std(errors[name]) / 20))
    assert means["majority"] > exact + 0.04


@pytest.mark.parametrize("m", [1, 2, 5, 50, 10_000])
def test_unseen_labels_are_between_a_quarter_and_the_limit(m):
    value = 0.5 * (1 - 1 / (2 * m)) ** m
    assert 0.25 <= value < math.exp(-0.5) / 2
    assert m < 1000 or value == pytest.approx(math.exp(-0.5) / 2, rel=1e-4)


def test_rademacher_complexities_that_are_known(key):
    claim = memorisation.RandomLabelIdentity()
    every = SignClass(jnp.asarray(list(itertools.product((-1.0, 1.0), repeat=4))))
    one = SignClass(jnp.ones((1, 4)))
    pair = SignClass(jnp.stack([jnp.ones(4), -jnp.ones(4)]))
    assert [float(claim.measure(case, key)) for case in (every, one, pair)] == pytest.approx([1, 0, 3 / 8])
    assert [float(claim.predict(case)) for case in (every, one, pair)] == pytest.approx([1, 0, 3 / 8])


def test_a_memorising_network_by_another_solver_and_how_its_condition_grows(key):
    conditions = []
    for n in (5, 20, 80):
        problem = memorisation.MemorisingNetwork.population.sample({"n": n, "d": 4}, key)
        claim = memorisation.MemorisingNetwork()
        x, direction = np.asarray(problem.x), np.asarray(problem.direction)
        projections = np.sort(x @ direction)
        thresholds, weights = memorisation._fitted(problem)
        matrix = np.maximum(projections[:, None] - np.asarray(thresholds), 0)
        y = np.asarray(problem.y)[np.argsort(x @ direction)]
        assert np.allclose(np.linalg.solve(matrix, y), weights, rtol=1e-6)
        assert (np.triu(matrix, 1) == 0).all()
        assert len(thresholds) + len(weights) + len(direction) == 2 * n + 4
        conditions.append(np.linalg.cond(matrix))
        gap = float(jnp.abs(claim.measure(problem, key) - problem.y).max())
        print(n, "rows: condition", f"{conditions[-1]:.2g}", "largest gap", f"{gap:.2g}")
        assert gap < 1e-14 * conditions[-1]
        assert gap < 32 * 2.3e-16 * float(claim.condition(problem)) * float(jnp.abs(problem.y).max())
    assert conditions[-1] > 100 * conditions[0]


def test_alternating_targets_need_as_many_units_as_rows():
    """k units on a line turn at most k times; y_i = (-1)^i turns at each of the N - 2 inner rows."""
    x = jnp.arange(6.0)[:, None]
    problem = Memorised(x, (-1.0) ** jnp.arange(6), jnp.ones(1))
    _, weights = memorisation._fitted(problem)
    assert int(jnp.sum(jnp.abs(weights) > 1e-9)) == 6
    values = np.asarray(memorisation._answers(problem, memorisation._fitted(problem, 2)))
    assert np.abs(values - np.asarray(problem.y)).max() > 0.5


def test_trained_networks_fit_random_labels(key):
    """The gap of one half is a training error of nearly 0 and a test error near 1/2, not some other difference."""
    problem = memorisation.ChanceOnRandomLabels.population.sample({"n": 10, "d": 5}, key)
    gaps = jax.jit(jax.vmap(lambda own: memorisation.ChanceOnRandomLabels().measure(problem, own)))(
        jax.random.split(key, 24)
    )
    assert float(gaps.mean()) == pytest.approx(0.5, abs=0.06)
    assert float(gaps.min()) > 0.25
