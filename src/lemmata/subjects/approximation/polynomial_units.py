"""What units with polynomial activations cannot approximate, and the products that they compute.

This theory counts dimensions and units. It assumes random weights, or weights that are chosen by hand. It does not say
how large approximation errors are, or what training finds.
"""

import itertools
import math

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Kind, Population, Source, Space
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension

ABOUT = {
    "tool": "linear algebra",
    "architecture": "dense network",
    "object": "function class",
    "MonomialUnits": {"object": "construction"},
}


class FeatureTable(eqx.Module):
    """Rows x, the pre-activations of random units on these rows, and the degree of a polynomial activation."""

    x: Float[np.ndarray, "n d"]
    units: Float[np.ndarray, "n width"]
    degree: int = eqx.field(static=True)


class FeatureTables(Population[FeatureTable]):
    """Tables with up to d inputs, degrees up to `degree`, and more units than the polynomials' space has dimensions."""

    settings = Space(
        d=dimension(2, 1, 3, corners=(1, 3)), degree=Integer(3, 2, 4, "the largest degree", corners=(2, 4))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> FeatureTable:
        rng = generator_of(key)
        d, degree = (int(rng.integers(least, setting[name] + 1)) for name, least in (("d", 1), ("degree", 2)))
        width = math.comb(d + degree, degree) + int(rng.integers(1, 5))
        x = rng.uniform(-1.0, 1.0, (3 * width, d))
        units = x @ rng.uniform(-5.0, 5.0, (d, width)) + rng.uniform(-2.0, 2.0, width)
        return FeatureTable(x, units, degree)

    def hypotheses(self, problem: FeatureTable) -> list[Hypothesis]:
        dimensions = math.comb(problem.x.shape[1] + problem.degree, problem.degree)
        return [Hypothesis("units", problem.units.shape[1], ">", dimensions, "fewer units span fewer dimensions")]


class PolynomialActivationsFail(Claim[FeatureTable]):
    """Let a layer on R^d have random weights and biases, and more than C(d + r, r) units, where C are the binomial
    coefficients. With the activation t^r, the units span exactly

        C(d + r, r)

    dimensions. This is the dimension of the space of polynomials of degree at most r, whatever the width of the layer.
    So wide layers with a polynomial activation are not universal approximators. With the activation tanh and the same
    weights, the number of dimensions is the width of the layer. The test counts the dimensions from the values of the
    units at finitely many inputs.
    """

    title = (
        "With a polynomial activation, unlike with tanh, the dimension that random units span stops growing with "
        "the width"
    )
    source = Source(
        "emergence2026", "Figure 2.10", note="the role of the activation, with the number of dimensions that units span"
    )
    stated = Kind.OWN
    population = FeatureTables()
    relation = Equal()
    controls = "the dimension of the functions that a layer can produce"
    unexplained = "how well these functions approximate a target"
    traced = False
    control = Control(
        "biases add no dimensions, and tanh loses one unit",
        lambda dimensions, problem: (
            dimensions - jnp.array([math.comb(problem.x.shape[1] + problem.degree - 1, problem.degree - 1), 1.0])
        ),
    )

    def predict(self, problem: FeatureTable) -> Array:
        d, width = problem.x.shape[1], problem.units.shape[1]
        return jnp.array([math.comb(d + problem.degree, problem.degree), width], float)

    def measure(self, problem: FeatureTable, key: Key[Array, ""]) -> Array:
        """Return the numerical ranks of the tables of features, with the activations t^r and tanh."""
        ranks = [np.linalg.matrix_rank(f) for f in (problem.units**problem.degree, np.tanh(problem.units))]
        return jnp.array(ranks, float)


class ProductToCompute(eqx.Module):
    """The numbers to be multiplied, and the scale of the weights."""

    x: Float[Array, " d"]
    scale: Float[Array, ""]


class MonomialUnits(Claim[ProductToCompute]):
    """The product of d numbers is computed by 2^(d-1) units with the activation t^d, one for each choice of signs s
    with s_1 = 1:

        x_1 ... x_d = sum_s (s_1 ... s_d) (s_1 x_1 + ... + s_d x_d)^d / (2^(d-1) d!).

    A network of several layers needs only d - 1 products of two numbers.
    """

    title = "One layer of 2^(d-1) units with the activation t^d computes a product of d numbers"
    source = Source(
        "carlini2012",
        note="main result for exponents that are all 1: the sum that attains the Waring rank of a monomial",
    )
    population = Drawn(
        ProductToCompute,
        positive("scale"),
        d=dimension(5, 2, 10, corners=(3, 8)),
        x=normal("d"),
        scale=log_uniform(0.5, 2.0),
    )
    relation = Equal()
    control = Control("2^(d-2) in the denominator", lambda product, problem: 2 * product)
    controls = "the product as a sum of powers"
    unexplained = "why fewer units do not suffice, which the source proves, and other activations"

    def predict(self, problem: ProductToCompute) -> Array:
        return jnp.prod(problem.scale * problem.x)

    def measure(self, problem: ProductToCompute, key: Key[Array, ""]) -> Array:
        d = len(problem.x)
        signs = np.array([(1, *rest) for rest in itertools.product((1, -1), repeat=d - 1)])
        powers = (signs @ (problem.scale * problem.x)) ** d
        return jnp.sum(np.prod(signs, axis=1) * powers) / (2 ** (d - 1) * math.factorial(d))

    def condition(self, problem: ProductToCompute) -> Array:
        """Bound the rounding errors. The terms of the sum are much larger than the product, so they nearly cancel."""
        d, x = len(problem.x), problem.scale * problem.x
        return d * jnp.sum(jnp.abs(x)) ** d / (math.factorial(d) * jnp.abs(jnp.prod(x)))
