"""What gauges ask for where a model breaks it: kinks, values known far better than they are spread, rows alike."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from lemmata.subjects.trained_models import changed_by_polishing, read_trained
from lemmata.subjects.trained_models.minima import DecayOutweighsNegativeCurvature
from lemmata.subjects.trained_models.probabilities import ConformalCoverage
from lemmata.subjects.trained_models.smoothing import AttacksOnSmoothedModel
from lemmata.workflows.examinations._gauges import gauge

RNG = np.random.default_rng(8)
X, NEW = RNG.normal(size=(60, 4)), RNG.normal(size=(260, 4))
W = RNG.normal(size=(4, 3))
CLASSES = lambda x: (x @ W).argmax(1)


@pytest.mark.parametrize(("unit", "speaks"), [(jnp.tanh, True), (jax.nn.relu, False)])
def test_a_minimum_is_asked_for_where_the_objective_is_smooth(unit, speaks):
    start = {"v": jnp.asarray(RNG.normal(size=(4, 8))), "w": jnp.asarray(RNG.normal(size=(8, 3)))}
    model = (lambda own, x: unit(x @ own["v"]) @ own["w"], start)
    found = gauge(DecayOutweighsNegativeCurvature(), read_trained(model, X, CLASSES(X), decay=0.02), 0)
    assert found.status == ("agrees" if speaks else "inapplicable")
    assert speaks or found.reason.startswith("residual of the converged copy")


def test_a_copy_of_values_differs_in_units_of_the_errors():
    """By a hundredth of the spread it is another model where the errors are no larger."""
    noise = 0.01
    y = X @ W[:, 0] + noise * RNG.normal(size=60)
    exact = Ridge(1e-6, fit_intercept=False).fit(X, y).coef_
    for off, most in ((0.0, 0.1), (0.02, np.inf)):
        trained = read_trained((lambda w, x: x @ w, jnp.asarray(exact + off)[:, None]), X, y, decay=1e-6)
        residual = y - X @ (exact + off)
        change = X @ np.full(4, off)
        assert changed_by_polishing(trained) == pytest.approx(
            np.sqrt((change**2).mean() / (residual**2).mean()), abs=0.01
        )
        assert changed_by_polishing(trained) <= most
        assert off == 0 or changed_by_polishing(trained) > 0.5


def test_scores_that_tie_cover_more():
    model = LogisticRegression(C=0.1).fit(X, CLASSES(X))
    trained = read_trained(model, X, CLASSES(X), held=(NEW, CLASSES(NEW)))
    assert gauge(ConformalCoverage(), trained, 0).status in ("agrees", "disagrees")
    sure = dataclasses.replace(
        trained, model=read_trained((lambda w, x: x @ w, jnp.asarray(1e4 * W)), X, CLASSES(X)).model
    )
    found = gauge(ConformalCoverage(), sure, 0)
    assert found.status == "inapplicable"
    assert "share of scores that tie with the threshold" in found.reason


def test_rows_that_are_all_alike_have_no_noise_of_their_own():
    same = np.ones((40, 4))
    found = gauge(
        AttacksOnSmoothedModel(), read_trained((lambda w, x: x @ w, jnp.asarray(W)), same, CLASSES(X)[:40]), 0
    )
    assert found.status == "inapplicable"
    assert "features that vary" in found.reason
