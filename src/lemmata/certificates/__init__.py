"""Floor 2: what an adversary cannot change: bounds of ReLU networks, randomised smoothing, poisoned rows."""

from ._attack import attack as attack
from ._certify import METHODS as METHODS
from ._certify import Certificate as Certificate
from ._certify import certify as certify
from ._certify import largest_radius as largest_radius
from ._conditions import Condition as Condition
from ._network import ReluNetwork as ReluNetwork
from ._network import read_network as read_network
from ._programs import exact as exact
from ._programs import triangle as triangle
from ._relaxation import Ball as Ball
from ._relaxation import adaptive_slopes as adaptive_slopes
from ._relaxation import crown as crown
from ._relaxation import interval as interval
from ._relaxation import interval_bounds as interval_bounds
from ._relaxation import optimised as optimised
from ._relaxation import pre_activation_bounds as pre_activation_bounds
