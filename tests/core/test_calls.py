"""Errors of users' functions, in one line and with the argument's name, from every tool that calls one."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from lemmata.core import answer_of
from lemmata.errors import DataError, SettingError
from lemmata.subjects.boolean import boolean_fourier, noise_sensitivity
from lemmata.subjects.depth import sparsify
from lemmata.subjects.implicit import margins
from lemmata.subjects.queries import filtered_pca, gradient_signal


def _broken(*_):
    raise KeyError("column 'age'\nis missing")


def _rows(n: int, d: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(n, d))


def _fitted(columns: int) -> LogisticRegression:
    x = _rows(40, columns)
    return LogisticRegression().fit(x, x[:, 0] > 0)


@pytest.mark.parametrize(
    ("name", "call", "words"),
    [
        ("f", lambda: boolean_fourier(_broken, 3), "KeyError"),
        ("f", lambda: boolean_fourier(_broken, 25, threshold=0.5), "KeyError"),
        ("f", lambda: boolean_fourier(_fitted(6), 4), "X has 4 features, .* remedy: pass as many names as f has"),
        ("f", lambda: boolean_fourier(LogisticRegression(), 3), "NotFittedError"),
        ("model", lambda: noise_sensitivity(LogisticRegression(), _rows(40, 3), 0.1), "NotFittedError"),
        ("model", lambda: noise_sensitivity(_fitted(6), _rows(40, 3), 0.1), "X has 3 features"),
        ("hidden", lambda: sparsify((_broken, np.ones(5)), _rows(40, 3), units=2), "KeyError"),
        ("hidden", lambda: sparsify((lambda x: x @ np.ones((4, 5)), np.ones(5)), _rows(40, 3), units=2), "ValueError"),
        ("model", lambda: margins(_broken, _rows(40, 3), np.arange(40) % 2, layers=[np.eye(3)]), "KeyError"),
        (
            "filter 'own'",
            lambda: filtered_pca(_rows(400, 3), _rows(400, 1)[:, 0], filters={"own": _broken}),
            "KeyError",
        ),
        ("outputs", lambda: gradient_signal(_broken, jnp.ones(3), _rows(4, 9)), "KeyError"),
    ],
)
def test_a_function_that_fails_is_named(name, call, words):
    with pytest.raises(SettingError, match=words) as refused:
        call()
    assert refused.value.what == name
    assert refused.value.rule
    assert "\n" not in str(refused.value)
    assert refused.value.__cause__ is not None


def test_errors_of_lemmata_pass():
    def function(_):
        raise DataError("column 'age'", found="texts", rule="numbers")

    with pytest.raises(DataError, match="column 'age'"):
        answer_of("f", function, 1, rule="any")
