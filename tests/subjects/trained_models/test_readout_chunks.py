"""Features and a readout in the place of logits: the same losses and derivatives, a chunk of tokens at a time."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import LemmataError
from lemmata.subjects.trained_models import _readout_chunks as chunks
from lemmata.subjects.trained_models import read_trained

V, H, T = 11, 5, 9


def features(params, tokens):
    return jnp.tanh(jnp.cumsum(params["embedding"][tokens], axis=1))


def whole(params, tokens):
    return features(params, tokens) @ params["readout"] + params["bias"]


def parted(params, tokens):
    return features(params, tokens), params["readout"], params["bias"]


def tied(params, tokens):
    return features(params, tokens), params["embedding"].T


def tied_whole(params, tokens):
    return features(params, tokens) @ params["embedding"].T


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch):
    """Chunks of three tokens, which divide no document."""
    for name in ("factored_losses", "factored_gauss_newton"):
        own = functools.partial(getattr(chunks, name), chunk=3 * V)
        monkeypatch.setattr(f"lemmata.subjects.trained_models._jax.{name}", own)
    jax.clear_caches()
    yield
    jax.clear_caches()


def models(a, b, bias=True):
    rng = np.random.default_rng(0)
    params = {"embedding": rng.normal(size=(V, H)), "readout": rng.normal(size=(H, V)), "bias": rng.normal(size=V)}
    params = params if bias else {"embedding": params["embedding"]}
    documents = rng.integers(0, V, (6, T))
    documents[2, 5:], documents[3, :4] = -1, -1 - documents[3, :4]
    return [read_trained((own, params), documents, None) for own in (a, b)], rng


@pytest.mark.parametrize(("a", "b"), [(whole, parted), (tied_whole, tied)])
def test_losses_and_products_are_those_of_the_logits(a, b):
    (one, other), rng = models(a, b, bias=a is whole)
    first, second = one.model, other.model
    v, u = rng.normal(size=len(first.theta)), rng.normal(size=(6, 1))
    args = one.x, one.y, "documents"
    np.testing.assert_allclose(second.outputs(one.x), first.outputs(one.x), rtol=1e-12)
    np.testing.assert_allclose(second.vjp(u, one.x), first.vjp(u, one.x), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(second.jvp(v, one.x), first.jvp(v, one.x), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(second.hvp(v, *args), first.hvp(v, *args), rtol=1e-9, atol=1e-10)
    own = [model.gauss_newton(v, one.x, "documents") for model in (first, second)]
    np.testing.assert_allclose(own[1], own[0], rtol=1e-10, atol=1e-11)
    assert np.abs(own[0]).max() > 0.1
    assert second.vocabulary(one.x[:1]) == (1, T, V)


def test_no_derivative_holds_the_logits_of_a_document():
    width, length, vocabulary = 4, 64, 1000
    params = {"embedding": np.ones((vocabulary, width)), "readout": np.ones((width, vocabulary)) / 7}
    tokens = jnp.arange(length)[None] % 7
    slope = jax.grad(lambda own: chunks.factored_losses(
        (features(own, tokens), own["readout"]), tokens, chunk=4 * vocabulary).sum())  # fmt: skip
    dense = jax.grad(lambda own: jax.nn.logsumexp(features(own, tokens) @ own["readout"], axis=2).sum())
    logits = 8 * length * vocabulary
    parted, at_once = (jax.jit(own).lower(params).compile().memory_analysis().temp_size_in_bytes
                       for own in (slope, dense))  # fmt: skip
    assert parted < logits / 4 < logits / 2 < at_once


@pytest.mark.parametrize("case", ["features", "bias", "matrix"])
def test_what_does_not_fit_is_refused_in_a_line(case):
    bad = {
        "features": lambda own, tokens: (own["embedding"][tokens][:, :, 0], own["readout"]),
        "bias": lambda own, tokens: (features(own, tokens), own["readout"], own["bias"][:-1]),
        "matrix": lambda own, tokens: (features(own, tokens), own["readout"].T),
    }[case]
    with pytest.raises(LemmataError, match=r"features \(n, T, h\), a matrix \(h, vocabulary\)") as refused:
        models(bad, bad)
    assert "\n" not in str(refused.value).strip()
