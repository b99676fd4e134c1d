"""Sparse dictionaries. The claims show the effect of an l_1 penalty on codes, why it is needed, and where it misleads.

A dictionary is a matrix D whose columns are directions of features. A sparse autoencoder represents an activation x by
D z, where the codes z are penalised by their l_1 norm. The theory computes the codes and the losses of a sparse
autoencoder for given features. It assumes that features have fixed directions. It does not explain which features a
trained model has.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Claim, Control, Equal, EqualInMean, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive, uniform
from lemmata.engine.problems.variables import dimension

ABOUT = {
    "tool": "convex optimisation",
    "architecture": "dense network",
    "object": "estimator",
    "WhySparse": {"tool": "statistics", "object": "training"},
    "Absorption": {"object": "training"},
}

_ITERATIONS = 80
_DRAWS = 20_000
_SIDE, _ZOOMS = 41, 14


class PenalisedCode(eqx.Module):
    """An activation x, a square matrix whose QR decomposition gives an orthonormal dictionary, and a penalty."""

    x: Float[Array, " d"]
    table: Float[Array, "d d"]
    penalty: Float[Array, ""]

    @property
    def dictionary(self) -> Float[Array, "d d"]:
        """The dictionary: orthonormal directions of features, one in each column."""
        return jnp.linalg.qr(self.table)[0]


class Shrinkage(Claim[PenalisedCode]):
    """Let D be an orthonormal dictionary, and let the codes z >= 0 of an activation x minimise |x - D z|² + lambda
    |z|_1. Let a = D'x be the true activations of the features. Compared with lambda = 0, the codes are smaller by

        min(max(a, 0), lambda/2).

    So the code of every feature that stays active is too small by lambda/2, and features below lambda/2 are lost.
    """

    title = "The l_1 penalty of a sparse autoencoder shrinks every code by half of the penalty"
    source = Source("emergence2026", "Figure 18.10", note="for an orthonormal dictionary, with the constant")
    population = Drawn(
        PenalisedCode,
        positive("penalty"),
        free=("x",),
        d=dimension(8, 1, 64),
        x=normal("d", times=2.0),
        table=normal("d", "d"),
        penalty=log_uniform(0.2, 3.0),
    )
    relation = Equal(block=1)
    control = Control(
        "codes shrink by the whole penalty",
        lambda shrinkage, problem: jnp.clip(problem.dictionary.T @ problem.x, 0.0, problem.penalty),
    )
    controls = "the bias of the reported activations, and which features are lost"
    unexplained = "dictionaries that are not orthogonal, whose features also compete with each other"

    def predict(self, problem: PenalisedCode) -> Array:
        return jnp.clip(problem.dictionary.T @ problem.x, 0.0, problem.penalty / 2)

    def measure(self, problem: PenalisedCode, key: Key[Array, ""]) -> Array:
        """Return the difference of the codes without and with the penalty, found by projected gradient descent."""
        dictionary = problem.dictionary

        def code(penalty: Array | float) -> Array:
            def step(_, z):
                slope = 2 * dictionary.T @ (dictionary @ z - problem.x) + penalty
                return jnp.maximum(z - 0.25 * slope, 0.0)

            return jax.lax.fori_loop(0, _ITERATIONS, step, jnp.zeros_like(problem.x))

        return code(0.0) - code(problem.penalty)

    def condition(self, problem: PenalisedCode) -> Array:
        """The condition number: d rounding errors in products with activations, which may exceed the shrinkage."""
        return 16.0 * len(problem.x) * (1 + jnp.max(jnp.abs(problem.x)) / problem.penalty)


class TurnedDictionary(eqx.Module):
    """The probability p that a feature is active, and the angle t by which the dictionary is rotated."""

    p: Float[Array, ""]
    angle: Float[Array, ""]


class WhySparse(Claim[TurnedDictionary]):
    """Let two features be independent, each standard normal with probability p and 0 otherwise. Rotate the dictionary
    by an angle t in the plane of the two features. The reconstruction stays exact, and the mean l_1 norm of the codes
    grows by

        2 p (1 - p) sqrt(2/pi) (|cos t| + |sin t| - 1).

    The growth has a kink at t = 0 for p < 1, so the penalty finds the true directions of sparse features. For p = 1,
    the growth is 0 at every angle, so a penalty on the codes cannot identify the directions of dense normal features.

    Derivation: E|z| is sqrt(2/pi) for a standard normal z. If both features are active, both codes are standard normal
    at every angle. With probability 2 p (1 - p), only one feature is active. Then the norm is the size of this feature
    times |cos t| + |sin t|.
    """

    title = "Rotating the dictionary away from two sparse features raises the mean l_1 norm of their codes"
    source = Source("emergence2026", "Figure 18.9", note="section 18.4.2, with the growth")
    stated = Kind.OWN
    population = Drawn(
        TurnedDictionary,
        positive("angle"),
        p=uniform(0.1, 0.7),
        angle=uniform(0.3, 1.27),
    )
    relation = EqualInMean(margin=0.02, resolution=0.02)
    control = Control("the growth lacks the factor 1 - p", lambda growth, problem: growth / (1 - problem.p))
    controls = "whether the penalty prefers the true directions"
    unexplained = "features that are not independent"
    trials = 64

    def predict(self, problem: TurnedDictionary) -> Array:
        turned = jnp.abs(jnp.cos(problem.angle)) + jnp.abs(jnp.sin(problem.angle)) - 1
        return 2 * problem.p * (1 - problem.p) * jnp.sqrt(2 / jnp.pi) * turned

    def measure(self, problem: TurnedDictionary, key: Key[Array, ""]) -> Array:
        """Return the growth of the mean l_1 norm for sparse features, minus the growth if all features are active.

        The second growth is 0 on average, and its subtraction reduces the noise.
        """
        value_key, active_key = jax.random.split(key)
        dense = jax.random.normal(value_key, (_DRAWS, 2))
        sparse = dense * jax.random.bernoulli(active_key, problem.p, dense.shape)
        cos, sin = jnp.cos(problem.angle), jnp.sin(problem.angle)
        turn = jnp.array([[cos, -sin], [sin, cos]])
        growth = lambda codes: jnp.mean(jnp.abs(codes @ turn).sum(axis=1) - jnp.abs(codes).sum(axis=1))
        return growth(sparse) - growth(dense)


class ParentAndChild(eqx.Module):
    """A parent feature, a child feature that occurs only with its parent, and the penalty of an autoencoder.

    Args:
        parent: the probability of the parent.
        share: the probability of the child, given the parent.
        penalty: the factor of the l_1 norm of the codes.
    """

    parent: Float[Array, ""]
    share: Float[Array, ""]
    penalty: Float[Array, ""]


def _code_cost(dictionary: Float[Array, "2 2"], x: Float[Array, " 2"], penalty: Array) -> Array:
    """Return the least |x - z D|² + penalty |z|_1 over z >= 0, found as the least over all sets of active codes.

    The rows of D are the directions of two latents (entries of the code z).
    """
    reach = dictionary @ x - penalty / 2
    cosine = dictionary[0] @ dictionary[1]
    alone = jnp.maximum(reach, 0.0) ** 2  # what one latent saves
    both = (reach - cosine * reach[::-1]) / jnp.maximum(1 - cosine**2, 1e-12)
    saved = jnp.where((both > 0).all() & (cosine**2 < 1 - 1e-12), both @ reach, 0.0)
    return x @ x - jnp.maximum(alone.max(), saved)


def _dictionary_cost(angles: Float[Array, " 2"], problem: ParentAndChild) -> Array:
    """Return the mean loss of two latents at given angles, where parent and child are at 0 and 90 degrees."""
    dictionary = jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1)
    cost = lambda x: _code_cost(dictionary, jnp.asarray(x), problem.penalty)
    return problem.parent * ((1 - problem.share) * cost([1.0, 0.0]) + problem.share * cost([1.0, 1.0]))


class Absorption(Claim[ParentAndChild]):
    """Let a parent feature and a child feature have orthogonal unit directions. The parent is active with probability
    p_P. The child is active with probability p_C, and only together with the parent. Active features have the value 1.
    An autoencoder has two latents with unit decoders, codes z >= 0 and the loss |x - D z|² + lambda |z|_1, where 0 <
    lambda <= 1. Let h(a) = lambda a - lambda²/4. The dictionary with one latent for each feature does not have the
    smallest possible mean loss. Its mean loss is larger by

        p_C (2 h(1) - h(sqrt(2))).

    The best dictionary absorbs the parent. One latent has the direction (parent + child)/sqrt(2). The other latent has
    the direction of the parent, and its code is 0 if the child is active. No dictionary has a smaller loss, because |D
    z| <= |z|_1. So the loss of every input x is at least h(|x|), and this dictionary attains h(|x|) for every x != 0.
    """

    title = "The best sparse autoencoder absorbs a parent feature into its child"
    source = Source("chanin2024absorption", note="the example of two features, with the exact gain")
    stated = Kind.OWN
    population = Drawn(
        ParentAndChild,
        positive("share", "otherwise the child never occurs, and nothing is absorbed"),
        positive("penalty"),
        parent=uniform(0.2, 0.8),
        share=uniform(0.1, 0.9),
        penalty=log_uniform(0.05, 1.0),
    )
    relation = Equal()
    control = Control("the dictionary with one latent for each feature is the best", lambda gain, problem: 0 * gain)
    controls = "by how much the loss of an autoencoder prefers a wrong dictionary"
    unexplained = "encoders that cannot compute the best codes"

    def predict(self, problem: ParentAndChild) -> Array:
        h = lambda a: problem.penalty * a - problem.penalty**2 / 4
        return problem.parent * problem.share * (2 * h(1.0) - h(jnp.sqrt(2.0)))

    def measure(self, problem: ParentAndChild, key: Key[Array, ""]) -> Array:
        """Return the loss with latents at 0 and 90 degrees, minus the least loss over all pairs of angles.

        The least loss is found on grids that shrink around the best point.
        """
        loss = jax.vmap(lambda angles: _dictionary_cost(angles, problem))
        side = jnp.linspace(-1.0, 1.0, _SIDE)
        grid = jnp.stack(jnp.meshgrid(side, side), axis=-1).reshape(-1, 2)

        def zoom(step, best):
            pairs = best + 0.75 * jnp.pi / 4.0**step * grid
            return pairs[jnp.argmin(loss(pairs))]

        best = jax.lax.fori_loop(0, _ZOOMS, zoom, jnp.full(2, jnp.pi / 4 + 0.01))
        honest, least = loss(jnp.stack([jnp.asarray([0.0, jnp.pi / 2]), best]))
        return honest - least

    def condition(self, problem: ParentAndChild) -> Array:
        """The condition number: the gain is a difference of larger numbers of up to 2 p_P."""
        return 64.0 / (problem.share * problem.penalty)
