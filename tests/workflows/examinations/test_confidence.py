"""Confidence of models that give some classes the probability 0: neighbours and trees."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations._findings import _confidence


def clouds(seed, apart=1.2, n=600):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.normal(size=(n, 4)) + apart * np.eye(4)[y], y


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_shares_of_neighbours_are_believed_where_they_are_right(seed):
    """A row whose class has no neighbour made "confidence says next to nothing" of 0.94 beside 0.96."""
    x, y = clouds(seed, apart=2.5)
    model = KNeighborsClassifier(5).fit(x[:300], y[:300])
    trained = read_trained(model, x[:300], y[:300], held=(x[300:], y[300:]))
    chances, right = model.predict_proba(x[300:]), model.predict(x[300:]) == y[300:]
    assert (chances[np.arange(300), y[300:]] == 0).any()
    assert abs(chances.max(1).mean() - right.mean()) < 0.04
    assert _confidence(trained) == []


def test_trees_that_know_their_rows_by_heart_are_too_sure():
    x, y = clouds(3, apart=0.8)
    model = RandomForestClassifier(1, bootstrap=False, random_state=0).fit(x[:300], y[:300])
    trained = read_trained(model, x[:300], y[:300], held=(x[300:], y[300:]))
    (sign,) = _confidence(trained)
    share = 100 * (model.predict(x[300:]) == y[300:]).mean()
    assert sign.name == "confidence too high"
    assert f"probability 1 in the mean, and is right in {share:.3g} %" in sign.finding.text
