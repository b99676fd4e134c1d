"""Universal features: one random set of ramps that represents every function of a class with small coefficients.

This theory describes how well n random ramps phi(tau (<u_i, x> - t_i)), drawn for the class and not for the function,
represent the functions of the class linearly. It also bounds the l_1 norm of the coefficients. Lemma 1 and its proof
are those of li2025incontext. The theory assumes a class with a finite Barron parameter and a distribution of its
frequencies. It does not explain the rate for the best coefficients, which differ from the coefficients of that proof.
"""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Choice,
    Claim,
    Control,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Rate,
    Real,
    Source,
    Space,
    Status,
)
from lemmata.engine.problems.conditions import in_unit_ball
from lemmata.engine.problems.sampled import draws, points_in_ball
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

ABOUT = {"tool": "concentration", "architecture": "random features", "object": "construction"}


class Represented(eqx.Module):
    """A function of a class, and features of the class.

    Args:
        functions: the class that contains f.
        function: the function f.
        features: the n random ramps and the constant that were drawn for the class.
        x: the points of the unit ball.
    """

    functions: AbstractFunctionClass
    function: AbstractFunction
    features: UniversalFeatures
    x: Float[Array, "m d"]

    def part(self, start: int, number: int) -> UniversalFeatures:
        """Return some of the features.

        Args:
            start: the index of the first feature.
            number: the number of features.
        """
        chosen = slice(start, start + number)
        return UniversalFeatures(self.features.omega[chosen], self.features.thresholds[chosen], self.features.sharpness)

    def left(self, features: UniversalFeatures) -> Float[Array, " m"]:
        """Return f(x) minus the sum of the ramps and the constant feature, with the coefficients of Lemma 1's proof.

        Args:
            features: some of the features.
        """
        return self.function(self.x) - features(self.x) @ representing_coefficients(
            self.functions, features, self.function
        )

    def increments(self) -> Float[Array, " m"]:
        """The differences f(x) - f(0) at the points x."""
        return self.function(self.x) - self.function(jnp.zeros_like(self.x[:1]))


def sampled_represented(setting: dict, key: Key[Array, ""], points: int) -> Represented:
    """Draw a random function of a class, features of the class, and uniform points in the ball.

    Args:
        setting: the class `family`, the dimension `d`, the number `n` of features and the slope `tau`.
        key: the random key.
        points: the number of points x in the unit ball.
    """
    d = setting["d"]
    of = {
        "bumps": lambda normal: GaussianBumps(d, 2.0),
        "networks": lambda normal: LogisticNetworks(4 * normal / d**0.5, jnp.ones(4)),
        "linear": lambda normal: LinearFunctions(d),
    }[setting["family"]]
    sizes = of(jnp.ones((4, d)))
    atoms, omega, function, x = draws(key, (4, d), (setting["n"], sizes.columns + 1), sizes.shape, (points, d + 1))
    functions = of(atoms)
    features = features_of(functions, omega, setting["tau"])
    return Represented(functions, functions.function(function), features, points_in_ball(x))


def conditions(problem: Represented) -> list[Hypothesis]:
    """Return the hypotheses on the slope tau, on the points and on the Barron parameter.

    Args:
        problem: a function and the features of its class.
    """
    return [
        Hypothesis("tau is more than 4", problem.features.sharpness, ">", 4.0, "Lemma 1"),
        in_unit_ball(problem.x, "points"),
        Hypothesis("C_F is finite", problem.functions.moment(), "<", jnp.inf, "otherwise features cannot be drawn"),
    ]


class RepresentedFunctions(Population[Represented]):
    """Random functions of one of three classes, with features of the class, at 32 points.

    Attributes:
        family: the name of the class, unless a setting says otherwise.
        least: the least number of features that a claim needs; extra settings of the claim have up to a quarter more
            features.
    """

    free = ("x",)
    family: str = "bumps"
    least: int = 1

    def settings(self) -> Space:
        few = None if self.least == 1 else (self.least, 5 * self.least // 4)
        return Space(
            family=Choice(self.family, ("bumps", "networks", "linear"), "class of functions"),
            d=Integer(2, 1, 20, "dimension"),
            n=Integer(max(64, self.least), self.least, 4096, "features", corners=few),
            tau=Real(64.0, 4.1, 1e4, "sharpness"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Represented:
        return sampled_represented(setting, key, 32)

    def hypotheses(self, problem: Represented) -> list[Hypothesis]:
        return conditions(problem)


class BumpsOfOneDimension(Population[Represented]):
    """Sums of bumps on [-1, 1], with 128 features of their class, at 256 points."""

    settings = Space(tau=Real(1024.0, 64.0, 1e4, "sharpness"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Represented:
        return sampled_represented({"family": "bumps", "d": 1, "n": 128, **setting}, key, 256)

    def hypotheses(self, problem: Represented) -> list[Hypothesis]:
        return conditions(problem)


_DELTA = 0.1
_NUMBERS = (8.0, 32.0, 128.0, 512.0)
_DISTANCE = "the distance of a function from its linear representation by random features"
_BEST = "the best coefficients, which differ from the coefficients of the proof"


class PointwiseRepresentation(Claim[Represented]):
    """Consider a class of functions with the Barron parameter C_F. Draw n random ramps phi_i(x) = phi(tau (<u_i, x> -
    t_i)) from the distribution that Lemma 1 of the source uses for this class. Here phi(s) = min(max(s + 1/2, 0), 1).
    Let f be one function of the class, and x one point of the unit ball. Let rho*_i be the coefficients that the proof
    of Lemma 1 gives to the ramps. With probability at least 1 - delta,

        |f(x) - f(0) - sum_i rho*_i phi_i(x)| <= (C_F - sup |f(0)|) (1/(4 tau) + 3 sqrt(2 log(2/delta) / n)),

    by Hoeffding's inequality. The terms of the sum, times n, lie between -3 and 3 times C_F - sup |f(0)|.
    """

    title = "A bound on the error of n random ramps for one function of a Barron class at one point"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="for one pair of the cover, with explicit constants")
    population = RepresentedFunctions()
    relation = AtMost(delta=_DELTA)
    control = Control(
        "an eighth of the bound",
        lambda bound, problem: bound / 8,
        loose="Hoeffding's inequality allows every term to be at an end of its range, but most terms of a function are "
        "far from the ends",
    )
    controls = _DISTANCE
    unexplained = _BEST
    expected = Status.VACUOUS

    def predict(self, problem: Represented) -> Array:
        random = 3 * math.sqrt(2 * math.log(2 / _DELTA) / len(problem.features.thresholds))
        return problem.functions.moment() * (1 / (4 * problem.features.sharpness) + random)

    def measure(self, problem: Represented, key: Key[Array, ""]) -> Array:
        """Return the distance of f from its representation, at the first point x."""
        return jnp.abs(problem.left(problem.features)[0])

    def trivial(self, problem: Represented) -> Array:
        """Return the largest |f - f(0)| over the points."""
        return jnp.abs(problem.increments()).max()


class SmallCoefficients(Claim[Represented]):
    """Let f be a function of a class with the Barron parameter C_F. The proof of Lemma 1 of the source gives
    coefficients rho_f,i with which n random ramps approximate f. For every draw of the features and every n,

        |f(0)| + (1/n) sum_i |rho_f,i| <= |f(0)| + 3 (C_F - sup |f(0)|) <= 3 C_F < 4 C_F.

    The source's proof uses a concentration inequality, which is not needed. Linear functions attain 3 C_F.
    """

    title = (
        "The coefficients of random ramps for a function have an l_1 norm of at most 3 times the class's Barron "
        "parameter"
    )
    source = Source("li2025incontext", "Lemma 1", "(28)", note="with 3 in place of 4, for every draw")
    population = RepresentedFunctions("linear")
    relation = AtMost()
    control = Control(
        "nine tenths of the bound", lambda bound, problem: 0.9 * bound
    )  # attained by slopes at the class's edge
    controls = "the l_1 norm of the coefficients of universal features"
    unexplained = _BEST
    trivial = "the weights that represent a function have no trivial bound"

    def predict(self, problem: Represented) -> Array:
        return 3 * (problem.functions.offset() + problem.functions.moment())

    def measure(self, problem: Represented, key: Key[Array, ""]) -> Array:
        """Return the l_1 norm of the coefficients, including the coefficient f(0) of the constant."""
        return jnp.abs(representing_coefficients(problem.functions, problem.features, problem.function)).sum()


class FeatureRate(Claim[Represented]):
    """An integral of ramps over thresholds and frequencies, weighted by coefficients, approximates f - f(0) for each
    function f of a Barron class. Draw n thresholds and frequencies at random. As in the proof of Lemma 1 of the source,
    give the ramp of each draw the coefficient that the integral has at this draw. The root mean square distance of f(0)
    plus the mean of these weighted ramps from f, over the unit ball, falls like n^(-1/2).
    """

    title = "The error of n random features whose coefficients sample an integral of ramps falls like n^(-1/2)"
    source = Source("li2025incontext", "Lemma 1", "(27)", note="the order in n")
    population = RepresentedFunctions(least=int(sum(_NUMBERS)))
    relation = Rate("n", _NUMBERS, resolution=0.08, spread=0.35)
    control = Control("like n^(-1/3)", lambda exponent, problem: exponent + 1 / 6)
    controls = _DISTANCE
    unexplained = _BEST
    trials = 64
    predict = -0.5

    def measure(self, problem: Represented, key: Key[Array, ""]) -> Array:
        """Return the root mean square error over the points, with separate features for each number n."""
        starts = [int(sum(_NUMBERS[:rung])) for rung in range(len(_NUMBERS))]
        parts = [problem.part(start, int(number)) for start, number in zip(starts, _NUMBERS, strict=True)]
        return jnp.sqrt(jnp.stack([jnp.mean(problem.left(part) ** 2) for part in parts]))


class BestCoefficientRate(Claim[Represented]):
    """Consider a class of functions on [-1, 1]. Draw n < tau random ramps of slope tau from a distribution that depends
    on the class alone. The root mean square distance of a function of the class from the span of the ramps falls at
    least like n^-1. The reason is that n steps at random thresholds cut [-1, 1] into intervals of length O(1/n). So the
    best coefficients in mean square are better than the coefficients in the proof of Lemma 1 of the source. Those
    coefficients sample an integral of ramps, and their error is of the order n^(-1/2) in every dimension.
    """

    title = "In one dimension, the error of n random ramps with the best coefficients falls at least like 1/n"
    source = Source(
        "li2025incontext", "Lemma 1", note="the best coefficients in place of the coefficients of the proof"
    )
    stated = Kind.OWN
    population = BumpsOfOneDimension()
    relation = Rate("n", (16.0, 32.0, 64.0, 128.0), upper=True)
    control = Control("at least like n^(-3/2)", lambda exponent, problem: exponent - 0.5)
    controls = _DISTANCE
    unexplained = "the exponent of the best coefficients in more dimensions, and their l_1 norm"
    trials = 64
    predict = -1.0

    def measure(self, problem: Represented, key: Key[Array, ""]) -> Array:
        """Project on one orthogonal basis, whose first columns span the constant and the first features."""
        basis, _ = jnp.linalg.qr(jnp.roll(problem.features(problem.x), 1, axis=1))
        values = problem.function(problem.x)
        parts = values @ basis
        left = [values - basis[:, : int(n) + 1] @ parts[: int(n) + 1] for n in self.relation.rungs]
        return jnp.sqrt(jnp.mean(jnp.stack(left) ** 2, axis=1))
