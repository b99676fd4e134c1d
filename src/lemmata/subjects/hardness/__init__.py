"""The hardness of learning: consistent hypotheses that are hard to find, and other representations that are not."""

from ._rules import Rule as Rule
from ._rules import RuleLearner as RuleLearner
