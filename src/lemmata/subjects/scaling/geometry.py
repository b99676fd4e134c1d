"""Learning curves from geometry: the error depends on the intrinsic dimension of the set that contains the data.

This theory describes how fast the distance to the nearest of n points falls, and with it the error of the simplest
local learner. It assumes values without noise and points that are spread evenly. It does not cover learners that adapt
to smoothness; their errors fall with larger exponents.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Claim, Control, Hypothesis, Population, Rate, Source, Space

ABOUT = {"tool": "approximation theory", "architecture": "any", "object": "generalisation"}

AMBIENT = 20


class TorusFunction(eqx.Module):
    """A torus of k circles in 20 dimensions, each in the plane of two orthonormal columns of `frame`.

    The function on the torus is sin(direction . x).
    """

    frame: Float[Array, "20 columns"]
    direction: Float[Array, "20"]
    dimension: int = eqx.field(static=True)

    def points(self, key: Key[Array, ""], count: int) -> Float[Array, "n 20"]:
        """Draw uniform points of the torus; all have the norm sqrt(k)."""
        angle = jax.random.uniform(key, (count, self.dimension), maxval=2 * jnp.pi)
        return jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=1) @ self.frame.T

    def value(self, points: Float[Array, "n 20"]) -> Float[Array, "n"]:
        """Return the value of the function at points."""
        return jnp.sin(points @ self.direction)


class TorusFunctions(Population[TorusFunction]):
    """Tori with random rotations, and sines along random directions."""

    settings = Space(dimension=Choice("2", ("1", "2", "3", "4"), "intrinsic dimension", corners=("3", "4")))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TorusFunction:
        frame_key, direction_key = jax.random.split(key)
        dimension = int(setting["dimension"])
        frame, _ = jnp.linalg.qr(jax.random.normal(frame_key, (AMBIENT, 2 * dimension)))
        direction = frame @ jax.random.normal(direction_key, (2 * dimension,))
        return TorusFunction(frame, direction / jnp.linalg.norm(direction), dimension)

    def hypotheses(self, problem: TorusFunction) -> list[Hypothesis]:
        return [
            Hypothesis(
                "dimensions of the torus", 2 * problem.dimension, "<=", AMBIENT, "each circle takes two dimensions"
            )
        ]


class NearestNeighbourRate(Claim[TorusFunction]):
    """Let the values of a smooth function on a k-dimensional set be known without noise at n points. Predict the
    function at a new point by its value at the nearest known point. The squared error of this prediction falls as
    n^(-2/k). This rate does not depend on the dimension of the space that contains the set.
    """

    title = "The squared error of nearest-neighbour prediction falls like n^(-2/k) in intrinsic dimension k"
    source = Source("bahri2021", note="main result, the resolution-limited regime, for piecewise constant fits")
    population = TorusFunctions()
    relation = Rate("n", (128.0, 512.0, 2048.0), margin=0.06, resolution=0.05)
    control = Control("the error falls as n^(-1/k)", lambda rate, problem: rate / 2)
    controls = "the learning curve of a local learner"
    unexplained = "learners that use the smoothness of the target: the exponent is -4/k for piecewise linear fits"
    trials = 32

    def predict(self, problem: TorusFunction) -> Array:
        return jnp.asarray(-2 / problem.dimension)

    def measure_at(self, problem: TorusFunction, key: Key[Array, ""], n: float) -> Array:
        train_key, test_key = jax.random.split(key)
        train, test = problem.points(train_key, int(n)), problem.points(test_key, 256)
        # all points have one norm, so that the nearest has the largest product
        nearest = jnp.argmax(test @ train.T, axis=1)
        return jnp.mean((problem.value(test) - problem.value(train)[nearest]) ** 2)
