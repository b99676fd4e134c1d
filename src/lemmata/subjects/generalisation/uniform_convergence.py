"""Empirical means are near their expectations for all functions of a class at once. The classes are thresholds and
random signs.

This theory bounds the largest deviation over a class. For an empirical distribution function, the bound has the best
constant. For any class, the bound uses the Rademacher complexity, which enters the proof through a second sample and
random signs. The theory assumes independent rows. It does not explain classes of large complexity whose chosen members
generalise.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from lemmata.engine.claims import AtMost, Claim, Control, Kind, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive
from lemmata.engine.problems.variables import rows
from lemmata.subjects.generalisation._random_labels import FiniteLaw, PowerDraws, RareKinds

ABOUT = {"tool": "empirical processes", "architecture": "any", "object": "generalisation"}

_DELTA = 0.05


class ThresholdDeviation(Claim[PowerDraws]):
    """Let F_N(x) be the share of N independent rows at or below x, and let F(x) be its expectation. With probability at
    least 1 - delta,

        sup_x |F_N(x) - F(x)| <= sqrt( ln(2/delta) / (2 N) ),   delta = 1/20.

    So the bound for all thresholds on the line at once equals Hoeffding's bound for a single threshold.
    """

    title = (
        "The Dvoretzky-Kiefer-Wolfowitz inequality: all values of an empirical distribution function are near "
        "their means"
    )
    source = Source("massart1990", note="main result")
    stated = Kind.THEOREM
    population = Drawn(
        PowerDraws, positive("power", "x^power is a distribution function"), power=log_uniform(0.2, 5.0), rows=rows(10)
    )
    relation = AtMost(_DELTA)
    control = Control("the deviation is at most three quarters of the radius", lambda radius, problem: 0.75 * radius)
    controls = "the errors of all thresholds on the line at once"
    unexplained = "classes that are not ordered; a bound from the VC dimension alone is several times larger here"
    trials = 4000
    trivial = 1.0  # shares are in [0, 1]

    def predict(self, problem: PowerDraws) -> Array:
        return jnp.sqrt(jnp.log(2 / _DELTA) / (2 * problem.rows))

    def measure(self, problem: PowerDraws, key: Key[Array, ""]) -> Array:
        """Compare both distribution functions at and just below each row, where they differ most."""
        rows = jnp.sort(jax.random.uniform(key, (problem.rows,)) ** (1 / problem.power))
        steps = jnp.arange(problem.rows + 1) / problem.rows
        level = rows**problem.power
        return jnp.maximum(steps[1:] - level, level - steps[:-1]).max()


def _samples(kinds: int, rows: int) -> Int[np.ndarray, "samples rows"]:
    return np.array(list(itertools.product(range(kinds), repeat=rows)))


class Symmetrisation(Claim[FiniteLaw]):
    """Let z_i be N independent rows, and let s_i be independent random signs. For every class of functions f,

        E sup_f (E f - mean_i f(z_i)) <= 2 E sup_f mean_i s_i f(z_i).

    In the proof, the mean over a second sample z_i' replaces the expectation E f, and the sign s_i decides which of the
    rows z_i and z_i' belongs to which sample. The factor 2 cannot be replaced by a smaller number: if all functions are
    0 except on rare rows, the two sides are nearly equal.
    """

    title = "Symmetrisation: random signs bound the expected largest deviation of sample means over a class"
    source = Source("emergence2026", "Figure 7.8", note="in expectation, with the factor 2")
    stated = Kind.LEMMA
    population = RareKinds()
    relation = AtMost()
    control = Control("the bound holds without the factor 2", lambda bound, problem: bound / 2)
    controls = "the expected largest gap between mean and expectation in a class"
    unexplained = "how large the complexity of a class of networks is"

    def _expectation(self, problem: FiniteLaw, over_samples: Array) -> Array:
        weights = jnp.prod(problem.probabilities[_samples(3, problem.rows)], axis=1)
        return weights @ over_samples

    def predict(self, problem: FiniteLaw) -> Array:
        """Return 2 E sup_f mean_i s_i f(z_i), exactly, as a mean over all samples and all signs."""
        values = problem.values[:, _samples(3, problem.rows)]
        signs = 2.0 * _samples(2, problem.rows) - 1
        means = jnp.einsum("fsn,rn->fsr", values, signs) / problem.rows
        return 2 * self._expectation(problem, means.max(axis=0).mean(axis=1))

    def measure(self, problem: FiniteLaw, key: Key[Array, ""]) -> Array:
        """Return E sup_f (E f - mean_i f(z_i)), exactly, as a mean over all samples."""
        means = problem.values[:, _samples(3, problem.rows)].mean(axis=2)
        gaps = (problem.values @ problem.probabilities)[:, None] - means
        return self._expectation(problem, gaps.max(axis=0))

    def trivial(self, problem: FiniteLaw) -> Array:
        """Return the range of the functions, which bounds the deviation."""
        return jnp.max(problem.values.max(axis=1) - problem.values.min(axis=1))

    def condition(self, problem: FiniteLaw) -> Array:
        """Allow for cancellation: expectations over rare rows are small differences of values near 1."""
        return 1 / problem.probabilities.min()
