"""One softmax network with readouts of several sizes, trained on two inputs near each other."""

import equinox as eqx
import jax
from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space

from ._initialised_networks import initialised
from ._softmax_flows import NearbyInputs, nearby, trained

_ANGLE, _LENGTH = 0.5, 0.9


class ScaledReadouts(Population[NearbyInputs]):
    """Networks of width 256 in 3 dimensions whose readouts are c a, a of signs, and two inputs at an angle of 1/2.

    The test point lies along the inputs' difference and has length 0.9.

    Args:
        scales: the c.
    """

    scales: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0)

    def settings(self) -> Space:
        """The standard deviation of the weights."""
        return Space(sigma=Real(0.8, 0.6, 0.9, "standard deviation of the weights"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> NearbyInputs:
        """One network, trained at every scale."""
        start = nearby(initialised(jax.random.normal(key, (128 + 3, 4)), 2, 1, 256, setting["sigma"]), _ANGLE)
        far = start.x_test / (start.x_test[0] @ start.x_test[0]) ** 0.5 * _LENGTH
        scaled = lambda c: eqx.tree_at(lambda s: (s.sign, s.x_test), start, (c * start.sign, far))
        return NearbyInputs(tuple(trained(scaled(c)) for c in self.scales))

    def hypotheses(self, problem: NearbyInputs) -> list[Hypothesis]:
        """At every scale the kernel moves by less than half of lambda."""
        return [Hypothesis("the kernel moves little", (2 * problem.moved / problem.smallest).max(), "<=", 1.0, "twice")]
