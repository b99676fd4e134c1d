"""The outputs of a trained model for its training rows and for held-out rows."""

import numpy as np
from jaxtyping import Float

from lemmata.errors import SettingError

from ._once import once
from ._trained import Trained


@once
def training_outputs(trained: Trained) -> Float[np.ndarray, "n C"]:
    """Return the outputs on the training rows."""
    return trained.model.outputs(trained.x)


@once
def held_outputs(trained: Trained) -> Float[np.ndarray, "m C"]:
    """Return the outputs on the held-out rows."""
    return trained.model.outputs(held_rows(trained)[0])


def held_rows(trained: Trained) -> tuple[np.ndarray, Float[np.ndarray, "m C"]]:
    """Return the held-out rows and their targets.

    Raises:
        SettingError: if there are no held-out rows.
    """
    if trained.held is None:
        raise SettingError(
            "held-out rows", found="none", rule="rows that the model was not trained on", remedy="pass --held or held="
        )
    return trained.held
