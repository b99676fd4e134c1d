"""Models of quantiles, and models that only order rows: no R², and a first finding that judges what they predict."""

import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import GradientBoostingRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import QuantileRegressor, Ridge
from sklearn.metrics import mean_pinball_loss

import lemmata
from lemmata.errors import LemmataError
from lemmata.subjects.trained_models._losses import StatedLoss

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 3))
Y = X[:, 0] + RNG.normal(size=400) * (0.5 + (X[:, 1] > 0))
TRAIN, NEW = slice(0, 200), slice(200, None)


def studied(model, y=Y, **facts):
    return lemmata.study_model(model, X[TRAIN], y[TRAIN], held=(X[NEW], y[NEW]), **facts)


@pytest.mark.parametrize(
    ("model", "q"),
    [
        (QuantileRegressor(quantile=0.8, alpha=0.0), 0.8),
        (HistGradientBoostingRegressor(loss="quantile", quantile=0.8, max_iter=20), 0.8),
        (GradientBoostingRegressor(loss="quantile", alpha=0.2, n_estimators=20), 0.2),
        (HistGradientBoostingRegressor(loss="absolute_error", max_iter=20), 0.5),
    ],
)
def test_quantiles_are_judged_as_quantiles(model, q):
    found = studied(model.fit(X[TRAIN], Y[TRAIN]))
    assert found.record.baseline is None
    assert found.record.outputs == []
    first = found.record.findings[0].text
    f = model.predict(X[NEW])
    assert f"predicts the {100 * q:g} % quantile" in first
    assert f"{100 * (Y[NEW] <= f).mean():.3g} % of the held-out targets" in first
    assert f"is {mean_pinball_loss(Y[NEW], f, alpha=q):.3g}." in first
    ends = stats.binomtest(int((Y[NEW] <= f).sum()), 200).proportion_ci(0.95)
    assert f"{100 * ends.low:.3g} % to {100 * ends.high:.3g} %" in first
    assert ("agrees" in first) == (ends.low <= q <= ends.high)
    assert "R²" not in found.answer
    assert not any("worse than one constant" in own.text for own in found.record.findings)


def test_a_quantile_is_stated_as_a_loss():
    middle = lambda rows: rows[:, :1] + 1.0
    found = studied(middle, loss="quantile 0.9")
    assert "predicts the 90 % quantile" in found.record.findings[0].text
    assert found.record.baseline is None
    assert studied(middle).record.baseline is not None


def test_means_keep_their_scores():
    found = studied(Ridge().fit(X[TRAIN], Y[TRAIN]))
    assert found.record.baseline is not None
    assert len(found.record.outputs) == 1
    assert not any("quantile" in own.text for own in found.record.findings)


def test_outputs_that_only_order_the_rows_have_no_squared_error():
    stated = StatedLoss("other", said="Cox's likelihood", ordering=True)
    found = studied(lambda rows: np.exp(3 * rows[:, :1]), loss=stated)
    assert found.record.findings[0].text.startswith("This model was trained with Cox's likelihood.")
    assert found.record.baseline is None
    assert not any("squared error of all" in own.text for own in found.record.findings)


@pytest.mark.parametrize(("objective", "rest"), [("survival:cox", {}), ("reg:quantileerror", {"quantile_alpha": 0.9})])
def test_objectives_of_xgboost(objective, rest):
    xgboost = pytest.importorskip("xgboost")
    times = np.exp(Y - Y.min())
    model = xgboost.XGBRegressor(objective=objective, n_estimators=10, **rest).fit(X[TRAIN], times[TRAIN])
    found = studied(model, times)
    assert found.record.baseline is None
    assert ("order the rows" if "cox" in objective else "90 % quantile") in found.record.findings[0].text


def test_boosters_are_read_with_their_objective():
    xgboost = pytest.importorskip("xgboost")
    classes = np.digitize(X[:, 0], [-0.5, 0.5])
    truth = (X[:, 0] > 0).astype(int)
    rows = xgboost.DMatrix(X[NEW])
    for objective, y, more in (
        ("binary:logistic", truth, {}), ("binary:logitraw", truth, {}),
        ("multi:softmax", classes, {"num_class": 3}), ("multi:softprob", classes, {"num_class": 3}),
    ):  # fmt: skip
        booster = xgboost.train({"objective": objective, **more}, xgboost.DMatrix(X[TRAIN], label=y[TRAIN]), 5)
        found = studied(booster, y)
        said = booster.predict(rows)
        said = said.argmax(1) if said.ndim == 2 else said if more else said > (0.5 if "logistic" in objective else 0)
        assert found.record.held_error.value == pytest.approx((said.astype(int) != y[NEW]).mean())
    booster = xgboost.train({}, xgboost.DMatrix(X[TRAIN], label=Y[TRAIN], feature_names=["a", "b", "c"]), 5)
    found = studied(booster)
    said = booster.predict(xgboost.DMatrix(X[NEW], feature_names=["a", "b", "c"]))
    assert found.record.held_error.value == pytest.approx(((said - Y[NEW]) ** 2).mean())
    levels = {"objective": "reg:quantileerror", "quantile_alpha": 0.9}
    found = studied(xgboost.train(levels, xgboost.DMatrix(X[TRAIN], label=Y[TRAIN]), 5))
    assert "predicts the 90 % quantile" in found.record.findings[0].text
    several = {**levels, "quantile_alpha": [0.1, 0.9]}
    both = xgboost.train(several, xgboost.DMatrix(X[TRAIN], label=Y[TRAIN]), 5)
    with pytest.raises(LemmataError, match=r"such as lambda x: model.predict\(x\)\[:, \[0\]\]"):
        studied(both)
