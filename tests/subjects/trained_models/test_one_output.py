"""One output for two classes, as PyTorch users have it: a logit or a probability, whole or floating-point targets."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LinearRegression

from lemmata.errors import LemmataError
from lemmata.subjects.trained_models import objective_of, read_trained, rows_left_out

# PyTorch itself compiles a rule at the first forward derivative with what it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
RNG = np.random.default_rng(4)
X = RNG.normal(size=(60, 3))
Y = (RNG.random(60) < 1 / (1 + np.exp(-X @ [2.0, -1.0, 0.5]))).astype(int)
LINE = (lambda own, x: x @ own[0] + own[1], [jnp.asarray([[1.0], [-0.5], [0.2]]), jnp.asarray([0.1])])
P = 1 / (1 + np.exp(-(X @ [1.0, -0.5, 0.2] + 0.1)))
SIGMOID = (lambda own, x: 1 / (1 + jnp.exp(-LINE[0](own, x))), LINE[1])


def probabilities(own):
    return own.task.means(own.model.outputs(X))


@pytest.mark.parametrize("model", [LINE, SIGMOID])
@pytest.mark.parametrize("y", [Y, Y == 1, Y.astype(float), np.array(["no", "yes"])[Y], Y + 1])
def test_a_logit_and_a_probability_are_read_alike(model, y):
    own = read_trained(model, X, y)
    assert own.task.name == "classification"
    assert own.task.labels[1] == y[np.argmax(Y)]
    np.testing.assert_allclose(probabilities(own), np.column_stack([1 - P, P]), rtol=1e-10)
    np.testing.assert_array_equal(own.y, np.eye(2)[Y])
    what = "logit" if model is LINE else "probability"
    assert own.task.loss_told == f"log loss, as one output for two classes is read as the {what} of the second"


def test_derivatives_are_those_of_two_outputs():
    two = (lambda own, x: jnp.concatenate([-LINE[0](own, x), LINE[0](own, x)], axis=1) / 2, LINE[1])
    first, *others = (read_trained(model, X, Y, decay=0.1) for model in (two, LINE, SIGMOID))
    for own in others:
        v = RNG.normal(size=len(own.model.theta))
        np.testing.assert_allclose(own.model.jvp(v, X), first.model.jvp(v, X), rtol=1e-9)
        np.testing.assert_allclose(rows_left_out(own).outputs, rows_left_out(first).outputs, rtol=1e-6)


def test_a_module_of_pytorch_trained_as_its_users_train():
    """BCEWithLogitsLoss and BCELoss with pos_weight; the decay that was added is the one that the weights imply."""
    torch = pytest.importorskip("torch")
    functional, x, y = torch.nn.functional, torch.tensor(X), torch.tensor(Y.astype(float))

    def trained(loss, *last):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 1), *last).double()
        exact = {"tolerance_grad": 1e-11, "tolerance_change": 1e-15}
        descent = torch.optim.LBFGS(net.parameters(), max_iter=300, line_search_fn="strong_wolfe", **exact)

        def closure():
            descent.zero_grad()
            value = loss(net(x)[:, 0]) + 0.05 * sum((leaf**2).sum() for leaf in net.parameters())
            value.backward()
            return value

        descent.step(closure)
        return net

    logit = trained(lambda f: functional.binary_cross_entropy_with_logits(f, y))
    sigmoid = trained(lambda p: functional.binary_cross_entropy(p, y), torch.nn.Sigmoid())
    weighted = trained(lambda f: functional.binary_cross_entropy_with_logits(f, y, pos_weight=torch.tensor(3.0)))
    for net, loss in ((logit, None), (sigmoid, None), (weighted, {1: 3.0})):
        for targets in (Y, Y.astype(float)):
            own = read_trained(net, X, targets, loss=loss)
            assert own.task.is_classification
            assert objective_of(own).decay == pytest.approx(0.1, rel=1e-5)


def test_values_stay_values():
    shrunk = (lambda own, x: 0.5 + 0.05 * (x @ own), jnp.ones((3, 1)))
    assert read_trained(shrunk, X, Y.astype(float)).task.name == "regression"
    assert read_trained(LINE, X, Y, loss="squared").task.name == "regression"
    for estimator in (LinearRegression(), RandomForestRegressor(n_estimators=5, random_state=0)):
        for targets in (Y, Y.astype(float)):
            assert read_trained(estimator.fit(X, Y), X, targets).task.name == "regression"
    assert read_trained(LinearRegression().fit(X, Y), X, Y).task.loss_told == "squared loss, as the estimator states"
    assert read_trained(LINE, X, 3 * Y).task.labels == (0, 3)  # whole numbers are classes, unless told otherwise
    assert read_trained(LINE, X, np.arange(60)).task.name == "regression"


def test_a_stated_loss_decides():
    near = (lambda own, x: 0.4 + 0.05 * (x @ own), jnp.ones((3, 1)))
    assert read_trained(near, X, Y.astype(float)).task.name == "regression"
    assert read_trained(near, X, Y.astype(float), loss="log").task.name == "classification"
    signs = 2.0 * Y - 1
    assert read_trained(LINE, X, signs, loss="log").task.labels == (-1.0, 1.0)
    seen = read_trained(lambda x: 1 / (1 + np.exp(-(x @ [1.0, -0.5, 0.2] + 0.1))), X, Y.astype(float), loss="log")
    np.testing.assert_allclose(probabilities(seen)[:, 1], P, rtol=1e-10)
    with pytest.raises(LemmataError, match="found 1 for 60 classes"):
        read_trained(LINE, X, np.arange(60), loss="log")
    with pytest.raises(LemmataError, match="at least 0, under Poisson loss"):
        read_trained(LINE, X, X[:, 0], loss="poisson")
    three = (lambda own, x: x @ own, jnp.ones((3, 3)))
    with pytest.raises(LemmataError, match=r"found 3 outputs for one target value in each row"):
        read_trained(three, X, np.arange(60) % 3, loss="huber 1")
