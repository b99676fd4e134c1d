"""Deep linear networks: what gradient flow conserves, and whether every norm of their product diverges.

This theory is about gradient flow on a product of matrices. It gives the quantities that stay constant in training. In
an example, the product tends to rank 1 while all its norms diverge. It assumes that the layers are balanced at the
start. It does not explain which rank training finds in general.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, Claim, Control, Equal, Hypothesis, Kind, Rate, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, uniform
from lemmata.engine.problems.variables import dimension, rows
from lemmata.subjects.implicit._flows import flow

ABOUT = {"tool": "dynamical systems", "architecture": "dense network", "object": "training"}

_TIMES = (100.0, 300.0, 1000.0)
_INSTANTS = (30.0, 100.0, 300.0, 1000.0)
_STEPS = (0.01, 0.005, 0.0025, 0.00125)


class DeepLinear(eqx.Module):
    """A network y = W_3 W_2 W_1 x, and the rows on which it is trained.

    Args:
        x, y: the inputs and targets of the training rows.
        first, second, third: the weight matrices W_1, W_2 and W_3.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n k"]
    first: Float[Array, "h d"]
    second: Float[Array, "h h"]
    third: Float[Array, "k h"]

    @property
    def layers(self) -> tuple:
        """The layers (W_1, W_2, W_3)."""
        return self.first, self.second, self.third

    def descent(self, layers: tuple) -> tuple:
        """Return minus the gradient of the mean squared error with respect to all layers."""
        outputs = lambda layers: self.x @ layers[0].T @ layers[1].T @ layers[2].T
        loss = lambda layers: jnp.sum((outputs(layers) - self.y) ** 2) / len(self.y) / 2
        return jax.tree.map(jnp.negative, jax.grad(loss)(layers))


NETWORKS = Drawn(
    DeepLinear,
    n=rows(12, 1, 200, corners=(8, 16)),
    d=dimension(4, 1, 20, corners=(3, 6)),
    h=dimension(3, 1, 20, corners=(2, 6)),
    k=dimension(2, 1, 10, corners=(2, 4)),
    x=normal("n", "d", times=0.5),
    y=normal("n", "k"),
    first=normal("h", "d", times=0.5),
    second=normal("h", "h", times=0.5),
    third=normal("k", "h", times=0.5),
)


def outer(layers: tuple) -> Float[Array, "2 h h"]:
    """Return W_1 W_1' and W_2 W_2'."""
    return jnp.stack([layer @ layer.T for layer in layers[:-1]])


def inner(layers: tuple) -> Float[Array, "2 h h"]:
    """Return W_2'W_2 and W_3'W_3."""
    return jnp.stack([layer.T @ layer for layer in layers[1:]])


class LayersStayBalanced(Claim[DeepLinear]):
    """Let W_L ... W_1 be a linear network. Under gradient flow of any differentiable loss of the product, the matrices
    W_(l+1)'W_(l+1) and W_l W_l' of neighbouring layers change at equal rates. So the difference W_(l+1)'W_(l+1) - W_l
    W_l' is conserved for each l < L. The test compares the two rates for three layers and the squared loss.
    """

    title = "Gradient flow conserves the differences W_2'W_2 - W_1 W_1' between neighbouring layers of a linear network"
    source = Source("du2018balanced", note="the identity for matrices, which holds for linear networks")
    population = NETWORKS
    relation = Equal(block=-1)
    control = Control("the sum is conserved", lambda rates, problem: -rates)
    controls = "the difference between two layers during all of training"
    unexplained = "the difference at the start"

    def predict(self, problem: DeepLinear) -> Array:
        return jax.jvp(outer, (problem.layers,), (problem.descent(problem.layers),))[1]

    def measure(self, problem: DeepLinear, key: Key[Array, ""]) -> Array:
        return jax.jvp(inner, (problem.layers,), (problem.descent(problem.layers),))[1]

    def condition(self, problem: DeepLinear) -> Array:
        """Return the sums of the rates with all terms positive, divided by the largest rate."""
        sizes = DeepLinear(jnp.abs(problem.x), -jnp.abs(problem.y), *map(jnp.abs, problem.layers))
        grown = jax.jvp(inner, (sizes.layers,), (jax.tree.map(jnp.abs, sizes.descent(sizes.layers)),))[1]
        rates = jax.jvp(inner, (problem.layers,), (problem.descent(problem.layers),))[1]
        return grown.max() / jnp.abs(rates).max()


class StepsDriftFromBalance(Claim[DeepLinear]):
    """Let W_L ... W_1 be a linear network. Take 1/s steps of gradient descent, each of size s, so that the total time
    is 1. These steps change the difference W_(l+1)'W_(l+1) - W_l W_l' between neighbouring layers. As s -> 0, the
    Frobenius norm of all these changes is

        C s,

    where C does not depend on s. Gradient flow, the limit of small steps, conserves the differences.
    """

    title = "In a linear network, gradient descent changes W_2'W_2 - W_1 W_1' of neighbouring layers by O(step size)"
    source = Source("du2018balanced", note="descent, with the order in the step")
    population = NETWORKS
    relation = Rate("s", _STEPS)
    control = Control("the change is of the order sqrt(s)", lambda exponent, problem: exponent - 0.5)
    controls = "how far discrete steps change the differences between layers"
    unexplained = "the constant"
    trials = 64
    predict = 1.0

    def measure_at(self, problem: DeepLinear, key: Key[Array, ""], s: float) -> Array:
        apart = lambda layers: inner(layers) - outer(layers)
        step = lambda _, layers: jax.tree.map(lambda a, b: a + s * b, layers, problem.descent(layers))
        end = jax.lax.fori_loop(0, round(1 / s), step, problem.layers)
        return jnp.linalg.norm(apart(end) - apart(problem.layers))


class Completion(eqx.Module):
    """A start W_1 = M, W_2 = M' where M'M has the eigenvalues `values`, and `angle` turns its eigenvectors."""

    values: Float[Array, " 2"]
    angle: Float[Array, ""]

    @property
    def root(self) -> Float[Array, "2 2"]:
        """The symmetric matrix M."""
        turn = jnp.stack([jnp.cos(self.angle), jnp.sin(self.angle)])
        basis = jnp.stack([turn, jnp.stack([-turn[1], turn[0]])], axis=1)
        return (basis * jnp.sqrt(self.values)) @ basis.T

    def path(self, times: Float[Array, " s"], corner: float) -> tuple[Float[Array, "s 2 2"], Float[Array, " s"]]:
        """Return the product of the layers at the times, and its loss, if w_22 is observed to be `corner`.

        The flow is dM/dt = -M G, where G is the gradient of the loss with respect to the product.
        """

        def loss(product: Array) -> Array:
            return ((product[0, 1] - 1) ** 2 + (product[1, 0] - 1) ** 2 + (product[1, 1] - corner) ** 2) / 2

        roots = flow(lambda m: -m @ jax.grad(loss)(m.T @ m), self.root, times, 1e-10)
        products = roots.transpose(0, 2, 1) @ roots
        return products, jax.vmap(loss)(products)


def _determined(problem: Completion) -> Hypothesis:
    least = problem.values.min()
    return Hypothesis("det W > 0 at the start", least, ">", 0.0, "balanced layers then keep det W > 0")


COMPLETIONS = Drawn(Completion, _determined, values=log_uniform(0.02, 0.4, 2), angle=uniform(0.0, 6.3))


class NormsDiverge(Claim[Completion]):
    """Complete a 2 x 2 matrix W = W_2 W_1 with observed entries w_12 = w_21 = 1 and w_22 = 0. Run gradient flow of the
    loss l, which is half of the sum of squared errors. At the start, let the layers be balanced, so W_2'W_2 = W_1 W_1',
    and let det W > 0. Then det W > 0 at all times, and whenever l < 1/2,

        w_11 >= (1 - sqrt(2 l))² / sqrt(2 l).

    So every norm of W diverges as l -> 0, although there are completions of bounded norm.

    The test starts at W_1 = W_2', and measures the ratio of the two sides at the times 100, 300 and 1000. It also runs
    a second flow with the observation w_22 = 1, under which w_11 stays bounded. The ratio of w_11 in the first flow to
    w_11 in the second flow at least doubles from time 100 to time 1000.
    """

    title = "In a 2 x 2 matrix completion, every norm of a deep linear network's matrix diverges under gradient flow"
    source = Source("razin2020", note="the example of completion, with explicit constants")
    population = COMPLETIONS
    relation = AtLeast()
    control = Control("the entry is at least 1.5 times the bound", lambda ratio, problem: 1.5 * ratio)
    controls = "the unobserved entry as the loss falls"
    unexplained = "unbalanced starts, from which W can cross det W = 0 and stop at a finite entry"
    trivial = "the observed entries allow every value of w_11"

    def predict(self, problem: Completion) -> Array:
        return jnp.ones(len(_TIMES) + 1).at[-1].set(2.0)

    def measure(self, problem: Completion, key: Key[Array, ""]) -> Array:
        (products, losses), (bounded, _) = (problem.path(jnp.asarray(_TIMES), corner) for corner in (0.0, 1.0))
        off, grown = jnp.sqrt(2 * losses), products[:, 0, 0] / bounded[:, 0, 0]
        ratios = jnp.where(losses < 0.5, products[:, 0, 0] * off / (1 - off) ** 2, jnp.nan)
        return jnp.append(ratios, grown[-1] / grown[0])


class NormsGrowLikeTheCubeRoot(Claim[Completion]):
    """Complete a 2 x 2 matrix W = W_2 W_1 with observed entries w_12 = w_21 = 1 and w_22 = 0. Run gradient flow of half
    of the sum of squared errors, from a start with W_1 = W_2' and det W > 0. Let w_11 be the unobserved entry after
    time t, and let v_11 be the same entry if w_22 = 1 is observed instead. Then

        w_11 / v_11 ~ C t^(1/3),

    and v_11 stays bounded. The constant C does not depend on t. The reason is that for large t, W is near a matrix z
    z^T with z_1 z_2 = 1. The loss of this matrix is z_1^-4 / 2. Among such matrices, the flow is dz_1/dt = z_1^-5 to
    leading order. So w_11 = z_1² grows like (6 t)^(1/3).
    """

    title = "In a 2 x 2 matrix completion, a deep linear network's norms grow like the cube root of training time"
    source = Source("razin2020", note="the example of completion; its rate in time is our own")
    stated = Kind.OWN
    population = COMPLETIONS
    relation = Rate("t", _INSTANTS, margin=0.05, resolution=0.08)
    control = Control("the ratio grows like sqrt(t)", lambda exponent, problem: jnp.asarray(0.5))
    controls = "how fast the unobserved entry grows"
    unexplained = "unbalanced starts"
    trials = 32
    predict = 1 / 3

    def measure(self, problem: Completion, key: Key[Array, ""]) -> Array:
        times = jnp.asarray(_INSTANTS)
        return problem.path(times, 0.0)[0][:, 0, 0] / problem.path(times, 1.0)[0][:, 0, 0]
