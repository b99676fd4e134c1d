"""The textbook's helper mathematics by other routes: naive twins, closed forms, automatic derivatives, scikit-learn."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import null_space
from scipy.stats import norm
from sklearn.decomposition import PCA
from sklearn.linear_model import Lasso

from lemmata.engine.problems.generators import generator_of
from lemmata.subjects.textbook import (
    clustering,
    factors,
    generative,
    graphical_models,
    linear_methods,
    manifolds,
    markov_chains,
    neural_networks,
    optimisation,
    prediction,
    sampling,
    trees,
    variational,
)
from lemmata.subjects.textbook._finite_chains import FiniteChain, ProposedTargets, RenewedChains, ReversibleChains
from lemmata.subjects.textbook._ising_models import IsingModel, IsingModels, belief_propagation
from lemmata.subjects.textbook._mixture_fits import FactorModel, FactorModels, MixtureFits
from lemmata.subjects.textbook._small_maps import CouplingFlow, SmallNetworks
from lemmata.subjects.textbook._textbook_rows import (
    LabelledTable,
    LinearTargets,
    TwoValuedTables,
    adaptive_boosting,
    best_stump,
)
from lemmata.subjects.textbook._unlabelled_points import (
    FactoredTable,
    SmallGraph,
    SmallGraphs,
)
from lemmata.subjects.textbook.concentration import CoinFunction, CoinFunctions
from lemmata.subjects.textbook.optimisation import AveragedStepsForgetNoise, SplitLassos
from lemmata.subjects.textbook.prediction import Nodes


def drawn(population, number: int = 0):
    return population.sample(population.settings().resolve(None), jax.random.key(number))


def test_distances_and_eigenvalues_of_a_chain_of_two_states():
    """P = [[1 - a, a], [b, 1 - b]] has the eigenvalue 1 - a - b, and forgets exactly by it."""
    a, b = 0.3, 0.1
    law = np.array([b, a]) / (a + b)
    chain = FiniteChain(np.array([[1 - a, a], [b, 1 - b]]), law, 3)
    assert markov_chains.second_modulus(chain) == pytest.approx(1 - a - b)
    np.testing.assert_allclose(markov_chains.distances(chain), law.max() * (1 - a - b) ** np.arange(1, 4))
    assert chain.imbalance < 1e-15


@pytest.mark.parametrize("population", [RenewedChains(), ReversibleChains()])
def test_laws_of_drawn_chains_are_stationary(population):
    chain = drawn(population, 3)
    kernel = null_space(chain.transition.T - np.eye(len(chain.law)))[:, 0]
    np.testing.assert_allclose(chain.law, kernel / kernel.sum(), atol=1e-12)


def test_metropolis_and_hastings_by_its_matrix():
    problem = drawn(ProposedTargets(), 1)
    p, q, s = problem.target, problem.proposal, len(problem.target)
    chain = np.zeros((s, s))
    for i, j in itertools.permutations(range(s), 2):
        chain[i, j] = q[i, j] * min(1.0, p[j] * q[j, i] / (p[i] * q[i, j]))
    chain += np.diag(1 - chain.sum(1))
    np.testing.assert_allclose(p @ chain, p, atol=1e-14)
    np.testing.assert_allclose(sampling.MetropolisKeepsTarget().measure(problem, jax.random.key(0)), p, atol=1e-12)


def test_messages_of_a_pair_and_marginals_without_couplings():
    pair = np.array([[0.0, 0.8], [0.8, 0.0]])
    sent = belief_propagation(pair, np.array([0.5, -0.2]))
    assert sent[0, 1] == pytest.approx(np.arctanh(np.tanh(0.8) * np.tanh(0.5)))
    fields = np.array([0.3, -1.0, 0.0])
    alone = IsingModel(np.zeros((3, 3)), fields, np.zeros((3, 3)))
    np.testing.assert_allclose(graphical_models.marginals(alone), 1 / (1 + np.exp(-2 * fields)))
    assert graphical_models.log_mean_weight(alone) == pytest.approx(np.log(np.cosh(fields)).sum())
    assert graphical_models.bethe_log_mean_weight(alone) == pytest.approx(np.log(np.cosh(fields)).sum())


def test_bethe_is_exact_on_trees_and_eigenvalues_of_a_loop_sum_to_the_weights():
    tree, loop = drawn(IsingModels("tree"), 2), drawn(IsingModels("loop"), 2)
    assert graphical_models.bethe_log_mean_weight(tree) == pytest.approx(graphical_models.log_mean_weight(tree))
    total = np.exp(graphical_models.log_mean_weight(loop)) * 2 ** len(loop.fields)
    assert sum(graphical_models.loop_eigenvalues(loop)) == pytest.approx(total)


def test_messages_that_still_move_are_seen():
    model = drawn(IsingModels("loop"), 0)
    moving = IsingModel(model.couplings, model.fields, model.messages + 1e-6)
    assert [bool(h.holds) for h in IsingModels("loop").hypotheses(model)] == [True, True]
    assert [bool(h.holds) for h in IsingModels("loop").hypotheses(moving)] == [True, False]


def test_mean_field_is_stationary_and_its_value_an_expectation():
    model = drawn(IsingModels("dense"), 1)
    means = variational.mean_field(model)
    np.testing.assert_allclose(means, np.tanh(model.fields + model.couplings @ means), atol=1e-10)
    states = graphical_models.spins(len(means))
    q = np.prod((1 + states * means) / 2, axis=1)
    value = q @ (graphical_models.log_weights(model) - np.log(q)) - len(means) * np.log(2)
    assert variational.mean_field_value(model, means) == pytest.approx(value)


def test_likelihood_and_step_of_a_mixture():
    fit = drawn(MixtureFits(apart=1.0, steps=10), 4)
    density = norm.pdf(fit.points[:, None] - fit.means) @ fit.weights
    assert fit.log_likelihood(fit.means, fit.weights) == pytest.approx(np.log(density).sum())
    shares = norm.pdf(fit.points[:, None] - fit.means) * fit.weights / density[:, None]
    means, weights = fit.step(fit.means, fit.weights)
    np.testing.assert_allclose(means, (shares * fit.points[:, None]).sum(0) / shares.sum(0))
    np.testing.assert_allclose(weights, shares.mean(0))


def test_orthogonal_loadings_have_an_independent_posterior():
    model = FactorModel(np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), 0.5, np.array([[1.0, -1.0, 0.3]]))
    claim = variational.FactorisedPosteriorCost()
    assert float(claim.predict(model)) == pytest.approx(0.0, abs=1e-14)
    assert float(claim.measure(model, jax.random.key(0))) == pytest.approx(0.0, abs=1e-13)


def test_the_best_centres_over_all_partitions():
    points = np.sort(np.random.default_rng(0).normal(size=7))
    parts = (np.array(labels) for labels in itertools.product(range(3), repeat=7))
    errors = [sum(((points[p == j] - points[p == j].mean()) ** 2).sum() for j in set(p.tolist())) for p in parts]
    assert clustering.least_error(points) == pytest.approx(min(errors))


def test_the_expected_error_of_a_start_one_draw_at_a_time():
    points = np.array([0.0, 1.0, 3.0, 7.0])
    total = 0.0
    for i, j, k in itertools.product(range(4), repeat=3):
        first = (points - points[i]) ** 2
        second = np.minimum(first, (points - points[j]) ** 2)
        chance = first[j] / first.sum() * (second[k] / second.sum()) / 4
        total += chance * np.minimum(second, (points - points[k]) ** 2).sum()
    assert clustering.expected_error_by_distances(points) == pytest.approx(total)


def test_steps_for_latent_factors_end_at_principal_components():
    model = drawn(FactorModels(), 2)
    claim, k = factors.PrincipalComponentsAreTheMaximum(), model.loadings.shape[1]
    loadings, noise = model.loadings, model.noise
    for _ in range(3000):
        loadings, noise = factors.em_step(model.covariance, loadings, noise)
    reached = factors.log_density(model.covariance, loadings @ loadings.T + noise * np.eye(len(loadings)))
    flat = factors.log_density(model.covariance, np.eye(len(loadings)) * np.trace(model.covariance) / len(loadings))
    assert reached - flat == pytest.approx(float(claim.predict(model)), rel=1e-6)
    # scikit-learn centres rows and divides by n - 1; rows and their negatives are centred.
    rows = np.concatenate([model.rows, -model.rows]) * np.sqrt(1 - 1 / (2 * len(model.rows)))
    score = PCA(k).fit(rows).score(rows / np.sqrt(1 - 1 / (2 * len(model.rows))))
    assert score + len(loadings) * np.log(2 * np.pi) / 2 - flat == pytest.approx(float(claim.predict(model)), rel=1e-9)


def test_a_multiplicative_step_entry_by_entry():
    table = FactoredTable(np.array([[1.0, 0.0], [2.0, 1.0]]), np.array([[1.0], [1.0]]), np.array([[1.0, 1.0]]))
    # W'V = (3, 1), W'WH = (2, 2): H becomes (1.5, 0.5), the best one for this W.
    assert float(factors.MultiplicativeStepsNeverLose().measure(table, jax.random.key(0))) == pytest.approx(1.0)
    assert float(factors.MultiplicativeStepsNeverLose().predict(table)) == pytest.approx(2.0)


def test_conductance_of_a_path_of_four():
    weights = np.diag(np.ones(3), 1)
    path = SmallGraph(weights + weights.T)
    sets = manifolds.subsets(4)
    assert len(sets) == 7
    assert manifolds.conductance(path, np.array([[1.0, 1.0, 0.0, 0.0]]))[0] == pytest.approx(1 / 3)
    assert manifolds.conductance(path, sets).min() == pytest.approx(1 / 3)
    # The walk on a path with m edges has the eigenvalues cos(pi j / m).
    assert manifolds.second_vibration(path)[0] == pytest.approx(1 - np.cos(np.pi / 3))
    cut = manifolds.CutByEigenvector().measure(path, jax.random.key(0))
    assert float(cut) == pytest.approx(1 / 3)


def test_turned_coins_and_a_sum_of_coins():
    values = np.array([0.0, 1.0, 3.0, 4.0])  # bit 0 adds 1, bit 1 adds 3
    f = CoinFunction(values, 1.0)
    np.testing.assert_array_equal(f.turns, [[1, -1, 1, -1], [3, 3, -3, -3]])
    assert f.far == pytest.approx(np.sqrt(10) / 2)
    assert drawn(CoinFunctions()).values.shape == (2**9,)


def test_noise_of_averaged_steps_run_by_run():
    problem, key, t = drawn(AveragedStepsForgetNoise.population, 1), jax.random.key(3), 50
    noise = generator_of(key).standard_normal((16, t, len(problem.curvatures)))
    found = []
    for run in noise:
        x, total = problem.start, 0.0
        for k in range(t):
            x = x - (k + 1) ** -0.5 * (problem.curvatures * x + run[k])
            total = total + x
        found.append((total / t) ** 2 @ problem.curvatures / 2)
    measured = optimisation.AveragedStepsForgetNoise().measure_at(problem, key, float(t))
    assert float(measured) == pytest.approx(np.mean(found), rel=1e-10)


def test_the_lasso_knows_its_solution_and_multipliers_rest_there():
    problem = drawn(SplitLassos(), 2)
    n = len(problem.target)
    model = Lasso(problem.penalty / n, fit_intercept=False, tol=1e-13, max_iter=100_000)
    np.testing.assert_allclose(model.fit(problem.design, problem.target).coef_, problem.solution, atol=1e-6)
    split, multiplier = problem.solution, problem.best_multiplier
    for _ in range(200):
        other = type(problem)(
            problem.design, problem.target, problem.penalty, problem.solution, split, multiplier, problem.weight
        )  # fmt: skip
        _, split, multiplier = other.step()
    np.testing.assert_allclose(split, problem.solution, atol=1e-9)


def test_even_nodes_leave_a_known_remainder():
    """At nodes 3i/(3m + 1) bridges and the last piece leave 1/(2 (3m + 1))."""
    for m in (1, 4):
        nodes = Nodes(3 * np.arange(1, m + 1) / (3 * m + 1))
        left = prediction.NoSectionsBeatEigenfunctions().measure(nodes, jax.random.key(0))
        assert float(left) == pytest.approx(1 / (2 * (3 * m + 1)))
    assert float(prediction.NoSectionsBeatEigenfunctions().predict(Nodes(np.array([0.75])))) == pytest.approx(
        0.5 - 4 / np.pi**2
    )


def test_conjugate_gradients_are_best_in_their_span():
    problem = drawn(LinearTargets(), 0)
    x, y = problem.x - problem.x.mean(0), problem.y - problem.y.mean()
    span = np.stack([x.T @ y, x.T @ (x @ (x.T @ y))], axis=1)
    best = span @ np.linalg.lstsq(x @ span, y)[0]
    np.testing.assert_allclose(linear_methods.conjugate_gradients(problem, 2), best, rtol=1e-8)


def test_no_column_has_an_advantage_on_exclusive_or():
    x = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    table = LabelledTable(x, np.where(x[:, 0] != x[:, 1], 1.0, -1.0))
    assert trees.best_advantage(table) == 0.0


def test_boosting_by_weights_written_out():
    """Weights before a round are in proportion to exp(-margin); each rule is the best of all thresholds."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(20, 2)), rng.choice([-1.0, 1.0], 20)
    run = adaptive_boosting(x, y, 6)
    for t in range(6):
        weights = np.exp(-run.margins[t - 1]) if t else np.ones(20)
        weights = weights / weights.sum()
        assert run.errors[t] == pytest.approx(weights @ (run.votes[t] < 0))
        rules = (s * np.sign(x[:, [c]] - cut) for c in (0, 1) for cut in [*(x[:, c] + 1e-9), -9.0] for s in (1, -1))
        assert run.errors[t] == pytest.approx(min(weights @ (rule[:, 0] != y) for rule in rules))
    assert best_stump(x, np.ones(20), np.full(20, 0.05))[1] == 0.0
    never_wrong = adaptive_boosting(x, np.ones(20), 3)
    assert never_wrong.errors.tolist() == [0.0] * 3
    assert never_wrong.votes.shape == (3, 20)


def test_a_perceptron_on_orthonormal_rows_attains_its_bound():
    rows = LabelledTable(np.eye(5), np.array([1.0, -1.0, 1.0, 1.0, -1.0]))
    claim = neural_networks.PerceptronMistakes()
    assert float(claim.predict(rows)) == pytest.approx(5.0)
    assert float(claim.measure(rows, jax.random.key(0))) == 5.0


def test_a_backward_sweep_and_automatic_derivatives():
    network = drawn(SmallNetworks(), 0)

    def loss(layers):
        first, second, last = layers
        return jnp.sum(((jnp.tanh(jnp.tanh(network.x @ first) @ second) @ last)[:, 0] - network.y) ** 2) / 2

    found = jax.grad(loss)(tuple(map(jnp.asarray, network.layers)))
    np.testing.assert_allclose(
        neural_networks.swept_back(network), np.concatenate([g.ravel() for g in found]), rtol=1e-10
    )
    assert network.loss(network.layers).real == pytest.approx(float(loss(network.layers)))


def test_the_density_of_a_flow_integrates_to_one():
    scales, shifts = np.array([[[0.6]], [[-0.4]]]), np.array([[[0.3]], [[0.4]]])
    claim = generative.DensityOfCouplings()
    grid = np.linspace(-9, 9, 46)
    total = sum(
        np.exp(float(claim.predict(CouplingFlow(scales, shifts, np.array([a, b]))))) for a in grid for b in grid
    )
    assert total * (grid[1] - grid[0]) ** 2 == pytest.approx(1.0, abs=1e-3)


def test_populations_refuse_what_their_theorems_do_not_speak_of():
    apart = drawn(IsingModels("dense", rest=False), 0)
    negative = IsingModel(-np.abs(apart.couplings), apart.fields, apart.messages)
    assert not all(h.holds for h in IsingModels("dense", attractive=True, rest=False).hypotheses(negative))
    alone = SmallGraph(np.diag([1.0, 0.0, 1.0], 1) + np.diag([1.0, 0.0, 1.0], -1))
    assert not all(h.holds for h in SmallGraphs().hypotheses(alone))
    one_class = LabelledTable(np.eye(3)[:, :2], np.ones(3))
    assert not all(h.holds for h in TwoValuedTables().hypotheses(one_class))
    lasso = drawn(SplitLassos(), 0)
    assert all(h.holds for h in SplitLassos().hypotheses(lasso))
    moved = eqx.tree_at(lambda p: p.solution, lasso, lasso.solution + 0.1)
    assert not all(h.holds for h in SplitLassos().hypotheses(moved))
