"""One parameter with many labellings: the sign of a sine.

This theory is about the labels that x -> sgn sin(a x) gives to points on the line. At suitable points all labellings
occur, and at any points the frequency limits their number. So the number of parameters does not measure complexity.
The theory does not say which other number does.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtMost, Claim, Control, Kind, Source, Witness
from lemmata.engine.problems.drawn import Drawn, log_uniform, positive, uniform
from lemmata.engine.problems.variables import rows
from lemmata.subjects.generalisation._labelled_points import PointsOnLine, SineNodes

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "function class"}


class SinesShatter(Claim[SineNodes]):
    """Let x_i = c/2^i be points, where c > 0 and i = 1, ..., N, and let y_i in {0, 1} be any labels. The frequency

        a = (pi / c) (1 + sum_i (1 - y_i) 2^i)

    gives sin(a x_i) > 0 if y_i = 1, and sin(a x_i) < 0 if y_i = 0. Moreover |sin(a x_i)| >= sin(pi / 2^N) for all i. So
    a class with one parameter realises all labellings of arbitrarily many points.
    """

    title = "The sign of a sine with one free parameter realises every labelling of suitable points on the line"
    source = Source("emergence2026", "Figure 7.6", "Figure 7.7", note="with the frequency and the margin")
    population = Drawn(
        SineNodes,
        positive("scale", "equal points have equal labels"),
        free=("scale",),
        scale=log_uniform(0.01, 100.0),
        n=rows(8, 2, 14, corners=(5, 10)),
    )
    relation = Witness()
    control = Control("the margin is twice as large", lambda margin, problem: 2 * margin)
    controls = "how many labellings one parameter can produce"
    unexplained = "points that are given in advance, and frequencies that are bounded"
    trivial = "no frequency is known in advance to give every point its label"

    def predict(self, problem: SineNodes) -> Array:
        return jnp.sin(jnp.pi / 2**problem.n)

    def measure(self, problem: SineNodes, key: Key[Array, ""]) -> Array:
        """Return the least value of sin(a x_i) times the sign of the label, over all points and all 2^N labellings."""
        place = jnp.arange(problem.n)
        labels = ((jnp.arange(2**problem.n)[:, None] >> place) & 1).astype(float)
        powers = 2.0 ** (place + 1)
        frequency = jnp.pi / problem.scale * (1 + (1 - labels) @ powers)
        sines = jnp.sin(frequency[:, None] * problem.scale / powers)
        return jnp.min((2 * labels - 1) * sines)

    def condition(self, problem: SineNodes) -> Array:
        """Allow for the rounding of arguments up to pi 2^N. The least sine is about pi / 2^N."""
        return jnp.asarray(4.0**problem.n)


class SinesOfBoundedFrequency(Claim[PointsOnLine]):
    """Let x_i > 0 be N points, and let the frequency satisfy 0 < a <= A. The functions x -> sgn sin(a x) have at most

        1 + sum_i floor(A x_i / pi)

    labellings, because a label changes only if a x_i is a multiple of pi. So all 2^N labellings need A >= pi (2^N - 1)
    / sum_i x_i.
    """

    title = "Sines of frequency at most A label N points x_i > 0 in at most 1 + sum_i floor(A x_i / pi) ways"
    source = Source("emergence2026", "Figure 7.7", note="the number of labellings if the frequency is bounded")
    stated = Kind.OWN
    population = Drawn(
        PointsOnLine,
        positive("points", "the sine is 0 at the point 0"),
        free=("points",),
        n=rows(12, corners=(10, 20)),
        points=uniform(0.0, 1.0, "n"),
        frequency=log_uniform(3.0, 60.0),
    )
    relation = AtMost()
    control = Control("the bound holds without the 1 for the first labelling", lambda count, problem: count - 1)
    controls = "how many labellings one bounded parameter can produce"
    unexplained = "labellings that occur more than once, which make the number smaller"
    traced = False

    def predict(self, problem: PointsOnLine) -> Array:
        return 1 + jnp.sum(jnp.floor(problem.frequency * problem.points / jnp.pi))

    def measure(self, problem: PointsOnLine, key: Key[Array, ""]) -> Array:
        """Count labellings at one frequency between any two consecutive frequencies at which a label changes."""
        points, most = np.asarray(problem.points), float(problem.frequency)
        turns = np.concatenate([np.pi / x * np.arange(1, int(most * x / np.pi) + 1) for x in points])
        ends = np.concatenate([[0.0], np.sort(turns), [most]])
        signs = np.sin(np.outer((ends[1:] + ends[:-1]) / 2, points)) > 0
        return jnp.asarray(float(len(np.unique(signs, axis=0))))

    def trivial(self, problem: PointsOnLine) -> Array:
        """Return 2^N, the number of labellings of N points."""
        return jnp.asarray(2.0 ** len(problem.points))
