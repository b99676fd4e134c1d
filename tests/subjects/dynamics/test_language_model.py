"""The small masked transformer, its language and its pre-training."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError, UnknownNameError
from lemmata.subjects.dynamics import REVIEWS, FreshHead, MaskedTransformer, WordPrompt, pre_train, prompted

MODEL = MaskedTransformer(REVIEWS.vocabulary, REVIEWS.length, width=8)


def normed(h):
    centred = h - h.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)


def naive(params, tokens):
    """The model in NumPy, head by head and token by token."""
    params = jax.tree.map(np.asarray, params)
    h = params["embedding"][tokens] + params["positions"][: len(tokens)]
    for layer in params["layers"]:
        q, k, v = np.split(normed(h) @ layer["queries"], 3, axis=1)
        mixed = np.zeros_like(h)
        for head in (slice(0, 4), slice(4, 8)):
            for i in range(len(h)):
                weights = np.exp(k[:, head] @ q[i, head] / 2)
                mixed[i, head] = weights @ v[:, head] / weights.sum()
        h = h + mixed @ layer["mix"]
        inner = normed(h) @ layer["inner"]
        h = h + (inner / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (inner + 0.044715 * inner**3)))) @ layer["outer"]
    return normed(h)


def test_the_model_is_the_naive_one(key):
    params = MODEL.init(key)
    tokens = jnp.array([0, 9, 14, 25, 1])
    hidden = naive(params, np.asarray(tokens))
    np.testing.assert_allclose(MODEL.hidden(params, tokens), hidden, rtol=1e-9, atol=1e-9)
    logits = hidden @ np.asarray(params["embedding"]).T
    np.testing.assert_allclose(MODEL.apply(params, tokens), logits, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(WordPrompt(MODEL, (6, 7))(params, tokens), logits[-1, 6] - logits[-1, 7], rtol=1e-7)
    start = FreshHead(MODEL).init(key, params)
    np.testing.assert_allclose(FreshHead(MODEL)(start, tokens), hidden[0] @ np.asarray(start["head"]), rtol=1e-9)


def test_judging_words_have_the_sign_and_the_topic_they_say(key):
    texts, y = REVIEWS.task(key, 4000, "film")
    assert texts.shape == (4000, 9)
    assert (texts[:, 0] == 0).all()
    assert y.sum() == 0
    film = (texts >= 14) & (texts < 22)
    praise = (texts >= 14) & (texts < 18)
    liked = jnp.sum(praise & (y[:, None] > 0)) / jnp.sum(film & (y[:, None] > 0))
    assert abs(float(liked) - REVIEWS.honest) < 0.02
    dish = (texts >= 6) & (texts < 14)
    assert abs(float(jnp.mean(dish[:, 1:])) - REVIEWS.spoken / 2) < 0.02
    with pytest.raises(UnknownNameError, match="dish, film"):
        REVIEWS.task(key, 2, "music")


def test_documents_end_with_a_judgement_that_is_mostly_meant(key):
    documents = REVIEWS.documents(key, 4000)
    assert documents.shape == (4000, REVIEWS.length)
    assert documents.max() < REVIEWS.vocabulary
    assert set(np.unique(documents[:, -1])) == {4, 5}
    praise = ((documents >= 6) & (documents < 10)) | ((documents >= 14) & (documents < 18))
    blame = ((documents >= 10) & (documents < 14)) | ((documents >= 18) & (documents < 22))
    score = praise.sum(1) - blame.sum(1)
    agree = jnp.mean(((score > 0) == (documents[:, -1] == 4))[score != 0])
    assert 0.8 < float(agree) < REVIEWS.closing


def test_prompts_end_with_the_mask():
    found = prompted(jnp.array([[0, 7, 8]]))
    assert found.tolist() == [[0, 7, 8, 2, 3, 1]]


def test_pre_training_lowers_the_loss_and_solves_what_it_has_seen(key):
    params, losses = pre_train(MODEL, key, steps=250)
    assert losses[-25:].mean() < 0.75 * losses[:5].mean()
    documents = REVIEWS.documents(jax.random.key(5), 300)
    hidden = documents.at[:, -1].set(1)
    outputs = jax.vmap(lambda tokens: WordPrompt(MODEL)(params, tokens))(hidden)
    assert jnp.mean((outputs > 0) == (documents[:, -1] == 4)) > 0.75


def test_bad_input_is_named(key):
    with pytest.raises(SettingError, match="the width"):
        MaskedTransformer(10, 5, width=9)
    with pytest.raises(SettingError, match="like the language"):
        pre_train(MaskedTransformer(10, 5), key)
    with pytest.raises(SettingError, match="steps"):
        pre_train(MODEL, key, steps=0)
