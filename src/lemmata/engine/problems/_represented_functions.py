"""Functions of a class, and random features that were drawn for the class."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Integer, Population, Real, Space
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

from ._conditions import in_unit_ball
from ._sampled import draws, points_in_ball


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

    def increments(self) -> Float[Array, " m"]:
        """f(x) - f(0)."""
        return self.function(self.x) - self.function(jnp.zeros_like(self.x[:1]))


def sampled_represented(setting: dict, key: Key[Array, ""], points: int) -> Represented:
    """A random function of a class, features, points uniform in the ball.

    Args:
        setting: `family`, `d`, `n` features and `tau`.
        key: randomness.
        points: how many.
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
    """A slope, points in the ball, a finite parameter.

    Args:
        problem: a function and features.
    """
    return [
        Hypothesis("tau is more than 4", problem.features.sharpness, ">", 4.0, "Lemma 1"),
        in_unit_ball(problem.x, "points"),
        Hypothesis("C_F is finite", problem.functions.moment(), "<", jnp.inf, "features have a law"),
    ]


class RepresentedFunctions(Population[Represented]):
    """Random functions of one of three classes, with features of the class, at 32 points.

    Attributes:
        family: the class, unless a setting says otherwise.
        least: how many features a claim needs at least; its corners have as many.
    """

    free = ("x",)
    family: str = "bumps"
    least: int = 1

    def settings(self) -> Space:
        """The class, sizes and sharpness."""
        fixed = None if self.least == 1 else (self.least, self.least)
        return Space(
            family=Choice(self.family, ("bumps", "networks", "linear"), "class of functions"),
            d=Integer(2, 1, 20, "dimension"),
            n=Integer(max(64, self.least), self.least, 4096, "features", corners=fixed),
            tau=Real(64.0, 4.1, 1e4, "sharpness"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Represented:
        """A function, features, points."""
        return sampled_represented(setting, key, 32)

    def hypotheses(self, problem: Represented) -> list[Hypothesis]:
        """Those of Lemma 1."""
        return conditions(problem)


class BumpsOfOneDimension(Population[Represented]):
    """Sums of bumps on [-1, 1], with 128 features of their class, at 256 points."""

    def settings(self) -> Space:
        """The sharpness."""
        return Space(tau=Real(1024.0, 64.0, 1e4, "sharpness"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Represented:
        """A function, features, points."""
        return sampled_represented({"family": "bumps", "d": 1, "n": 128, **setting}, key, 256)

    def hypotheses(self, problem: Represented) -> list[Hypothesis]:
        """Those of Lemma 1."""
        return conditions(problem)
