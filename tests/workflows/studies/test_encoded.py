"""The models of a study share what is the same for each: encoded splits, compiled tiles."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.kernels import gram
from lemmata.workflows.studies import _encoded, load_dataset
from lemmata.workflows.studies._encoded import Encoded
from lemmata.workflows.studies._gram import padded_gram
from lemmata.workflows.studies._measure import measure
from lemmata.workflows.studies._models import models

NAMES = ["relu-1", "lasso", "neighbours"]


def test_a_split_is_encoded_once_for_all_models(monkeypatch):
    dataset, asked = load_dataset("iris"), []
    plain = type(dataset).encoded
    monkeypatch.setattr(type(dataset), "encoded", lambda *given: asked.append(1) or plain(*given))
    few, encoded = dataset.x[:20], Encoded(dataset)
    found, alone = [], []
    for model in models(NAMES, few, dataset.task, dataset.targets):
        asked.clear()
        found.append((measure(model, dataset, 0, True, encoded=encoded), len(asked)))
        alone.append(measure(model, dataset, 0, True))
    for (shared, _), own in zip(found, alone, strict=True):
        assert {name: losses.mean.tolist() for name, losses in shared.losses.items()} == {
            name: losses.mean.tolist() for name, losses in own.losses.items()
        }
    assert found[0][1] > 20
    assert found[2][1] <= 5, "but for the rows that train, which are predicted at a model's own largest size"


def test_what_is_kept_has_a_limit_and_nobody_writes_into_it(monkeypatch):
    dataset = load_dataset("iris")
    monkeypatch.setattr(_encoded, "KEPT_BYTES", 10_000)
    encoded = Encoded(dataset)
    first = encoded(np.arange(100), np.arange(100, 150))
    with pytest.raises(ValueError, match="read-only"):
        first[0, 0] = 1.0
    assert encoded(np.arange(100), np.arange(100, 150)) is first
    later = encoded(np.arange(50, 150), np.arange(50))
    assert encoded(np.arange(50, 150), np.arange(50)) is not later
    assert encoded.size <= 10_000
    np.testing.assert_array_equal(later, dataset.encoded(np.arange(50, 150), np.arange(50)))


@pytest.mark.parametrize(("n", "columns"), [(7, None), (64, 20), (65, None), (300, None), (600, 300), (600, 200)])
@pytest.mark.parametrize("name", ["relu-3", "linear"])
def test_tiles_make_the_matrix(name, n, columns):
    x = np.random.default_rng(n).normal(size=(n, 3))
    (model,) = models([name], x, "regression", x[:, :1])
    found = padded_gram(model.kernels[0], x, columns)
    whole = np.asarray(gram(model.kernels[0], jnp.asarray(x)))
    np.testing.assert_allclose(found, whole[:, :columns], rtol=1e-11, atol=1e-11)
    square = found[: found.shape[1]]
    np.testing.assert_allclose(square, square.T, rtol=1e-11, atol=1e-11)
