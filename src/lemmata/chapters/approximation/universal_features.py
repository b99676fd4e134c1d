"""Universal features: one random set of ramps that represents every function of a class with small coefficients.

This theory controls how well n random ramps phi(tau (<u_i, x> - t_i)), drawn for the class and not for the function,
represent its functions linearly, and how large the coefficients are in l_1. It assumes a class with a finite
Barron parameter and a law of its frequencies; it leaves unexplained the rate for the best coefficients, which are not
the ones of the proof.
"""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Choice, Claim, Control, Hypothesis, Integer, Rate, Real, Source, Space
from lemmata.functions import (
    AbstractFunction,
    AbstractFunctionClass,
    GaussianBumps,
    LinearFunctions,
    LogisticNetworks,
    UniversalFeatures,
    features_of,
    representing_coefficients,
)
from lemmata.problems._sampled import draws, points_in_ball

_DELTA = 0.1
_NUMBERS = (8.0, 32.0, 128.0, 512.0)
_FEW = (16.0, 32.0, 64.0, 128.0)


class Represented(eqx.Module):
    """A function of a class, and features of the class.

    Args:
        functions: the class.
        function: f.
        features: the features.
        x: points of the unit ball.
    """

    functions: AbstractFunctionClass
    function: AbstractFunction
    features: UniversalFeatures
    x: Float[Array, "m d"]

    def part(self, start: int, number: int) -> UniversalFeatures:
        """Some of the features.

        Args:
            start: the first.
            number: how many.
        """
        chosen = slice(start, start + number)
        return UniversalFeatures(self.features.omega[chosen], self.features.thresholds[chosen], self.features.sharpness)

    def left(self, features: UniversalFeatures) -> Float[Array, " m"]:
        """f(x) minus what features represent with the coefficients of the proof.

        Args:
            features: some of the features.
        """
        return self.function(self.x) - features(self.x) @ representing_coefficients(
            self.functions, features, self.function
        )


class AbstractRepresentedClaim(Claim[Represented]):
    """Statements about features that were drawn for a class."""

    controls = "the distance of a function from its linear representation by random features"
    unexplained = "the best coefficients, which are not those of the proof"
    problem = Represented

    def settings(self) -> Space:
        """The class, sizes and sharpness."""
        return Space(
            family=Choice("bumps", ("bumps", "networks", "linear"), "class of functions"),
            d=Integer(2, 1, 20, "dimension"), n=Integer(64, 1, 4096, "features"), tau=Real(64.0, 4.1, 1e4, "sharpness"),
        )  # fmt: skip

    def sample(self, setting: dict, key: Key[Array, ""]) -> Represented:
        """A random function of the class, features, 32 points uniform in the ball."""
        return self._sampled(setting, key, setting["n"], 32)

    def _sampled(self, setting: dict, key: Key[Array, ""], n: int, m: int) -> Represented:
        d = setting["d"]
        of = {
            "bumps": lambda normal: GaussianBumps(d, 2.0),
            "networks": lambda normal: LogisticNetworks(4 * normal / d**0.5, jnp.ones(4)),
            "linear": lambda normal: LinearFunctions(d),
        }[setting["family"]]
        sizes = of(jnp.ones((4, d)))
        atoms, omega, function, x = draws(key, (4, d), (n, sizes.columns + 1), sizes.shape, (m, d + 1))
        functions = of(atoms)
        features = features_of(functions, omega, setting["tau"])
        return Represented(functions, functions.function(function), features, points_in_ball(x))

    def hypotheses(self, problem: Represented) -> list[Hypothesis]:
        """tau > 4, points in the ball, a finite parameter."""
        return [
            Hypothesis("tau is more than 4", problem.features.sharpness, ">", 4.0, "Lemma 1"),
            Hypothesis("points lie in the ball", jnp.linalg.norm(problem.x, axis=1).max(), "<=", 1.0),
            Hypothesis("C_F is finite", problem.functions.moment(), "<", jnp.inf, "features have a law"),
        ]


class PointwiseRepresentation(AbstractRepresentedClaim):
    """For one function and one point, with probability at least 1 - delta, the coefficients of the proof give

        |f(x) - f(0) - sum_i rho*_i phi_i(x)| <= (C_F - sup |f(0)|) (1/(4 tau) + 3 sqrt(2 log(2/delta) / n)),

    by Hoeffding's inequality for terms between -3 and 3 times C_F - sup |f(0)|.
    """

    title = "Random features at a point"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="one pair of the cover, with constants")
    relation = AtMost(delta=_DELTA)
    trials = 256
    batch = 256

    def predict(self, problem: Represented) -> Array:
        """The bound."""
        random = 3 * math.sqrt(2 * math.log(2 / _DELTA) / len(problem.features.thresholds))
        return problem.functions.moment() * (1 / (4 * problem.features.sharpness) + random)

    def measure(self, problem: Represented, key: Key[Array, ""]) -> Array:
        """The distance at the first point."""
        return jnp.abs(problem.left(problem.features)[0])

    def control(self) -> Control:
        """About the standard deviation of functions that use half of their class's spectrum."""
        return Control("an eighth of it", lambda bound, problem: bound / 8)


class SmallCoefficients(AbstractRepresentedClaim):
    """The coefficients are small for every draw of the features, whatever their number:

        |f(0)| + (1/n) sum_i |rho_f,i| <= |f(0)| + 3 (C_F - sup |f(0)|) <= 3 C_F < 4 C_F,

    without the concentration that the source's proof calls for. Linear functions attain 3 C_F.
    """

    title = "The coefficients of random features are small in l_1"
    source = Source("li2025incontext", "Lemma 1", "(28)", note="with 3 in place of 4, for every draw")
    relation = AtMost()
    controls = "the l_1 norm of the coefficients of universal features"
    trials = 128
    batch = 128

    def settings(self) -> Space:
        """Linear functions, which attain it."""
        family = Choice("linear", ("bumps", "networks", "linear"), "class of functions")
        return Space(**{**super().settings().variables, "family": family})

    def predict(self, problem: Represented) -> Array:
        """3 C_F."""
        return 3 * (problem.functions.offset() + problem.functions.moment())

    def measure(self, problem: Represented, key: Key[Array, ""]) -> Array:
        """The l_1 norm, the constant included."""
        return jnp.abs(representing_coefficients(problem.functions, problem.features, problem.function)).sum()

    def control(self) -> Control:
        """Attained by slopes at the edge of the class."""
        return Control("nine tenths of it", lambda bound, problem: 0.9 * bound)


class FeatureRate(AbstractRepresentedClaim):
    """With the coefficients of the proof the root mean square distance over the ball falls like n^(-1/2)."""

    title = "The number of random features"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="the order in n")
    relation = Rate("n", _NUMBERS)
    label = "rate"
    trials = 64
    batch = 64

    def sample(self, setting: dict, key: Key[Array, ""]) -> Represented:
        """Features for all rungs, 32 points."""
        return self._sampled(setting, key, int(sum(_NUMBERS)), 32)

    def predict(self, problem: Represented) -> Array:
        """The exponent."""
        return jnp.asarray(-0.5)

    def measure(self, problem: Represented, key: Key[Array, ""]) -> Array:
        """Root mean squares over the points, each rung with features of its own."""
        starts = [int(sum(_NUMBERS[:rung])) for rung in range(len(_NUMBERS))]
        parts = [problem.part(start, int(number)) for start, number in zip(starts, _NUMBERS, strict=True)]
        return jnp.sqrt(jnp.stack([jnp.mean(problem.left(part) ** 2) for part in parts]))

    def control(self) -> Control:
        """Slower."""
        return Control("like n^(-1/3)", lambda exponent, problem: exponent + 1 / 6)


class BestCoefficientRate(AbstractRepresentedClaim):
    """The best coefficients in mean square do better. In one dimension n steps at random thresholds cut [-1, 1] into
    intervals of length O(1/n), and the root mean square distance falls at least like n^-1, for n below tau.

    The coefficients of the proof leave n^(-1/2) in every dimension.
    """

    title = "The best coefficients of random features"
    source = Source("li2025incontext", "Lemma 1", note="the best coefficients in place of the proof's")
    relation = Rate("n", _FEW, upper=True)
    label = "rate"
    unexplained = "the exponent of the best coefficients in more dimensions, and their l_1 norm"
    trials = 64
    batch = 64

    def settings(self) -> Space:
        """The sharpness."""
        return Space(tau=Real(1024.0, 64.0, 1e4, "sharpness"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Represented:
        """Bumps in one dimension, features for the last rung, of which the others take the first; 256 points."""
        return self._sampled({"family": "bumps", "d": 1, **setting}, key, int(_FEW[-1]), 256)

    def predict(self, problem: Represented) -> Array:
        """The exponent."""
        return jnp.asarray(-1.0)

    def measure(self, problem: Represented, key: Key[Array, ""]) -> Array:
        """One orthogonal basis serves all rungs: its first columns span the constant and the first features."""
        basis, _ = jnp.linalg.qr(jnp.roll(problem.features(problem.x), 1, axis=1))
        values = problem.function(problem.x)
        parts = values @ basis
        left = [values - basis[:, : int(n) + 1] @ parts[: int(n) + 1] for n in _FEW]
        return jnp.sqrt(jnp.mean(jnp.stack(left) ** 2, axis=1))

    def control(self) -> Control:
        """Faster."""
        return Control("at least like n^-2", lambda exponent, problem: exponent - 1)
