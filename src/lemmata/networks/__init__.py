"""Floor 1: finite networks, and their training by gradient descent."""

from ._softmax import SoftmaxNetwork as SoftmaxNetwork
from ._training import Trajectory as Trajectory
from ._training import stable_learning_rate as stable_learning_rate
from ._training import train as train
