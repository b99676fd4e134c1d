"""The limit of the softmax tangent kernel H at infinite width: how H approaches it, and when it is positive definite.

The network has the outputs F_l(x) = m <a_l, S> with m hidden units w_r ~ N(0, sigma² I), signs a_l and the shares
S = softmax(W' x). H is the Gram matrix of the gradients of the outputs, divided by m. H_ll is its block for output l.
This theory is about H at the symmetric initialisation, where units come in pairs with equal weights and opposite signs.
As the width m grows, H tends to 0 between two outputs, and within an output to

    K(x, y) = <x, y> exp(sigma² <x, y>),

with fluctuations of size m^(-1/2) and a known bias of size 1/m. The convergence theorems use lambda = lambda_min(H). Up
to an error of order m^(-1/2), lambda is the smallest eigenvalue of the n x n matrix K(x_i, x_j) of the n inputs. Module
`definiteness` states when this eigenvalue is positive. The theory does not explain what training does to H.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, EqualInMean, Hypothesis, Kind, Rate, Source
from lemmata.engine.problems.sampled import draws, paired_signs
from lemmata.engine.problems.softmax_kernels import WIDTHS, KernelPoints, PlanarTriples, SpherePoints
from lemmata.networks import SoftmaxNetwork

ABOUT = {"tool": "concentration", "architecture": "dense network", "object": "kernel"}

_CONTROLS = "the tangent kernel of a softmax network before training"
_DRAWS = 1024
_TRIPLES = PlanarTriples()


def width_correction(x: Float[Array, "n d"], sigma: Float[Array, ""], m: int) -> Float[Array, "n n"]:
    """Return the relative bias c_ij / m of H_ll, where E H_ll(x_i, x_j) = K(x_i, x_j) (1 + c_ij / m) + O(1/m²).

        c_ij = 2 (e(x_i, x_i) + e(x_j, x_j) + e(x_i, x_j) - e(x_i, x_i + x_j) - e(x_j, x_i + x_j) - 1)

    with e(x, y) = exp(sigma² <x, y>). The proof writes H_ll / <x_i, x_j> as a ratio A / (B C). A, B and C are the means
    over m/2 pairs of exp(<w, x_i + x_j>), exp(<w, x_i>) and exp(<w, x_j>). Take Var B + Var C + Cov(B, C) - Cov(A, B) -
    Cov(A, C), and divide each term by the means of its two factors. The sum is c / m. For normal w,
    Cov(exp <w, x>, exp <w, y>) = (e(x, y) - 1) E exp <w, x> E exp <w, y>.

    Args:
        x: the points, one per row.
        sigma: the standard deviation of the hidden weights.
        m: the width of the network.
    """
    inner = x @ x.T
    own = jnp.diagonal(inner)
    e = lambda product: jnp.exp(sigma**2 * product)
    alone = e(own)[:, None] + e(own)[None, :] + e(inner)
    return 2 / m * (alone - e(own[:, None] + inner) - e(own[None, :] + inner) - 1)


def _ladder(problem: KernelPoints, outputs: int, key: Key[Array, ""]) -> list[Float[Array, "k n k n"]]:
    """Return the tangent kernel H of one new network for each width; all networks come from one random draw."""
    found, d = [], problem.x.shape[1]
    for drawn in draws(key, *((d + outputs, int(width) // 2) for width in WIDTHS)):
        weight = jnp.repeat(problem.sigma * drawn[:d], 2, axis=1)
        params = {"weight": weight, "sign": paired_signs(drawn[d:])}
        found.append(SoftmaxNetwork(weight.shape[1], outputs).tangent(params, problem.x))
    return found


class TangentWidth(Claim[KernelPoints]):
    """Let H be the tangent kernel of the two-layer softmax network m <a_l, softmax(W' x)> of width m, whose units have
    the columns of W as weights. At initialisation, the units come in pairs with equal weights and opposite signs a_lr =
    ±1. Let sigma be the standard deviation of the weights. For large m, H tends to <x, y> exp(sigma² <x, y>) within an
    output, and to 0 between two outputs. Let all points have |x| <= 1. The root mean square, over pairs of points, of
    the difference between H and its limit is

        C m^(-1/2).

    If you give your own data, lemmata uses the first 16 inputs. If the kernel of your problem is a softmax kernel,
    lemmata uses the map of the inputs and the sigma of this kernel. Otherwise lemmata takes sigma = 1/2 and scales the
    inputs so that the longest has norm 1.
    """

    title = "The softmax tangent kernel approaches its limit as m^(-1/2)"
    source = Source("gu2024softmax", "Definition 3.6", "Definition 3.7", note="infinite width (not in the source)")
    stated = Kind.OWN
    population = SpherePoints()
    # The terms are products of lognormals, of relative variance up to exp(4 sigma²) - 1 on the unit ball. The
    # denominators of the softmax add a relative exp(sigma²)/m to the mean square. From m = 256 on, this bends the slope
    # by less than 0.02 for sigma <= 1/2; sigma = 0.8 bends it by 0.06.
    relation = Rate(along="m", rungs=WIDTHS, margin=0.02, resolution=0.1, replicates=2)
    control = Control("the kernel converges as 1/m", lambda exponent, problem: 2 * exponent)
    controls = _CONTROLS
    unexplained = "the widths that are needed for long inputs, which grow as exp(4 sigma² |x|²)"
    trials = 128
    predict = -0.5

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """Return |H - limit|_F / |limit|_F, where limit is the limit of H, for one network of each width."""
        limit = jnp.einsum("ij,lk->likj", problem.limit, jnp.eye(2))
        return jnp.stack([jnp.linalg.norm(h - limit) for h in _ladder(problem, 2, key)]) / jnp.linalg.norm(limit)


def _pairs(matrix: Float[Array, "n n"]) -> Array:
    return matrix[jnp.triu_indices(len(matrix))]


class WidthCorrection(Claim[KernelPoints]):
    """Let a softmax network have m units that are initialised in pairs, with weights of standard deviation sigma. Let
    e(x, y) = exp(sigma² <x, y>) for points x and y, and let

        c = 2 (e(x, x) + e(y, y) + e(x, y) - e(x, x + y) - e(y, x + y) - 1).

    For an output l, the mean of the network's tangent kernel H over initialisations is

        E H_ll(x, y) = <x, y> exp(sigma² <x, y>) (1 + c / m) + O(1/m²).

    The claim is tested at m = 32 on the pairs of three points.
    """

    title = "At width m, the mean softmax tangent kernel differs from its infinite-width limit by a known term in 1/m"
    source = Source(
        "gu2024softmax", "Definition 3.6", "Definition 3.7", note="finite-width correction (not in the source)"
    )
    stated = Kind.OWN
    population = _TRIPLES
    relation = EqualInMean(margin=0.003, resolution=0.004)
    control = Control(
        "the mean at m = 32 is already equal to the limit", lambda predicted, problem: _pairs(problem.limit)
    )
    controls = _CONTROLS
    unexplained = "the terms of order 1/m²"
    trials = 128

    def predict(self, problem: KernelPoints) -> Array:
        return _pairs(problem.limit * (1 + width_correction(problem.x, problem.sigma, _TRIPLES.width)))

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """The mean of H_ll over 1024 networks; at the initialisation, H_ll is <x_i, x_j> sum_r m S_ir S_jr."""
        width = _TRIPLES.width
        weights = problem.sigma * jax.random.normal(key, (_DRAWS, problem.x.shape[1], width // 2))
        shares = jax.nn.softmax(jnp.einsum("nd,sdr->snr", problem.x, weights), axis=2)
        mean = width / 2 * jnp.einsum("sir,sjr->ij", shares, shares) / _DRAWS
        return _pairs(mean * (problem.x @ problem.x.T))


class SmallestEigenvalueWidth(Claim[KernelPoints]):
    """Let a softmax network m <a_l, softmax(W' x)> have m units and k >= 2 outputs, and let x_1, ..., x_n be points in
    the unit ball. Let H, of shape (nk, nk), be its tangent kernel at these points. At initialisation, the units come in
    pairs with equal weights of standard deviation sigma and opposite signs a_lr = ±1. Suppose that the smallest
    eigenvalue of the n x n matrix <x_i, x_j> exp(sigma² <x_i, x_j>) is positive. The smallest eigenvalue of H differs
    from the smallest eigenvalue of this matrix by

        C m^(-1/2).

    The limit of H consists of k equal blocks, which have equal eigenvalues. The fluctuations of H push these equal
    eigenvalues apart.
    """

    title = "The smallest eigenvalue of the softmax tangent kernel of width m converges as m^(-1/2)"
    source = Source("gu2024softmax", "Theorem 4.2", note="lambda at infinite width (not in the source)")
    stated = Kind.OWN
    population = SpherePoints(n=4, rows=8)
    # Weyl: at most |H - limit| ~ m^(-1/2). The second order, ~ 1/m over a gap of order 1, changes the slope by about
    # m^(-1/2) of the slope, which is 0.06 at the smallest width.
    relation = Rate(along="m", rungs=WIDTHS, margin=0.06, resolution=0.1, replicates=2)
    control = Control("the smallest eigenvalue converges as 1/m", lambda exponent, problem: 2 * exponent)
    controls = _CONTROLS
    unexplained = "the constant; with one output, the difference has a random sign and a mean of order 1/m"
    trials = 128
    predict = -0.5

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        """Require that the limit's smallest eigenvalue is positive. Otherwise, only rounding would be measured."""
        values = jnp.linalg.eigvalsh(problem.limit)
        floor = 16 * len(values) * jnp.finfo(values.dtype).eps * values[-1]
        name = "the smallest eigenvalue of the limit is above its rounding error"
        return [Hypothesis(name, values[0], ">", floor, "two rows are equal, or one is zero")]

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """For networks with four outputs, return the difference of the smallest eigenvalues of H and of its limit."""
        size = 4 * len(problem.x)
        stacked = jnp.stack([h.reshape(size, size) for h in _ladder(problem, 4, key)])
        return jnp.abs(jnp.linalg.eigvalsh(stacked)[:, 0] - jnp.linalg.eigvalsh(problem.limit)[0])
