"""Floor 2: what preferences can tell: rewards from comparisons, the best of n, how far a policy has gone, DPO."""

from ._order_statistics import best_of_n_law as best_of_n_law
from ._order_statistics import divergence_bound as divergence_bound
from ._order_statistics import expected_normal_maximum as expected_normal_maximum
from ._order_statistics import selection_weights as selection_weights
from ._policies import chi_squared as chi_squared
from ._policies import divergence as divergence
from ._policies import tilted as tilted
