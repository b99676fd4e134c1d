"""The penalty of the theory: what its terms are for in the proof of Theorem 1.

This theory controls the penalty of the Lasso, lambda = h^(1/3) C_F^(-1/3) e^(2/3) + h (C_F + sigma) + epsilon²/C_F,
where h = sqrt(log N/N) and e = h C_F (C_F + sigma) + epsilon² + n C_F²/L: it is large enough for short coefficients and
small enough to cost no more than e. It assumes nothing but positive numbers; it leaves unexplained the constants.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, Hypothesis, Integer, Rate, Source, Space, Status

from ..in_context.risk_bound import penalty_of_theory

_INVERSE_SCALES = (1.0, 8.0, 64.0, 512.0)


class Scales(eqx.Module):
    """The sizes that the penalty depends on.

    Args:
        cost: C_F.
        noise: sigma.
        discretisation: epsilon_dis.
        examples: N.
        layers: L.
        number: n.
    """

    cost: Float[Array, ""]
    noise: Float[Array, ""]
    discretisation: Float[Array, ""]
    examples: int = eqx.field(static=True)
    layers: int = eqx.field(static=True)
    number: int = eqx.field(static=True)

    @property
    def order(self) -> Float[Array, ""]:
        """h = sqrt(log N/N)."""
        return jnp.sqrt(jnp.log(self.examples) / self.examples)

    @property
    def accuracy(self) -> Float[Array, ""]:
        """e = h C_F (C_F + sigma) + epsilon_dis² + n C_F²/L (li2025incontext, equation 58c)."""
        product = self.order * self.cost * (self.cost + self.noise)
        return product + self.discretisation**2 + self.number * self.cost**2 / self.layers

    def penalty(self) -> Float[Array, ""]:
        """lambda with the constant 1."""
        sizes = {"examples": self.examples, "layers": self.layers, "number": self.number}
        return penalty_of_theory(self.cost, self.noise, self.discretisation, **sizes)


class AbstractPenaltyClaim(Claim[Scales]):
    """Statements about the penalty at random C_F, sigma and epsilon_dis."""

    controls = "the penalty of the Lasso"
    unexplained = "its constants"
    problem = Scales
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Sizes of the prompt and the transformer."""
        examples, layers = Integer(64, 4, 10**6, "examples"), Integer(10_001, 3, 10**9, "layers")
        return Space(N=examples, L=layers, n=Integer(16, 1, 10**6, "features"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Scales:
        """Lognormal C_F; sigma and epsilon_dis a hundredth of it in the median."""
        cost, noise, misfit = jnp.exp(jax.random.normal(key, (3,)))
        return Scales(cost, cost * noise / 100, cost * misfit / 100, setting["N"], setting["L"], setting["n"])

    def hypotheses(self, problem: Scales) -> list[Hypothesis]:
        """A class that is not {0}."""
        return [Hypothesis("C_F is positive", problem.cost, ">", 0.0, "its powers")]


class PenaltyIsAffordable(AbstractPenaltyClaim):
    """The penalty on coefficients of length C_F costs no more than the other terms of the risk:

        lambda C_F <= h C_F²/3 + 2 e/3 + h C_F (C_F + sigma) + epsilon_dis².

    This is Young's inequality for h^(1/3) C_F^(2/3) e^(2/3), an equality where e = h C_F².
    """

    title = "The penalty costs no more than the accuracy"
    source = Source("li2025incontext", "(62)", "(64)", note="proof of Theorem 1, with constants")
    relation = AtMost()

    def predict(self, problem: Scales) -> Array:
        """The bound."""
        product = problem.order * problem.cost * (problem.cost + problem.noise)
        young = problem.order * problem.cost**2 / 3 + 2 * problem.accuracy / 3
        return young + product + problem.discretisation**2

    def measure(self, problem: Scales, key: Key[Array, ""]) -> Array:
        """lambda C_F."""
        return problem.penalty() * problem.cost

    def control(self) -> Control:
        """Without the term that Young's inequality leaves for the examples."""

        def less(bound: Array, problem: Scales) -> Array:
            return bound - problem.order * problem.cost**2 / 12

        return Control("h C_F²/4 in the place of h C_F²/3 is enough", less)


class AbstractSquareClaim(AbstractPenaltyClaim):
    """Statements of the form bound <= C lambda², judged as all outputs are measured in a smaller and smaller unit."""

    relation = Rate("1/unit", _INVERSE_SCALES, upper=True)
    label = "rate"

    def predict(self, problem: Scales) -> Array:
        """The exponent 0: the bound stays below a constant times lambda²."""
        return jnp.zeros(())

    def _ratio(self, problem: Scales, power: float) -> Array:
        """h^(2/3) C_F^(-2/3) e^power over lambda² for each unit."""
        found = []
        for inverse in _INVERSE_SCALES:
            sizes = {name: getattr(problem, name) / inverse for name in ("cost", "noise", "discretisation")}
            scaled = dataclasses.replace(problem, **sizes)
            bound = jnp.cbrt(scaled.order / scaled.cost) ** 2 * scaled.accuracy**power
            found.append(bound / scaled.penalty() ** 2)
        return jnp.stack(found)

    def control(self) -> Control:
        """It would leave room."""
        return Control("the bound falls against lambda²", lambda exponent, problem: exponent - 1)


class SquareOfThePenaltyAsPrinted(AbstractSquareClaim):
    """As printed: lambda² >= c (log N/N)^(1/3) C_F^(-2/3) e^(2/3), for a constant c > 0.

    The two sides have different units: where f and the noise are small the right side is much larger.
    """

    title = "The square of the penalty, as printed"
    source = Source("li2025incontext", "(65)", note="proof of Theorem 1, step (a)")
    expected = Status.REFUTED

    def measure(self, problem: Scales, key: Key[Array, ""]) -> Array:
        """The ratio of the sides."""
        return self._ratio(problem, 2 / 3)


class SquareOfThePenalty(AbstractSquareClaim):
    """lambda² >= c (log N/N)^(1/3) C_F^(-2/3) e^(4/3), for a constant c > 0, which is the square of its first term."""

    title = "The square of the penalty"
    source = Source("li2025incontext", "(65)", note="proof of Theorem 1, step (a), corrected")
    corrects = "generalisation.lasso_penalty.square_of_the_penalty_as_printed"

    def measure(self, problem: Scales, key: Key[Array, ""]) -> Array:
        """The ratio of the sides."""
        return self._ratio(problem, 4 / 3)
