"""Tools of the foundations on tables as users have them: an answer, or an error that says what to do."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import relu_network
from lemmata.errors import LemmataError
from lemmata.subjects.approximation import hinges, intrinsic_dimension, kinks
from lemmata.subjects.boolean import LowDegreeClassifier, boolean_fourier, noise_sensitivity, solve_parity
from lemmata.subjects.depth import sparsify
from lemmata.subjects.hardness import RuleLearner
from lemmata.subjects.high_dimension import ridgeless_risk
from lemmata.subjects.implicit import interpolants, margins
from lemmata.subjects.queries import filtered_pca, gradient_signal, information_exponent
from lemmata.subjects.tangent import kernel_drift, lazy_certificate

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
N, D = 60, 4
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, D))
Y = X[:, 0] + X[:, 1] ** 2
BITS = RNG.integers(0, 2, size=(N, D))
NAMES = [f"c{place}" for place in range(D)]
WEIGHTS = RNG.normal(size=(D, 30))
LINEAR = lambda w, row: row @ w
SIGNS = lambda x: np.asarray(x, float).sum(axis=1) > 0

ON_NUMBERS = {
    "hinges": lambda x, y: hinges(np.asarray(x)[:, 0], y, 0.5),
    "kinks": lambda x, y: kinks(NETWORK, np.asarray(x)[0], np.asarray(x)[-1], params=PARAMS),
    "intrinsic_dimension": lambda x, y: intrinsic_dimension(x),
    "sparsify": lambda x, y: sparsify((lambda r: np.maximum(np.asarray(r, float) @ WEIGHTS, 0), np.ones(30)), x, 5),
    "lazy_certificate": lambda x, y: lazy_certificate(LINEAR, jnp.zeros(D), x, y, steps=5),
    "kernel_drift": lambda x, y: kernel_drift(LINEAR, jnp.zeros(D), x, y, steps=5),
    "interpolants": lambda x, y: interpolants(x, y, [1.0]),
    "margins": lambda x, y: margins(lambda x: np.asarray(x)[:, 0], x, np.asarray(y) > 0, layers=[np.eye(D)]),
    "ridgeless_risk": lambda x, y: ridgeless_risk(x, y, [2, 20], fits=2),
    "noise_sensitivity": lambda x, y: noise_sensitivity(SIGNS, x, 0.1, draws=50),
    "filtered_pca": filtered_pca,
    "information_exponent": lambda x, y: information_exponent(x, y, np.eye(D)[0]),
    "gradient_signal": lambda x, y: gradient_signal(lambda w: jnp.tanh(w), jnp.ones(D), x),
}
ON_BITS = {
    "boolean_fourier": lambda x, y: boolean_fourier(np.asarray(y)[:32]),
    "noise_sensitivity": lambda x, y: noise_sensitivity(SIGNS, x, 0.1, draws=50),
    "LowDegreeClassifier": lambda x, y: LowDegreeClassifier(degree=1).fit(x, y).predict(x),
    "solve_parity": lambda x, y: solve_parity(x, y, 0.0),
    "RuleLearner": lambda x, y: RuleLearner(k=1).fit(x, y).predict(x),
}
TOOLS = {**{f"{name} of numbers": (own, X, Y) for name, own in ON_NUMBERS.items()},
         **{f"{name} of bits": (own, BITS, BITS[:, 0] ^ BITS[:, 1]) for name, own in ON_BITS.items()}}  # fmt: skip
NETWORK = relu_network(1, 5)
PARAMS = NETWORK.init(jax.random.key(0), D)[0]


def with_entry(array, value):
    changed = array.astype(float)
    changed[3, ...] = value
    return changed


TABLES = {
    "pandas": lambda x, y: (pandas.DataFrame(x, columns=NAMES), pandas.Series(y)),
    "polars": lambda x, y: (polars.DataFrame(x, schema=NAMES), polars.Series(y)),
    "single precision": lambda x, y: (x.astype(np.float32), y.astype(np.float32)),
    "lists": lambda x, y: (x.tolist(), y.tolist()),
    "objects": lambda x, y: (x.astype(object), y.astype(object)),
    "one row": lambda x, y: (x[:1], y[:1]),
    "two rows": lambda x, y: (x[:2], y[:2]),
    "one constant column": lambda x, y: (np.where(np.arange(D) == 1, x[0], x), y),
    "constant columns": lambda x, y: (np.broadcast_to(x[:1], x.shape).copy(), y),
    "equal columns": lambda x, y: (x[:, [0, 0, 2, 3]], y),
    "one target": lambda x, y: (x, np.full_like(y, y[0])),
    "duplicates": lambda x, y: (np.repeat(x[:6], 10, axis=0), np.repeat(y[:6], 10)),
    "NaN": lambda x, y: (with_entry(x, np.nan), y),
    "infinity": lambda x, y: (with_entry(x, np.inf), y),
    "a target of NaN": lambda x, y: (x, with_entry(y, np.nan)),
    "texts": lambda x, y: (np.full(x.shape, "a"), y),
    "huge": lambda x, y: (x * 1e200, y),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_answers_or_says_what_to_do(name, table):
    tool, x, y = TOOLS[name]
    said = outcome(tool, *TABLES[table](x, y))
    assert not str(said).startswith("no remedy")
    if table in SAME:
        assert same(said, outcome(tool, x, y))


SAME = ("pandas", "polars", "lists", "objects")
"""Tables that say what the arrays say."""


def same(one, other):
    """But for the names of columns, which frames have, and for classes that are numbers of another type."""
    if isinstance(one, np.ndarray):
        return (one.astype(float) == other).all()
    return one == other


def outcome(tool, x, y):
    try:
        found = tool(x, y)
    except LemmataError as error:
        return type(error) if error.remedy else f"no remedy: {error}"
    if hasattr(found, "plot"):
        assert found.plot().to_dict()
    return found if isinstance(found, np.ndarray) else re.sub(r"\bx(\d)", r"c\1", str(found))
