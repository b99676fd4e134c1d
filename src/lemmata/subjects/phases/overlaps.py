"""Overlaps: the inner products of an erf unit with the parts of a cubic teacher, which determine the unit's field.

The theory gives the inner products of a network's units with the Hermite polynomials H_1 and H_3 of v'x, for inputs x
and a direction v. These inner products are exact functions of w'v and |w| for the weights w of a unit. The theory
leaves open how means over finite samples differ from these expectations.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import erf
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.subjects.phases import hermite_overlaps

ABOUT = {"tool": "Gaussian processes", "architecture": "dense network", "object": "estimator"}


class ErfUnit(eqx.Module):
    """One unit erf(w'x) with weights w for inputs x ~ N(0, I_d), and a direction v."""

    weights: Float[Array, " d"]
    direction: Float[Array, " d"]

    @property
    def overlap(self) -> Float[Array, ""]:
        """The inner product w'v."""
        return self.weights @ self.direction

    @property
    def squared_norm(self) -> Float[Array, ""]:
        """|w|²."""
        return self.weights @ self.weights


class ErfUnits(Population[ErfUnit]):
    """Units with normal weights of a given size, and a uniformly random direction."""

    free = ("weights",)
    settings = Space(
        d=Integer(6, 2, 50, "dimension"), size=Real(1.0, 0.05, 5.0, "root mean square length of the weights")
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ErfUnit:
        keys = jax.random.split(key)
        w, v = (jax.random.normal(own, (setting["d"],)) for own in keys)
        return ErfUnit(setting["size"] * w / setting["d"] ** 0.5, v / jnp.linalg.norm(v))

    def hypotheses(self, problem: ErfUnit) -> list[Hypothesis]:
        off = jnp.abs(jnp.linalg.norm(problem.direction) - 1)
        return [
            Hypothesis("the distance of |v| from 1", off, "<=", 1e-12, "v'x must be a standard normal number"),
            Hypothesis("|w'v|", jnp.abs(problem.overlap), ">", 0.0, "otherwise all overlaps are 0"),
        ]


_KEY = "rubin2024grokking"
_NODES = jnp.linspace(-12.0, 12.0, 961)
"""Nodes of the trapezoidal rule on a normal density. Its error for analytic integrands is exponentially small."""


def by_quadrature(problem: ErfUnit) -> Float[Array, " 2"]:
    """Return E[erf(w'x) H(v'x)] by quadrature over t = v'x; for normal z, E erf(a + s z) = erf(a/sqrt(1 + 2s²))."""
    rest = problem.squared_norm - problem.overlap**2
    seen = erf(problem.overlap * _NODES / jnp.sqrt(1 + 2 * rest))
    weight = jnp.exp(-(_NODES**2) / 2) / jnp.sqrt(2 * jnp.pi) * (_NODES[1] - _NODES[0])
    third = (_NODES**3 - 3 * _NODES) / jnp.sqrt(6.0)
    return jnp.stack([jnp.sum(weight * seen * _NODES), jnp.sum(weight * seen * third)])


class ErfOverlaps(Claim[ErfUnit]):
    """For x ~ N(0, I_d), consider a unit erf(w'x) and a direction v of length 1. Let q = w'v, H_1(t) = t and
    H_3(t) = t³ - 3t. Then

        E[erf(w'x) H_1(v'x)] = 2 q / sqrt(pi (1 + 2|w|²)),
        E[erf(w'x) H_3(v'x)]/sqrt 6 = -4 q³ / sqrt(6 pi (1 + 2|w|²)³).
    """

    title = "The overlaps of an erf unit with the Hermite polynomials of degrees 1 and 3 have closed forms"
    source = Source(_KEY, "Abstract, adaptive kernel")
    population = ErfUnits()
    relation = Equal()
    control = Control(
        "|w|² is replaced by (|w|² + q²)/2",
        lambda found, problem: hermite_overlaps(problem.overlap, (problem.squared_norm + problem.overlap**2) / 2),
    )
    controls = "what a unit contributes to the kernel on the teacher's two components"
    unexplained = "other activations"

    def predict(self, problem: ErfUnit) -> Array:
        return hermite_overlaps(problem.overlap, problem.squared_norm)

    def measure(self, problem: ErfUnit, key: Key[Array, ""]) -> Array:
        """Compute the two expectations by one-dimensional quadrature."""
        return by_quadrature(problem)

    def condition(self, problem: ErfUnit) -> Array:
        """Bound the cancellation: the third overlap is a difference of integrals of the size of the first overlap."""
        return 10.0 * (1 + 1 / jnp.abs(hermite_overlaps(problem.overlap, problem.squared_norm)))


def _kernel(problem: ErfUnit) -> Array:
    h = by_quadrature(problem)
    return jnp.stack([h[0] ** 2, h[0] * h[1], h[1] ** 2])


class KernelOfUnits(Claim[ErfUnit]):
    """For x ~ N(0, I_d), consider a unit erf(w'x) and a direction v of length 1, and let q = w'v. Let H_1(t) = t and
    H_3(t) = t³ - 3t. On H_1(v'x) and H_3(v'x)/sqrt 6, the kernel of this unit has the entries

        Q_11 = 4 q²/(pi (1 + 2|w|²)),    Q_12 = -8 q⁴/(sqrt 6 pi (1 + 2|w|²)²),    Q_22 = 8 q⁶/(3 pi (1 + 2|w|²)³).

    For a network, these entries would be averaged over its units; here there is only one unit.
    """

    title = "The kernel matrix of an erf unit on linear and cubic Hermite polynomials has a closed form"
    source = Source(_KEY, "Abstract, analytical predictions", note="for one unit, from its overlaps")
    population = ErfUnits()
    relation = Equal()
    control = Control("all three entries are larger by a fifth", lambda found, problem: 1.2 * found)
    controls = "how units change the unlearned part of the teacher"
    unexplained = "components that the teacher does not have"

    def predict(self, problem: ErfUnit) -> Array:
        return _closed(problem)

    def measure(self, problem: ErfUnit, key: Key[Array, ""]) -> Array:
        """Compute the entries as products of integrals."""
        return _kernel(problem)

    def condition(self, problem: ErfUnit) -> Array:
        return _condition(problem)


def _closed(problem: ErfUnit) -> Array:
    q, size = problem.overlap, 1 + 2 * problem.squared_norm
    mixed = -8 * q**4 / (6**0.5 * jnp.pi * size**2)
    return jnp.stack([4 * q**2 / (jnp.pi * size), mixed, 8 * q**6 / (3 * jnp.pi * size**3)])


def _condition(problem: ErfUnit) -> Array:
    own = 1 / jnp.abs(hermite_overlaps(problem.overlap, problem.squared_norm))
    return 30.0 * (1 + jnp.stack([own[0], own[1], own[1]]))
