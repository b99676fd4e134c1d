"""Small networks with more parameters than rows, which fit even random classes of their training rows."""

from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks


class MemorisingNetworks(Population[Trained]):
    """Networks with a tanh layer on three normal classes in many dimensions. A share `noise` of classes is random.

    The rows are drawn as in `TrainedNetworks`. The networks are larger than the default networks of `TrainedNetworks`,
    which are too small to fit every row.

    Args:
        noise: the share of random classes, in training and held-out rows.
    """

    noise: float = 1.0

    def settings(self) -> Space:
        return Space(
            n=Integer(40, 20, 2000, "training rows", corners=(40, 60)),
            d=Integer(15, 1, 100, "features", corners=(15, 25)),
            hidden=Integer(12, 0, 100, "hidden units", corners=(10, 16)),
            decay=Real(0.02, 1e-4, 1.0, "decay of the weights", corners=(0.01, 0.02)),
            noise=Real(self.noise, 0.0, 1.0, "share of classes drawn at random"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Draw centres and rows, and train a network on the rows."""
        return TrainedNetworks().sample(setting, key)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        """Require a model with derivatives, and rows that the model has not seen."""
        return TrainedNetworks().hypotheses(problem)
