"""Every tool of the foundations says so where its answer says nothing: inputs of that kind, and the words."""

import importlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lemmata.architectures import Dense, Relu, Serial, relu_network
from lemmata.functions import cube
from lemmata.subjects.approximation import hinges, intrinsic_dimension, kinks
from lemmata.subjects.boolean import LowDegreeClassifier, boolean_fourier, noise_sensitivity, solve_parity
from lemmata.subjects.depth import sparsify, worst_case
from lemmata.subjects.hardness import RuleLearner
from lemmata.subjects.high_dimension import ridgeless_risk
from lemmata.subjects.implicit import interpolants, margins
from lemmata.subjects.queries import filtered_pca, gradient_signal, information_exponent
from lemmata.subjects.tangent import kernel_drift, lazy_certificate

SUBJECTS = ("approximation", "boolean", "depth", "hardness", "high_dimension", "implicit", "queries", "tangent")
RNG = np.random.default_rng(0)
LINE = np.linspace(0, 1, 101)
INNER, OUTER, WIDE = RNG.normal(size=(5, 3)), RNG.normal(size=(1, 5)), RNG.normal(size=(2, 30))
RELU = Serial([Dense(5), Relu(), Dense(1)])
ROWS, MORE, BITS = RNG.normal(size=(200, 2)), RNG.normal(size=(400, 5)), RNG.integers(0, 2, (600, 12))
COIN, RARE, FEW = RNG.integers(0, 2, 600), RNG.random(600), RNG.normal(size=(6, 3))
NOISE, HIGH = RNG.normal(size=400), RNG.normal(size=(20, 30))
SMALL = relu_network(depth=1, width=50)
START, _ = SMALL.init(jax.random.key(0), 3)
FITTED = np.array([float(SMALL.apply(START, row)[0]) for row in jnp.asarray(FEW)])
SQUARE = RNG.normal(size=(20, 20)), RNG.normal(size=20)
TARGETS = np.asarray(cube(6)).T


def bends(a, b, outer=OUTER):
    return kinks(RELU, a, b, params=({"weight": INNER}, (), {"weight": outer}))


def units(x, count):
    """Few units of a network of 30 with positive weights."""
    return sparsify((lambda x: np.maximum(x @ WIDE, 0.0), np.ones(30)), x, count)


def level():
    """One of two units, whose sum is constant."""
    return sparsify((lambda x: np.stack([1 + x[:, 0], 1 - x[:, 0]], axis=1), np.ones(2)), ROWS, 1)


def straight(params, row):
    return params @ row


def certificate(x, y, **settings):
    return lazy_certificate(straight, jnp.ones(3), x, y, lipschitz=1e-12, **settings)


def separated():
    return margins(LogisticRegression(C=1e6).fit(HIGH, COIN[:20]), HIGH, COIN[:20])


def scrambled(x):
    """A function without large coefficients."""
    return np.sin(1.7 * x @ np.arange(1, 31) ** 2) > 0


def signal(targets, **settings):
    start = jax.random.normal(jax.random.key(0), (6, 8)) / 3
    return gradient_signal(lambda w: jnp.maximum(cube(6) @ w, 0.0).sum(axis=1), start, targets, **settings)


VACUOUS = {
    "hinges": (lambda: hinges(LINE, np.sin(9 * LINE), 2.0), "twice the tolerance (their range divided by it): fails"),
    "hinges, noise": (lambda: hinges(LINE, NOISE[:101], 0.01), "points for each piece: fails"),
    "kinks": (lambda: bends([1.0, 0, 0], [0, 1.0, 0], 0 * OUTER), "changes between a and b (largest slope): fails (0)"),
    "kinks, few units": (lambda: bends([1.0, 0, 0], [0, 1.0, 0]), "difference in standard deviations): fails (2.24)"),
    "kinks, a ray": (lambda: bends([1.0, 0, 0], [2.0, 0, 0]), "(largest difference in standard deviations): fails (0)"),
    "intrinsic_dimension": (lambda: intrinsic_dimension(ROWS[:, :1]), "(how many it excludes): fails (0)"),
    "intrinsic_dimension, level": (
        lambda: intrinsic_dimension(ROWS[:20], level=0.9999999),
        "(how many it excludes): fails (0)",
    ),
    "intrinsic_dimension, few": (lambda: intrinsic_dimension(SQUARE[0]), "is above the dimension: fails (4.32)"),
    "sparsify": (lambda: units(ROWS, 30), "some units are left out (share of the units that are not 0): fails (0)"),
    "sparsify, one row": (lambda: units(np.repeat(ROWS[:1], 200, axis=0), 2), "different rows for each unit: fails"),
    "sparsify, constant": (level, "below that of the best constant (their ratio): fails"),
    "sparsify, signs": (
        lambda: sparsify((lambda x: np.maximum(x @ WIDE, 0.0), (-1.0) ** np.arange(30)), ROWS, 1),
        "vacuous, because the network's output is not larger",
    ),
    "worst_case": (
        lambda: worst_case([3.0, 3.0], 1.0),
        "below the bound without any step, which is smoothness/2 (their ratio): fails",
    ),
    "kernel_drift": (lambda: kernel_drift(SMALL, START, FEW, FITTED), "at the start (relative difference): fails (0)"),
    "kernel_drift, rate": (
        lambda: kernel_drift(SMALL, START, FEW, FEW[:, 0], rate=1e-12),
        "lowers the loss (last loss divided by first loss): fails (1)",
    ),
    "kernel_drift, linear": (
        lambda: kernel_drift(straight, jnp.ones(3), FEW, FEW[:, 0]),
        "the kernel changes (largest movement): fails (0)",
    ),
    "kernel_drift, one row": (
        lambda: kernel_drift(SMALL, START, FEW[:1], FEW[:1, 0]),
        "number of different rows: fails (1)",
    ),
    "lazy_certificate": (lambda: certificate(FEW[:2], FEW[:2].sum(axis=1)), "vacuous: the outputs equal the targets"),
    "lazy_certificate, slow": (
        lambda: certificate(np.array([[1.0, 0, 0], [1.0, 1e-4, 0]]), [1.0, 1.1]),
        "vacuous: after so few steps",
    ),
    "interpolants": (
        lambda: interpolants(SQUARE[0][:10], SQUARE[1][:10], held=(SQUARE[0][10:], SQUARE[1][10:])),
        "smaller held-out error than the better constant, 0 or the mean target (ratio): fails",
    ),
    "interpolants, ties": (
        lambda: interpolants([[1.0, 1.0]], [1.0]),
        "the sparse solution is unique (largest |x_j'nu| over columns outside its support): fails (1)",
    ),
    "margins": (separated, "twice as many rows as independent features (rows divided by features): fails"),
    "margins, constant": (
        lambda: margins(lambda x: 0 * x[:, 0], ROWS, ROWS[:, 0] > 0, layers=[np.eye(2)]),
        "all rows are fitted (smallest margin): fails",
    ),
    "ridgeless_risk": (
        lambda: ridgeless_risk(MORE, NOISE, [11, 12]),
        "smaller error than the prediction 0 (smallest ratio of the errors): fails",
    ),
    "ridgeless_risk, no signal": (
        lambda: ridgeless_risk(MORE, NOISE, [50]),
        "depends on the columns (p-value of the F test): fails",
    ),
    "ridgeless_risk, sizes": (
        lambda: ridgeless_risk(MORE, MORE[:, 0], [4000]),
        "sizes are at most the number of given rows (largest size divided by that number): fails (10)",
    ),
    "boolean_fourier": (lambda: boolean_fourier(np.ones(16)), "changes f (largest influence): fails (0)"),
    "boolean_fourier, parity": (lambda: boolean_fourier(lambda x: x.prod(axis=1), 4), "(vacuous: f has 16 points)"),
    "boolean_fourier, sampled": (
        lambda: boolean_fourier(scrambled, 30, threshold=0.5),
        "part of the weight of f (their weight): fails (0)",
    ),
    "boolean_fourier, sampled constant": (
        lambda: boolean_fourier(lambda x: np.ones(len(x)), 30, threshold=0.5),
        "changes f (largest influence): fails (0)",
    ),
    "noise_sensitivity": (
        lambda: noise_sensitivity(lambda x: np.zeros(len(x)), BITS, 0.1),
        "different answers to some rows (share of pairs): fails (0)",
    ),
    "noise_sensitivity, rate": (
        lambda: noise_sensitivity(lambda x: x[:, 0], BITS, [0.0, 1e-9]),
        "the interval excludes a possible value (answers only change if inputs do): fails (0)",
    ),
    "LowDegreeClassifier": (lambda: LowDegreeClassifier().fit(BITS, COIN).fit_, "vacuous: no product is expected"),
    "LowDegreeClassifier, degree": (
        lambda: LowDegreeClassifier().set_params(degree=1).fit(BITS, COIN).fit_,
        "more than chance does (gain in standard deviations): fails",
    ),
    "LowDegreeClassifier, noise": (
        lambda: LowDegreeClassifier().fit(BITS, BITS[:, 0] ^ (RARE < 0.3)).fit_,
        "error of always answering the more frequent class (their ratio): fails",
    ),
    "solve_parity": (lambda: solve_parity(BITS[:60], np.zeros(60, int)), "(columns of the parity): fails (0)"),
    "solve_parity, noise": (
        lambda: solve_parity(BITS, (RARE < 0.1).astype(int), noise=0.1),
        "(columns of the parity): fails (0)",
    ),
    "solve_parity, few": (lambda: solve_parity(BITS[:15, :8], BITS[:15, 3]), "that check the solution: fails"),
    "RuleLearner": (
        lambda: RuleLearner(k=2).fit(BITS, COIN).rule_,
        "below the error of the more frequent label (ratio of the two errors): fails (1)",
    ),
    "RuleLearner, few": (
        lambda: RuleLearner(k=3).fit(BITS[:12], COIN[:12]).rule_,
        "below the error of the more frequent label (ratio of the two errors): fails",
    ),
    "RuleLearner, one label": (lambda: RuleLearner().fit(BITS, np.ones(600)).rule_, "vacuous: all 600 rows have"),
    "filtered_pca": (lambda: filtered_pca(MORE[:, :1], MORE[:, 0] ** 2), "(columns minus directions): fails (0)"),
    "filtered_pca, none": (lambda: filtered_pca(MORE, NOISE), "so that smaller ones are not excluded"),
    "filtered_pca, two labels": (lambda: filtered_pca(MORE, COIN[:400]), "different labels is above two: fails (2)"),
    "information_exponent": (
        lambda: information_exponent(MORE[:, :1], MORE[:, 0], [1.0]),
        "x has several columns: fails (1)",
    ),
    "information_exponent, none": (
        lambda: information_exponent(MORE, NOISE, np.eye(5)[0]),
        "no coefficient up to degree 4 is shown to differ from zero",
    ),
    "information_exponent, few": (
        lambda: information_exponent(MORE[:150], MORE[:150, 0] ** 3 - 3 * MORE[:150, 0], np.eye(5)[0]),
        "(largest limit, divided by the coefficient found): fails",
    ),
    "gradient_signal": (lambda: signal(100 * TARGETS), "noise of 1 hides the target for less than one step (vacuous)"),
    "gradient_signal, sample": (
        lambda: signal(TARGETS[:2], sampled=True),
        "excludes a signal of 0 (lower end of the interval): fails (0)",
    ),
    "gradient_signal, blind": (
        lambda: gradient_signal(lambda w: w.sum() * jnp.zeros(64), jnp.ones(3), TARGETS),
        "some target changes the gradient (signal): fails (0)",
    ),
}


def test_every_tool_has_an_input_of_that_kind():
    """Each public function and estimator; the other public names are the records, which these return."""
    public = set()
    for subject in SUBJECTS:
        module = importlib.import_module(f"lemmata.subjects.{subject}")
        names = {name for name in vars(module) if not name.startswith("_")}
        of_its_own = {name for name in names if getattr(getattr(module, name), "__module__", "").startswith("lemmata.")}
        public |= {name for name in of_its_own if name[0].islower() or hasattr(getattr(module, name), "fit")}
    assert public == {name.split(",")[0] for name in VACUOUS}


@pytest.mark.parametrize("name", VACUOUS)
def test_an_answer_that_says_nothing_is_named(name):
    make, words = VACUOUS[name]
    said = str(make())
    assert words in said, said


def test_a_network_has_no_more_units_than_all_of_its_own():
    assert units(ROWS, 3).enough(1e-9) == 30
