"""Held-out rows on which a model errs much less than on its training rows may be the rows that it was fitted to."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations import signs
from lemmata.workflows.examinations._exchanged import exchanged
from lemmata.workflows.examinations._next_steps import next_steps


def halves(seed, values=False, n=400):
    """Rows with classes or values that are partly noise, in two halves."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = x[:, 0] + rng.standard_t(5, size=n) if values else (rng.random(n) < expit(2 * x[:, 0])).astype(int)
    return (x[: n // 2], y[: n // 2]), (x[n // 2 :], y[n // 2 :])


@pytest.mark.parametrize("values", [False, True])
def test_exchanged_rows_are_seen_and_confidence_is_not_judged_on_them(values):
    first, second = halves(0, values)
    model = (KNeighborsRegressor if values else KNeighborsClassifier)(1).fit(*first)
    given = model.predict if values else (lambda rows: 0.6 * model.predict_proba(rows) + 0.2)
    right, swapped = (read_trained(given, *a, held=b) for a, b in ((first, second), (second, first)))
    assert exchanged(right) is None
    said = exchanged(swapped)
    assert "Check whether training and held-out rows were exchanged" in said
    assert f"the held-out error is only 0{'' if values else ' %'}." in said
    named = [sign.name for sign in signs(swapped, [], None)]
    assert "rows exchanged" in named
    assert not any("confidence" in name for name in named)
    assert next_steps(swapped, None)[0] == []


@pytest.mark.parametrize("values", [False, True])
def test_rows_that_the_model_has_not_seen_are_not_called_exchanged(values):
    own = lambda rows: rows[:, 0] if values else np.c_[-rows[:, 0], rows[:, 0]]
    for seed in range(20):
        first, second = halves(seed, values)
        assert exchanged(read_trained(own, *first, held=second)) is None
    assert exchanged(read_trained(own, *first)) is None
    assert exchanged(read_trained(own, *first, held=tuple(part[:9] for part in second))) is None
