"""Derivatives of heads by automatic differentiation, their bound, and the constructions of the chapter."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.attention import jacobian_bound, sigmoid_attention, softmax_attention
from lemmata.subjects.attention.sigmoid_regularity import SigmoidHead
from lemmata.subjects.attention.sigmoid_universality import TokenMaps


def scattered(n=5, p=3, seed=0):
    rng = np.random.default_rng(seed)
    return SigmoidHead(*(rng.normal(size=shape) for shape in ((n, p), (p, p), (p, p))), -math.log(n))


@pytest.mark.parametrize("kind", ["sigmoid", "softmax"])
def test_the_derivative_of_a_head_by_its_tokens_is_that_of_automatic_differentiation(kind):
    head = scattered()
    attend = sigmoid_attention if kind == "sigmoid" else softmax_attention

    def outputs(x):
        return attend(x @ head.exponent * 3**0.5, x, x @ head.value.T)  # queries x A, so that q'k / sqrt(d) is x'A x

    found = jax.jacrev(outputs)(jnp.asarray(head.tokens)).reshape(15, 15)
    assert np.allclose(head.jacobian(kind), found, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", ["sigmoid", "softmax"])
def test_the_bound_term_by_term(kind):
    head = scattered(seed=1)
    p, norm = head.weights(kind), lambda a: np.linalg.svd(a)[1][0]
    square = max(x @ x for x in head.tokens)
    if kind == "sigmoid":
        slopes = p * (1 - p)
        moved = square * (slopes.sum(axis=1).max() + norm(slopes))
    else:
        covariances = [np.cov(head.tokens.T, aweights=row, ddof=0) for row in p]
        traces = max(np.trace(c) for c in covariances)
        moved = max(norm(c) for c in covariances) + math.sqrt(square * p.sum(axis=0).max() * traces)
    exact = norm(head.value) * (norm(p) + norm(head.exponent) * moved)
    arrays = [jnp.asarray(a) for a in (head.tokens, head.exponent, head.value)]
    assert float(jacobian_bound(*arrays, kind=kind)) == pytest.approx(exact, rel=1e-12)
    assert head.norm(kind) < exact


def test_a_bound_of_what_is_no_head_is_refused():
    one = jnp.eye(3)
    with pytest.raises(ShapeError, match="self-attention"):
        jacobian_bound(one, jnp.eye(2), one)
    with pytest.raises(SettingError, match="softmax"):
        jacobian_bound(one, one, one, kind="softmax", bias=0.0)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_bound_of_vectors_and_texts_is_refused(types_unchecked, place):
    for wrong, error in ((jnp.ones(3), ShapeError), ([["a"] * 3] * 3, DataError)):
        given = [jnp.eye(3)] * 3
        given[place] = wrong
        with pytest.raises(error):
            jacobian_bound(*given)


def test_codes_of_sequences_differ_where_the_token_or_the_multiset_does():
    problem = TokenMaps().sample({"n": 3, "m": 3, "sharpness": 40.0}, jax.random.key(0))
    codes = {}
    for row in problem.sequences:
        counts = [(row >= h).sum() for h in (1, 2, 3)]
        for x in row:
            codes.setdefault(int(x + problem.places @ counts), set()).add((int(x), tuple(sorted(row.tolist()))))
    assert all(len(found) == 1 for found in codes.values())
    assert len(codes) == len(set.union(*codes.values())) == 3 + 6 * 2 + 3  # multisets of one value, of two, of three
