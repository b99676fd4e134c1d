"""The hardness of learning: hypotheses that are hard to find, and other representations that are easy to find."""

from lemmata.core import read_arguments as _read_arguments

from ._rules import Rule as Rule
from ._rules import RuleLearner as RuleLearner

_read_arguments(__name__)
