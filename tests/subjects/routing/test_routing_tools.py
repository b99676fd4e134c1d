"""Tools against simulated keys, float16 of NumPy, brute force, scikit-learn and SciPy; tables of others; refusals."""

import json

import jax.numpy as jnp
import numpy as np
import pandas
import polars
import pytest
from scipy import special, stats
from sklearn.linear_model import BayesianRidge
from sklearn.neighbors import KNeighborsRegressor

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.routing import _algorithms as algorithms
from lemmata.subjects.routing import attention_report, retrieval, which_algorithm


def _prompts(m=150, n=12, d=3, noise=0.4, seed=0):
    rng = np.random.default_rng(seed)
    x, w = rng.normal(size=(m, n, d)), rng.normal(size=(m, d))
    y = np.einsum("mnd,md->mn", x, w) + noise * rng.normal(size=(m, n))
    return (x, y, rng.normal(size=(m, d))), w


def _ridge(x, y, query, ridge=0.16):
    return query @ np.linalg.solve(x.T @ x + ridge * np.eye(x.shape[1]), x.T @ y)


def _newton(x, y, query, iterations=4):
    s = x.T @ x / len(x)
    inverse = s / np.linalg.norm(s, 2) ** 2
    for _ in range(iterations):
        inverse = 2 * inverse - inverse @ s @ inverse
    return query @ inverse @ x.T @ y / len(x)


def _descent(x, y, query, steps=4, rate=0.3):
    w = np.zeros(x.shape[1])
    for _ in range(steps):
        w = w + rate * x.T @ (y - x @ w) / len(x)
    return w @ query


@pytest.mark.parametrize(
    ("name", "predict"),
    [
        ("least squares", lambda x, y, q: q @ np.linalg.lstsq(x, y, rcond=None)[0]),
        ("nearest neighbour", lambda x, y, q: KNeighborsRegressor(1).fit(x, y).predict(q[None])),
        ("mean of the targets", lambda x, y, q: y.mean()),
        ("Newton, 4 iterations", _newton),
        ("descent, 4 steps", _descent),
        ("descent, 1 step", lambda x, y, q: _descent(x, y, q, 1)),
        ("ridge", _ridge),
    ],
)
def test_every_algorithm_is_found(name, predict):
    prompts, _ = _prompts()
    found = which_algorithm(predict, prompts, lengths=[8, 12])
    assert found.nearest == (name, name)
    place = found.names.index(name)
    assert (found.distances[:, place] < (1e-4 if name == "ridge" else 1e-12) * found.size).all()
    assert not found.farther[:, place].any()


def test_the_memoriser_is_told_from_ridge():
    """Prompts of five tasks: a predictor that knows them, and the ridge that does not."""
    rng = np.random.default_rng(1)
    tasks = rng.normal(size=(5, 3))
    x, queries = rng.normal(size=(200, 4, 3)), rng.normal(size=(200, 3))
    y = np.einsum("mnd,md->mn", x, tasks[rng.integers(0, 5, 200)]) + 0.5 * rng.normal(size=(200, 4))

    def memoriser(x, y, query):
        weights = special.softmax(-np.sum((y[:, None] - x @ tasks.T) ** 2, axis=0) / (2 * 0.25))
        return weights @ tasks @ query

    found = which_algorithm(memoriser, (x, y, queries), tasks=tasks, lengths=4)
    assert found.nearest == ("memorised tasks",)
    assert found.farther[0, found.names.index("ridge")]
    other = which_algorithm(_ridge, (x, y, queries), tasks=np.vstack([tasks, tasks]), lengths=4)
    assert other.nearest[0] != "memorised tasks"
    assert which_algorithm(memoriser, (x, y, queries), lengths=4).nearest[0] != "memorised tasks"


def test_the_evidence_is_that_of_scikit_learn():
    """One prompt of 40 examples: BayesianRidge with flat hyperpriors maximises the same evidence."""
    (x, y, queries), _ = _prompts(1, 40, 3, 1.5)
    other = BayesianRidge(fit_intercept=False, alpha_1=0, alpha_2=0, lambda_1=0, lambda_2=0, tol=1e-12, max_iter=10_000)
    other.fit(x[0], y[0])
    known = algorithms.scales(algorithms.Prompts(x, y, queries, None))
    assert known.ridge == pytest.approx(other.lambda_ / other.alpha_, rel=1e-3)
    found = algorithms.predictions(algorithms.Prompts(x, y, queries, None), known, np.zeros(1))
    assert found["ridge"][0] == pytest.approx(other.predict(queries)[0], rel=1e-4)


def test_newton_from_a_multiple_of_the_identity_is_descent():
    """M_0 = a I: 2^k steps of size a, so that only another start is an algorithm of its own."""
    (x, y, queries), _ = _prompts(1)
    s, a = x[0].T @ x[0] / 12, 0.2
    inverse = a * np.eye(3)
    for _ in range(3):
        inverse = 2 * inverse - inverse @ s @ inverse
    assert queries[0] @ inverse @ x[0].T @ y[0] / 12 == pytest.approx(_descent(x[0], y[0], queries[0], 8, a))


def test_units_do_not_matter():
    (x, y, queries), _ = _prompts()
    plain = which_algorithm(_newton, (x, y, queries))
    for unit_x, unit_y in ((1e-9, 1e30), (1e60, 1e-100)):
        scaled = lambda x, y, q, u=unit_x, v=unit_y: v * _newton(x / u, y / v, q / u)
        found = which_algorithm(scaled, (unit_x * x, unit_y * y, unit_x * queries))
        assert found.nearest == plain.nearest
        assert np.allclose(found.distances / unit_y**2, plain.distances, rtol=1e-6, atol=1e-12)
        assert found.ridge / unit_x**2 == pytest.approx(plain.ridge, rel=1e-6)


def test_distances_and_intervals_prompt_by_prompt():
    """A predictor that is no algorithm of the list, against loops over prompts and SciPy's paired t interval."""
    (x, y, queries), _ = _prompts(80, 10)
    strange = lambda x, y, q: 0.7 * q @ np.linalg.lstsq(x, y, rcond=None)[0] + 0.2 * np.sin(q[0])
    found = which_algorithm(strange, (x, y, queries), lengths=[6, 10], level=0.9)
    ways = {
        "zero": lambda x, y, q: 0.0,
        "mean of the targets": lambda x, y, q: y.mean(),
        "nearest neighbour": lambda x, y, q: y[np.linalg.norm(x - q, axis=1).argmin()],
        "least squares": lambda x, y, q: q @ np.linalg.pinv(x) @ y,
        "Newton, 4 iterations": _newton,
        "ridge": lambda x, y, q: _ridge(x, y, q, found.ridge),
    }
    triples = list(zip(x, y, queries, strict=True))
    for place, n in enumerate((6, 10)):
        apart = {
            name: np.array([(strange(a[:n], b[:n], q) - way(a[:n], b[:n], q)) ** 2 for a, b, q in triples])
            for name, way in ways.items()
        }
        column = [found.names.index(name) for name in ways]
        np.testing.assert_allclose(found.distances[place, column], [own.mean() for own in apart.values()], rtol=1e-7)
        own = apart["zero"]
        limits = stats.t.interval(0.9, 79, own.mean(), stats.sem(own))
        np.testing.assert_allclose(found.intervals[place, found.names.index("zero")], limits, rtol=1e-7)
        behind = apart["mean of the targets"] - apart["ridge"]
        if found.nearest[place] == "ridge":
            error = 0.1 / (2 * (len(found.names) - 1))
            limits = stats.t.interval(1 - error, 79, behind.mean(), stats.sem(behind))
            np.testing.assert_allclose(
                found.behind_intervals[place, found.names.index("mean of the targets")], limits, rtol=1e-6
            )
    assert "ridge" in found.nearest


def test_intervals_hold_for_a_distance_that_is_known():
    """The distance of 0 to the mean of the targets, over 100 sets of prompts."""
    held = 0
    for seed in range(100):
        (x, y, queries), _ = _prompts(60, 2, 1, 1.0, seed)
        found = which_algorithm(lambda x, y, q: y.mean() + 1e-9, (x, y, queries), lengths=2, level=0.9)
        low, high = found.intervals[0, found.names.index("zero")]
        held += low <= 1.0 <= high  # the mean of two targets of variance 2 has variance 1
    assert 78 <= held <= 98


def test_forms_of_input_and_a_predictor_that_writes():
    (x, y, queries), _ = _prompts(25, 6, 2)
    expected = which_algorithm(_newton, (x, y, queries)).distances
    read_only = [own.copy() for own in (x, y, queries)]
    for own in read_only:
        own.flags.writeable = False
    frames = (x.tolist(), pandas.DataFrame(y, index=range(30, 55)), polars.DataFrame(queries))
    for given in (read_only, frames, (np.asfortranarray(x), y, queries), tuple(map(jnp.asarray, (x, y, queries)))):
        assert np.allclose(which_algorithm(_newton, given).distances, expected, rtol=1e-5, atol=1e-9)

    def spoiled(x, y, query):
        answer = _newton(x, y, query)
        x[:], y[:], query[:] = 0, 0, 0
        return np.array([[answer]])

    assert np.allclose(which_algorithm(spoiled, (x, y, queries)).distances, expected)


def test_ties_duplicates_and_constant_columns():
    (x, y, queries), _ = _prompts(40, 6, 2)
    x = np.concatenate([x, x], axis=2)  # each column twice
    queries = np.concatenate([queries, queries], axis=1)
    found = which_algorithm(lambda x, y, q: q @ np.linalg.pinv(x) @ y, (x, y, queries), lengths=6)
    assert found.nearest == ("least squares",)
    same = np.ones((40, 6, 2))
    found = which_algorithm(lambda x, y, q: y.mean(), (same, y, np.ones((40, 2))), lengths=6)
    near = {name for name, far in zip(found.names, found.distances[0], strict=True) if far < 1e-20}
    assert {"nearest neighbour", "mean of the targets", "least squares"} <= near


def test_columns_in_different_units():
    """As NumPy's least squares, which does not square the inputs."""
    (x, y, queries), _ = _prompts(30, 8, 3)
    x, queries = x * [1.0, 1e-6, 1e2], queries * [1.0, 1e-6, 1e2]
    found = which_algorithm(lambda x, y, q: q @ np.linalg.lstsq(x, y, rcond=None)[0], (x, y, queries), lengths=[4, 8])
    assert (found.distances[:, found.names.index("least squares")] < 1e-9 * found.size).all()


def test_repeated_prompts_and_a_length_without_predictions():
    prompts, _ = _prompts(30, 6, 2)
    twice = [np.concatenate([own, own[:3]]) for own in prompts]
    found = which_algorithm(lambda x, y, q: 0.0 if len(x) == 1 else y[0], twice, lengths=[1, 6])
    assert "prompts that repeat an earlier prompt: fails (3)" in str(found)
    assert found.size[0] == 0
    assert found.nearest[0] == "zero"
    found.plot().to_dict()


def test_the_record():
    prompts, _ = _prompts()
    found = which_algorithm(_ridge, prompts)
    assert "nearest by number of examples" in str(found)
    assert "<svg" in found._repr_html_()
    for record in (found, retrieval(10, 4), attention_report([[1.0, 2.0]])):
        assert record._repr_html_()
        record.plot().to_dict()


_GOOD = _prompts(25, 6, 2)[0]


@pytest.mark.parametrize(
    ("predict", "prompts", "settings", "words", "kind"),
    [
        (3, _GOOD, {}, "predict; found a int", SettingError),
        (_ridge, _GOOD[:2], {}, "three arrays", ShapeError),
        (_ridge, (_GOOD[0][0], *_GOOD[1:]), {}, r"inputs; found shape \(6, 2\)", ShapeError),
        (_ridge, (_GOOD[0], _GOOD[1][:, :5], _GOOD[2]), {}, r"targets; found shape \(25, 5\)", ShapeError),
        (_ridge, (_GOOD[0], _GOOD[1], _GOOD[2][:, :1]), {}, "queries", ShapeError),
        (_ridge, [own[:10] for own in _GOOD], {}, "10 prompts", DataError),
        (_ridge, (_GOOD[0] * np.nan, *_GOOD[1:]), {}, "inputs", DataError),
        (_ridge, (_GOOD[0], _GOOD[1] * 0, _GOOD[2]), {}, "targets; found 0 everywhere", DataError),
        (_ridge, (_GOOD[0], _GOOD[1] * 1e-200, _GOOD[2]), {}, "change the unit", DataError),
        (_ridge, (_GOOD[0] * 0, *_GOOD[1:]), {}, "inputs; found 0 everywhere", DataError),
        (_ridge, [np.repeat(own[:1], 25, axis=0) for own in _GOOD], {}, "one prompt, repeated", DataError),
        (lambda x, y, q: np.nan, _GOOD, {}, "answer of predict", DataError),
        (lambda x, y, q: y, _GOOD, {"lengths": 6}, "one number for each prompt", ShapeError),
        (lambda x, y, q: None, _GOOD, {}, "answer of predict", DataError),
        (lambda x, y, q: "much", _GOOD, {}, "answer of predict", DataError),
        (lambda x, y, q: 0, _GOOD, {}, "answers of predict; found 0", DataError),
        (lambda x, y, q: 1e200, _GOOD, {}, "answers of predict; found 1e[+]200", DataError),
        (_ridge, (_GOOD[0], _GOOD[1], 1e30 * _GOOD[2]), {}, "queries about as large as the inputs", DataError),
        (_ridge, _GOOD, {"lengths": 7}, "at most 6", SettingError),
        (_ridge, _GOOD, {"lengths": 0}, "lengths; found 0", SettingError),
        (_ridge, _GOOD, {"lengths": []}, "lengths", SettingError),
        (_ridge, _GOOD, {"level": 1.0}, "level", SettingError),
        (_ridge, _GOOD, {"tasks": [[1.0, 2.0, 3.0]]}, r"tasks; found shape \(1, 3\)", ShapeError),
        (_ridge, _GOOD, {"tasks": [[1.0, np.inf]]}, "tasks", DataError),
    ],
)
def test_refusals_of_which_algorithm(predict, prompts, settings, words, kind):
    with pytest.raises(kind, match=words):
        which_algorithm(predict, prompts, **settings)


def test_predictors_in_half_precision():
    torch = pytest.importorskip("torch")
    expected = which_algorithm(_newton, _GOOD)
    for half in (lambda own: torch.tensor(own).bfloat16().requires_grad_(), jnp.bfloat16, np.float16):
        found = which_algorithm(lambda x, y, q, half=half: half(_newton(x, y, q)), _GOOD)
        assert found.nearest[-1] == expected.nearest[-1]


@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
def test_modules_of_torch_in_each_precision(kind):
    """As the same function of double precision; the module gets tensors of its own type, and keeps its mode."""
    torch = pytest.importorskip("torch")
    kind = getattr(torch, kind)

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.rate, self.drop = torch.nn.Parameter(torch.tensor(0.5, dtype=kind)), torch.nn.Dropout(0.5)

        def forward(self, x, y, query):
            assert {own.dtype for own in (x, y, query)} == {kind}
            return self.rate * self.drop(query) @ x.T @ y / len(y)

    prompts, model = _prompts(40, 8, 3)[0], Step()
    expected = which_algorithm(lambda x, y, q: 0.5 * q @ x.T @ y / len(y), prompts)
    for given in (prompts, tuple(torch.tensor(own, dtype=kind) for own in prompts)):
        found = which_algorithm(model, given)
        assert found.nearest[-1] == "descent, 1 step"
        assert np.allclose(found.distances, expected.distances, rtol=0.1, atol=1e-3)
    assert model.training
    assert model.drop.training
    assert model.rate.grad is None


def test_a_function_gets_the_precision_of_the_prompts():
    torch = pytest.importorskip("torch")
    seen, weights = set(), torch.eye(3)

    def strict(x, y, query):
        seen.update((x.dtype, y.dtype, query.dtype))
        return torch.from_numpy(query) @ weights @ torch.from_numpy(x).T @ torch.from_numpy(y) / len(y)

    prompts = _prompts(40, 8, 3)[0]
    for half in (np.float32, np.float16, jnp.bfloat16, lambda own: torch.tensor(own).bfloat16()):
        given = tuple(own.astype(half) if isinstance(half, type) else half(own) for own in prompts)
        assert which_algorithm(strict, given).nearest[-1] == "descent, 1 step"
        assert seen == {np.dtype("float32")}
    with pytest.raises(SettingError, match="pass prompts in the predictor's precision"):
        which_algorithm(strict, prompts)
    assert seen == {np.dtype("float32"), np.dtype("float64")}


def test_a_predictor_that_depends_on_its_past():
    calls = []

    def counting(x, y, query):
        calls.append(1)
        return float(len(calls))

    assert "the same answer to the first prompt twice (difference): fails" in str(which_algorithm(counting, _GOOD))
    assert "same answer to the first prompt" not in str(which_algorithm(_ridge, _GOOD))


def test_a_predictor_that_fails_and_one_without_size():
    with pytest.raises(SettingError, match="predict; found ZeroDivisionError: division by zero; rule"):
        which_algorithm(lambda x, y, q: 1 / 0, _GOOD)
    with pytest.raises(SettingError, match=r"predict; found TypeError: .*positional"):
        which_algorithm(lambda x, y: 1.0, _GOOD)
    with pytest.raises(DataError, match="answers of predict; found 1e-200"):
        which_algorithm(lambda x, y, q: 1e-200, _GOOD)
    x, y, queries = _GOOD
    found = which_algorithm(lambda x, y, q: 0.0 if len(x) == 1 else y[0], (x, 100 * y, queries), lengths=[1, 6])
    json.dumps(found.plot().to_dict(), allow_nan=False)
