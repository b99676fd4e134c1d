"""Fifth problem: does the error stay independent of the depth of a composition? Not at a fixed size.

A partial result: interpolating the L-fold composition of the tent map in the space of one kernel needs twice the points
for each further fold. The exponent of the rate does not know the depth, its constant doubles with it. It leaves open
networks of kernels, which may follow the composition.
"""

import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Rate, Source, Status
from lemmata.engine.problems._composed_tents import ComposedTents, TentCompositions

_TEETH = (4.0, 8.0, 16.0)


def _points_needed(problem: ComposedTents, teeth: float) -> Array:
    """Between 2 and 13 points a monotone piece."""
    pieces = int(teeth)
    return problem.points_needed(pieces.bit_length() - 1, tuple(pieces * share for share in (2, 3, 5, 8, 13)))


class PrintedDepthIndependence(Claim[ComposedTents]):
    """As printed: compositions of L Sobolev functions are approximated with an error that does not depend on the depth
    L, so that the number of points for a given accuracy does not grow with it, and not with the 2^L pieces of the
    L-fold tent map.
    """

    title = "The size of an approximation does not depend on the depth of a composition, as printed"
    source = Source("foundation2025", "Section 7.5", note="as printed")
    population = TentCompositions()
    relation = Rate("2^L", _TEETH, upper=True)
    control = Control("it falls like 2^(-L/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the points that interpolation of a composition needs"
    unexplained = "deep networks of kernels"
    reading = "one kernel, the Laplace kernel, for all depths"
    expected = Status.REFUTED
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU
    trials = 8

    def predict(self, problem: ComposedTents) -> Array:
        return jnp.zeros(())

    def measure_at(self, problem: ComposedTents, key: Key[Array, ""], teeth: float) -> Array:
        return _points_needed(problem, teeth)


class PointsDoubleWithDepth(Claim[ComposedTents]):
    """Interpolating the L-fold composition of the tent map 1 - |2x - 1| with the Laplace kernel at equispaced points,
    to a squared error of a given share of the variance, needs a number of points that grows like

        2^L,

    the number of monotone pieces.
    """

    title = "Each further fold of a composition doubles the points"
    source = Source("foundation2025", "Section 7.5", note="corrected, for one kernel")
    population = TentCompositions()
    relation = Rate("2^L", _TEETH, margin=0.05, resolution=0.1)
    control = Control("like 2^(L/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the points that interpolation of a composition needs"
    unexplained = "deep networks of kernels"
    corrects = PrintedDepthIndependence
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU
    trials = 8

    def predict(self, problem: ComposedTents) -> Array:
        return jnp.ones(())

    def measure_at(self, problem: ComposedTents, key: Key[Array, ""], teeth: float) -> Array:
        return _points_needed(problem, teeth)
