"""Agents that act: policies, their values, and estimates of policies and values in finite Markov decision processes."""

from lemmata.core import read_arguments as _read_arguments

from ._answers import Advantage as Advantage
from ._answers import GreedyLoss as GreedyLoss
from ._answers import OptimalPolicy as OptimalPolicy
from ._answers import PolicyValue as PolicyValue
from ._answers import TDSolution as TDSolution
from ._tabular import EstimatedMDP as EstimatedMDP
from ._tabular import TabularMDP as TabularMDP
from ._visits import Occupancy as Occupancy

_read_arguments(__name__)
