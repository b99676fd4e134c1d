"""Kernel ridge regression with a second term for each class of parities.

Numbers at nuclei (Z, N) are fitted by f + g. Here f is a combination of Gaussians, and g is a combination of Gaussians
that couple only nuclei of equal parities of Z and of N. Each term has its own ridge. This theory reduces the two terms
to one kernel. It bounds the staggering of a smooth function, which is its value at one isotope minus the mean of its
values at the two neighbouring isotopes. It also gives the error at a left-out nucleus with and without the second term.
It does not explain the origin of the staggering of nuclei.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    Equal,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.kernels import RBF, OddEvenKernel, gram

ABOUT = {
    "tool": "reproducing kernels",
    "architecture": "kernel method",
    "object": "kernel",
    "ExpectedLeftOutError": {"tool": "Gaussian processes", "object": "generalisation"},
}

_ROWS, _COLUMNS = 6, 8  # elements and isotopes of the part


def whole_part() -> Float[Array, "48 2"]:
    """Return the pairs (Z, N) of a block of the chart of nuclei, with 6 elements and 8 isotopes of each."""
    z, n = jnp.meshgrid(20.0 + jnp.arange(_ROWS), 24.0 + jnp.arange(_COLUMNS), indexing="ij")
    return jnp.stack([z.ravel(), n.ravel()], axis=1)


class TwoTermFit(eqx.Module):
    """Numbers at nuclei, other nuclei, and the length scales and ridges of the two terms f and g.

    Args:
        x: nuclei (Z, N), all different.
        y: the numbers at the nuclei x.
        new: other nuclei.
        lengthscale, odd_even_lengthscale: the length scales of the Gaussians of f and of g.
        ridge, odd_even_ridge: the ridges of f and of g.
    """

    x: Float[Array, "n 2"]
    y: Float[Array, " n"]
    new: Float[Array, "m 2"]
    lengthscale: Float[Array, ""]
    odd_even_lengthscale: Float[Array, ""]
    ridge: Float[Array, ""]
    odd_even_ridge: Float[Array, ""]


class TwoTermFits(Population[TwoTermFit]):
    """Random nuclei of a block of the chart, length scales near 1, and ridges that vary by a factor of ten. The second
    ridge is larger than the first.
    """

    free = ("y",)
    settings = Space(n=Integer(20, 3, 40, "known nuclei"), m=Integer(4, 1, 8, "new nuclei", corners=(2, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoTermFit:
        """Draw normal numbers; the ridge of the second term is 2 to 10 times the ridge of the first."""
        keys = jax.random.split(key, 3)
        n, points = setting["n"], jax.random.permutation(keys[0], whole_part())
        u, y = jax.random.uniform(keys[1], (4,)), jax.random.normal(keys[2], (n,))
        ridge = 0.03 * 10 ** u[2]
        new = points[n : n + setting["m"]]
        return TwoTermFit(points[:n], y, new, 0.6 + u[0], 0.6 + u[1], ridge, ridge * 2 * 5 ** u[3])

    def hypotheses(self, problem: TwoTermFit) -> list[Hypothesis]:
        return [
            Hypothesis(
                "ridge of the smooth term",
                problem.ridge,
                ">",
                0.0,
                "otherwise the coefficients of the term are not unique",
            ),
            Hypothesis(
                "ridge of the second term",
                problem.odd_even_ridge,
                ">",
                0.0,
                "otherwise the weight of the second term is infinite",
            ),
        ]


class StaggeredCurve(eqx.Module):
    """A distribution of numbers on a part of the chart: smooth normal numbers, a staggering term or none, and noise.

    Args:
        x: nuclei (Z, N).
        lengthscale: the length scale of the smooth numbers and of the staggering.
        weight: the variance of the staggering term; the smooth numbers have the variance 1.
        noise: the variance of the noise.
    """

    x: Float[Array, "n 2"]
    lengthscale: Float[Array, ""]
    weight: Float[Array, ""]
    noise: Float[Array, ""]


class StaggeredCurves(Population[StaggeredCurve]):
    """Numbers at half of the block of `whole_part`, which are 24 nuclei, with length scales from 2 to 4."""

    settings = Space(
        weight=Real(0.3, 0.05, 1.0, "variance of the staggering term", corners=(0.2, 0.4)),
        noise=Real(0.1, 0.02, 0.5, "variance of the noise", corners=(0.08, 0.15)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> StaggeredCurve:
        """Draw the weight and the noise within a fifth of their settings, and the length scale from 2 to 4."""
        u = jax.random.uniform(key, (3,))
        vary = lambda name, at: setting[name] * 1.2 ** (2 * at - 1)
        return StaggeredCurve(whole_part()[:24], 2 + 2 * u[0], vary("weight", u[1]), vary("noise", u[2]))

    def hypotheses(self, problem: StaggeredCurve) -> list[Hypothesis]:
        return [
            Hypothesis("there is noise", problem.noise, ">", 0.0, "the variance of the noise is the ridge of every fit")
        ]


class SmoothFunction(eqx.Module):
    """A function sum_i a_i exp(-|x - x_i|²/(2 l²)) on the chart, and a nucleus.

    Args:
        x: nuclei (Z, N), the centres.
        coefficients: the coefficients a_i.
        at: the nucleus at which the function may stagger, between two isotopes of the same element.
        lengthscale: the length scale l.
    """

    x: Float[Array, "n 2"]
    coefficients: Float[Array, " n"]
    at: Float[Array, " 2"]
    lengthscale: Float[Array, ""]


class SmoothFunctions(Population[SmoothFunction]):
    """Smooth functions. Half of them stagger at the nucleus `at` as strongly as their norm allows. The others have
    random coefficients.
    """

    free = ("coefficients",)
    settings = Space(n=Integer(12, 3, 48, "centres"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SmoothFunction:
        """Draw centres, of which the first three are the nucleus and its two neighbouring isotopes."""
        keys = jax.random.split(key, 4)
        three = jnp.array([[22.0, 27.0], [22.0, 26.0], [22.0, 28.0]])
        rest = jax.random.permutation(keys[0], whole_part())[: setting["n"] - 3]
        rest = rest + jnp.array([10.0, 0.0])
        strongest = jnp.concatenate([jnp.array([1.0, -0.5, -0.5]), jnp.zeros(len(rest))])
        random = jax.random.normal(keys[1], strongest.shape)
        size, u = 10 ** jax.random.uniform(keys[2], minval=-1.0), jax.random.uniform(keys[3], (2,))
        coefficients = size * jnp.where(u[0] < 0.5, strongest, random)
        return SmoothFunction(jnp.concatenate([three, rest]), coefficients, three[0], 0.7 * 5 ** u[1])

    def hypotheses(self, problem: SmoothFunction) -> list[Hypothesis]:
        return [Hypothesis("the length scale", problem.lengthscale, ">", 0.0, "otherwise the Gaussian is not a kernel")]


_KEY = "tang2024charge"


def gaussian(x: Float[Array, "n 2"], y: Float[Array, "m 2"], lengthscale: Float[Array, ""]) -> Float[Array, "n m"]:
    """Return exp(-|x - y|²/(2 l²)) for all pairs, where l is the length scale."""
    return jnp.exp(-jnp.sum((x[:, None] - y[None]) ** 2, axis=-1) / (2 * lengthscale**2))


def equal_parities(x: Float[Array, "n 2"], y: Float[Array, "m 2"]) -> Float[Array, "n m"]:
    """Return 1 for pairs of nuclei with equal parities of Z and of N, and otherwise 0.

    This is the product of (1 + s s')/2 over both coordinates x, where s = cos(pi x) = (-1)^x.
    """
    signs, others = jnp.cos(jnp.pi * x), jnp.cos(jnp.pi * y)
    return jnp.prod((1 + jnp.round(signs[:, None] * others[None])) / 2, axis=-1)


def _effective(problem: TwoTermFit, weight: Float[Array, ""]) -> Float[Array, " values"]:
    """Return f and g at the known nuclei, and f + g at the new nuclei, from a fit with one kernel.

    In this kernel, the second term has the given weight.
    """
    kernel = OddEvenKernel(problem.lengthscale, problem.odd_even_lengthscale, weight)
    both, smooth = gram(kernel, problem.x), gram(RBF(problem.lengthscale), problem.x)
    alpha = jnp.linalg.solve(both + problem.ridge * jnp.eye(len(both)), problem.y)
    return jnp.concatenate([smooth @ alpha, (both - smooth) @ alpha, gram(kernel, problem.new, problem.x) @ alpha])


def _spread(problem: TwoTermFit) -> Float[Array, ""]:
    """Return an upper bound on the condition number of K + ridge I: 1 plus the trace of K divided by the ridge."""
    weight = problem.ridge / problem.odd_even_ridge
    return len(problem.x) * (1 + weight) / problem.ridge + 1


class EffectiveKernel(Claim[TwoTermFit]):
    """Let K be the Gram matrix of a Gaussian kernel on nuclei (Z, N). Let K_oe be the Gram matrix of a second Gaussian,
    of any length scale, between nuclei of equal parities of Z and of N. For all other pairs of nuclei, the entries of
    K_oe are 0. Let y be targets at the nuclei. The minimiser over coefficients a, b of

        |y - K a - K_oe b|² + ridge a'K a + ridge_oe b'K_oe b,

    has b = (ridge/ridge_oe) a. So the fit with two terms K a and K_oe b is kernel ridge regression with the single
    kernel K + (ridge/ridge_oe) K_oe and the same ridge. It has only as many coefficients as there are nuclei. The test
    compares each of the two terms at the known nuclei, and the sum of the terms at new nuclei.
    """

    title = "Ridge regression with a smooth and an odd-even term is ridge regression with one combined kernel"
    source = Source(_KEY, "Abstract, extended method")
    population = TwoTermFits()
    relation = Equal(block=1)
    control = Control("the weight is 1 for all ridges", lambda values, problem: _effective(problem, jnp.ones(())))
    controls = "the fit with odd-even effects, at known and at new nuclei"
    unexplained = "whether the second term fits anything that the first term cannot fit"
    reading = "the loss, and the kernel that couples equal parities, are those of the method as it is known"
    stated = Kind.DEFINITION

    def predict(self, problem: TwoTermFit) -> Array:
        return _effective(problem, problem.ridge / problem.odd_even_ridge)

    def measure(self, problem: TwoTermFit, key: Key[Array, ""]) -> Array:
        """Solve the least squares problem in features of both terms, stacked with their penalties."""
        n, points = len(problem.x), jnp.concatenate([problem.x, problem.new])
        smooth = gaussian(points, points, problem.lengthscale)
        second = equal_parities(points, points) * gaussian(points, points, problem.odd_even_lengthscale)
        factors = []
        for matrix in (smooth, second):
            values, vectors = jnp.linalg.eigh(matrix)
            factors.append(vectors * jnp.sqrt(jnp.maximum(values, 0.0)))
        roots = jnp.sqrt(jnp.repeat(jnp.stack([problem.ridge, problem.odd_even_ridge]), len(points)))
        q, r = jnp.linalg.qr(
            jnp.concatenate([jnp.concatenate([part[:n] for part in factors], axis=1), jnp.diag(roots)])
        )
        found = jax.scipy.linalg.solve_triangular(r, q[:n].T @ problem.y)
        f, g = factors[0] @ found[: len(points)], factors[1] @ found[len(points) :]
        return jnp.concatenate([f[:n], g[:n], (f + g)[n:]])

    def condition(self, problem: TwoTermFit) -> Array:
        return _spread(problem)


class StaggeringOfSmoothFunctions(Claim[SmoothFunction]):
    """Let f be a combination of Gaussians exp(-|x - x_i|²/(2 l²)) in x = (Z, N) with the coefficients a, and let K be
    the Gram matrix of these Gaussians. Then

        |f(Z, N) - (f(Z, N - 1) + f(Z, N + 1))/2| <= |f| sqrt(3/2 - 2 e^(-1/(2 l²)) + e^(-2/l²)/2),   |f|² = a'K a.

    No better bound holds for all f. At l = 3 the square root is 0.09, so the norm |f| is at least 11 times the
    staggering of f.
    """

    title = "The kernel norm of a combination of Gaussians bounds the odd-even staggering of this combination"
    source = Source(_KEY, "Abstract, extended method", note="the reason for the second term")
    population = SmoothFunctions()
    relation = AtMost()
    control = Control("nine tenths of the bound", lambda bound, problem: 0.9 * bound)
    controls = "the staggering of predictions without odd-even effects"
    unexplained = "how much the data stagger"
    stated = Kind.OWN

    def predict(self, problem: SmoothFunction) -> Array:
        near, far = jnp.exp(-1 / (2 * problem.lengthscale**2)), jnp.exp(-2 / problem.lengthscale**2)
        return _norm(problem) * jnp.sqrt(1.5 - 2 * near + far / 2)

    def measure(self, problem: SmoothFunction, key: Key[Array, ""]) -> Array:
        """Return the staggering from three values of the function."""
        at = problem.at + jnp.array([[0.0, 0.0], [0.0, -1.0], [0.0, 1.0]])
        values = gram(RBF(problem.lengthscale), at, problem.x) @ problem.coefficients
        return jnp.abs(values[0] - (values[1] + values[2]) / 2)

    def trivial(self, problem: SmoothFunction) -> Array:
        """Return 2 |f|, which bounds the staggering of f because the values of f are at most |f|."""
        return 2 * _norm(problem)

    def condition(self, problem: SmoothFunction) -> Array:
        """Allow for the cancellation of three sums of the size of the coefficients.

        The bound is the square root of a difference.
        """
        root = self.predict(problem) / _norm(problem)
        return jnp.abs(problem.coefficients).sum() / self.predict(problem) + 1 / root**2


def _norm(problem: SmoothFunction) -> Float[Array, ""]:
    matrix = gaussian(problem.x, problem.x, problem.lengthscale)
    return jnp.sqrt(problem.coefficients @ matrix @ problem.coefficients)


def _laws(problem: StaggeredCurve) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    """Return the covariance matrices of numbers without and with the staggering term, both with noise."""
    smooth = gaussian(problem.x, problem.x, problem.lengthscale) + problem.noise * jnp.eye(len(problem.x))
    second = equal_parities(problem.x, problem.x) * gaussian(problem.x, problem.x, problem.lengthscale)
    return smooth, smooth + problem.weight * second


class ExpectedLeftOutError(Claim[StaggeredCurve]):
    """Let targets at nuclei (Z, N) have the covariance C, which is the sum of a Gaussian kernel and noise. If the
    targets stagger, that is, differ between even and odd numbers, C also contains an odd-even term. This term is a
    Gaussian kernel times a weight w between nuclei of equal parities of Z and of N, and 0 between all others. Fit the
    targets by kernel ridge regression with the variance of the noise as ridge. The kernel of the fit is the Gaussian
    kernel, without or with the odd-even term. Add the ridge times the identity to the fit's Gram matrix, and let Q be
    the inverse of this sum. The expected mean squared error at a nucleus that is left out of the fit is

        mean over i of [Q C Q]_ii / Q_ii².

    The test covers four cases: both kernels of the fit, each on targets that stagger and on smooth targets. According
    to the formula, the odd-even term in the kernel of the fit lowers the error if the targets stagger, and raises the
    error if they do not.
    """

    title = "A formula for the expected left-out error of ridge regression with and without an odd-even term"
    source = Source(_KEY, "Abstract, extended method", note="for targets with a known distribution")
    population = StaggeredCurves()
    relation = EqualInMean(resolution=0.06, over="problems")
    control = Control("the noise of the left-out nucleus is not counted", lambda mean, problem: mean - problem.noise)
    controls = "the error at a left-out nucleus, with and without odd-even effects"
    unexplained = "the distribution of charge radii"
    stated = Kind.OWN
    trials = 256
    traced = False

    def predict(self, problem: StaggeredCurve) -> Array:
        laws = _laws(problem)
        inverses = [jnp.linalg.inv(law) for law in laws]
        cases = [(law, own) for law in reversed(laws) for own in inverses]
        return jnp.stack([jnp.mean(jnp.diagonal(own @ law @ own) / jnp.diagonal(own) ** 2) for law, own in cases])

    def measure(self, problem: StaggeredCurve, key: Key[Array, ""]) -> Array:
        """Draw the targets sixteen times, and refit without each nucleus in turn."""
        laws = _laws(problem)
        drawn = np.asarray(jax.random.normal(key, (len(laws[0]), 16)))
        numbers = [np.linalg.cholesky(np.asarray(law)) @ drawn for law in reversed(laws)]
        length = problem.lengthscale
        kernels = (RBF(length), OddEvenKernel(length, length, problem.weight))
        matrices = [np.asarray(gram(kernel, problem.x)) for kernel in kernels]
        errors = [_refitted(matrix, y, float(problem.noise)) for y in numbers for matrix in matrices]
        return jnp.stack([jnp.mean(jnp.asarray(error) ** 2) for error in errors])


def _refitted(
    matrix: Float[np.ndarray, "n n"], y: Float[np.ndarray, "n draws"], ridge: float
) -> Float[np.ndarray, "n draws"]:
    """Fit n times, leaving out one nucleus each time, and return each fit's error at the left-out nucleus."""
    missed = []
    for out in range(len(y)):
        rest = np.arange(len(y)) != out
        known = matrix[rest][:, rest] + ridge * np.eye(len(y) - 1)
        missed.append(y[out] - matrix[out, rest] @ np.linalg.solve(known, y[rest]))
    return np.array(missed)
