"""What a gradient takes is the quickest of three after compilation; of a large model fewer rows are looked at first."""

import inspect
import types

import numpy as np
import pytest

from lemmata.workflows.examinations import _preflight, _run


class Model:
    """A model whose gradients take the seconds that a test says, on a clock of the test."""

    differentiable = True

    def __init__(self, seconds, batch):
        self.seconds, self.batch, self.now, self.rows = list(seconds), batch, 0.0, []

    def outputs(self, x):
        return np.ones((len(x), 3))

    def vjp(self, slope, x):
        assert slope.shape == (len(x), 3)
        self.rows.append(len(x))
        self.now += self.seconds.pop(0)


@pytest.mark.parametrize(("rows", "batch"), [(40, 8), (40, 40), (5, 8)])
@pytest.mark.parametrize("seconds", [(50.0, 3.0, 2.0, 4.0), (50.0, 2.0, 4.0, 3.0), (50.0, 4.0, 3.0, 2.0)])
def test_the_seconds_of_a_gradient(monkeypatch, rows, batch, seconds):
    model = Model(seconds, batch)
    monkeypatch.setattr(_run, "time", types.SimpleNamespace(monotonic=lambda: model.now))
    trained = types.SimpleNamespace(model=model, x=np.zeros((rows, 2)))
    found = inspect.unwrap(_run._gradient_seconds)(trained)  # without the types
    assert model.rows == [min(rows, batch)] * 4
    assert found == pytest.approx(2.0 * rows / min(rows, batch))


def test_a_model_without_gradients_takes_none():
    trained = types.SimpleNamespace(model=types.SimpleNamespace(differentiable=False))
    assert inspect.unwrap(_run._gradient_seconds)(trained) == 0.0


@pytest.mark.parametrize(("parameters", "rows"), [(2**24, 32), (2**24 + 1, 8), (1, 32)])
def test_fewer_rows_of_a_large_model_are_looked_at_first(parameters, rows):
    for n in (5, 40):
        trained = types.SimpleNamespace(model=types.SimpleNamespace(theta=range(parameters)), x=np.arange(n))
        found = inspect.unwrap(_preflight._few)(trained)
        np.testing.assert_array_equal(found, np.arange(min(n, rows)))
