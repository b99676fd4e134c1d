"""Learning curves from geometry: what matters of a space is the dimension that data fill.

This theory controls how fast the nearest of n points comes nearer, and with it the error of the simplest local
learner. It assumes values without noise and points that are spread evenly; it leaves unexplained learners that adapt
to smoothness, whose exponents are larger.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Rate, Source
from lemmata.engine.problems._torus_points import TorusFunction, TorusFunctions


class NearestNeighbourRate(Claim[TorusFunction]):
    """The squared error of the nearest neighbour of n points without noise falls as n^(-2/k) for a smooth function on a
    set of k dimensions, whatever the dimension of the space it lies in.
    """

    title = "The nearest neighbour's error knows the intrinsic dimension"
    source = Source("bahri2021", note="main result, the resolution-limited regime, for piecewise constant fits")
    population = TorusFunctions()
    relation = Rate("n", (128.0, 512.0, 2048.0), margin=0.06, resolution=0.05)
    control = Control("it falls as n^(-1/k)", lambda rate, problem: rate / 2)
    controls = "the learning curve of a local learner"
    unexplained = "learners that use the smoothness of the target: -4/k for piecewise linear fits"
    trials = 32

    def predict(self, problem: TorusFunction) -> Array:
        return jnp.asarray(-2 / problem.dimension)

    def measure_at(self, problem: TorusFunction, key: Key[Array, ""], n: float) -> Array:
        train_key, test_key = jax.random.split(key)
        train, test = problem.points(train_key, int(n)), problem.points(test_key, 256)
        # all points have one norm, so that the nearest has the largest product
        nearest = jnp.argmax(test @ train.T, axis=1)
        return jnp.mean((problem.value(test) - problem.value(train)[nearest]) ** 2)
