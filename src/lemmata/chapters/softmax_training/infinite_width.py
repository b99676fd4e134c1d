"""The softmax tangent kernel of infinite width: the limit of H, how H nears it, and when it is positive definite.

This theory controls H at the symmetric initialisation. As m grows, H tends to the identity over outputs times

    K(x, y) = <x, y> exp(sigma² <x, y>),

with fluctuations of size m^(-1/2) and a bias of size 1/m that is known. So lambda = lambda_min(H) of the convergence
theorems is, up to m^(-1/2), the smallest eigenvalue of an n x n matrix; `definiteness` says when that is positive. The
theory assumes units drawn in pairs; it leaves unexplained what training does to H.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Claim, Control, EqualInMean, Hypothesis, Integer, Rate, Real, Source, Space
from lemmata.kernels import Compose, SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork
from lemmata.problems import Regression
from lemmata.problems._sampled import draws, paired_signs
from lemmata.problems._singular import singular_cause

_WIDTHS = (256.0, 512.0, 1024.0, 2048.0)
_POINTS = 16
_DRAWS = 2048


class KernelPoints(eqx.Module):
    """Points on which the tangent kernel is taken.

    Args:
        x: the points.
        sigma: standard deviation of the hidden weights.
    """

    x: Float[Array, "n d"]
    sigma: Float[Array, ""]


def width_correction(x: Float[Array, "n d"], sigma: Float[Array, ""], m: int) -> Float[Array, "n n"]:
    """The relative bias c_ij / m of H_ll at finite width: E H_ll(x_i, x_j) = K(x_i, x_j) (1 + c_ij / m) + O(1/m²).

        c_ij = 2 (e(x_i, x_i) + e(x_j, x_j) + e(x_i, x_j) - e(x_i, x_i + x_j) - e(x_j, x_i + x_j) - 1)

    with e(x, y) = exp(sigma² <x, y>). H_ll / <x_i, x_j> is a ratio A / (B C) of means over m/2 pairs of
    exp(<w, x_i + x_j>), exp(<w, x_i>) and exp(<w, x_j>); c collects Var B + Var C + Cov(B, C) - Cov(A, B) - Cov(A, C),
    each relative, where normal exponentials have Cov(exp <w, x>, exp <w, y>) = (e(x, y) - 1) E exp <w, x> E exp <w, y>.

    Args:
        x: points.
        sigma: standard deviation of the hidden weights.
        m: width.
    """
    inner = x @ x.T
    own = jnp.diagonal(inner)
    e = lambda product: jnp.exp(sigma**2 * product)
    alone = e(own)[:, None] + e(own)[None, :] + e(inner)
    return 2 / m * (alone - e(own[:, None] + inner) - e(own[None, :] + inner) - 1)


def _ladder(problem: KernelPoints, outputs: int, key: Key[Array, ""]) -> list[Float[Array, "k n k n"]]:
    """H of a new network for each width."""
    found, d = [], problem.x.shape[1]
    for drawn in draws(key, *((d + outputs, int(width) // 2) for width in _WIDTHS)):
        weight = jnp.repeat(problem.sigma * drawn[:d], 2, axis=1)
        params = {"weight": weight, "sign": paired_signs(drawn[d:])}
        found.append(SoftmaxNetwork(weight.shape[1], outputs).tangent(params, problem.x))
    return found


def posed(problem: object, rows: int) -> KernelPoints | None:
    """The first inputs of a regression, as its softmax kernel sees them or scaled so that the longest has norm 1."""
    if not isinstance(problem, Regression):
        return problem if isinstance(problem, KernelPoints) else None
    x, kernel = problem.x[:rows], problem.kernel
    while isinstance(kernel, Compose):
        x, kernel = jax.vmap(kernel.transform)(x), kernel.kernel
    if isinstance(kernel, SoftmaxTangent):
        return KernelPoints(x, jnp.asarray(kernel.sigma, x.dtype))
    longest = jnp.linalg.norm(problem.x[:rows], axis=1).max()
    return KernelPoints(problem.x[:rows] / jnp.where(longest > 0, longest, 1.0), jnp.asarray(0.5, x.dtype))


class AbstractKernelClaim(Claim[KernelPoints]):
    """What the claims of this section share: a few points on the unit sphere."""

    controls = "the tangent kernel of a softmax network that has not been trained"
    problem = KernelPoints

    def settings(self) -> Space:
        """Points, dimension and the standard deviation of the weights."""
        return Space(
            n=Integer(12, 2, 32, "points"),
            d=Integer(4, 2, 64, "dimension"),
            sigma=Real(0.5, 0.1, 0.55, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        """Points uniform on the unit sphere."""
        x = jax.random.normal(key, (setting["n"], setting["d"]))
        return KernelPoints(x / jnp.linalg.norm(x, axis=1, keepdims=True), jnp.asarray(setting["sigma"], float))

    def pose(self, problem: object) -> KernelPoints | None:
        """The first inputs of a regression."""
        return posed(problem, _POINTS)

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        """Inputs in the unit ball, and widths at which a mean of lognormals is near its limit."""
        longest = jnp.linalg.norm(problem.x, axis=1).max()
        return [
            Hypothesis("some input is not 0", longest, ">", 0.0, "the kernel of the zero input is 0"),
            Hypothesis("inputs lie in the unit ball", longest, "<=", 1.0, "the source's normalisation"),
            Hypothesis(
                "the smallest width averages its lognormal terms",
                jnp.exp(4 * problem.sigma**2 * longest**2),
                "<=",
                _WIDTHS[0] / 64,
                "relative second moment of a term on the diagonal, against a part of the width",
            ),
        ]


class TangentWidth(AbstractKernelClaim):
    """The tangent kernel H of the two-layer softmax network of width m at the symmetric initialisation differs from its
    limit, <x, y> exp(sigma² <x, y>) within an output and 0 between two, root mean square over pairs of points with
    |x| <= 1, by

        C m^(-1/2).

    Of a user's inputs the first 16 are used: through the map and with the sigma of the problem's kernel where that is a
    softmax kernel, otherwise with sigma = 1/2 and scaled so that the longest has norm 1.
    """

    title = "The softmax tangent kernel at finite width"
    source = Source("gu2024softmax", "Definition 3.6", "Definition 3.7", note="infinite width (not in the source)")
    # The terms are products of lognormals, of relative variance up to exp(4 sigma²) - 1 on the unit ball; the
    # denominators of the softmax add a relative exp(sigma²)/m to the mean square, which bends the slope by less than
    # 0.02 from m = 256 on for sigma <= 1/2; sigma = 0.8 bends it by 0.06.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.02, resolution=0.1)
    label = "rate"
    unexplained = "the widths that long inputs need, which grow as exp(4 sigma² |x|²)"
    trials = 128
    batch = 32

    def predict(self, problem: KernelPoints) -> Array:
        """The exponent."""
        return jnp.asarray(-0.5)

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """|H - limit|_F / |limit|_F with two outputs and a new network for each width."""
        limit = jnp.einsum("ij,lk->likj", gram(SoftmaxTangent(sigma=problem.sigma), problem.x), jnp.eye(2))
        return jnp.stack([jnp.linalg.norm(h - limit) for h in _ladder(problem, 2, key)]) / jnp.linalg.norm(limit)

    def control(self) -> Control:
        """The rate of the bias that the softmax's denominator makes."""
        return Control("the kernel converges as 1/m", lambda exponent, problem: 2 * exponent)


class WidthCorrection(AbstractKernelClaim):
    """The mean of H_ll(x, y) over initialisations of width m is K(x, y) (1 + c / m) + O(1/m²) with

        c = 2 (e(x, x) + e(y, y) + e(x, y) - e(x, x + y) - e(y, x + y) - 1),   e(x, y) = exp(sigma² <x, y>).

    Judged at m = 32 on the pairs of three points.
    """

    title = "The bias of the softmax tangent kernel at finite width"
    source = Source(
        "gu2024softmax", "Definition 3.6", "Definition 3.7", note="finite-width correction (not in the source)"
    )
    # The next term of the expansion is taken as (relative variance of one product, exp(4 sigma²) - 1)² / m²: 0.003 at
    # sigma = 1/2 and m = 32. A mean of 2048 networks a trial has a standard deviation below 0.01.
    relation = EqualInMean(margin=0.003, resolution=0.004)
    label = "tight"
    unexplained = "the terms of order 1/m²"
    trials = 128
    batch = 16
    width = 32

    def settings(self) -> Space:
        """Dimension and the standard deviation of the weights."""
        return Space(d=Integer(3, 2, 16, "dimension"), sigma=Real(0.5, 0.3, 0.5, "standard deviation of the weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> KernelPoints:
        """Three points on the unit sphere, at 0, 60 and 120 degrees in a random plane: none are orthogonal."""
        basis = jnp.linalg.qr(jax.random.normal(key, (setting["d"], 2)))[0]
        angles = jnp.pi / 3 * jnp.arange(3)
        x = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1) @ basis.T
        return KernelPoints(x, jnp.asarray(setting["sigma"], float))

    def pose(self, problem: object) -> KernelPoints | None:
        """A user's points are not examined: a mean over networks needs many of them."""
        return problem if isinstance(problem, KernelPoints) else None

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        """Terms of order 1/m² that are small."""
        second = (jnp.exp(4 * problem.sigma**2 * jnp.max(jnp.sum(problem.x**2, axis=1))) - 1) ** 2 / self.width**2
        return [Hypothesis("the width is past the terms of order 1/m²", second, "<=", 0.003)]

    def predict(self, problem: KernelPoints) -> Array:
        """K (1 + c / m) on the upper triangle."""
        limit = gram(SoftmaxTangent(sigma=problem.sigma), problem.x)
        return (limit * (1 + width_correction(problem.x, problem.sigma, self.width)))[jnp.triu_indices(len(limit))]

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """The mean over 2048 networks of Definition 3.6, at the initialisation <x_i, x_j> sum_r m S_ir S_jr."""
        weights = problem.sigma * jax.random.normal(key, (_DRAWS, problem.x.shape[1], self.width // 2))
        shares = jax.nn.softmax(jnp.einsum("nd,sdr->snr", problem.x, weights), axis=2)
        mean = self.width / 2 * jnp.einsum("sir,sjr->ij", shares, shares) / _DRAWS
        return (mean * (problem.x @ problem.x.T))[jnp.triu_indices(len(problem.x))]

    def control(self) -> Control:
        """The limit itself."""

        def limit(predicted: Array, problem: KernelPoints) -> Array:
            return gram(SoftmaxTangent(sigma=problem.sigma), problem.x)[jnp.triu_indices(len(problem.x))]

        return Control("the mean at m = 32 is already the limit", limit)


class SmallestEigenvalueWidth(AbstractKernelClaim):
    """The smallest eigenvalue of the nk x nk matrix H at the symmetric initialisation differs from that of the n x n
    matrix <x_i, x_j> exp(sigma² <x_i, x_j>) by

        C m^(-1/2)

    where k >= 2: the limit of H is k equal blocks, whose equal eigenvalues the fluctuations of H push apart.
    """

    title = "The smallest eigenvalue from one block of the limit"
    source = Source("gu2024softmax", "Theorem 4.2", note="lambda at infinite width (not in the source)")
    # Weyl: at most |H - limit| ~ m^(-1/2). The second order, ~ 1/m over a gap of order 1, bends the slope by about
    # m^(-1/2) of itself at the smallest width, 0.06.
    relation = Rate(along="m", rungs=_WIDTHS, margin=0.06, resolution=0.1)
    label = "rate"
    unexplained = "the constant; and with one output the difference has mean of order 1/m and random sign"
    trials = 128
    batch = 64

    def settings(self) -> Space:
        """Fewer points: eigenvalues of 2n x 2n matrices are taken."""
        return Space(
            n=Integer(4, 2, 8, "points"),
            d=Integer(4, 2, 64, "dimension"),
            sigma=Real(0.5, 0.1, 0.55, "standard deviation of the weights"),
        )

    def pose(self, problem: object) -> KernelPoints | None:
        """The first eight inputs."""
        return posed(problem, 8)

    def hypotheses(self, problem: KernelPoints) -> list[Hypothesis]:
        """As above, and a limit that is not singular: beside 0 there is nothing but rounding to measure."""
        values = jnp.linalg.eigvalsh(gram(SoftmaxTangent(sigma=problem.sigma), problem.x))
        floor = 16 * len(values) * jnp.finfo(values.dtype).eps * values[-1]
        name = "lambda of the limit is above the rounding floor"
        return [*super().hypotheses(problem), Hypothesis(name, values[0], ">", floor, "equal or zero rows")]

    def culprit(self, problem: KernelPoints) -> str | None:
        """Zero rows, equal rows, or the rank of the kernel."""
        zero = [str(row) for row, size in enumerate(jnp.abs(problem.x).max(axis=1)) if size == 0]
        if zero:
            return f"rows {', '.join(zero)} (counted from 0) are zero, and so is the kernel there"
        return singular_cause(gram(SoftmaxTangent(sigma=problem.sigma), problem.x), problem.x)

    def predict(self, problem: KernelPoints) -> Array:
        """The exponent."""
        return jnp.asarray(-0.5)

    def measure(self, problem: KernelPoints, key: Key[Array, ""]) -> Array:
        """|lambda_min(H) - lambda_min(K)| with four outputs, a new network for each width."""
        limit = jnp.linalg.eigvalsh(gram(SoftmaxTangent(sigma=problem.sigma), problem.x))[0]
        size = 4 * len(problem.x)
        stacked = jnp.stack([h.reshape(size, size) for h in _ladder(problem, 4, key)])
        return jnp.abs(jnp.linalg.eigvalsh(stacked)[:, 0] - limit)

    def control(self) -> Control:
        """The rate of a bias."""
        return Control("it converges as 1/m", lambda exponent, problem: 2 * exponent)
