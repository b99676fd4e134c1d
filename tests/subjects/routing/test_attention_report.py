"""Reports on attention matrices, against brute force."""

import jax.numpy as jnp
import numpy as np
import pandas
import polars
import pytest
from scipy import special

from lemmata.errors import DataError, LemmataError, PrecisionError, SettingError, ShapeError
from lemmata.subjects.routing import attention_report


def test_attention_against_brute_force():
    logits = 2 * np.random.default_rng(0).normal(size=(7, 9))
    found = attention_report(logits, lengths=[9, 50])
    weights = special.softmax(logits, axis=1)
    assert np.allclose(found.effective, np.exp(-np.sum(weights * np.log(weights), axis=1)))
    assert np.allclose(found.largest, weights.max(axis=1))
    apart = max(np.abs(a - b).sum() / 2 for a in weights for b in weights)
    assert found.contraction == pytest.approx(apart)
    assert found.contraction <= found.most
    rng = np.random.default_rng(1)
    for _ in range(200):
        values = rng.integers(0, 2, 9) * 1.0
        assert np.ptp(weights @ values) <= found.contraction * np.ptp(values) + 1e-12
    span = np.ptp(logits, axis=1).max()
    assert found.span == pytest.approx(span)
    worst = np.full(50, 0.0)
    worst[0] = span
    assert found.bounds[1] == pytest.approx(special.softmax(worst)[0])


def test_masks_and_half_precision_and_frames():
    causal = np.where(np.tri(6, dtype=bool), 0.0, -np.inf)
    found = attention_report(causal)
    assert np.allclose(found.effective, np.arange(1, 7))
    assert (found.masked, found.span, found.mixed, found.contraction) == (15, 0.0, np.inf, pytest.approx(5 / 6))
    assert "tanh" not in str(found)
    table = np.random.default_rng(0).normal(size=(5, 4)).astype(np.float16)
    expected = attention_report(table.astype(float))
    for given in (table, jnp.asarray(table), pandas.DataFrame(table.astype(float), index=[9, 3, 3, 1, 0]),
                  polars.DataFrame(table.astype(float)), table.tolist(), np.asfortranarray(table)):  # fmt: skip
        assert np.allclose(attention_report(given).effective, expected.effective)
    assert "<svg" in found._repr_html_()
    assert attention_report(jnp.asarray(table, jnp.bfloat16)).span == pytest.approx(expected.span, rel=0.02)
    padded = np.hstack([table.astype(float), np.full((5, 2), -np.inf)])
    assert attention_report(padded).mixed == pytest.approx(expected.mixed)
    assert attention_report([[1, 2, 3]]).contraction == 0
    assert attention_report([[True, False], [False, True]]).span == 1


def test_extremes_of_attention():
    huge = attention_report([[1e300, -1e300], [0.0, 1.0]])
    assert huge.bounds[0] == 1
    assert huge.contraction <= 1
    assert huge.effective[0] == 1
    assert "may stand for a mask" in huge.conditions[1].why
    assert "fails (1)" in str(huge)
    tiny = attention_report(np.full((3, 4), 1e-300))
    assert np.allclose(tiny.effective, 4)
    assert tiny.contraction == 0
    assert attention_report([[5.0], [1.0]]).effective.tolist() == [1.0, 1.0]


def test_a_large_matrix_has_an_upper_bound(monkeypatch):
    logits = np.random.default_rng(0).normal(size=(20, 10))
    exact = attention_report(logits)
    monkeypatch.setattr("lemmata.subjects.routing._attention_report._WORK", 10)
    bound = attention_report(logits)
    assert exact.contraction <= bound.contraction <= 1
    assert exact.mixed <= bound.mixed <= 2 * exact.mixed
    assert "fails" in str(bound)


@pytest.mark.parametrize(
    ("logits", "settings", "words", "kind"),
    [
        ([[1.0, np.nan]], {}, "NaN or plus infinity", DataError),
        ([[1.0, np.inf]], {}, "NaN or plus infinity", DataError),
        ([[1.0, 2.0], [-np.inf, -np.inf]], {}, "row 1 without a key", DataError),
        ([1.0, 2.0], {}, r"shape \(2,\)", ShapeError),
        (np.zeros((2, 0)), {}, r"shape \(2, 0\)", ShapeError),
        ([["a", "b"]], {}, "the entry 'a'", DataError),
        ([[1.0], [1.0, 2.0]], {}, "not an array", DataError),
        (np.zeros((2, 2)) + 1j, {}, "logits", LemmataError),
        (np.ma.masked_array([[1.0, 2.0]], [[True, False]]), {}, "masked entries", DataError),
        ([[1e301, 0.0]], {}, "at most 1e[+]300", DataError),
        ([[1.0]], {"lengths": 0}, "lengths; found 0", SettingError),
        ([[1.0]], {"lengths": []}, "lengths", SettingError),
        ([[1.0]], {"lengths": [2.5]}, "lengths; found 2.5", SettingError),
    ],
)
def test_refusals_of_attention(logits, settings, words, kind):
    with pytest.raises(kind, match=words):
        attention_report(logits, **settings)


def test_signs_and_spans_without_overflow():
    assert "span 0, " in str(attention_report(np.ones((3, 3))))
    wide = attention_report([[0.0, -1e4], [0.0, 0.0]])
    assert wide.half == np.inf
    assert "up to 1e+307 keys" in str(wide)


def test_half_precision_of_torch():
    torch = pytest.importorskip("torch")
    logits = np.where(np.tri(4, dtype=bool), 0.5, -np.inf)
    tensor = torch.tensor(logits, requires_grad=True).bfloat16()
    assert np.allclose(attention_report(tensor).effective, attention_report(logits).effective)
    with pytest.raises(PrecisionError, match=r"float8_e4m3fn on cpu; .* remedy: convert the tensor with .float"):
        attention_report(torch.zeros(2, 2).to(torch.float8_e4m3fn))
    with pytest.raises(PrecisionError, match="on meta"):
        attention_report(torch.zeros((2, 2), device="meta"))
