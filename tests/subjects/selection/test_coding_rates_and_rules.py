"""Coding rates by eigenvalues, greedy choices by determinants, rules by hand, and what is refused."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from lemmata.architectures import Dense, Serial, silu, tangent_gram
from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.kernels import RBF
from lemmata.subjects.selection import (
    RULES,
    Candidates,
    coding_rate,
    entropy,
    greedy_log_determinant,
    kernel_coding_rate,
    posterior_gram,
    proxy_tangent_gram,
    query,
    select,
)


@pytest.fixture
def features():
    return np.random.default_rng(0).normal(size=(12, 4)) * [1.0, 0.5, 0.2, 0.1]


def test_the_coding_rate_by_eigenvalues_and_by_the_gram_matrix(features):
    eps = 0.3
    values = np.linalg.eigvalsh(features.T @ features)
    exact = 0.5 * np.log1p(4 / (12 * eps**2) * values).sum()
    assert float(coding_rate(jnp.asarray(features), eps)) == pytest.approx(exact, rel=1e-12)
    assert float(kernel_coding_rate(jnp.asarray(features @ features.T), eps, dimension=4.0)) == pytest.approx(
        exact, rel=1e-11
    )


def test_the_coding_rate_of_no_distortion_is_refused(features):
    with pytest.raises(SettingError, match="eps; found 0"):
        coding_rate(jnp.asarray(features), 0.0)
    with pytest.raises(SettingError, match="dimension"):
        kernel_coding_rate(jnp.eye(2), 1.0, dimension=0.0)
    with pytest.raises(ShapeError):
        kernel_coding_rate(jnp.ones((2, 3)), 1.0)
    with pytest.raises(DataError):
        coding_rate(jnp.full((2, 2), jnp.nan), 1.0)


@pytest.mark.parametrize("diagonal", [[-1.0, -1.0, -1.0], [1.0, -10.0], [1.0, 1.0, -1e-9]])
def test_matrices_that_are_not_semidefinite_have_no_coding_rate(diagonal):
    with pytest.raises(NotPositiveDefiniteError, match="Gram matrix; found smallest eigenvalue -"):
        kernel_coding_rate(jnp.diag(jnp.array(diagonal)), 1.0)
    with pytest.raises(NotPositiveDefiniteError, match="a pivot of"):
        greedy_log_determinant(jnp.diag(jnp.array(diagonal)), len(diagonal), 1e-10)


def test_rounding_is_no_reason_to_refuse_and_traces_pass(features):
    gram = jnp.asarray(features @ features.T)  # eight of its twelve eigenvalues are rounding
    rate = jax.jit(kernel_coding_rate)(gram, 1.0)
    assert float(rate) == pytest.approx(float(kernel_coding_rate(gram, 1.0)), rel=1e-12)
    slope = jax.grad(lambda scale: kernel_coding_rate(scale * gram, 1.0))(1.0)
    values = np.linalg.eigvalsh(gram) / 12
    assert float(slope) == pytest.approx(0.5 * np.sum(values / (1 + values)), rel=1e-9)


@pytest.mark.parametrize("noise", [0.1, np.linspace(0.1, 2.0, 12)])
def test_the_greedy_choice_is_that_of_determinants(features, noise):
    gram = features @ features.T
    rows, pivots = greedy_log_determinant(jnp.asarray(gram), 4, jnp.asarray(noise))
    chosen, before, full = [], 0.0, gram + np.diag(np.broadcast_to(noise, 12))
    for row, pivot in zip(rows.tolist(), pivots.tolist(), strict=True):
        gains = [
            -np.inf if i in chosen else np.linalg.slogdet(full[np.ix_([*chosen, i], [*chosen, i])])[1]
            for i in range(12)
        ]
        assert int(np.argmax(gains)) == row
        assert np.log(pivot) == pytest.approx(gains[row] - before, abs=1e-10)
        chosen.append(row)
        before = gains[row]


def test_the_greedy_choice_stays_within_what_is_allowed_and_is_near_the_best(features):
    gram = jnp.asarray(features @ features.T)
    allowed = jnp.arange(12) % 2 == 0
    rows, _ = greedy_log_determinant(gram, 3, 0.1, allowed=allowed)
    assert set(rows.tolist()) <= set(range(0, 12, 2))
    rate = lambda s: 0.5 * np.linalg.slogdet(np.eye(len(s)) + np.asarray(gram)[np.ix_(s, s)] / 0.1)[1]
    best = max(rate(list(s)) for s in itertools.combinations(range(0, 12, 2), 3))
    assert (1 - np.exp(-1)) * best <= rate(rows.tolist()) <= best + 1e-12
    for wrong in ({"count": 0}, {"count": 7, "allowed": allowed}, {"count": 2, "noise": 0.0}):
        with pytest.raises(SettingError):
            greedy_log_determinant(gram, **{"count": 2, "noise": 0.1, **wrong})
    with pytest.raises(ShapeError, match="noise"):
        greedy_log_determinant(gram, 2, jnp.ones(3))


def test_the_posterior_kernel_is_the_conditional_covariance_of_the_joint_law(features):
    gram, known, noise = features @ features.T, [0, 3, 7], 0.2
    joint = np.block([[gram, gram[:, known]], [gram[known], gram[np.ix_(known, known)] + noise * np.eye(3)]])
    precision = np.linalg.inv(joint + 1e-9 * np.eye(15))[:12, :12]
    found = np.asarray(posterior_gram(jnp.asarray(gram), jnp.asarray(known), noise))
    assert np.allclose(found, np.linalg.inv(precision), atol=1e-6)
    assert np.linalg.eigvalsh(found)[0] > -1e-12
    assert np.array_equal(posterior_gram(jnp.asarray(gram), jnp.asarray([], int), noise), gram)
    with pytest.raises(SettingError, match="from 0 to 11"):
        posterior_gram(jnp.asarray(gram), jnp.asarray([12]), noise)


def test_the_tangent_kernel_of_a_proxy_is_that_of_its_jacobians(features):
    outputs = np.stack([features[:, 0] ** 2, features[:, 1]], axis=1)
    key = jax.random.key(0)
    found = proxy_tangent_gram(jnp.asarray(features), jnp.asarray(outputs), key, widths=(5, 3), steps=0)
    network = Serial(
        [Dense(5, 1.0, 0.1, "standard"), silu(), Dense(3, 1.0, 0.1, "standard"), silu(), Dense(2, 1.0, 0.1, "standard")]
    )
    params, _ = network.init(key, 4)
    jacobian = jax.vmap(jax.jacrev(network.apply), in_axes=(None, 0))(params, jnp.asarray(features))
    flat = jnp.concatenate([leaf.reshape(12, 2, -1) for leaf in jax.tree.leaves(jacobian)], axis=2)
    assert np.allclose(found, jnp.einsum("iap,jap->ij", flat, flat) / 2, rtol=1e-9)
    assert np.allclose(found, tangent_gram(network, params, jnp.asarray(features), trace=True))
    moved = proxy_tangent_gram(jnp.asarray(features), jnp.asarray(outputs), key, widths=(5, 3), steps=10)
    assert not np.allclose(found, moved)
    with pytest.raises(ShapeError, match="one row for each point"):
        proxy_tangent_gram(jnp.asarray(features), jnp.asarray(outputs[:5]), key)


LINE = np.array([0.0, 1.0, 1.1, 4.0, 9.0])
KNOWN = np.array([True, False, False, False, False])


def test_the_farthest_rows_by_hand():
    found = Candidates(np.outer(LINE, LINE), KNOWN)
    assert select(found, 3, "k-centre").tolist() == [4, 3, 2]
    nobody = Candidates(np.outer(LINE, LINE), np.zeros(5, bool))
    assert select(nobody, 2, "k-centre").tolist() == [4, 0]


def test_the_entropy_chooses_what_is_unsure():
    p = np.array([[0.5, 0.5], [0.9, 0.1], [0.6, 0.4], [1.0, 0.0], [0.45, 0.55]])
    found = Candidates(np.eye(5), KNOWN, p)
    assert select(found, 2, "entropy").tolist() == [4, 2]
    assert entropy(p)[3] == 0
    # equal variances: on the diagonal the entropy alone decides
    assert select(found, 2, entropy_weight=1.0).tolist() == [4, 2]


def test_the_coding_rate_avoids_what_is_known(features):
    gram = features @ features.T
    known = np.zeros(12, bool)
    known[[2, 5]] = True
    found = select(Candidates(gram, known), 3)
    level = np.diagonal(gram).mean()
    rest = posterior_gram(jnp.asarray(gram), jnp.asarray([2, 5]), 0.1 * level)
    assert found.tolist() == greedy_log_determinant(rest, 3, 0.1 * level, allowed=jnp.asarray(~known))[0].tolist()
    assert not known[found].any()


def test_gradients_are_drawn_by_their_distances():
    p = np.array([[0.5, 0.5], [0.5, 0.5], [1.0, 0.0], [0.5, 0.5], [1.0, 0.0]])
    found = Candidates(np.diag([1.0, 1.0, 1.0, 3.0, 1.0]), KNOWN, p)
    firsts = [int(select(found, 1, "gradients", seed=s)[0]) for s in range(400)]
    # rows that the model is sure of have no gradient; row 3 has three times the square of row 1
    assert set(firsts) == {1, 3}
    assert abs(np.mean(np.array(firsts) == 3) - 0.75) < 4 * np.sqrt(0.75 * 0.25 / 400)
    sure = Candidates(np.eye(5), KNOWN, np.tile([1.0, 0.0], (5, 1)))
    assert sorted(select(sure, 4, "gradients").tolist()) == [1, 2, 3, 4]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_chooses_rows_without_labels_once_and_again_the_same(rule):
    p = np.random.default_rng(2).dirichlet(np.ones(3), size=5)
    found = Candidates(np.exp(-((LINE[:, None] - LINE) ** 2)), KNOWN, p)
    rows = select(found, 4, rule, seed=5)
    assert sorted(rows.tolist()) == [1, 2, 3, 4]
    assert rows.tolist() == select(found, 4, rule, seed=5).tolist()
    with pytest.raises(SettingError, match="from 1 to 4"):
        select(found, 5, rule)


def test_candidates_that_make_no_sense_are_refused():
    with pytest.raises(SettingError, match="one of coding rate, random"):
        select(Candidates(np.eye(5), KNOWN), 1, "best")
    with pytest.raises(SettingError, match="which entropies and gradients need"):
        select(Candidates(np.eye(5), KNOWN), 1, "gradients")
    with pytest.raises(ShapeError, match="labelled"):
        Candidates(np.eye(5), KNOWN[:4])
    with pytest.raises(DataError, match="a sum of 1"):
        Candidates(np.eye(5), KNOWN, np.ones((5, 2)))
    with pytest.raises(SettingError, match="noise above 0"):
        select(Candidates(np.eye(5), KNOWN), 1, noise=0.0)


def test_a_pool_is_asked_with_a_model_of_scikit_learn():
    x, classes = load_wine(return_X_y=True)
    known, pool = x[:90:3], x[1::2]
    model = LogisticRegression(max_iter=2000).fit(known, classes[:90:3])
    for rule in RULES:
        rows = query(model, pool, 5, labelled=known, rule=rule)
        assert len(set(rows.tolist())) == 5
        assert rows.max() < len(pool)
    # a pool of labelled rows and one far away
    far = np.concatenate([known, known[:1] + 100 * known.std(axis=0)])
    for kernel in (None, RBF(1.0)):
        assert query(None, far, 1, labelled=known, kernel=kernel).tolist() == [len(known)]
    near = KNeighborsClassifier(3).fit(known, classes[:90:3])
    assert len(query(near, pool, 2, labelled=known, entropy_weight=0.3)) == 2
    with pytest.raises(SettingError, match="a model with predict_proba"):
        query(LinearSVC().fit(known, classes[:90:3]), pool, 2, rule="entropy")
    with pytest.raises(ShapeError, match="tables with the same columns"):
        query(None, pool, 2, labelled=known[:, :5])
    with pytest.raises(DataError):
        query(None, np.full((4, 2), np.nan), 2)
    for count in (2.5, "2", True, None):
        with pytest.raises(SettingError, match=r"count; found .*; rule: a whole number"):
            query(None, pool, count)


@pytest.mark.parametrize("unit", [1e200, 1e-200, 2.0])
def test_the_unit_of_a_column_is_no_matter(unit):
    pool = np.random.default_rng(3).normal(size=(20, 3))
    scaled = pool * [1.0, unit, 1.0]
    assert query(None, scaled, 5, rule="k-centre").tolist() == query(None, pool, 5, rule="k-centre").tolist()
