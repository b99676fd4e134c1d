"""Smoothing: how far the answer that a model gives most often under noise is safe from any change of the input.

This theory controls the smoothed model, which answers with the class that is most frequent under normal noise. It asks
for inputs of one unit; it leaves unexplained the model without noise, and what noise costs in accuracy.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import AtLeast, Control, Hypothesis, Kind, Source
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._smoothed import ROWS, shared_range, smoothed, spread_ratio
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks

from ._gauge import AbstractGauge

ABOUT = {"tool": "concentration", "architecture": "any", "object": "function class"}

_FEWEST = 4
_UNITS = 4.0
_SHARED = 0.25


def one_unit(problem: Trained) -> Hypothesis:
    """That the inputs have one unit: as stated, else by their spreads, else by a range that many of them share."""
    if problem.scale is not None:
        largest = float(np.abs(problem.x).max()) / problem.scale
        return Hypothesis(
            "largest input, divided by the stated scale", largest, "<=", 1.0, "inputs must not exceed `scale`"
        )
    spread = spread_ratio(problem.x)
    shared = 0.0 if spread <= _UNITS else shared_range(problem.x)
    if shared >= _SHARED:
        name = "share of features with the same range, from which one unit is inferred"
        return Hypothesis(name, shared, ">=", _SHARED, "for pixels, state the unit with `scale = 255.0` in the program")
    why = "distances need one unit: give values in [-1, 1], standardised features, or `scale`"
    return Hypothesis("ratio of the features' spreads", spread, "<=", _UNITS, why)


class AttacksOnSmoothedModel(AbstractGauge):
    """The class that a model f gives most often at x + sigma z, z standard normal, is seen k times in 1024 draws. With
    the exact lower limit q > 1/2 of its probability at level 0.9999 it is the most frequent class at every input within

        sigma Phi^-1(q)

    of x in Euclidean distance. So attacks on the smoothed model inside that ball fail: over eight rows the smallest
    ratio of the radius at which projected gradient steps first change its class to the certified radius is at least 1.
    How far it is above 1 is what the certificate gives away.
    """

    title = "Attack on the smoothed model, over its certified radius"
    source = Source("cohen2019smoothing", "Theorem 1", note="with a rival of probability 1 - q, judged by attacks")
    stated = Kind.OWN
    population = TrainedNetworks(hidden=0, unseen=False)
    relation = AtLeast(resolution=0.2)
    control = Control("attacks fail at twice that radius", lambda ratio, problem: 2 * ratio)
    controls = "how far an input can move before the smoothed model changes its class"
    unexplained = "the model without noise; large changes that look the same to people"
    traced = False
    predict = 1.0
    trivial = 0.0  # without a certificate a change may be as small as one likes

    def passes(self, problem: Trained) -> float:
        return 40_000.0 / len(problem.x)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        if not problem.task.is_classification:
            return [Hypothesis("the model is a classifier", 0.0, ">=", 1.0)]
        if problem.x.dtype.kind != "f":
            return [
                Hypothesis("inputs can change by small amounts", 0.0, ">=", 1.0, "whole numbers cannot change a little")
            ]
        unit = one_unit(problem)
        if not bool(unit.holds):
            return [unit]
        if not problem.x.std(0).any():
            return [Hypothesis("features that vary", 0.0, ">", 0.0, "the noise is in units of these features")]
        certain = float(len(smoothed(problem).radii))
        return [unit, Hypothesis(f"rows of {ROWS} whose class under noise is certain", certain, ">=", float(_FEWEST))]

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Projected gradient steps against the mean probability under noise, in balls with a bisected radius."""
        found = smoothed(problem)
        return jnp.asarray(np.min(found.broken() / found.radii))
