"""An estimator that is asked to interpolate passes through its rows, or says that it does not."""

import warnings

import numpy as np
import pytest

from lemmata.errors import ContradictionWarning, InterpolationWarning
from lemmata.estimators import KernelRegressor, NNGPRegressor, TangentKernelRegressor
from lemmata.kernels import RBF, Matern

ESTIMATORS = {
    "RBF, ridge 0": lambda length: KernelRegressor(RBF(length), ridge=0),
    "RBF, time inf": lambda length: KernelRegressor(RBF(length), time=np.inf),
    "Matern, ridge 0": lambda length: KernelRegressor(Matern(2.5, length), ridge=0),
    "tangent kernel, ridge 0": lambda length: TangentKernelRegressor(ridge=0),
    "tangent kernel, time inf": lambda length: TangentKernelRegressor(time=np.inf),
    "NNGP, noise 0": lambda length: NNGPRegressor(noise=0),
}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_row_that_is_missed_is_said(name, seed):
    draw = np.random.default_rng(seed)
    for length, distance in ((0.3, 1.0), (5.0, 1.0), (5.0, 1e-9), (0.3, 1e-9), (300.0, 1.0)):
        x, y = draw.normal(size=(20, 2)), draw.normal(size=20) * 10.0 ** draw.uniform(-6, 6)
        x[1] = x[0] + distance * draw.normal(size=2)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            fit = ESTIMATORS[name](length).fit(x, y)
        missed = np.abs(fit.predict(x) - y).max() / np.sqrt(np.mean((y - y.mean()) ** 2))
        assert (missed > 1e-3) == any(issubclass(one.category, InterpolationWarning) for one in said), (
            length,
            distance,
            missed,
        )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_rows_that_contradict_each_other_are_named_once(name):
    draw = np.random.default_rng(0)
    x, y = draw.normal(size=(15, 2)), draw.normal(size=15)
    x[1] = x[0]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        ESTIMATORS[name](0.3).fit(x, y)
    assert [one.category for one in said] == [ContradictionWarning]


def test_with_a_ridge_nothing_is_said():
    x = np.linspace(0, 1, 20)[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelRegressor(RBF(300.0), ridge=1e-3).fit(x, np.sin(30 * x[:, 0]))
