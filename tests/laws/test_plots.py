"""Every record of a tool that has a picture draws a chart that Vega-Lite accepts, from its own numbers."""

import itertools

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lemmata.architectures import relu_network
from lemmata.functions import cube
from lemmata.subjects.approximation import intrinsic_dimension, kinks
from lemmata.subjects.depth import sparsify, worst_case
from lemmata.subjects.implicit import interpolants, margins
from lemmata.subjects.interaction import TabularMDP
from lemmata.subjects.queries import filtered_pca, gradient_signal, information_exponent
from lemmata.subjects.tangent import lazy_certificate

X = np.random.default_rng(0).normal(size=(400, 12))


def kinks_of_a_network():
    network = relu_network(2, 16)
    return kinks(network, X[0], X[1], params=network.init(jax.random.key(0), 12)[0])


def signal_of_parities():
    x = cube(5)
    family = jnp.stack([x[:, i] * x[:, j] for i, j in itertools.combinations(range(5), 2)])
    return gradient_signal(
        lambda p: jnp.maximum(x @ p, 0.0).sum(axis=1), jax.random.normal(jax.random.key(0), (5, 6)), family
    )


def sparse_network():
    inner = np.random.default_rng(0).normal(size=(12, 200))
    return sparsify((lambda x: np.maximum(x @ inner, 0.0), np.ones(200) / 200), X[:50], 5)


RECORDS = {
    "worst_case": (lambda: worst_case([1.4, 2.0, 1.4], 1.0), 6),
    "intrinsic_dimension": (lambda: intrinsic_dimension(X[:, :3]), 4),
    "lazy_certificate": (lambda: lazy_certificate(lambda w, row: row @ w, jnp.zeros(12), X[:4], X[:4, 0], steps=9), 20),
    "filtered_pca": (lambda: filtered_pca(X, X[:, 0] ** 3), 48),
    "sparsify": (sparse_network, 10),
    "kinks": (kinks_of_a_network, None),
    "interpolants": (lambda: interpolants(X[:6], X[:6, 0] - X[:6, 3]), None),
    "margins": (lambda: margins(LogisticRegression().fit(X, X[:, 0] > 0), X, X[:, 0] > 0), 400),
    "information_exponent": (lambda: information_exponent(X, X[:, 2] ** 2, np.eye(12)[2]), 4),
    "gradient_signal": (signal_of_parities, 10),
    "from_trajectories": (
        lambda: TabularMDP.from_trajectories(
            [[0, 0, 1.0, 1], [0, 1, 0.0, 0], [0, 0, 1.0, 1], [1, 0, 2.0, 1]], 0.5, unseen=0
        ),
        3,
    ),
}


def tables_of(drawn):
    """The rows of all layers of a chart."""
    return [part["data"]["values"] for part in (drawn, *drawn.get("layer", ())) if "values" in part.get("data", {})]


STYLED = set(RECORDS) - {"from_trajectories"}


@pytest.mark.parametrize("name", RECORDS)
def test_the_picture_has_the_numbers_of_the_record(name):
    make, rows = RECORDS[name]
    found = make()
    drawn = found.plot().to_dict()
    tables = tables_of(drawn)
    assert max(map(len, tables)) > 0
    if name == "kinks":
        rows = len(found.places)
    if name == "interpolants":
        rows = sum(len(own.w) for own in found.found.values())
    assert rows in map(len, tables)
    assert name not in STYLED or drawn["config"]["background"] == "transparent"
    assert alt.Chart.from_dict(drawn) if "layer" not in drawn else alt.LayerChart.from_dict(drawn)


def test_the_worst_case_is_drawn_after_each_step():
    """With the bound of the first steps alone, and the formula for unit steps, which they meet."""
    steps = [1.0, 1.0, 1.6]
    (rows,) = tables_of(worst_case(steps, 1.0).plot().to_dict())
    own = [row["y"] for row in rows if row["name"] == "these steps"]
    known = [row["y"] for row in rows if row["name"] != "these steps"]
    np.testing.assert_allclose(known, [1 / 6, 1 / 10, 1 / 14])
    np.testing.assert_allclose(own[:2], known[:2], rtol=1e-6)
    assert own[2] == worst_case(steps, 1.0).bound


def test_shuffled_labels_have_the_eigenvalues_of_chance():
    """For independent labels, an eigenvalue is above the largest of 19 shuffles with probability 1/20."""
    rng = np.random.default_rng(1)
    chance = filtered_pca(rng.normal(size=(3000, 5)), rng.normal(size=3000))
    for own in chance.results:
        assert abs(own.eigenvalues[0]) < own.null
        assert own.null == pytest.approx(2 * np.sqrt(5 / 3000), rel=0.6)
    found = filtered_pca(X, X[:, 0] ** 2)
    assert abs(found.results[0].eigenvalues[0]) > 2 * found.results[0].null


def test_the_residual_is_drawn_down_to_what_is_left():
    found = lazy_certificate(lambda w, row: row @ w, jnp.zeros(12), X[:4], X[:4, 0], steps=30, lipschitz=1e-6)
    assert found.course[0].tolist() == [0.0, 1.0]
    assert found.course[-1].tolist() == [30.0, found.left]
    assert (np.diff(found.course[:, 1]) < 0).all()
    (rows,) = tables_of(found.plot().to_dict())
    assert {row["name"] for row in rows} == {"residual", "bound"}
    (rows,) = tables_of(lazy_certificate(lambda w, row: row @ w, jnp.zeros(12), X[:2], X[:2, 0]).plot().to_dict())
    assert {row["name"] for row in rows} == {"residual", "bound, if L is right"}
