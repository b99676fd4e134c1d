"""Emergence: jumps of accuracy, and whether a smooth score explains them."""

from ._order import TransitionOrder as TransitionOrder
from ._order import transition_order as transition_order
from ._plateaus import Plateaus as Plateaus
from ._plateaus import plateaus as plateaus
from ._report import EmergenceReport as EmergenceReport
from ._report import emergence_report as emergence_report
