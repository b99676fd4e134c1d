"""Galerkin attention: a kernel of low rank between points, its cost, and the functions that it can produce.

Let x(p) be the channels at m points p, and let q, k, v be affine in x. Then k and v are normalised over the channels
of a head. A head adds

    z(p) = 1/m sum over points r of (q(p)·k(r)) v(r),

which is q(p) times one small matrix. This theory gives the form and the cost of one such sum z, and the space of
functions of p that contains the sum. It leaves open which matrices training finds, and what the networks that act at
each point between the sums add.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Rate, Source
from lemmata.subjects.operators import galerkin_attention, galerkin_weights
from lemmata.subjects.operators._attended_fields import AttendedField, AttendedFields

ABOUT = {
    "tool": "linear algebra",
    "architecture": "attention",
    "object": "function class",
    "GalerkinCost": {"object": "cost"},
}

_KEY = "wei2023superresolution"
_LEAST = 0.01


class GalerkinIsBilinearForm(Claim[AttendedField]):
    """In an attention head, let the rows of Q, K and V be the queries, normalised keys and normalised values at m
    points. Galerkin attention computes Q (K'V) / m. Let q(p) be the query at a point p, and k(r) the normalised key at
    a point r. The result equals the product of the m x m matrix of the kernel q(p)·k(r) with the values, divided by m:

        Q (K'V) / m = (Q K') V / m.

    So Galerkin attention approximates the kernel integral by a mean over the points, without forming the m x m matrix.
    """

    title = "Galerkin attention applies the bilinear form of a kernel to the values"
    source = Source(_KEY, "Abstract, Galerkin attention")
    population = AttendedFields()
    relation = Equal(block=-1)
    control = Control("the mean is over m - 1 points", lambda z, problem: z * len(z) / (len(z) - 1))
    controls = "what the attention adds at each point"
    unexplained = "which kernels the weights can represent"

    def predict(self, problem: AttendedField) -> Array:
        return galerkin_attention(problem.rows, problem.attentions[0]) - problem.rows

    def measure(self, problem: AttendedField, key: Key[Array, ""]) -> Array:
        """Compute the sum with the m x m matrix of the kernel, head by head.

        Layer norms are written out.
        """
        own, x = problem.attentions[0], problem.rows
        (heads, d), found = own.key_scale.shape, []
        for a in range(heads):
            part = slice(a * d, (a + 1) * d)
            q, k, v = (x @ m.weight[:, part] + m.bias[part] for m in (own.query, own.key, own.value))
            k = _normed(k, own.key_scale[a], own.key_shift[a])
            v = _normed(v, own.value_scale[a], own.value_shift[a])
            found.append(jnp.mean((q @ k.T)[:, :, None] * v[None], axis=1))
        return jnp.concatenate(found, axis=1)

    def condition(self, problem: AttendedField) -> Array:
        """Return m, because each sum has m terms; layer norms divide by deviations of about 1."""
        return jnp.asarray(1.0 * len(problem.places))


def _normed(x: Float[Array, "m d"], scale: Float[Array, " d"], shift: Float[Array, " d"]) -> Float[Array, "m d"]:
    d = x.shape[1]
    centred = x - x.sum(axis=1, keepdims=True) / d
    return scale * centred / (jnp.sqrt(jnp.sum(centred**2, axis=1, keepdims=True) / (d - 1)) + 1e-5) + shift


class GalerkinCost(Claim[AttendedField]):
    """Apply Galerkin attention to m points. The compiler's count of floating-point operations grows like m. Computing
    the m x m matrix of kernel values would take a number of operations of order m².
    """

    title = "The cost of Galerkin attention is linear in the number of points"
    source = Source(_KEY, "Abstract, Galerkin attention", note="its efficiency")
    population = AttendedFields()
    relation = Rate("m", (1024.0, 4096.0, 16384.0))
    control = Control("the number of operations grows like m^(3/2)", lambda exponent, problem: exponent + 0.5)
    controls = "the number of operations of one layer of attention"
    unexplained = "the time that an operation takes, and the cost of the other parts of a network"
    traced = False
    trials = 4
    predict = 1.0

    def measure_at(self, problem: AttendedField, key: Key[Array, ""], m: float) -> Array:
        """Return the compiler's count of operations before it optimises."""
        return jnp.asarray(_operations(*problem.attentions[0].key_scale.shape, int(m)))


@functools.cache
def _operations(heads: int, each: int, m: int) -> float:
    width = heads * each
    weights = jax.eval_shape(lambda: galerkin_weights(jax.random.key(0), width, heads))
    counted: Any = jax.jit(galerkin_attention).lower(jax.ShapeDtypeStruct((m, width), float), weights).cost_analysis()
    return float(counted["flops"])


def stacked(problem: AttendedField) -> Float[Array, "m c"]:
    """Apply layers of attention with residual connections, one after another, without other layers between them."""
    x = problem.rows
    for own in problem.attentions:
        x = galerkin_attention(x, own)
    return x


class AttentionKeepsTheSpan(Claim[AttendedField]):
    """Stack layers of Galerkin attention with residual connections, and with no pointwise network between the layers.
    Let x(p) be the channels at a point p before the first layer. The channels at this point after the last layer are

        x_out(p) = A x(p) + b

    with the same A and b at all points. The matrix A and the vector b depend on the values of the channels at all
    points. For any number of layers, each output channel is a function of p in the span of the input channels and the
    constant 1. So if A and b are fitted at more points than there are channels, they predict the output at all other
    points.
    """

    title = "Without pointwise networks, Galerkin attention keeps all channels in the span of the input channels and 1"
    source = Source(_KEY, "Abstract, basis", "Abstract, dynamic basis", note="without pointwise networks")
    population = AttendedFields(layers=2, frequency=30.0)
    relation = Equal(block=-1)
    control = Control("the outputs are A x(p), without the constant b", lambda x, problem: x - _fitted(problem)[-1])
    controls = "which functions of the coordinate attention can produce"
    unexplained = "the functions that pointwise networks add"

    def predict(self, problem: AttendedField) -> Array:
        return _with_one(problem.rows[_half(problem) :]) @ _fitted(problem)

    def measure(self, problem: AttendedField, key: Key[Array, ""]) -> Array:
        """Return the outputs of the layers at the places that the fit of A and b does not use."""
        return stacked(problem)[_half(problem) :]

    def condition(self, problem: AttendedField) -> Array:
        """Return the condition number of the least squares problem, times the number of points."""
        values = jnp.linalg.svd(_with_one(problem.rows[: _half(problem)]), compute_uv=False)
        return 10 * len(problem.places) * values[0] / values[-1]


def _half(problem: AttendedField) -> int:
    return (2 * len(problem.places)) // 3


def _with_one(x: Float[Array, "m c"]) -> Float[Array, "m c1"]:
    return jnp.concatenate([x, jnp.ones((len(x), 1))], axis=1)


def _fitted(problem: AttendedField) -> Float[Array, "c1 c"]:
    """Fit A and b by least squares at two thirds of the places."""
    half = _half(problem)
    return jnp.linalg.lstsq(_with_one(problem.rows[:half]), stacked(problem)[:half])[0]
