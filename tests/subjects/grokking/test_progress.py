"""Fourier progress against NumPy's transform in two dimensions and known circuits; delays against descent."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lemmata.errors import DataError, LemmataError, SettingError, ShapeError
from lemmata.subjects.grokking import fourier_progress, predict_delay

P = 13


def circuit(p: int, modes: list[int]) -> np.ndarray:
    a, b, c = np.meshgrid(*[np.arange(p)] * 3, indexing="ij")
    return sum(np.cos(2 * np.pi * k * (a + b - c) / p) for k in modes)


@pytest.mark.parametrize("p", [12, P])
def test_powers_are_those_of_the_transform(p):
    table = np.random.default_rng(0).normal(size=(p, 4))
    whole = (np.abs(np.fft.fft(table, axis=0)) ** 2).sum(axis=1)[1:]
    wanted = [whole[k - 1] + (whole[p - k - 1] if 2 * k != p else 0) for k in range(1, p // 2 + 1)]
    found = fourier_progress(table, top=2)
    assert np.allclose(found.power, wanted / np.sum(wanted))
    assert found.top == tuple(1 + np.argsort(wanted)[::-1][:2])
    assert 0 < found.gini < 1
    pairs = np.abs(found.power[:, None] - found.power).sum()
    assert found.gini == pytest.approx(pairs / (2 * len(found.power)))


def test_parts_of_the_outputs_are_those_of_a_transform_in_two_dimensions():
    rng = np.random.default_rng(1)
    embedding, logits = rng.normal(size=(P, 3)), rng.normal(size=(P, P, P)) + circuit(P, [2, 5])
    found = fourier_progress(embedding, logits, top=2)
    centred = logits - logits.mean(axis=2, keepdims=True)
    spectrum = np.fft.fft2(centred, axes=(0, 1))
    keep = np.zeros((P, P, 1))
    for k in found.top:
        keep[k, k] = keep[P - k, P - k] = 1
    wanted = np.fft.ifft2(spectrum * keep, axes=(0, 1)).real
    assert np.allclose(found.restricted, wanted)
    assert np.allclose(found.restricted + found.excluded, centred)
    squares = (found.restricted**2).sum() + (found.excluded**2).sum()
    assert squares == pytest.approx((centred**2).sum())
    assert found.restricted_share == pytest.approx((wanted**2).sum() / (centred**2).sum())
    assert np.allclose(fourier_progress(embedding, logits.reshape(P * P, P), top=2).restricted, wanted)


def test_a_circuit_is_found_and_a_table_is_not():
    angles = 2 * np.pi * np.outer(np.arange(P), [2, 5]) / P
    embedding = np.hstack([np.cos(angles), np.sin(angles)])
    found = fourier_progress(embedding, circuit(P, [2, 5]), top=2)
    assert set(found.top) == {2, 5}
    assert found.share == pytest.approx(1.0)
    assert (found.accuracy, found.restricted_accuracy, found.excluded_accuracy) == (1.0, 1.0, 0.0)
    table = np.random.default_rng(0).normal(size=(P, 40))
    random = fourier_progress(table, np.random.default_rng(1).normal(size=(P, P, P)), top=2)
    assert random.share < 0.6
    assert random.restricted_accuracy < 0.5
    assert "below" in str(random)


def test_random_embeddings_are_below_the_quantile():
    rng = np.random.default_rng(5)
    found = [fourier_progress(rng.normal(size=(P, 3)), top=2) for _ in range(200)]
    assert 0.9 < np.mean([own.share < own.random_share for own in found]) < 0.99


def test_a_mean_of_the_columns_does_not_matter():
    table = np.random.default_rng(0).normal(size=(P, 4))
    assert np.allclose(fourier_progress(table).power, fourier_progress(table + 1e6).power)


@pytest.mark.parametrize("form", [np.ndarray.tolist, pd.DataFrame, pl.DataFrame, np.asfortranarray])
def test_every_form_is_the_same(form):
    table = np.random.default_rng(0).normal(size=(P, 4))
    table.flags.writeable = False
    assert str(fourier_progress(form(table))) == str(fourier_progress(table))
    assert str(predict_delay(form(X), X @ TRUTH, 1e-3, START)) == str(predict_delay(X, X @ TRUTH, 1e-3, START))


@pytest.mark.parametrize("scale", [1e-300, 1e300])
def test_units_do_not_matter(scale):
    table, logits = np.random.default_rng(0).normal(size=(P, 4)), circuit(P, [2])
    plain, scaled = fourier_progress(table, logits), fourier_progress(scale * table, scale * logits)
    assert np.allclose(plain.power, scaled.power)
    assert plain.restricted_share == pytest.approx(scaled.restricted_share)


X = np.random.default_rng(2).normal(size=(10, 40))
TRUTH, START = np.random.default_rng(3).normal(size=(2, 40))


def test_delays_are_those_of_descent():
    new = np.random.default_rng(4).normal(size=(200, 40))
    found = predict_delay(X, X @ TRUTH, 0.01, 20 * START, new=(new, new @ TRUTH))
    weights, rate, step, times = 20 * START, 0.01, 0, {}
    while "test" not in times:
        if "train" not in times and np.mean((X @ (weights - TRUTH)) ** 2) <= 0.01 * np.mean((X @ TRUTH) ** 2):
            times["train"] = rate * step
        if np.mean((new @ (weights - TRUTH)) ** 2) <= 2 * found.final_error:
            times["test"] = rate * step
        weights = weights - rate * (X.T @ (X @ (weights - TRUTH)) / 10 + 0.01 * weights)
        step += 1
    assert found.verdict == "delayed"
    assert found.train_time == pytest.approx(times["train"], rel=0.05)
    assert found.test_time == pytest.approx(times["test"], rel=0.01)
    assert found.delay == pytest.approx(found.test_time / found.train_time)


def test_the_delay_is_inverse_to_the_weight_decay():
    first, second = (predict_delay(X, X @ TRUTH, decay, 20 * START) for decay in (1e-3, 1e-4))
    assert second.delay / first.delay == pytest.approx(10, rel=0.01)


def test_what_does_not_grok_is_told():
    assert predict_delay(X, X @ TRUTH, 0.0, 20 * START).verdict == "no decay"
    assert predict_delay(X, X @ TRUTH, 0.001, 0.1 * START).verdict == "small start"
    assert predict_delay(X.T, X.T @ TRUTH[:10], 1e-5, 20 * START[:10]).verdict == "determined"
    assert predict_delay(X, X @ TRUTH, 100.0, 20 * START).verdict == "not fitted"
    rng = np.random.default_rng(0)
    noise = predict_delay(X, rng.normal(size=10), 0.001, START, new=(rng.normal(size=(50, 40)), rng.normal(size=50)))
    assert noise.verdict == "no generalisation"
    assert noise.test_time is None
    assert noise.delay is None


def test_they_draw_and_show_themselves():
    found = predict_delay(X, X @ TRUTH, 0.001, 20 * START)
    assert len(found.plot().to_dict()["layer"]) == 2
    assert fourier_progress(np.eye(P)).plot().to_dict()
    for own in (found, fourier_progress(np.eye(P))):
        assert own._repr_html_().startswith("<pre")


BAD = [
    (lambda: fourier_progress(np.ones((5, 3)) / 3), DataError, "rows that differ"),
    (lambda: fourier_progress(np.zeros((5, 3))), DataError, "zeros"),
    (lambda: fourier_progress(np.eye(2)), ShapeError, "at least 3"),
    (lambda: fourier_progress(np.zeros((5, 0))), LemmataError, "embedding"),
    (lambda: fourier_progress(np.zeros((5, 3, 2)) + 1), ShapeError, "one row for each residue"),
    (lambda: fourier_progress([["a"], ["b"], ["c"]]), DataError, "real numbers"),
    (lambda: fourier_progress(np.eye(5) * np.nan), DataError, "embedding"),
    (lambda: fourier_progress(np.eye(5), top=0), SettingError, "top"),
    (lambda: fourier_progress(np.eye(5), top=3), SettingError, "at most 2"),
    (lambda: fourier_progress(np.eye(5), np.eye(5), top=1), ShapeError, "logits"),
    (lambda: fourier_progress(np.eye(5), np.ones((5, 5, 5)), top=1), DataError, "outputs that differ"),
    (lambda: predict_delay(X, X[:, 0], -1, START), SettingError, "weight_decay"),
    (lambda: predict_delay(X, X[:, 0], "1", START), SettingError, "weight_decay"),
    (lambda: predict_delay(X, X[:, 0], True, START), SettingError, "weight_decay"),
    (lambda: predict_delay(X, X[:, 0], 1, START[:3]), ShapeError, "init"),
    (lambda: predict_delay(X, X[:3, 0], 1, START), ShapeError, "10"),
    (lambda: predict_delay(X, 0 * X[:, 0], 1, START), DataError, "zeros"),
    (lambda: predict_delay(0 * X, X[:, 0], 1, START), DataError, "zeros"),
    (lambda: predict_delay(X[:0], X[:0, 0], 1, START), ShapeError, "features; found shape"),
    (lambda: predict_delay(1e200 * X, X[:, 0], 1, START), DataError, "rescale"),
    (lambda: predict_delay(X, X[:, 0], 1, START, fitted=1), SettingError, "fitted"),
    (lambda: predict_delay(X, X[:, 0], 1, START, new=X), SettingError, "pair"),
    (lambda: predict_delay(X, X[:, 0], 1, START, new=(X[:, :3], X[:, 0])), ShapeError, "40 columns"),
]


@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input_is_refused_in_one_line(call, error, message):
    with pytest.raises(error, match=message) as found:
        call()
    assert isinstance(found.value, LemmataError)
    assert "\n" not in str(found.value)


def test_all_frequencies_are_no_evidence_of_waves():
    assert "are all frequencies there are" in str(fourier_progress(np.random.default_rng(0).normal(size=(5, 2))))


def test_a_huge_start_is_forgotten_and_its_rounding_is_no_training_error():
    rng = np.random.default_rng(0)
    x, truth, start = rng.normal(size=(20, 60)), rng.normal(size=60), rng.normal(size=60)
    small, large = (predict_delay(x, x @ truth, 0.001, size * start) for size in (1e3, 1e60))
    assert large.verdict == "delayed"
    assert small.test_time is not None
    assert large.test_time == pytest.approx(small.test_time + 57 * np.log(10) / 0.001, rel=1e-9)
    assert large.train_time == pytest.approx(small.train_time + 57 * np.log(10) / (small.rates[-1] + 0.001), rel=0.02)


def test_an_error_of_rounding_is_not_waited_for():
    rng = np.random.default_rng(1)
    x, new, truth, start = (rng.normal(size=size) for size in ((100, 10), (200, 10), 10, 10))
    for decay in (0.0, 1e-6):
        found = predict_delay(x, x @ truth, decay, start, new=(new, new @ truth))
        assert found.delay == pytest.approx(1, abs=0.5)


def test_a_weight_decay_beyond_all_times_is_refused():
    with pytest.raises(SettingError, match="at least 1e-100"):
        predict_delay([[1.0, 2.0]], [1.0], 1e-320, [1.0, 2.0])
