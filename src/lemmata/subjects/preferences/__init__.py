"""Comparisons of answers, the rewards fitted to them, policies trained on rewards, and over-optimisation of rewards."""

from lemmata.answers import Condition as Condition
from lemmata.core import read_arguments as _read_arguments

from ._best_of_n import BestOfN as BestOfN
from ._best_of_n import best_of_n as best_of_n
from ._coverage import Coverage as Coverage
from ._coverage import coverage as coverage
from ._dpo import DpoReport as DpoReport
from ._dpo import dpo_report as dpo_report
from ._order_statistics import best_of_n_law as best_of_n_law
from ._order_statistics import divergence_bound as divergence_bound
from ._order_statistics import expected_normal_maximum as expected_normal_maximum
from ._order_statistics import selection_weights as selection_weights
from ._policies import chi_squared as chi_squared
from ._policies import divergence as divergence
from ._policies import tilted as tilted
from ._rewards import Rewards as Rewards
from ._rewards import fit_rewards as fit_rewards

_read_arguments(__name__)
