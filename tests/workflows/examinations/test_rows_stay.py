"""An examination does not change the user's rows, even if the user's model writes to its input."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from lemmata.subjects.bounds import _models
from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations import RowNames, as_examined

torch = pytest.importorskip("torch")
RNG = np.random.default_rng(3)
X, NEW = RNG.normal(50, 10, (40, 2)), RNG.normal(50, 10, (30, 2))
Y = (X[:, 0] > 50).astype(int)


def centred(x):
    x -= 50
    return x


def second(x):
    return 1 / (1 + np.exp(-centred(x)[:, 0] / 10))


def both(x):
    p = second(x)
    return np.stack([1 - p, p], axis=1)


class InPlace(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.line = torch.nn.Linear(2, 2)

    def forward(self, x):
        return self.line(x.sub_(50))


STEPS = [StandardScaler(copy=False), PCA(copy=False), FunctionTransformer(centred)]


@pytest.mark.parametrize("step", STEPS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize("form", [np.array, lambda x: pd.DataFrame(x.copy()), lambda x: torch.tensor(x)])
def test_a_step_that_writes_to_its_input_gets_a_copy(step, form):
    model = make_pipeline(step, DecisionTreeClassifier(max_depth=2)).fit(X.copy(), Y)
    x, new, met = form(X), form(NEW), form(NEW)
    for _ in range(2):
        facts = {"held": (new, Y[:30]), "deployed": met}
        last, rows, told, _names = as_examined(model, x, facts, RowNames())
        np.testing.assert_array_equal(last.predict(np.asarray(rows)), model.predict(X.copy()))
        np.testing.assert_array_equal(told["held"][0], told["deployed"])
    for own, before in ((x, X), (new, NEW), (met, NEW)):
        np.testing.assert_array_equal(np.asarray(own), before)


@pytest.mark.parametrize("model", [second, both], ids=["one probability", "both"])
@pytest.mark.parametrize("frame", [False, True])
def test_a_function_that_writes_to_its_input_gets_copies(model, frame):
    """An array that a frame gives is read-only, and an own array would be changed."""
    x = pd.DataFrame(X.copy()) if frame else X.copy()
    own = read_trained(model, x, Y)
    for _ in range(2):
        np.testing.assert_allclose(own.task.means(own.model.outputs(own.x)), both(X.copy()))
    np.testing.assert_array_equal(np.asarray(x), X)


def test_a_module_that_writes_to_its_input_has_all_derivatives():
    module = InPlace().double().eval()
    own = read_trained(module, X.copy(), Y)
    weights = module.line.weight.detach().numpy()
    u = np.ones((len(X), 2))
    np.testing.assert_allclose(own.model.outputs(own.x[:1]), own.model.outputs(own.x)[:1])
    np.testing.assert_allclose(own.model.input_vjp(u, own.x), np.tile(weights.sum(0), (len(X), 1)))
    np.testing.assert_array_equal(own.x, X)


def test_the_steps_before_a_classifier_of_a_bound_get_copies():
    rows = _models.Rows(X.copy(), Y, np.arange(20), 2)
    transform, _ = _models._prepared(make_pipeline(FunctionTransformer(centred), DecisionTreeClassifier()), rows)
    transform(rows.x)
    np.testing.assert_array_equal(rows.x, X)
