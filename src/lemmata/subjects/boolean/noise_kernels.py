"""A comparison of low-degree learning with the noise kernel, which it approximates. The noise sensitivity of the
function at each noise rate decides which of the two has the smaller expected error.

This theory is about estimates of a Boolean function that shrink each empirical Fourier coefficient by a factor that
depends on the degree. It gives their expected error exactly, from the weight of each degree. It assumes labels without
noise and uniform inputs. It does not explain estimates that choose coefficients by their size.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.functions import cube, walsh_hadamard, weights_by_degree

ABOUT = {"tool": "Fourier analysis", "architecture": "kernel method", "object": "estimator"}

_DRAWS = 64
OWN = Source("emergence2026", "Figure 10.11", note="the error of estimates that shrink coefficients by degree")


class SampledFunction(eqx.Module):
    """A function on the cube with values -1 and 1, a number of samples, a noise kernel, and a degree.

    Args:
        values: the values of the function, at the points of `cube`.
        rho: the correlation rho of the kernel prod_j (1 + rho x_j z_j) / m.
        samples: the number m of labelled points.
        below: low-degree learning keeps the coefficients of degrees below this number.
    """

    values: Float[Array, " n"]
    rho: Float[Array, ""]
    samples: int = eqx.field(static=True)
    below: int = eqx.field(static=True)

    @property
    def inputs(self) -> int:
        """The number d of inputs."""
        return len(self.values).bit_length() - 1

    @property
    def counts(self) -> Float[Array, " degrees"]:
        """The number of products of coordinates of each degree."""
        d, k = self.inputs, jnp.arange(self.inputs + 1)
        gamma = jax.scipy.special.gammaln
        return jnp.round(jnp.exp(gamma(d + 1.0) - gamma(k + 1.0) - gamma(d - k + 1.0)))

    @property
    def weights(self) -> Float[Array, " degrees"]:
        """The weight of the function at each degree."""
        return weights_by_degree(walsh_hadamard(self.values))

    def error(self, factors: Float[Array, " degrees"]) -> Array:
        """Return the expected squared error if empirical coefficients are multiplied by one factor for each degree."""
        bias = (1 - factors) ** 2 * self.weights
        return jnp.sum(bias + factors**2 * (self.counts - self.weights) / self.samples)

    @property
    def low_degree(self) -> Float[Array, " degrees"]:
        """The factors of low-degree learning: 1 below the degree `below`, and 0 from this degree on."""
        return (jnp.arange(self.inputs + 1) < self.below).astype(float)

    @property
    def best(self) -> Float[Array, " degrees"]:
        """The factor of each degree for which the expected squared error is least."""
        return self.weights / (self.weights + (self.counts - self.weights) / self.samples)


class SampledFunctions(Population[SampledFunction]):
    """Signs of random polynomials whose degree is about 1, 2 or 3."""

    settings = Space(
        d=Integer(6, 3, 9, "inputs", corners=(4, 7)),
        m=Integer(16, 2, 512, "labelled points"),
        rho=Real(0.4, 0.05, 0.95, "correlation of the kernel"),
        below=Integer(2, 1, 3, "degree from which on coefficients are dropped", corners=(1, 3)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SampledFunction:
        keys, x = jax.random.split(key, 4), cube(setting["d"])
        mixed = jax.random.dirichlet(keys[0], jnp.ones(3)) ** 2
        parts = jnp.stack([x @ jax.random.normal(k, (setting["d"],)) for k in jax.random.split(keys[1], 6)])
        smooth = mixed[0] * parts[0] + mixed[1] * parts[1] * parts[2] + mixed[2] * parts[3] * parts[4] * parts[5]
        return SampledFunction(
            jnp.where(smooth > 0, 1.0, -1.0), jnp.asarray(setting["rho"]), setting["m"], setting["below"]
        )

    def hypotheses(self, problem: SampledFunction) -> list[Hypothesis]:
        off = jnp.abs(jnp.abs(problem.values) - 1).max()
        return [
            Hypothesis("largest distance of |f| from 1", off, "==", 0.0, "labels are -1 or 1, so their square is 1")
        ]


def _estimates(problem: SampledFunction, key: Key[Array, ""]) -> tuple[Array, Array, Array]:
    """Return the squared errors, averaged over draws, of the kernel, of low-degree learning and of the best factors.

    The errors are computed from products over coordinates and sums over points, without coefficients.
    """
    x, n = cube(problem.inputs), len(problem.values)
    agree = x @ x.T  # d minus twice the number of coordinates that differ
    differ = ((problem.inputs - agree) / 2).astype(int)
    kernel = ((1 + problem.rho) ** (problem.inputs - differ)) * ((1 - problem.rho) ** differ)
    tables = [kernel, *(_krawtchouk(problem.inputs, factors)[differ] for factors in (problem.low_degree, problem.best))]

    def one(key: Key[Array, ""]) -> Array:
        rows = jax.random.randint(key, (problem.samples,), 0, n)
        guesses = jnp.stack([problem.values[rows] @ table[rows] / problem.samples for table in tables])
        return jnp.mean((guesses - problem.values) ** 2, axis=1)

    kernel_error, low_error, best_error = jax.vmap(one)(jax.random.split(key, _DRAWS)).mean(axis=0)
    return kernel_error, low_error, best_error


def _krawtchouk(d: int, factors: Float[Array, " degrees"]) -> Float[Array, " distances"]:
    """Return the sum over S of c_|S| chi_S(x) chi_S(z) for points x and z at each distance."""
    x = cube(d)
    ends = x[2 ** jnp.arange(d + 1) - 1]  # the point whose first r coordinates are -1
    members = x < 0
    products = jnp.prod(jnp.where(members[None], ends[:, None, :], 1.0), axis=2)
    return products @ factors[members.sum(axis=1)]


class NoiseKernelError(Claim[SampledFunction]):
    """Let f have values -1 and 1 on {-1, 1}^d. For a number r, let Stab_r be the sum of r^|S| f^(S)² over all sets S of
    coordinates, where f^(S) is the Fourier coefficient of f for S. Let x_1, ..., x_m be independent uniform points, and
    let rho be the correlation of the noise kernel. The kernel estimate of f at a point z,

        g(z) = (1/m) sum_i f(x_i) prod_j (1 + rho x_ij z_j)

    has the expected squared error, over the samples and a uniform z,

        1 - 2 Stab_rho + Stab_(rho²) + ((1 + rho²)^d - Stab_(rho²)) / m.

    Let NS be the probability that f changes if each sign is flipped with probability (1 - r)/2. Then Stab_r = 1 - 2 NS,
    so the noise curve NS of f alone gives the error.
    """

    title = "The noise sensitivity curve of a Boolean function gives the expected error of the noise kernel's estimate"
    source, stated = OWN, Kind.OWN
    population = SampledFunctions()
    relation = EqualInMean(margin=0.0, resolution=0.015)
    control = Control("the bias is (1 - Stab_rho)²", lambda error, problem: error + _other_bias(problem))
    controls = "the error of a kernel estimate of a Boolean function"
    unexplained = "kernel ridge regression, which inverts the kernel matrix"
    trivial = "without the claim, the error of an estimate is not bounded"
    trials = 192

    def predict(self, problem: SampledFunction) -> Array:
        once, twice = _stability(problem, 1), _stability(problem, 2)
        size = (1 + problem.rho**2) ** problem.inputs
        return 1 - 2 * once + twice + (size - twice) / problem.samples

    def measure(self, problem: SampledFunction, key: Key[Array, ""]) -> Array:
        return _estimates(problem, key)[0]


def _other_bias(problem: SampledFunction) -> Array:
    return _stability(problem, 1) ** 2 - _stability(problem, 2)


def _stability(problem: SampledFunction, power: int) -> Array:
    return problem.weights @ problem.rho ** (power * jnp.arange(problem.inputs + 1))


class LowDegreeAgainstNoiseKernel(Claim[SampledFunction]):
    """Let f have values -1 and 1 on {-1, 1}^d, and let W_k be its Fourier weight of degree k, the sum of its squared
    coefficients of this degree. Two methods estimate f from its empirical Fourier coefficients on m uniform labelled
    points. Low-degree learning keeps the empirical coefficients of degree below a. The noise kernel, which is prod_j (1
    + rho x_j z_j) for points x and z, multiplies the empirical coefficients of degree k by rho^k. Let V_k = (C(d, k) -
    W_k)/m, where C(d, k) is the binomial coefficient. The expected squared error of low-degree learning minus the
    expected squared error of the noise kernel is

        sum_(k < a) [V_k - (1 - rho^k)² W_k - rho^(2k) V_k] + sum_(k >= a) [W_k - (1 - rho^k)² W_k - rho^(2k) V_k].

    So low-degree learning has the smaller error exactly if this difference is negative.
    """

    title = "The Fourier weights of a Boolean function decide whether low-degree learning beats the noise kernel"
    source, stated = OWN, Kind.OWN
    population = SampledFunctions()
    relation = EqualInMean(margin=0.0, resolution=0.01, relative=False)
    control = Control(
        "the variance of the dropped degrees is left out",
        lambda gap, problem: gap + _dropped_variance(problem),
    )
    controls = "which of two estimates of a Boolean function has the smaller error"
    unexplained = "the choice of the degree and of rho from data"
    trivial = "without the claim, either estimate may be better"
    trials = 192

    def predict(self, problem: SampledFunction) -> Array:
        kernel = problem.rho ** jnp.arange(problem.inputs + 1)
        return problem.error(problem.low_degree) - problem.error(kernel)

    def measure(self, problem: SampledFunction, key: Key[Array, ""]) -> Array:
        kernel, low, _ = _estimates(problem, key)
        return low - kernel


def _dropped_variance(problem: SampledFunction) -> Array:
    factors = problem.rho ** (2 * jnp.arange(problem.inputs + 1))
    return jnp.sum((1 - problem.low_degree) * factors * (problem.counts - problem.weights)) / problem.samples


class BestFactorsByDegree(Claim[SampledFunction]):
    """Let f have values -1 and 1 on {-1, 1}^d. Let W_k be its Fourier weight of degree k, the sum of its squared
    coefficients of this degree. Estimate the Fourier coefficients by averages over m uniform labelled points. Let V_k =
    (C(d, k) - W_k)/m be the summed variance of the estimates of degree k, where C(d, k) is the binomial coefficient.
    Multiply the estimates of degree k by a factor c_k. The expected squared error is smallest for c_k = W_k/(W_k +
    V_k). This smallest error is the sum of W_k V_k/(W_k + V_k) over all degrees k. So the sum is a lower bound on the
    expected squared error of every low-degree learner, and of every kernel estimate whose kernel depends only on the
    inner product.
    """

    title = "The best factor for estimated Fourier coefficients of one degree is signal/(signal + noise)"
    source, stated = OWN, Kind.OWN
    population = SampledFunctions()
    relation = EqualInMean(margin=0.0, resolution=0.02)
    control = Control(
        "the error is the smaller of bias and variance in each degree", lambda least, problem: _smaller(problem)
    )
    controls = "the least error of a large class of estimates"
    unexplained = "the factors, which depend on the weights of the unknown function"
    trials = 96

    def predict(self, problem: SampledFunction) -> Array:
        variance = (problem.counts - problem.weights) / problem.samples
        return jnp.sum(problem.weights * variance / (problem.weights + variance))

    def measure(self, problem: SampledFunction, key: Key[Array, ""]) -> Array:
        return _estimates(problem, key)[2]

    def trivial(self, problem: SampledFunction) -> Array:
        """Return 1, which is the error of the estimate 0."""
        return jnp.ones(())


def _smaller(problem: SampledFunction) -> Array:
    return jnp.sum(jnp.minimum(problem.weights, (problem.counts - problem.weights) / problem.samples))
