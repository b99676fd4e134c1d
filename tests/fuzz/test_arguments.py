"""What users pass by mistake is read, or refused in our words: strings, frames, complex numbers, shared layers."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize_scalar

from lemmata.architectures import graph_points
from lemmata.errors import LemmataError
from lemmata.estimators import KernelBarlowTwins
from lemmata.solvers import loss_flow
from lemmata.subjects.privacy import threshold_attack
from lemmata.subjects.scaling import fit_scaling_law
from lemmata.subjects.scaling._numbers import optimum

square = lambda f, y: jnp.sum((f - y) ** 2)
EYE, RING = [[1, 0], [0, 1]], np.array([[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: loss_flow([["a"]], square, [0.0], [1.0]), "K"),
        (lambda: loss_flow(np.eye(2) * 1j, square, [0.0, 1.0], [1.0]), "K"),
        (lambda: loss_flow([1.0, 2.0], square, [0.0, 1.0], [1.0]), "K"),
        (lambda: loss_flow(EYE, square, ["0", "1"], [1.0]), "targets y"),
        (lambda: loss_flow(EYE, square, [0.0, 1.0], "soon"), "time"),
        (lambda: loss_flow(EYE, square, [0.0, 1.0], ["1"]), "time"),
        (lambda: loss_flow(EYE, square, [0.0, 1.0], [1.0], cross=[["a", "b"]]), "cross"),
        (lambda: threshold_attack(["1", "2", "3", "4"], [1.0, 2.0, 3.0, 4.0]), "with_canary"),
        (lambda: threshold_attack([1.0, 2.0, 3.0, 4.0], np.ones(4) * 1j), "without"),
        (lambda: threshold_attack([[1.0], [2.0, 3.0]], [1.0, 2.0, 3.0, 4.0]), "with_canary"),
        (lambda: threshold_attack(None, [1.0, 2.0, 3.0, 4.0]), "with_canary"),
        (lambda: graph_points([RING], nodes=2.5), "nodes"),
        (lambda: graph_points([RING], nodes="3"), "nodes"),
        (lambda: graph_points([RING * 1j]), "real numbers"),
        (lambda: graph_points([sparse.csr_array(RING * 1j)]), "real numbers"),
        (lambda: graph_points([(np.ones((2, 1)) * 1j, RING)]), "features"),
        (lambda: graph_points([[["0", "1"], ["1", "0"]]]), "real numbers"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused_in_our_words(call, words):
    with pytest.raises(LemmataError, match=words):
        call()


@pytest.mark.parametrize("start", ["small", None, [1e-3], 1j, "1e-3"])
def test_a_start_that_is_no_number_is_refused(start):
    x = np.random.default_rng(0).normal(size=(12, 2))
    model = KernelBarlowTwins(n_components=2).fit(x, views=x + 0.01)
    with pytest.raises(LemmataError, match="start"):
        model.step_times(start)


def test_lists_and_frames_are_read():
    polars = pytest.importorskip("polars")
    expected = np.asarray(loss_flow(jnp.eye(2), square, jnp.array([0.0, 3.0]), [1.0]).path.train)
    frame = polars.DataFrame(np.eye(2))
    for K, y in ((EYE, [0, 3]), (frame, polars.Series([0.0, 3.0])), (np.eye(2), np.array([0, 3]))):
        np.testing.assert_allclose(loss_flow(K, square, y, [1.0], cross=K).path.test, expected, atol=1e-7)


def modules(torch):
    layer, other = torch.nn.Linear(3, 3).double(), torch.nn.Linear(3, 3).double()
    tied, own = torch.nn.Linear(3, 3).double(), torch.nn.Linear(3, 3).double()
    own.weight = tied.weight
    inner = torch.nn.Sequential(layer, torch.nn.Tanh())
    return {
        "one layer twice": torch.nn.Sequential(layer, torch.nn.Tanh(), layer),
        "a block twice": torch.nn.Sequential(inner, inner, other),
        "a tensor of two layers": torch.nn.Sequential(tied, torch.nn.Tanh(), own),
        "nothing shared": torch.nn.Sequential(layer, torch.nn.Tanh(), other),
    }


@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
@pytest.mark.parametrize("name", ["one layer twice", "a block twice", "a tensor of two layers", "nothing shared"])
def test_layers_that_share_weights_have_a_tangent_kernel(name):
    """Against gradients by autograd of the module itself, which stays as it was."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'lemmata[torch]'")
    from lemmata.networks import TorchEmpiricalKernel, torch_function

    torch.manual_seed(0)
    module = modules(torch)[name]
    x = torch.randn(4, 3, dtype=torch.float64)
    leaves, before = list(module.parameters()), dict(module.named_parameters())
    rows = []
    for point in x:
        for output in module(point[None])[0]:
            rows.append(
                torch.cat([part.reshape(-1) for part in torch.autograd.grad(output, leaves, retain_graph=True)])
            )
    jacobian = torch.stack(rows).reshape(4, 3, -1).numpy()
    kernel = TorchEmpiricalKernel(module)
    for _ in range(2):  # the first call used to take the parameters away
        np.testing.assert_allclose(
            kernel.gram(x), np.einsum("iap,jbp->ijab", jacobian, jacobian), rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(kernel.product(x, np.ones((4, 3))), kernel.gram(x).sum(axis=(1, 3)), rtol=1e-9)
    after = dict(module.named_parameters())
    assert all(after[key] is leaf and leaf.requires_grad for key, leaf in before.items())
    assert after.keys() == before.keys()
    f, params = torch_function(module)
    torch.testing.assert_close(f(params, x), module(x))


@pytest.fixture(scope="module")
def law():
    draw = np.random.default_rng(0)
    n, d = 10 ** draw.uniform(6, 9, 40), 10 ** draw.uniform(8, 10, 40)
    return fit_scaling_law(n, 1.7 + 400 / n**0.34 + 400 / d**0.28, d=d)


@pytest.mark.parametrize("seed", range(12))
def test_an_allocation_is_the_least_loss_for_its_budget(seed, law):
    """Against minimisation along the budget, for laws and budgets of all sizes, far below and above what is served."""
    draw, design = np.random.default_rng(seed), law.fit.design
    for compute, served in ((1e21, 1e12), (1e16, 1e15), (1e3, 1e12), (1e-3, 1e30), (1e30, 1.0), (1e21, 0.0)):
        theta = law.fit.theta + draw.normal(size=len(law.fit.theta))
        at, other = optimum(design, theta, compute, 6.0, served)
        used = np.logaddexp(np.log(6) + at + other, np.log(2 * served) + at if served else -np.inf)
        assert used == pytest.approx(np.log(compute), abs=1e-9)

        def loss(log_n, theta=theta, compute=compute, served=served):
            tokens = (compute / np.exp(log_n) - 2 * served) / 6
            return design.log_loss(theta, np.array([[log_n, np.log(tokens)]]))[0][0]

        end = np.log(compute / (2 * served)) if served else at + 20
        near = min(1.0, (end - at) / 2)
        if near > 1e-8:
            best = minimize_scalar(loss, bounds=(at - 1, at + near), method="bounded")
            assert loss(at) <= best.fun + 1e-9
