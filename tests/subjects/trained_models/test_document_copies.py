"""Near copies of documents, against a comparison of all pairs."""

import numpy as np
import pytest

from lemmata.errors import ShapeError
from lemmata.subjects.trained_models import LANGUAGE, Trained, copies_of, find_document_copies, fresh_rows, read_trained
from lemmata.subjects.trained_models._document_copies import ALIKE, near_pairs, shingles, similarity


def as_sets(row):
    row = list(np.where(row < 0, -1 - row, row)[: np.flatnonzero(row >= 0)[-1] + 1].tolist())
    return {tuple(row[i : i + 5]) for i in range(max(len(row) - 4, 1))}


def alike(a, b):
    return len(a & b) / len(a | b) >= ALIKE


def edited(rng, n, length, vocabulary):
    x = rng.integers(0, vocabulary, (n, length))
    for row in range(0, n // 2):
        x[row] = x[row + n // 2]
        x[row, rng.integers(0, length, rng.integers(0, 5))] = rng.integers(0, vocabulary)
    return x


@pytest.mark.parametrize("length", [6, 30, 120])
@pytest.mark.parametrize("vocabulary", [2, 6, 200])
def test_all_near_pairs_are_found_and_no_others(length, vocabulary):
    rng = np.random.default_rng(length + vocabulary)
    x, held = edited(rng, 40, length, vocabulary), edited(rng, 20, length, vocabulary)
    held[:8] = x[20:28]
    held[4:8, length // 2] = 0
    x[5, length // 2 :] = -1
    found, sets, new = find_document_copies(x, held), [as_sets(row) for row in x], [as_sets(row) for row in held]
    within = [any(alike(own, other) for j, other in enumerate(sets) if i != j) for i, own in enumerate(sets)]
    unseen = [any(alike(own, other) for other in sets) for own in new]
    assert found.within.tolist() == within
    assert found.held.tolist() == unseen
    text = [tuple(row) for row in x.tolist()]
    assert found.exact_within == sum(text.count(row) > 1 for row in text)
    assert found.exact_held == sum(tuple(row) in text for row in held.tolist())


def test_a_prompt_that_does_not_count_is_text_and_padding_is_not():
    x = np.arange(20)[None].repeat(3, axis=0)
    x[1] = np.where(np.arange(20) < 4, -1 - x[1], x[1])  # the same tokens, four of them a prompt
    x[2] = 100 + x[2]
    x[:, 15:] = -1
    found = find_document_copies(x)
    assert found.within.tolist() == [True, True, False]
    assert found.exact_within == 2


def test_shingles_are_sets_of_five_tokens():
    assert len(shingles(np.array([1, 2, 3, 4, 5, 6]))) == 2
    assert len(shingles(np.zeros(30, int))) == 1
    assert len(shingles(np.array([7, 8]))) == 1
    assert shingles(np.array([7, 8])) != shingles(np.array([8, 7]))
    assert similarity(shingles(np.arange(10)), shingles(np.arange(1, 11))) == 5 / 7
    assert len(near_pairs([shingles(np.zeros(0, int))] * 2)) == 0


def test_documents_of_other_lengths_are_refused():
    with pytest.raises(ShapeError, match="the same T"):
        find_document_copies(np.zeros((2, 5), int), np.zeros((2, 6), int))


def test_language_models_count_near_copies_of_texts_and_not_of_numbers():
    """Tokens as numbers: a document of large tokens is not near one of tokens a little larger."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 30, (40, 60))
    held = x[:10].copy()
    held[:5, 30] = (held[:5, 30] + 1) % 30
    held[5:] = (held[5:] + 1) % 30
    model = (lambda own, tokens: own["table"][tokens], {"table": rng.normal(size=(30, 30))})
    trained = read_trained(model, x, None, held=held)
    assert isinstance(trained, Trained)
    assert trained.task == LANGUAGE
    assert copies_of(trained).held.tolist() == 5 * [True] + 5 * [False]
    assert fresh_rows(trained).sum() == 5
