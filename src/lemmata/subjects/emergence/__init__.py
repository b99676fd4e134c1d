"""Emergence: jumps of accuracy, and whether a smooth score explains them."""

from lemmata.core import read_arguments as _read_arguments

from ._order import TransitionOrder as TransitionOrder
from ._order import transition_order as transition_order
from ._plateaus import Plateaus as Plateaus
from ._plateaus import plateaus as plateaus
from ._report import EmergenceReport as EmergenceReport
from ._report import emergence_report as emergence_report

_read_arguments(__name__)
