"""Samples that are made by hand, for relations at the edges of what they accept."""

import numpy as np

from lemmata.engine.claims import Sample

EPS = float(np.finfo(float).eps)
LEVEL = 1e-3
RUNGS = (8.0, 16.0, 32.0, 64.0)


def sample(predicted, measured, condition=None):
    predicted, measured = np.asarray(predicted, float), np.asarray(measured, float)
    return Sample(predicted, measured, np.ones(len(measured)) if condition is None else np.asarray(condition, float))


def alike(predicted, measured, trials):
    """The same trial again and again."""
    return sample(np.broadcast_to(predicted, (trials, *np.shape(predicted))),
                  np.broadcast_to(measured, (trials, *np.shape(measured))))  # fmt: skip
