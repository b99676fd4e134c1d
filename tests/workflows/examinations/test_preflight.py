"""Before theory may speak: models that are no functions of one row are named, with the remedy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations import run_examination
from lemmata.workflows.examinations._preflight import preflight

RNG = np.random.default_rng(0)
# PyTorch itself compiles a rule at the first forward derivative with what it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
X = RNG.normal(size=(120, 4))
W = RNG.normal(size=(4, 3))
Y = (X @ W + 0.3 * RNG.normal(size=(120, 3))).argmax(1)


def trained(f, **rest):
    return read_trained((f, jnp.asarray(W)), X, Y, **rest)


def failing(model, **rest):
    return [check for check in preflight(model, **rest) if check.holds is False]


def test_a_function_passes():
    assert [check.holds for check in preflight(trained(lambda w, x: x @ w))] == [True] * 5


@pytest.mark.parametrize(
    ("f", "name", "remedy"),
    [
        (lambda w, x: (x - x.mean(0)) @ w, "the other rows of its batch", "batch normalisation"),
        (lambda w, x: x @ w + jnp.where(x[:, :1] > 1e9, 1.0, jnp.nan), "finite", "scale"),
        (lambda w, x: jnp.round(x @ w), "derivatives", "rounds"),
    ],
)
def test_what_is_no_function_of_a_row_is_named(f, name, remedy):
    (check,) = failing(trained(f))
    assert name in check.name
    assert remedy in check.remedy


def test_a_unit_that_is_nearly_at_its_kink_is_no_wrong_derivative():
    model = trained(lambda w, x: x @ w + jnp.abs((w[:1, :1] - 0.99999999 * W[0, 0]) * 1e3))
    step = 1e-7 * np.linalg.norm(W)
    assert abs(W[0, 0]) * 1e-8 < step, "the first step passes the kink"
    assert not failing(model)


@pytest.mark.parametrize("share", [8, 1])
def test_rows_on_kinks_are_no_wrong_derivative(share):
    x = np.random.default_rng(4).normal(size=(40, 2))
    x[::share, 0] = -x[::share, 1]  # where the first unit is 0
    model = (lambda w, rows: jax.nn.relu(rows @ w), jnp.asarray([[1.0, 0.3], [1.0, -0.7]]))
    assert not failing(read_trained(model, x, np.arange(40) % 2 == 0))


def test_what_stands_behind_stop_gradient_is_named():
    def scaled(own, x):
        return (x * jax.lax.stop_gradient(own["scale"])) @ own["w"]

    model = read_trained((scaled, {"scale": jnp.ones(4), "w": jnp.asarray(W)}), X, Y)
    (check,) = failing(model)
    assert (check.name, check.found) == (
        "derivatives match finite differences of the outputs",
        "a derivative of 0 for scale, although these parameters change the outputs",
    )
    assert "keep this array in the function" in check.remedy


def test_words_are_quoted_in_the_order_of_the_classes():
    words = np.array(["one", "three", "two"])
    (check,) = failing(trained_on(words[(Y + 1) % 3]))
    assert "labels=('three', 'two', 'one') in the program" in check.remedy


def trained_on(labels):
    return read_trained((lambda w, x: x @ w, jnp.asarray(W)), X, labels)


def test_batch_normalisation_of_flax_in_training_mode():
    nnx = pytest.importorskip("flax.nnx", reason="the extra `oracles` is not installed")

    class Normalised(nnx.Module):
        def __init__(self):
            self.norm = nnx.BatchNorm(4, rngs=nnx.Rngs(0))
            self.last = nnx.Linear(4, 3, rngs=nnx.Rngs(1))

        def __call__(self, x):
            return self.last(self.norm(x))

    module = Normalised()
    (check,) = failing(read_trained(module, X.astype(np.float32), Y))
    assert check.name == "the output for a row does not depend on the other rows of its batch"
    before = np.array(module.norm.mean[...])
    module.eval()
    assert "a row" not in str([check.name for check in failing(read_trained(module, X.astype(np.float32), Y))])
    assert (np.array(module.norm.mean[...]) == before).all()
    assert not before.any()


def test_a_module_that_cuts_its_own_gradient_is_one_check_and_no_crash():
    torch = pytest.importorskip("torch")

    class Cut(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)  # some weights happen to name other classes more often, which is a check of its own
            self.w = torch.nn.Linear(4, 3)

        @torch.no_grad()
        def forward(self, x):
            return self.w(x)

    record = run_examination(read_trained(Cut().double(), X, Y))
    assert [check.name for check in record.preflight if check.holds is False] == [
        "derivatives match finite differences of the outputs"
    ]
    assert not record.gauges


def test_nothing_else_is_run_then():
    record = run_examination(trained(lambda w, x: (x - x.mean(0)) @ w))
    assert not record.gauges
    assert record.held_error is None


def test_classes_in_another_order_are_found():
    moved = lambda w, x: (x @ w)[:, jnp.array([1, 2, 0])]
    (check,) = failing(trained(moved))
    assert "in the order 1, 2, 0" in check.found
    assert "labels=(1, 2, 0)" in check.remedy
    assert not failing(trained(moved, labels=(1, 2, 0)))


def test_another_call_is_not_the_model():
    model = trained(lambda w, x: x @ w)
    (check,) = failing(model, user=lambda rows: 1.01 * rows @ W)
    assert check.name == "outputs equal the outputs of your own call"
    assert not failing(model, user=lambda rows: rows @ W)


def test_dropout_and_batch_normalisation_of_pytorch():
    torch = pytest.importorskip("torch")
    nn = torch.nn
    torch.manual_seed(0)
    dropped = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 3)).double()
    (check,) = failing(read_trained(dropped, X, Y))
    assert check.name == "the same rows give the same outputs"
    normalised = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Linear(8, 3)).double()
    before = normalised[1].running_mean.clone()
    (check,) = failing(read_trained(normalised, X, Y))
    assert check.name == "the output for a row does not depend on the other rows of its batch"
    assert torch.equal(normalised[1].running_mean, before)
    assert not failing(read_trained(normalised.eval(), X, Y))


def test_two_classes_of_many_that_are_exchanged_are_found():
    """Whose errors are fewer than half."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 10))
    y = x.argmax(1)
    order = np.array([0, 1, 2, 8, 4, 5, 6, 7, 3, 9])
    right, exchanged = (
        read_trained((lambda own, rows: rows @ own, jnp.eye(10)), x, labels) for labels in (y, order[y])
    )
    assert not failing(right)
    (check,) = failing(exchanged)
    assert "in the order 0, 1, 2, 8, 4, 5, 6, 7, 3, 9" in check.found


def test_a_few_rows_exchange_no_classes():
    x = np.eye(10)[np.arange(200) % 10] * 3.0
    y = x.argmax(1)
    y[[3, 8]] = 8, 3
    assert not failing(read_trained((lambda own, rows: rows @ own, jnp.eye(10)), x, y))


def test_a_derivative_that_raises_is_said():
    @jax.custom_jvp
    def without(x):
        return x

    @without.defjvp
    def fails(primals, tangents):
        raise RuntimeError("no rule here")

    (check,) = failing(trained(lambda w, x: without(x @ w)))
    assert (check.name, check.found) == (
        "derivatives match finite differences of the outputs",
        "RuntimeError: no rule here",
    )
