"""Fourier coefficients of users' functions: sums by definition, models, Goldreich and Levin's search, refusals."""

import itertools

import jax.numpy as jnp
import numpy as np
import pandas
import pytest
from sklearn.tree import DecisionTreeClassifier

from lemmata.engine.claims import registry
from lemmata.errors import DataError, LemmataError, SettingError, ShapeError
from lemmata.subjects.boolean import boolean_fourier

POINTS = np.array([[1 - 2 * (p >> i & 1) for i in range(4)] for p in range(16)])
SUBSETS = [s for k in range(5) for s in itertools.combinations(range(4), k)]


def character(x, subset):
    return np.prod(x[:, list(subset)], axis=1)


@pytest.mark.parametrize("seed", range(3))
def test_coefficients_influences_and_noise_by_definition(seed):
    values = np.random.default_rng(seed).choice([-1.0, 1.0], 16)
    found = boolean_fourier(values, list("abcd"), largest=16)
    for subset in SUBSETS:
        expected = np.mean(values * character(POINTS, subset))
        assert found.coefficient(*(found.names[i] for i in subset)) == pytest.approx(expected, abs=1e-12)
    number = {tuple(x): values[p] for p, x in enumerate(POINTS.tolist())}
    flipped = lambda x, i: tuple(-v if j == i else v for j, v in enumerate(x))
    for i in range(4):
        assert found.influences[i] == pytest.approx(np.mean([number[x] != number[flipped(x, i)] for x in number]))
    eta = 0.15
    both = [
        (eta ** sum(signs)) * (1 - eta) ** (4 - sum(signs)) * (number[x] != number[y]) / 16
        for x in number
        for signs in itertools.product((0, 1), repeat=4)
        for y in [tuple(-v if s else v for v, s in zip(x, signs, strict=True))]
    ]
    assert found.noise(eta) == pytest.approx(sum(both))
    assert found.weights.sum() == pytest.approx(1)
    listed = [abs(found.coefficient(*names)) for names in found.sets]
    assert listed == sorted(listed, reverse=True)


def test_a_real_function_has_quarters_of_mean_squared_changes():
    values = np.random.default_rng(1).normal(size=16)
    found = boolean_fourier(values)
    order = [sum(1 << i for i in range(4) if (x * [-1, 1, 1, 1])[i] < 0) for x in POINTS]
    assert found.influences[0] == pytest.approx(np.mean((values - values[order]) ** 2) / 4)
    assert not found.two_valued
    assert "divided by 4" in str(found)


def test_a_tree_of_columns_of_0_and_1_is_its_function():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, (200, 5))
    tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, x[:, 0] ^ (x[:, 2] & x[:, 3]))
    found = boolean_fourier(tree, 5, codes=(0, 1))
    points = np.array(list(itertools.product((0, 1), repeat=5)))
    values = 2.0 * tree.predict(points) - 1
    for names, value in zip(found.sets, found.coefficients, strict=True):
        signs = np.prod([2 * points[:, int(name[1:])] - 1 for name in names], axis=0)
        assert np.mean(values * signs) == pytest.approx(value)
    same = boolean_fourier(lambda s: tree.predict((s + 1) // 2) == 1, 5)
    np.testing.assert_array_equal(same.table, found.table)


def test_the_plan_reaches_its_error():
    majority = lambda x: np.sign(x.sum(axis=1))
    found = boolean_fourier(majority, 3)
    plan = found.low_degree(0.6)
    assert (plan.degree, plan.tail) == (1, 0.25)
    assert plan.rows == int(np.ceil((4 - 0.75) / 0.35))
    rng, errors = np.random.default_rng(0), []
    points = np.array(list(itertools.product((-1, 1), repeat=3)))
    for _ in range(3000):
        x = rng.choice([-1, 1], (plan.rows, 3))
        features = lambda x: np.column_stack([np.ones(len(x)), x])
        g = features(points) @ (features(x).T @ majority(x) / plan.rows)
        errors.append(np.mean((g - majority(points)) ** 2))
    assert np.mean(errors) == pytest.approx(0.25 + 3.25 / plan.rows, rel=0.03)
    assert boolean_fourier(lambda x: np.prod(x, axis=1), 6).low_degree(0.5).degree == 6


@pytest.mark.parametrize("seed", range(2))
def test_a_search_finds_the_large_sets_of_forty_inputs(seed):
    rng = np.random.default_rng(seed)
    a, b, c, d, e = rng.choice(40, 5, replace=False)
    f = lambda x: np.where(x[:, a] > 0, x[:, b] * x[:, c], x[:, d] * x[:, e])
    found = boolean_fourier(f, 40, threshold=0.2, seed=seed)
    name = lambda *places: frozenset(f"x{place}" for place in places)
    truth = {name(b, c): 0.5, name(a, b, c): 0.5, name(d, e): 0.5, name(a, d, e): -0.5}
    assert {frozenset(names) for names in found.sets} == set(truth)
    for names, (low, high) in zip(found.sets, found.intervals, strict=True):
        assert low <= truth[frozenset(names)] <= high
    assert found.influences[[a, b]] == pytest.approx([0.5, 0.5], abs=0.06)
    assert np.sum(found.influences > 0) == 5
    assert found.sensitivity[4] == pytest.approx(0.5 - (0.5 * 0.9**0 * 0.8**2 + 0.5 * 0.8**3) / 2, abs=0.05)
    assert found.rest < 0.5
    assert found.coefficient(*found.sets[0]) == found.coefficients[0]


def test_sampling_agrees_with_the_table():
    rng = np.random.default_rng(3)
    weights = rng.normal(size=12)
    f = lambda x: x @ weights > 0
    exact, sampled = boolean_fourier(f, 12), boolean_fourier(f, 12, threshold=0.15, largest=30)
    values = [exact.coefficient(*names) for names in sampled.sets]
    assert np.all((sampled.intervals[:, 0] <= values) & (values <= sampled.intervals[:, 1]))
    large = np.flatnonzero(np.abs(exact.table) > 0.15)
    named = {frozenset(names) for names in sampled.sets}
    assert all(frozenset(f"x{i}" for i in range(12) if number >> i & 1) in named for number in large)
    unlisted = [abs(v) for n, v in enumerate(exact.table)
                if frozenset(f"x{i}" for i in range(12) if n >> i & 1) not in named]  # fmt: skip
    assert max(unlisted) <= sampled.rest


def test_what_is_printed_and_drawn():
    found = boolean_fourier(lambda x: x[:, 0] > 0, 3)
    assert "weight by degree: 0: 0, 1: 1, 2: 0, 3: 0" in str(found)
    assert "<svg" in found._repr_html_()
    assert boolean_fourier(np.zeros(8) + 1.0, 3).sets == ((),)
    assert boolean_fourier(np.array([0.5, -0.5] * 2)).two_valued is False


@pytest.mark.parametrize(
    ("arguments", "words", "kind"),
    [
        ((lambda x: x[:, 0], 30), r"found 30 inputs; .*at most 20 .*threshold=0\.1.*f 2\.7e\+05 times", SettingError),
        ((np.ones(12),), "found 12 values", ShapeError),
        ((np.array([1.0, np.nan]),), "not finite", DataError),
        ((lambda x: x, 3), r"shape \(8, 3\)", ShapeError),
        ((lambda x: np.full(len(x), "a"), 3), "numbers or booleans.*remedy: compare", DataError),
        ((lambda x: x[:, 0], None), "a list of names, or the number", SettingError),
        ((lambda x: x[:, 0], ["a", "a"]), "'a' twice", SettingError),
        ((3, 2), "shape", LemmataError),
    ],
)  # fmt: skip
def test_refusals(arguments, words, kind):
    with pytest.raises(kind, match=words) as caught:
        boolean_fourier(*arguments)
    assert "\n" not in str(caught.value)


def test_refusals_of_settings():
    f = lambda x: x[:, 0]
    for settings, words in [
        ({"codes": (1, 1)}, "two different numbers"),
        ({"threshold": 2.0}, "strictly between 0 and 1"),
        ({"largest": 0}, "at least 1"),
    ]:
        with pytest.raises(SettingError, match=words):
            boolean_fourier(f, 3, **settings)
    with pytest.raises(DataError, match=r"two values, 0 and 1.*remedy: compare"):
        boolean_fourier(lambda x: x @ [1.0, 2.0, 3.0], 3, threshold=0.2)
    with pytest.raises(LemmataError, match="one of x0, x1, x2"):
        boolean_fourier(f, 3).coefficient("z")
    with pytest.raises(DataError, match="one of the 1 sets of inputs that the search lists"):
        boolean_fourier(f, 3, threshold=0.2).coefficient("x1")
    with pytest.raises(DataError, match="one of the rates"):
        boolean_fourier(f, 3, threshold=0.2).noise(0.1)


def test_the_claims_exist():
    assert set(boolean_fourier(np.ones(4)).claims) <= set(registry("boolean"))


def test_names_that_are_numbers_or_tuples():
    f = lambda x: x[:, 0] * x[:, 1]
    for names, expected in [
        (pandas.RangeIndex(2), ("x0", "x1")),
        ([("a", 1), ("b", 2)], ("a.1", "b.2")),
        (pandas.MultiIndex.from_tuples([("a", 1), ("b", 2)]), ("a.1", "b.2")),
        (pandas.Index(["u", "v"]), ("u", "v")),
    ]:
        assert boolean_fourier(f, names).names == expected


def test_outputs_of_other_libraries_and_what_is_no_array():
    found = boolean_fourier(lambda x: jnp.asarray(x[:, :1] > 0), 2)
    assert found.coefficient("x0") == 1

    class Collecting:
        """A tensor that converts only without its gradients, as those of PyTorch."""

        def __init__(self, values):
            self.values = values

        def detach(self):
            return self

        def cpu(self):
            return self.values

        def __array__(self, dtype=None, copy=None):
            raise RuntimeError("requires grad")

    assert boolean_fourier(lambda x: Collecting(x[:, 0]), 2).coefficient("x0") == 1
    with pytest.raises(DataError, match="outputs of f; found a list that is not an array"):
        boolean_fourier(lambda x: [[1], [1, 2]] * 2, 2)


def test_values_whose_squares_are_no_numbers():
    for scale in (1e200, 1e-200):
        with pytest.raises(DataError, match=r"as the largest absolute value.*remedy: divide"):
            boolean_fourier(scale * np.array([1.0, -1, 3, 0]))
    assert boolean_fourier([False, True]).two_valued


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"codes": ("a", "b")}, "codes; found .*two different numbers"),
        ({"codes": [[0, 1], [1]]}, "codes; found .*two different numbers"),
        ({"threshold": 1e-4}, r"threshold; found 0.0001, for which f is evaluated .* rule: at most 1e\+09 evaluations"),
        ({"threshold": 0.3, "seed": -1}, "seed; found -1; rule: a whole number"),
        ({"names": pandas.DataFrame(np.zeros((30, 3)))}, "names; found"),
        ({"names": 10**9}, "at most 10000 inputs"),
    ],
)
def test_refusals_in_one_line(settings, words):
    with pytest.raises(SettingError, match=words) as caught:
        boolean_fourier(lambda x: x[:, 0], **{"names": 3, **settings})
    assert "\n" not in str(caught.value)


def test_one_is_not_printed_as_several():
    assert str(boolean_fourier(np.ones(2))).startswith("1 input, ")
    assert str(boolean_fourier(np.ones(2))).split("\n")[5].endswith("degree 0 and 1 row")
