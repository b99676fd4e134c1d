"""Parameters of a kernel are parameters of its estimator."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from lemmata.errors import SettingError
from lemmata.estimators import KernelBarlowTwins, KernelRegressor
from lemmata.kernels import RBF, Linear


def test_a_search_over_a_parameter_is_the_search_over_kernels():
    x = np.random.default_rng(0).normal(size=(30, 3))
    y = np.sin(2 * x[:, 0])
    sizes = [0.3, 1.0, 3.0]
    by_name: Any = GridSearchCV(KernelRegressor(RBF(1.0)), {"kernel__lengthscale": sizes}, cv=3).fit(x, y)
    by_kernel: Any = GridSearchCV(KernelRegressor(), {"kernel": [RBF(size) for size in sizes]}, cv=3).fit(x, y)
    np.testing.assert_array_equal(by_name.cv_results_["mean_test_score"], by_kernel.cv_results_["mean_test_score"])
    assert float(by_name.best_estimator_.kernel.lengthscale) == pytest.approx(
        by_name.best_params_["kernel__lengthscale"]
    )


@pytest.mark.parametrize("kind", [KernelRegressor, KernelBarlowTwins])
def test_parts_of_a_kernel_have_names_and_the_rest_stays(kind):
    model = kind(2.0 * RBF(1.0) + Linear())
    before = model.kernel
    assert {"kernel__left__factor", "kernel__left__kernel__lengthscale", "kernel__right__scale"} <= set(
        model.get_params()
    )
    assert not [name for name in model.get_params(deep=False) if "__" in name]
    copied: Any = clone(model)
    copy = copied.set_params(kernel__left__factor=3.0, kernel__left__kernel__lengthscale=[1.0, 2.0])
    assert float(copy.kernel.left.factor) == 3.0
    assert copy.kernel.left.kernel.lengthscale.tolist() == [1.0, 2.0]
    assert float(before.left.factor) == 2.0
    assert model.kernel is before


@pytest.mark.parametrize(
    ("kernel", "name", "said"),
    [
        (RBF(1.0), "kernel__scale", "one of lengthscale"),
        (2.0 * RBF(1.0), "kernel__kernel__scale", "one of lengthscale"),
        (None, "kernel__lengthscale", "a kernel first"),
    ],
)
def test_a_parameter_that_the_kernel_lacks_is_refused(kernel, name, said):
    with pytest.raises(SettingError, match=said):
        KernelRegressor(kernel).set_params(**{name: 1.0})
