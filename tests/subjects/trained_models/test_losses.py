"""Losses beside those of PyTorch, which takes its own derivatives, and how they are stated."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import LemmataError
from lemmata.subjects.trained_models import Loss, LossError, read_loss, read_model
from lemmata.subjects.trained_models._losses import StatedLoss

# PyTorch itself compiles a rule at the first forward derivative with what it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
RNG = np.random.default_rng(11)
F = 2 * RNG.normal(size=(9, 3))
CLASSES = RNG.integers(0, 3, 9)
VALUES, COUNTS = RNG.normal(size=(9, 3)), RNG.poisson(2.0, size=(9, 3)).astype(float)
WEIGHTS = (0.5, 1.0, 4.0)


def theirs(name, f):
    """The same losses by PyTorch, each row's, as its users call them."""
    torch = pytest.importorskip("torch")
    functional, tensor = torch.nn.functional, torch.tensor
    if name == "huber":
        return functional.huber_loss(f, tensor(VALUES), delta=0.7, reduction="none").sum(1)
    if name == "poisson":
        return functional.poisson_nll_loss(f, tensor(COUNTS), log_input=True, reduction="none").sum(1)
    weight = tensor(WEIGHTS, dtype=f.dtype) if "weights" in name else None
    smoothing = 0.1 if "smoothed" in name else 0.0
    return functional.cross_entropy(f, tensor(CLASSES), weight, label_smoothing=smoothing, reduction="none")


CASES = {
    "huber": (Loss("huber", 0.7), VALUES),
    "poisson": (Loss("poisson"), COUNTS),
    "weights": (Loss("log", weights=WEIGHTS), np.eye(3)[CLASSES]),
    "smoothed": (Loss("log", smoothing=0.1), np.eye(3)[CLASSES]),
    "smoothed, weights": (Loss("log", smoothing=0.1, weights=WEIGHTS), np.eye(3)[CLASSES]),
}


@pytest.mark.parametrize("name", CASES)
def test_values_and_derivatives_are_those_of_pytorch(name):
    torch, (loss, y) = pytest.importorskip("torch"), CASES[name]
    f = torch.tensor(F, requires_grad=True)
    own = theirs(name, f)
    (slopes,) = torch.autograd.grad(own.sum(), f, create_graph=True)
    found = loss.of_rows(jnp.asarray(F), jnp.asarray(y))
    np.testing.assert_allclose(found, own.detach().numpy(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(loss.slopes(F, y), slopes.detach().numpy(), rtol=1e-12, atol=1e-13)
    curvatures = loss.curvatures(F, y)
    for c in range(3):
        (row,) = torch.autograd.grad(slopes[:, c].sum(), f, retain_graph=True)
        np.testing.assert_allclose(curvatures[:, c], row.numpy(), rtol=1e-12, atol=1e-13)
    assert np.linalg.eigvalsh(curvatures).min() > -1e-12


@pytest.mark.parametrize("name", CASES)
def test_a_pytorch_module_has_the_products_of_the_same_function_in_jax(name):
    torch, (loss, y) = pytest.importorskip("torch"), CASES[name]
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(4, 5), torch.nn.Tanh(), torch.nn.Linear(5, 3)).double()
    params = [jnp.asarray(leaf.detach().numpy()) for leaf in net.parameters()]
    same = read_model((lambda own, x: jnp.tanh(x @ own[0].T + own[1]) @ own[2].T + own[3], params))
    own, x = read_model(net), RNG.normal(size=(9, 4))
    v = RNG.normal(size=len(own.theta))
    for one, two in zip(own.loss_slope(x, y, loss), same.loss_slope(x, y, loss), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(own.hvp(v, x, y, loss), same.hvp(v, x, y, loss), rtol=1e-10, atol=1e-11)
    product = own.gauss_newton(v, x, loss, y)
    jacobian, curvatures = own.jacobian(x), loss.curvatures(own.outputs(x), y)
    np.testing.assert_allclose(product, np.einsum("iap,iab,ibq,q->p", jacobian, curvatures, jacobian, v), atol=1e-10)


@pytest.mark.parametrize(
    ("stated", "kind", "rest"),
    [
        ("log", "log", {}),
        ("Log loss", "log", {}),
        ("squared", "squared", {}),
        ("huber 1.35", "huber", {"width": 1.35}),
        ("huber(1.35)", "huber", {"width": 1.35}),
        ("poisson", "poisson", {}),
        ("other", "other", {}),
        ("log, smoothed by 0.1", "log", {"smoothing": 0.1}),
        ("log, weights Rare=5 b=.5", "log", {"weights": (("Rare", 5.0), ("b", 0.5))}),
        ("log, weights balanced", "log", {"weights": "balanced"}),
        ("log, smoothed by 0.1, weights 1=2", "log", {"smoothing": 0.1, "weights": (("1", 2.0),)}),
        ({1: 2.0}, "log", {"weights": ((1, 2.0),)}),
    ],
)
def test_the_grammar(stated, kind, rest):
    found = read_loss(stated)
    assert found is not None
    assert found.kind == kind
    assert all(getattr(found, name) == value for name, value in rest.items())


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        ("hinge", "loss; found 'hinge'; rule: \"log\", \"squared\""),
        ("huber", "huber 1.35"),
        ("huber 0", "huber WIDTH"),
        ("squared, smoothed by 0.1", "weights balanced\" to \"log\""),
        ("log, smoothed by 1.5", "share by which labels are smoothed; found 1.5; rule: from 0 to below 1"),
        ("log, weights a=-1", "CLASS=WEIGHT"),
        ("log, weights a", "CLASS=WEIGHT"),
        ("log, soothed by 0.1", "smoothed by SHARE"),
        ({"a": 0.0}, "weight of class 'a'; found 0.0; rule: a finite number above 0"),
        ({"a": "heavy"}, "weight of class 'a'; found 'heavy'"),
        (3, "loss; found a int"),
    ],
)  # fmt: skip
def test_what_is_no_loss_is_refused_in_a_line(stated, message):
    with pytest.raises(LemmataError) as caught:
        read_loss(stated)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_weights_are_of_the_classes_that_there_are():
    of_task = lambda loss, *rest: (read_loss(loss) or StatedLoss("other")).of_task(*rest)
    assert of_task("log, weights cat=2", ("ape", "cat")) == Loss("log", weights=(1.0, 2.0))
    with pytest.raises(LemmataError, match="found one of 'cat'; rule: classes of the model: ape, dog"):
        of_task("log, weights cat=2", ("ape", "dog"))
    balanced = of_task("log, weights balanced", (0, 1), np.array([30.0, 10.0]))
    assert isinstance(balanced, Loss)
    np.testing.assert_allclose(balanced.weights, (40 / 60, 40 / 20))
    assert of_task({"ape": 1.0}, ("ape", "dog")) == "softmax"


def test_another_loss_has_no_derivatives():
    with pytest.raises(LossError, match=r"the training loss; found pinball.*remedy: .*state it with loss="):
        Loss("other", said="pinball").slopes(F, VALUES)
