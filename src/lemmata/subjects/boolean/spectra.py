"""Fourier coefficients of functions on the cube: products, influences and norms.

This theory writes a function on {-1, 1}^d as a sum of products of coordinates, and computes means, influences and norms
from the coefficients. It assumes that inputs are uniform on the cube. It does not explain which functions have few
large coefficients.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Hypothesis, Kind, Population, Source, Space
from lemmata.engine.problems.variables import dimension
from lemmata.functions import cube, influences, walsh_hadamard
from lemmata.subjects.boolean._cube_functions import (
    NoisyFunction,
    NoisyFunctions,
    flip_rates,
    flipping,
    halfspace,
    random_weights,
)

ABOUT = {"tool": "Fourier analysis", "architecture": "any", "object": "function class"}


class TwoFunctions(eqx.Module):
    """Two real functions on {-1, 1}^d, given by their values at the points of `cube(d)`."""

    first: Float[Array, " points"]
    second: Float[Array, " points"]


class PairsOnCube(Population[TwoFunctions]):
    """Functions with normal values of different scales at the points of the cube."""

    settings = Space(d=dimension(6, 1, 10, corners=(4, 7)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoFunctions:
        first, second = jax.random.normal(key, (2, 2 ** setting["d"]))
        return TwoFunctions(first, jnp.exp(second))

    def hypotheses(self, problem: TwoFunctions) -> list[Hypothesis]:
        largest = jnp.max(jnp.abs(jnp.stack([problem.first, problem.second])))
        return [Hypothesis("the largest value", largest, "<", jnp.inf, "means exist")]


class CoefficientsOfProducts(Claim[TwoFunctions]):
    """Let chi_S be the product of the coordinates in S, for a set S of coordinates of {-1, 1}^d. For a real function f,
    let f^(S) = E f chi_S be its Fourier coefficient, where E is the mean over uniform inputs. Let S xor T be the
    symmetric difference of two sets. Since chi_S chi_T = chi_(S xor T), the coefficients of the product of two
    functions f and g are

        (f g)^(U) = sum_S f^(S) g^(S xor U)   for every set U.

    For the empty set U and g = f, this is Parseval's identity E f^2 = sum_S f^(S)^2.
    """

    title = "Parseval's identity on the Boolean cube, and the Fourier coefficients of a product of functions"
    source = Source(
        "emergence2026", "Theorem 10.4", "Definition 10.1", "Figure 10.5", "Figure 10.6", note="for all coefficients"
    )
    population = PairsOnCube()
    relation = Equal(block=1)
    control = Control(
        "coefficients are sums without the factor 2^-d",
        lambda product, problem: product * len(problem.first),
    )
    controls = "means of products, computed from coefficients"
    unexplained = "distributions under which the products of coordinates are not orthogonal"

    def predict(self, problem: TwoFunctions) -> Array:
        sets = jnp.arange(len(problem.first))
        first, second = walsh_hadamard(problem.first), walsh_hadamard(problem.second)
        return jax.lax.map(lambda u: jnp.sum(first * second[sets ^ u]), sets)

    def measure(self, problem: TwoFunctions, key: Key[Array, ""]) -> Array:
        """Return the means of f g chi_U, with each chi_U multiplied out."""
        points = cube(len(problem.first).bit_length() - 1)
        product = problem.first * problem.second

        def one(u: Array) -> Array:
            taken = (u >> jnp.arange(points.shape[1])) & 1
            return jnp.mean(product * jnp.prod(jnp.where(taken == 1, points, 1.0), axis=1))

        return jax.lax.map(one, jnp.arange(len(product)))

    def condition(self, problem: TwoFunctions) -> Array:
        """Bound the rounding errors. They come from sums of 2^d terms of size |f| |g|, relative to the largest
        coefficient.
        """
        size = jnp.linalg.norm(problem.first) * jnp.linalg.norm(problem.second)
        return size / jnp.abs(jnp.sum(problem.first * problem.second)) + 1.0


class InfluenceBySets(Claim[NoisyFunction]):
    """Let f be a function on {-1, 1}^d with values -1 and 1, and let f^(S) be its Fourier coefficient for the set S of
    coordinates. Let I_i be the probability that f changes if coordinate i of a uniform input changes its sign. Then

        I_i = sum_{S contains i} f^(S)^2,    sum_i I_i = sum_S |S| f^(S)^2.

    The second sum is the total influence of f.
    """

    title = "Influences of coordinates on a Boolean function are sums of squared Fourier coefficients"
    source = Source("odonnell2014", "Section 2.2", "Section 2.3", note="for Boolean functions")
    stated = Kind.THEOREM
    population = NoisyFunctions()
    relation = Equal(block=1)
    control = Control(
        "half of the influences, as if each edge of the cube counted once", lambda rate, problem: rate / 2
    )
    controls = "how often one coordinate decides the label"
    unexplained = "which coordinates of data have influence"

    def predict(self, problem: NoisyFunction) -> Array:
        own = influences(walsh_hadamard(problem.values))
        return jnp.append(own, own.sum())

    def measure(self, problem: NoisyFunction, key: Key[Array, ""]) -> Array:
        own = flip_rates(problem.values)
        return jnp.append(own, own.sum())

    def condition(self, problem: NoisyFunction) -> Array:
        """Bound the rounding errors. Coefficients have d rounding errors and are squared."""
        return jnp.asarray(float(problem.inputs))


class RealFunction(eqx.Module):
    """A real function on {-1, 1}^d, given by its values at the points of `cube(d)`."""

    values: Float[Array, " points"]


class NearlyLinear(Population[RealFunction]):
    """A random linear function, plus independent normal values of a random scale in half of the problems."""

    settings = Space(d=dimension(7, 1, 12, corners=(5, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> RealFunction:
        slope_key, value_key, size_key = jax.random.split(key, 3)
        slope = jax.random.normal(slope_key, (setting["d"] + 1,))
        mixed, size = jax.random.uniform(size_key, (2,))
        other = jnp.where(mixed < 0.5, 0.0, size) * jax.random.normal(value_key, (2 ** setting["d"],))
        return RealFunction(cube(setting["d"]) @ slope[1:] + slope[0] + other)

    def hypotheses(self, problem: RealFunction) -> list[Hypothesis]:
        return [Hypothesis("the largest |f|", jnp.abs(problem.values).max(), "<", jnp.inf, "the variance exists")]


class InfluenceAtLeastVariance(Claim[RealFunction]):
    """Let f be a real function on {-1, 1}^d. Let x^(i) be the point x with the sign of coordinate i changed, and let
    D_i f(x) = (f(x) - f(x^(i)))/2. Under uniform inputs,

        sum_i E (D_i f)^2 >= Var f.

    This is Poincare's inequality on the cube. The two sides are equal for linear functions.
    """

    title = "Poincare's inequality on the Boolean cube: the total influence of a function is at least its variance"
    source = Source("odonnell2014", "Section 2.3", note="Poincare's inequality")
    stated = Kind.THEOREM
    population = NearlyLinear()
    relation = AtLeast()
    control = Control("the influence is at least 1.1 times the variance", lambda variance, problem: 1.1 * variance)
    controls = "lower bounds on the total influence"
    unexplained = "functions of high degree, whose influence is many times the variance"
    trivial = 0.0  # a sum of squares

    def predict(self, problem: RealFunction) -> Array:
        return jnp.var(problem.values)

    def measure(self, problem: RealFunction, key: Key[Array, ""]) -> Array:
        points = jnp.arange(len(problem.values))
        bits = 2 ** jnp.arange(len(points).bit_length() - 1)
        squares = jax.lax.map(lambda bit: jnp.mean((problem.values - problem.values[points ^ bit]) ** 2), bits)
        return jnp.sum(squares) / 4

    def condition(self, problem: RealFunction) -> Array:
        """Bound the rounding errors. The rounding error of differences is proportional to the largest value."""
        return 1 + jnp.mean(problem.values**2) / jnp.var(problem.values)


class MonotoneFunctions(Population[NoisyFunction]):
    """Monotone functions: halfspaces with weights of one sign, majorities, and disjunctions of conjunctions."""

    settings = Space(d=dimension(9, 2, 13, corners=(7, 10)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyFunction:
        d = setting["d"]
        weight_key, threshold_key, term_key, kind_key = jax.random.split(key, 4)
        threshold = 0.5 * jnp.sqrt(d) * jax.random.normal(threshold_key)
        terms = jax.random.bernoulli(term_key, 0.4, (d, d))
        holds = jnp.any(jnp.all((cube(d)[:, None, :] > 0) | ~terms, axis=2), axis=1)
        kinds = jnp.stack(
            [
                halfspace(jnp.ones(d), jnp.zeros(())),
                halfspace(random_weights(weight_key, d), threshold),
                jnp.where(holds, 1.0, -1.0),
            ]
        )
        return NoisyFunction(kinds[jax.random.randint(kind_key, (), 0, 3)], jnp.asarray(0.1))

    def hypotheses(self, problem: NoisyFunction) -> list[Hypothesis]:
        points = jnp.arange(len(problem.values))
        bits = 2 ** jnp.arange(problem.inputs)
        rises = jax.lax.map(lambda bit: jnp.max(problem.values[points | bit] - problem.values[points & ~bit]), bits)
        return [
            Hypothesis("the largest rise", rises.max(), "<=", 0.0, "f is monotone (-1 stands for a bit that is set)")
        ]


class MajorityHasLargestInfluence(Claim[NoisyFunction]):
    """Let f be a monotone function on {-1, 1}^d with values -1 and 1. For each coordinate, take the probability that f
    changes if this coordinate of a uniform input x changes its sign. The sum I of these probabilities is the total
    influence of f. With m = floor((d-1)/2),

        I <= d binom(d-1, m) 2^(1-d).

    The right side is the total influence of the majority, which is about sqrt(2 d/pi). The reason is that I = E f(x)
    (x_1 + ... + x_d) for a monotone f. This mean is largest if f is the sign of x_1 + ... + x_d, which is the majority.
    """

    title = "Of all monotone functions, the majority has the largest total influence"
    source = Source("odonnell2014", "Section 2.3", note="with the value for all d")
    stated = Kind.THEOREM
    population = MonotoneFunctions()
    relation = AtMost()
    control = Control("0.95 times the bound is enough", lambda bound, problem: 0.95 * bound)
    controls = "the total influence of monotone functions, such as halfspaces with weights of one sign"
    unexplained = "functions that rise in some places and fall in others, whose influence can be d"

    def predict(self, problem: NoisyFunction) -> Array:
        d = problem.inputs
        return jnp.asarray(d * math.comb(d - 1, (d - 1) // 2) * 2.0 ** (1 - d))

    def measure(self, problem: NoisyFunction, key: Key[Array, ""]) -> Array:
        return jnp.sum(flip_rates(problem.values))

    def trivial(self, problem: NoisyFunction) -> Array:
        """Return d, because each coordinate has an influence of at most 1."""
        return jnp.asarray(float(problem.inputs))


class TwoNorms(eqx.Module):
    """A real function on {-1, 1}^d, and the exponents of two norms.

    Args:
        values: the values of the function at the points of `cube(d)`.
        p, q: the exponents, with 1 < p < q.
    """

    values: Float[Array, " points"]
    p: Float[Array, ""]
    q: Float[Array, ""]


class NoisedFunctions(Population[TwoNorms]):
    """Functions 1 + e x_1 for a small e in half of the problems, and otherwise functions with normal values."""

    settings = Space(d=dimension(6, 1, 9, corners=(4, 7)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoNorms:
        d = setting["d"]
        value_key, kind_key, size_key, norm_key = jax.random.split(key, 4)
        size = 0.01 * 20 ** jax.random.uniform(size_key)
        values = jax.random.normal(value_key, (2**d,))
        values = jnp.where(jax.random.bernoulli(kind_key), 1 + size * cube(d)[:, 0], values)
        low, high = jax.random.uniform(norm_key, (2,))
        return TwoNorms(values, 1.1 + 1.9 * low, 1.1 + 1.9 * low + 0.3 + 3 * high)

    def hypotheses(self, problem: TwoNorms) -> list[Hypothesis]:
        return [
            Hypothesis("p", problem.p, ">", 1.0, "the inequality is about p > 1"),
            Hypothesis("q - p", problem.q - problem.p, ">", 0.0, "noise is needed only for a larger exponent"),
        ]


class Hypercontractive(Claim[TwoNorms]):
    """Let f be a real function on {-1, 1}^d. For a point x, let y keep each coordinate of x with probability (1 +
    rho)/2 and change its sign otherwise. The noise operator T_rho maps f to the function T_rho f(x) = E f(y). Let |f|_p
    = (E |f(x)|^p)^(1/p) for a uniform x. For 1 < p < q, the largest rho <= 1 with |T_rho f|_q <= |f|_p is at least

        sqrt((p - 1)/(q - 1)).

    The functions 1 + e x_1 attain this value in the limit of a small e.
    """

    title = "Bonami's inequality on the Boolean cube: the noise operator is hypercontractive"
    source = Source("bonami1970", "Main result", note="on the cube")
    stated = Kind.THEOREM
    population = NoisedFunctions()
    relation = AtLeast()
    control = Control("a rho 1.05 times as large is allowed", lambda rho, problem: jnp.minimum(1.05 * rho, 1.0))
    controls = "high norms of functions after noise"
    unexplained = "functions far from constants, for which less noise is enough"
    trivial = 0.0  # T_0 f is the mean of f

    def predict(self, problem: TwoNorms) -> Array:
        return jnp.sqrt((problem.p - 1) / (problem.q - 1))

    def measure(self, problem: TwoNorms, key: Key[Array, ""]) -> Array:
        """Compute rho by bisection, since the norm of T_rho f rises with rho."""
        norm = lambda values, p: jnp.mean(jnp.abs(values) ** p) ** (1 / p)
        allowed = norm(problem.values, problem.p)

        def halve(_, ends):
            rho = (ends[0] + ends[1]) / 2
            holds = norm(flipping(problem.values, (1 - rho) / 2), problem.q) <= allowed
            return jnp.where(holds, rho, ends[0]), jnp.where(holds, ends[1], rho)

        return jax.lax.fori_loop(0, 45, halve, (jnp.zeros(()), jnp.ones(())))[1]

    def condition(self, problem: TwoNorms) -> Array:
        """Bound the rounding errors. If the function is nearly constant, both norms nearly agree, so rounding changes
        rho.
        """
        return 1 + jnp.mean(problem.values**2) / jnp.var(problem.values)
