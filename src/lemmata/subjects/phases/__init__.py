"""Phases: grokking as a first-order transition (a jump between two states) of two-layer networks."""

from lemmata.core import read_arguments as _read_arguments

from ._cubic import CubicTeacher as CubicTeacher
from ._cubic import MixedPhase as MixedPhase
from ._cubic import Transition as Transition
from ._cubic import held_norm_interaction as held_norm_interaction
from ._cubic import mixed_phase as mixed_phase
from ._cubic import transition as transition
from ._modular import ModularAddition as ModularAddition
from ._modular import modular_action as modular_action
from ._overlaps import hermite_overlaps as hermite_overlaps

_read_arguments(__name__)
