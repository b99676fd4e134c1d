"""Confidence of models that give some classes the probability 0: neighbours and trees."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, softmax
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
    assert f"probability 1 on average, but is right in {share:.3g} %" in sign.finding.text


def test_a_model_that_is_right_as_often_as_it_is_sure_is_let_be():
    """Targets are drawn by the model's own probabilities: the temperature of 150 rows is often off by a quarter."""
    rng, said = np.random.default_rng(5), []
    for _ in range(40):
        x = rng.normal(size=(250, 3)) * 15
        y = np.array([rng.choice(3, p=own) for own in softmax(x, axis=1)])
        said += _confidence(read_trained(lambda x: x, x[:100], y[:100], held=(x[100:], y[100:])))
    assert said == []


@pytest.mark.parametrize(("right", "named"), [(340, []), (377, []), (338, ["high"]), (380, ["low"])])
def test_the_rows_have_to_reject_the_probabilities(right, named):
    """400 rows, all with the probability 0.9 for what is named: the test is then the G-test of the share that is right.

    The temperature is known, too: ln 9 over the logit of the share, which is below 0.8 or above 1.25 in all four.
    """
    share, rng = right / 400, np.random.default_rng(2)
    g = 2 * 400 * stats.entropy([share, 1 - share], [0.9, 0.1])
    t = np.log(9) / np.log(share / (1 - share))
    assert not 0.8 < t < 1.25
    assert (g > stats.chi2.ppf(0.999, 1)) == bool(named)
    x = rng.normal(size=(500, 2))
    y = np.concatenate([np.arange(100) % 10 == 0, np.arange(400) < 400 - right]).astype(int)
    f = lambda x: np.tile([1 - expit(-np.log(9)), expit(-np.log(9))], (len(x), 1))
    signs = _confidence(read_trained(f, x[:100], y[:100], held=(x[100:], y[100:])))
    assert [own.name.split()[-1] for own in signs] == named
    if named:
        told = float(signs[0].finding.text.rpartition("divide the logits by ")[2].rstrip("."))
        assert abs(np.log(told / t)) < 0.4, "the number of a half of these rows, which an action recommends too"
        assert (told > 1) == (t > 1)
