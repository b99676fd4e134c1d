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
from lemmata.subjects.approximation import kinks
from lemmata.subjects.depth import worst_case
from lemmata.subjects.implicit import interpolants, margins
from lemmata.subjects.interaction import TabularMDP
from lemmata.subjects.queries import gradient_signal, information_exponent

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


RECORDS = {
    "worst_case": (lambda: worst_case([1.4, 2.0, 1.4], 1.0), 3),
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


@pytest.mark.parametrize("name", RECORDS)
def test_the_picture_has_the_numbers_of_the_record(name):
    make, rows = RECORDS[name]
    found = make()
    drawn = found.plot().to_dict()
    tables = [part["data"]["values"] for part in (drawn, *drawn.get("layer", ())) if "values" in part.get("data", {})]
    assert max(map(len, tables)) > 0
    if name == "kinks":
        rows = len(found.places)
    if name == "interpolants":
        rows = sum(len(own.w) for own in found.found.values())
    assert rows in map(len, tables)
    assert alt.Chart.from_dict(drawn) if "layer" not in drawn else alt.LayerChart.from_dict(drawn)
