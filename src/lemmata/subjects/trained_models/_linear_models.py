"""Linear models on the rows of other populations, for statements that speak of no others."""

from jaxtyping import Array, Key

from lemmata.engine.claims import Hypothesis, Population, Space
from lemmata.subjects.trained_models import Trained
from lemmata.subjects.trained_models._rectified_networks import RectifiedNetworks
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks


class LinearModels(Population[Trained]):
    """Models without hidden units, on the rows of another population.

    Args:
        networks: the population.
    """

    networks: RectifiedNetworks | TrainedNetworks

    def settings(self) -> Space:
        return Space(**{name: own for name, own in self.networks.settings().variables.items() if name != "hidden"})

    def sample(self, setting: dict, key: Key[Array, ""]) -> Trained:
        """Rows, and a linear model trained on them."""
        return self.networks.sample({**setting, "hidden": 0}, key)

    def hypotheses(self, problem: Trained) -> list[Hypothesis]:
        return self.networks.hypotheses(problem)
