"""Smoothing: how far an input may change before a model's most frequent answer under noise can change.

The theory covers the smoothed model, which answers with the class that is most frequent under normal noise. It needs
features in one common unit. It does not cover the model without noise, or the accuracy that the noise costs.
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
    """The condition that features have one unit, which is stated, or shown by similar spreads or a common range."""
    if problem.scale is not None:
        largest = float(np.abs(problem.x).max()) / problem.scale
        return Hypothesis(
            "largest input, relative to the stated scale",
            largest,
            "<=",
            1.0,
            "the largest size that an input may have, stated in the program as `scale`",
        )
    spread = spread_ratio(problem.x)
    shared = 0.0 if spread <= _UNITS else shared_range(problem.x)
    if shared >= _SHARED:
        name = "share of features whose range equals the range of all features; such features have a common unit"
        return Hypothesis(
            name, shared, ">=", _SHARED, "pixels, for example; to state the unit, set `scale = 255.0` in the program"
        )
    why = "Euclidean distance needs a common unit: scale values to [-1, 1], standardise features, or state `scale`"
    return Hypothesis("ratio of the features' spreads", spread, "<=", _UNITS, why)


class AttacksOnSmoothedModel(AbstractGauge):
    """Let x be an input, let z be standard normal noise of its shape, and let sigma be the size of the noise. The
    smoothed model answers with the class that a model f predicts most often for x + sigma z. Draw x + sigma z 1024
    times, and let f predict the most frequent class k times. Let q > 1/2 be the exact lower limit, at level 0.9999,
    that k gives for the probability of this class. Then the smoothed model answers with this class at every input whose
    Euclidean distance from x is below the certified radius

        sigma Phi^-1(q),

    where Phi is the standard normal distribution function. So attacks on the smoothed model fail within the certified
    radius. For each of at most eight rows, find the radius at which projected gradient steps first change the class of
    the smoothed model. Divide this radius by the certified radius. The smallest of these ratios is at least 1. The
    excess of this ratio over 1 shows how far the certified radius is below the radius of a successful attack.
    """

    title = "Attacks on the smoothed model need at least its certified radius"
    source = Source(
        "cohen2019smoothing", "Theorem 1", note="for a second class of probability 1 - q; here compared with attacks"
    )
    stated = Kind.OWN
    population = TrainedNetworks(hidden=0, unseen=False)
    relation = AtLeast(resolution=0.2)
    control = Control("attacks fail at twice this radius", lambda ratio, problem: 2 * ratio)
    controls = "how far an input can move before the smoothed model changes its class"
    unexplained = "the model without noise; large changes that do not alter the meaning of an input"
    traced = False
    predict = 1.0
    trivial = 0.0  # without a certificate a change may be as small as one likes

    def passes(self, problem: Trained) -> float:
        return 40_000.0 / len(problem.x)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        if not problem.task.is_classification:
            return [Hypothesis("the model predicts classes", 0.0, ">=", 1.0)]
        if problem.x.dtype.kind != "f":
            return [
                Hypothesis(
                    "inputs can be changed by small amounts",
                    0.0,
                    ">=",
                    1.0,
                    "whole numbers only change by 1 or more",
                )
            ]
        unit = one_unit(problem)
        if not bool(unit.holds):
            return [unit]
        if not problem.x.std(0).any():
            return [Hypothesis("number of features that vary", 0.0, ">", 0.0, "the noise is in units of their spread")]
        certain = float(len(smoothed(problem).radii))
        return [
            unit,
            Hypothesis(f"rows with a certified class, among the first {ROWS}", certain, ">=", float(_FEWEST)),
        ]

    def measure(self, problem: Trained, key: Key[Array, ""]) -> Array:
        """Attack the mean probability under noise by projected gradient steps in balls; the radius is bisected."""
        found = smoothed(problem)
        return jnp.asarray(np.min(found.broken() / found.radii))
