"""Curvature from Hessian-vector products: errors of estimates, the step of Sophia, and the effect of rescaling.

This theory bounds the error of estimates of the largest eigenvalue and of the trace from random vectors, for any
operator. It also gives the trace of the Hessian of a ReLU network at all rescaled parameters that compute the same
function. It does not explain what sharpness says about new data.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal
from lemmata.engine.problems.variables import dimension, rows
from lemmata.spectra import hessian_product, probed, three_term
from lemmata.subjects.optimisers._noisy_steps import ProbedHessian, ProbedHessians

ABOUT = {"tool": "spectral theory", "architecture": "any", "object": "estimator"}


class IsolatedEigenvalue(eqx.Module):
    """A diagonal operator, and the number of products with this operator that Lanczos iteration may use."""

    values: Float[Array, " n"]
    products: int = eqx.field(static=True)


class IsolatedEigenvalues(Population[IsolatedEigenvalue]):
    """An eigenvalue 1 and others in [0, 1 - gap], dense at both ends: the hardest case for Krylov spaces.

    Gaps are 0.4 to 1 times the error that the bound allows with probability 9/10.
    """

    settings = Space(n=Integer(200, 40, 5000, "dimension", corners=(100, 400)), products=Integer(12, 6, 30, "products"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> IsolatedEigenvalue:
        n, k = setting["n"], setting["products"]
        share = 0.4 + 0.6 * jax.random.uniform(key)
        gap = share * (math.log(16.48 * math.sqrt(n)) / (2 * k - 1)) ** 2
        points = (1 - jnp.cos(jnp.pi * jnp.arange(n - 1) / (n - 2))) / 2
        return IsolatedEigenvalue(jnp.append((1 - jnp.minimum(gap, 0.9)) * points, 1.0), k)

    def hypotheses(self, problem: IsolatedEigenvalue) -> list[Hypothesis]:
        n = len(problem.values)
        return [
            Hypothesis(
                "there are fewer products than dimensions", problem.products, "<", n, "otherwise the result is exact"
            )
        ]


class SeparableLoss(eqx.Module):
    """The loss sum_i curvature_i x_i²/2 - slope_i x_i."""

    curvature: Float[Array, " d"]
    slope: Float[Array, " d"]

    def __call__(self, at: Float[Array, " d"]) -> Float[Array, ""]:
        """The loss at a point x."""
        return jnp.sum(self.curvature * at**2 / 2 - self.slope * at)


class SeparableLosses(Population[SeparableLoss]):
    """Curvatures over three orders of magnitude, of which a third are negative."""

    settings = Space(d=Integer(12, 3, 200, "coordinates", corners=(6, 24)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SeparableLoss:
        one, two, three = jax.random.split(key, 3)
        shape = (setting["d"],)
        sizes = 10 ** jax.random.uniform(one, shape, minval=-1.0, maxval=2.0)
        signs = jnp.where(jax.random.uniform(two, shape) < 1 / 3, -1.0, 1.0)
        return SeparableLoss(sizes * signs, jax.random.normal(three, shape))

    def hypotheses(self, problem: SeparableLoss) -> list[Hypothesis]:
        least = jnp.abs(problem.slope).min()
        return [Hypothesis("no slope is 0", least, ">", 0.0, "the sign of a step is the sign of the slope")]


class RescaledUnits(eqx.Module):
    """A network sum_i a_i max(w_i'x, 0) with the parameters (c a, W/c), which compute one function for all c.

    Args:
        x, y: the rows x and targets y of the loss, the mean of (f - y)²/2.
        out, weights: the readout a and the weights W.
        scale: the factor c of the readout, by which the weights W are divided.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    out: Float[Array, " m"]
    weights: Float[Array, "m d"]
    scale: Float[Array, ""]

    def loss(self, params: tuple[Float[Array, " m"], Float[Array, "m d"]]) -> Float[Array, ""]:
        """Return the loss at the parameters (readout, weights)."""
        out, weights = params
        return jnp.mean((jnp.maximum(self.x @ weights.T, 0.0) @ out - self.y) ** 2) / 2

    @property
    def rescaled(self) -> tuple[Float[Array, " m"], Float[Array, "m d"]]:
        """The rescaled parameters (c a, W/c)."""
        return self.scale * self.out, self.weights / self.scale


def _no_kink(problem: RescaledUnits) -> Hypothesis:
    least = jnp.abs(problem.x @ problem.weights.T).min()
    return Hypothesis("no row is on a kink", least, ">", 0.0, "at a kink the loss has no Hessian")


_DELTA = 0.1
_PROBES = 128
_GAMMA = 0.5


class LanczosFromRandomStart(Claim[IsolatedEigenvalue]):
    """Let lambda_max and lambda_min be the largest and the smallest eigenvalue of a symmetric operator in n dimensions.
    Run Lanczos iteration from a start that is drawn uniformly from the sphere, and let theta be the largest Ritz value
    after k products. With probability at least 1 - delta, where delta = 1/10,

        (lambda_max - theta)/(lambda_max - lambda_min) <= ( log(1.648 sqrt(n)/delta) / (2 k - 1) )²,

    for all values of the other eigenvalues.
    """

    title = "Lanczos with k products from a random start finds the largest of n eigenvalues up to O((log(n)/k)²)"
    source = Source("kuczynski1992", note="main result, Lanczos in probability")
    population = IsolatedEigenvalues()
    relation = AtMost(delta=_DELTA)
    control = Control("a third of the bound is enough", lambda bound, problem: bound / 3)
    controls = "the error of the largest eigenvalue that is estimated from products"
    unexplained = "how much smaller the error is for most operators"
    trials = 400
    trivial = 1.0  # a value is somewhere in the spectrum

    def predict(self, problem: IsolatedEigenvalue) -> Array:
        logarithm = math.log(1.648 * math.sqrt(len(problem.values)) / _DELTA)
        return jnp.asarray((logarithm / (2 * problem.products - 1)) ** 2)

    def measure(self, problem: IsolatedEigenvalue, key: Key[Array, ""]) -> Array:
        values = problem.values
        diagonal, beside, _ = three_term(lambda v: values * v, values, key, problem.products)
        inner = jnp.diag(diagonal) + jnp.diag(beside[:-1], 1) + jnp.diag(beside[:-1], -1)
        return (values.max() - jnp.linalg.eigvalsh(inner)[-1]) / (values.max() - values.min())


class HutchinsonTraceVariance(Claim[ProbedHessian]):
    """Let H be a symmetric matrix, and let u be a vector of independent random signs. Then u'Hu estimates the trace of
    H without bias, and its mean square error is

        2 (|H|_F² - sum_i H_ii²).

    If u were standard normal, the error would be 2 |H|_F².
    """

    title = (
        "Hutchinson's estimate of a trace by random signs has the mean square error 2 (|H|_F² - sum_i H_ii²) "
        "for a matrix H"
    )
    source = Source("avron2011", note="the variance of Hutchinson's estimate")
    population = ProbedHessians()
    relation = EqualInMean(resolution=0.05)
    control = Control(
        "the error is as large as with normal probes",
        lambda value, problem: value + 2 * jnp.sum(jnp.diag(problem.hessian) ** 2),
    )
    controls = "the error of an estimated trace"
    unexplained = "the error of estimators that first learn the range of the matrix"
    trials = 64

    def predict(self, problem: ProbedHessian) -> Array:
        return 2 * (jnp.sum(problem.hessian**2) - jnp.sum(jnp.diag(problem.hessian) ** 2))

    def measure(self, problem: ProbedHessian, key: Key[Array, ""]) -> Array:
        like = jnp.zeros(len(problem.hessian))
        product = hessian_product(lambda x: x @ problem.hessian @ x / 2, like)
        return jnp.mean((probed(product, like, key, _PROBES) - jnp.trace(problem.hessian)) ** 2)


class SophiaStepIsClippedNewton(Claim[SeparableLoss]):
    """Let the loss be a sum over coordinates, with curvature h_i and slope g_i in coordinate i. Let eta be the learning
    rate and gamma the clipping parameter of Sophia. Once Sophia has an estimate of the curvature, its steps without
    momentum are

        -eta sign(g_i) min(|g_i|/(gamma h_i), 1)   where h_i > 0,   and   -eta sign(g_i)   elsewhere.

    In stiff coordinates, this step is proportional to Newton's step. In coordinates in which the loss is flat or
    concave, Sophia takes a step downhill of fixed length. Along a concave coordinate, Newton's step would go uphill.
    """

    title = "A step of Sophia is a clipped Newton step"
    source = Source("emergence2026", "Figure 5.21", "Remark 5.14", note="made exact")
    population = SeparableLosses()
    relation = Equal()
    control = Control(
        "the step is Newton's, without the clip", lambda step, problem: -_slope(problem) / (_GAMMA * problem.curvature)
    )
    controls = "one step of Sophia"
    unexplained = "how large the error of the curvature estimate may be"

    def predict(self, problem: SeparableLoss) -> Array:
        slope = _slope(problem)
        bends = problem.curvature > 0
        newton = jnp.abs(slope) / jnp.where(bends, _GAMMA * problem.curvature, 1.0)
        return -jnp.sign(slope) * jnp.where(bends, jnp.minimum(newton, 1.0), 1.0)

    def measure(self, problem: SeparableLoss, key: Key[Array, ""]) -> Array:
        """Return the second step at the start; the first step estimates the curvature."""
        probe = optax.contrib.hutchinson_estimator_diag_hessian(key)
        method = optax.contrib.sophia(
            1.0, b1=0.0, b2=0.0, eps=1e-12, weight_decay=0.0, gamma=_GAMMA, hessian_diagonal_fn=probe
        )
        at = jnp.ones_like(problem.slope)
        slope = jax.grad(problem)(at)
        _, state = method.update(slope, method.init(at), at, obj_fn=problem)
        return jnp.asarray(method.update(slope, state, at, obj_fn=problem)[0])


def _slope(problem: SeparableLoss) -> Float[Array, " d"]:
    return problem.curvature - problem.slope


class RescaledUnitsChangeSharpness(Claim[RescaledUnits]):
    """Let f(x) = sum_i a_i max(w_i'x, 0) be a network. With the parameters (c a, w/c), the network computes the same
    function for every c > 0. Let the loss be the mean of (f - y)²/2 over rows x with targets y. At the parameters (c a,
    w/c), the trace of the Hessian of the loss is

        c^-2 mean sum_i max(w_i'x, 0)² + c² mean |x|² sum_(i: w_i'x > 0) a_i².

    So the trace can be arbitrarily large for the same function. The trace is smallest at the c for which its two terms
    are equal.
    """

    title = "Sharpness depends on the parameters and not only on the function"
    source = Source("emergence2026", "Figure 5.15", note="what rescaling does to the Hessian")
    population = Drawn(
        RescaledUnits,
        _no_kink,
        m=Integer(5, 2, 50, "units", corners=(3, 8)),
        d=dimension(3, corners=(2, 5)),
        n=rows(16, 4, corners=(10, 30)),
        x=normal("n", "d"),
        y=normal("n"),
        out=normal("m"),
        weights=normal("m", "d"),
        scale=log_uniform(0.25, 4.0),
    )
    relation = Equal()
    control = Control("the trace is the same for every c", lambda value, problem: _traces(problem) @ jnp.ones(2))
    controls = "the trace of the Hessian on parameters that compute the same function"
    unexplained = "the parameters at which a method ends"

    def predict(self, problem: RescaledUnits) -> Array:
        return _traces(problem) @ jnp.stack([problem.scale**-2, problem.scale**2])

    def measure(self, problem: RescaledUnits, key: Key[Array, ""]) -> Array:
        out, weights = problem.rescaled
        both = jnp.concatenate([out, weights.ravel()])
        split = lambda v: (v[: len(out)], v[len(out) :].reshape(weights.shape))
        product = hessian_product(lambda v: problem.loss(split(v)), both)
        return jnp.trace(jax.vmap(product)(jnp.eye(len(both))))

    def condition(self, problem: RescaledUnits) -> Array:
        """Bound the rounding of sums over rows and units of products of three numbers."""
        return jnp.asarray(4.0 * problem.x.size)


def _traces(problem: RescaledUnits) -> Float[Array, " 2"]:
    """Return the traces of the two blocks of the Hessian at c = 1."""
    inner = problem.x @ problem.weights.T
    lengths = jnp.sum(problem.x**2, axis=1)
    first = jnp.mean(jnp.sum(jnp.maximum(inner, 0.0) ** 2, axis=1))
    return jnp.stack([first, jnp.mean(lengths * ((inner > 0) @ problem.out**2))])
