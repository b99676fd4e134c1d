"""Boosters of XGBoost, as functions of an array whose objective is known."""

import dataclasses
import json
import sys
from typing import Any

import numpy as np
from scipy.special import expit, softmax


@dataclasses.dataclass(frozen=True)
class BoostedTrees:
    """The outputs of a booster: class probabilities (n, C) for classes, otherwise what `Booster.predict` returns.

    Args:
        booster: the booster. The booster predicts with all of its trees.
        objective: the objective of its training, such as "binary:logistic".
        quantile: the quantile that the booster predicts; None if it predicts no quantile, or several.
    """

    booster: Any = dataclasses.field(repr=False)
    objective: str
    quantile: float | None = None

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the outputs at rows, which may have missing cells."""
        rows = sys.modules["xgboost"].DMatrix(x, feature_names=self.booster.feature_names)
        margins = self.objective.startswith(("binary:logi", "multi:soft"))
        found = np.asarray(self.booster.predict(rows, output_margin=margins), float)
        if not margins:
            return found
        if self.objective.startswith("multi:"):
            return softmax(found.reshape(len(found), -1), axis=1)
        return np.stack([expit(-found.ravel()), expit(found.ravel())], axis=1)


def boosted(booster: Any) -> BoostedTrees:
    """Return the function of a booster, with the objective that its configuration states.

    Args:
        booster: a `xgboost.Booster`.
    """
    stated = json.loads(booster.save_config())["learner"]["objective"]
    levels = json.loads(str(stated.get("quantile_loss_param", {}).get("quantile_alpha", "null")))
    levels = levels if isinstance(levels, list) else [levels]
    single = isinstance(levels[0], int | float) and len(levels) == 1
    return BoostedTrees(booster, str(stated["name"]), float(levels[0]) if single else None)
