"""Sparsification: few atoms approximate a point of the convex hull of many atoms.

This theory bounds the squared distance between X and a mean of k atoms, if X is in the convex hull of bounded atoms.
The bound holds in every dimension. It does not explain why greedy choice is often far better than the bound, or how the
atoms of a network are found by training.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, EqualInMean, Source
from lemmata.subjects.depth._mixtures import Mixture, Mixtures, ShiftedMixtures, greedy_errors

ABOUT = {"tool": "approximation theory", "architecture": "dense network", "object": "construction"}

_REPEATS = 200


class MaureySampling(Claim[Mixture]):
    """Let V_1, ..., V_k be independent random atoms with mean X. The mean squared error of their average is

        E |(V_1 + ... + V_k)/k - X|² = (E |V|² - |X|²)/k.

    Let R bound the norm of the atoms. Then there are k atoms whose average is at a squared distance of at most (R² -
    |X|²)/k from X.
    """

    title = "Maurey's lemma: the squared error of a mean of k random atoms falls like 1/k"
    source = Source("barron1993", "Lemma 1", note="the mean in its proof, which is due to Maurey")
    population = ShiftedMixtures()
    relation = EqualInMean(margin=0.002, resolution=0.02)
    control = Control("E |V|²/k, without the square of X", lambda error, problem: problem.mean_square / problem.keep)
    controls = "the mean squared error of a random mixture of k atoms"
    unexplained = "the best k atoms"
    trials = 128

    def predict(self, problem: Mixture) -> Array:
        return (problem.mean_square - jnp.sum(problem.target**2)) / problem.keep

    def measure(self, problem: Mixture, key: Key[Array, ""]) -> Array:
        drawn = jax.random.choice(key, len(problem.weights), (_REPEATS, problem.keep), p=problem.weights)
        means = problem.atoms[drawn].mean(axis=1)
        return jnp.mean(jnp.sum((means - problem.target) ** 2, axis=1))


class GreedyAtoms(Claim[Mixture]):
    """Let X be in the convex hull of atoms v of norm at most R. Start at g_0 = 0. Let g_i = (i-1)/i g_(i-1) + v/i,
    where v is the atom that brings g_i nearest to X. Then, for every k,

        |g_k - X|² <= (R² - |X|²)/k.

    If the atoms are n orthonormal vectors and X is their mean, the squared error is 1/k - 1/n. So the bound is almost
    attained if k is much smaller than n. If X is the output of a wide random network, the error is far below the bound.
    The test uses k = 1 and a larger k.
    """

    title = "Greedy choice of k atoms approximates a convex combination of atoms with a squared error of at most R²/k"
    source = Source(
        "emergence2026", "Figure 3.7", note="with the constant R² - |X|²; also in Jones (1992) and Barron (1993)"
    )
    population = Mixtures()
    relation = AtMost()
    control = Control("the bound divided by 1.1", lambda bound, problem: bound / 1.1)
    controls = "the squared error of k atoms that are chosen greedily"
    unexplained = "targets inside the convex hull, for which the error falls much faster"

    def predict(self, problem: Mixture) -> Array:
        return (problem.largest - jnp.sum(problem.target**2)) / jnp.asarray([1.0, problem.keep])

    def measure(self, problem: Mixture, key: Key[Array, ""]) -> Array:
        return greedy_errors(problem.atoms, problem.target, problem.keep)[jnp.asarray([0, -1])]

    def trivial(self, problem: Mixture) -> Array:
        """Return the bound (R + |X|)², because any atom, and so any mean of atoms, is within R + |X| of X."""
        return jnp.full(2, problem.farthest)


class GreedyBeatsSampling(Claim[Mixture]):
    """Let X be the mean of a random atom V. Choose atoms greedily from g_0 = 0: let g_i = (i-1)/i g_(i-1) + v/i, where
    v is the atom that brings g_i nearest to X. The error of k greedy atoms is at most the mean error of k independent
    random atoms,

        |g_k - X|² <= (E |V|² - |X|²)/k.

    The reason is that, at each step, the best atom is at least as good as a random atom on average. For a random atom,
    the cross term of the squared error has mean zero. If the atoms are orthonormal vectors and X is their mean, the two
    sides almost agree. The test uses k = 1 and a larger k.
    """

    title = "Greedy choice of k atoms approximates a mean at least as well as random choice of k atoms does"
    source = Source("emergence2026", "Figure 3.7", note="the step of its proof, with the error of sampling")
    population = Mixtures()
    relation = AtMost()
    control = Control("the mean error divided by 1.1", lambda bound, problem: bound / 1.1)
    controls = "the squared error of greedy atoms, given the error of random atoms"
    unexplained = "by how much greedy choice is better"

    def predict(self, problem: Mixture) -> Array:
        return (problem.mean_square - jnp.sum(problem.target**2)) / jnp.asarray([1.0, problem.keep])

    def measure(self, problem: Mixture, key: Key[Array, ""]) -> Array:
        return greedy_errors(problem.atoms, problem.target, problem.keep)[jnp.asarray([0, -1])]

    def trivial(self, problem: Mixture) -> Array:
        """Return the bound (R + |X|)², which holds because a mean of any atoms is within R + |X| of X."""
        return jnp.full(2, problem.farthest)
