"""The hardness of learning: functions that are hard to fit in one representation, and easy to fit in another."""

from lemmata.core import read_arguments as _read_arguments

from ._rules import Rule as Rule
from ._rules import RuleLearner as RuleLearner

_read_arguments(__name__)
