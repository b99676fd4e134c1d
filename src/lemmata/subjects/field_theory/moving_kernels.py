"""Moving kernels: by how much one step of training changes the tangent kernel, by width and depth.

At infinite width the tangent kernel does not move, and a network learns no representation. This theory controls the
size of the first change at finite width n and depth L: like 1/n for tanh and like L for linear networks. It
leaves open whether a network that has moved predicts better. At a kink the expansion fails: units that a step pushes
over it change the kernel by n^(-1/2). Both activations are judged at one rate, on one ladder of widths.
"""

import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Rate, Source, Status
from lemmata.engine.problems._stepped_networks import SteppedNetwork, SteppedNetworks
from lemmata.subjects.field_theory.criticality import generator

_KEY = "roberts2022principles"
_WIDTHS = (256.0, 1024.0, 4096.0)
_NETWORKS = 8


def typical_change(
    problem: SteppedNetwork, width: int, depth: int, rate: float, networks: int, key: Key[Array, ""]
) -> np.ndarray:
    """The geometric mean over networks, whose changes have heavy tails, of |Theta' - Theta|/Theta."""
    changes = problem.change(width, depth, rate, networks, generator(key))
    return np.asarray(np.exp(np.mean(np.log(np.maximum(changes, 1e-300)))))


class SmoothKernelMovesByWidth(Claim[SteppedNetwork]):
    """One step of gradient descent on one example, of rate 1/Theta with Theta the tangent kernel there, changes the
    tangent kernel of a critical network of one hidden layer of n tanh units, relative to itself, by

        C/n.
    """

    title = "The tangent kernel of tanh moves like 1/width"
    source = Source(_KEY, "Abstract, representation learning")
    population = SteppedNetworks("tanh")
    relation = Rate("n", _WIDTHS, margin=0.1, resolution=0.15)
    traced = False
    trials = 80
    control = Control("like n^(-1/2)", lambda exponent, problem: exponent + 0.5)
    controls = "how far a network of finite width is from a kernel machine"
    unexplained = "the constant, and what the change is good for"

    def predict(self, problem: SteppedNetwork) -> np.ndarray:
        return np.asarray(-1.0)

    def measure_at(self, problem: SteppedNetwork, key: Key[Array, ""], n: float) -> np.ndarray:
        return typical_change(problem, int(n), 1, 1.0, _NETWORKS, key)


class KernelMovesByDepth(Claim[SteppedNetwork]):
    """One step of gradient descent on one example, of rate 1/(10 Theta) with Theta the tangent kernel there, changes
    the tangent kernel of a critical linear network of L hidden layers of one width, relative to itself, by

        C L.
    """

    title = "The tangent kernel moves like the depth"
    source = Source(_KEY, "Abstract, representation learning")
    population = SteppedNetworks("identity")
    relation = Rate("L", (2.0, 4.0, 8.0), margin=0.12, resolution=0.2)
    traced = False
    trials = 96
    control = Control("like L^(1/2)", lambda exponent, problem: exponent - 0.5)
    controls = "how far a network of finite width is from a kernel machine"
    unexplained = "the constant, and activations with kinks"

    def predict(self, problem: SteppedNetwork) -> np.ndarray:
        return np.asarray(1.0)

    def measure_at(self, problem: SteppedNetwork, key: Key[Array, ""], depth: float) -> np.ndarray:
        return typical_change(problem, problem.width, int(depth), 0.1, 20, key)


class KinkedKernelMovesByWidthAsOftenRead(Claim[SteppedNetwork]):
    """As often read: the ratio of depth to width controls how much networks learn, whatever their activation. So one
    step of gradient descent on one example, of rate 1/Theta with Theta the tangent kernel there, changes the tangent
    kernel of a critical network of one hidden layer of n ReLU units, relative to itself, by C/n.
    """

    title = "The tangent kernel of ReLU moves like 1/width"
    source = Source(_KEY, "Abstract, representation learning", note="as often read")
    population = SteppedNetworks("relu")
    relation = Rate("n", _WIDTHS, margin=0.1, resolution=0.15)
    traced = False
    trials = 80
    control = Control("like n^(-3/2)", lambda exponent, problem: exponent - 0.5)
    controls = "how far a network of finite width is from a kernel machine"
    unexplained = "the constant"
    reading = "for an activation with a kink"
    expected = Status.REFUTED

    def predict(self, problem: SteppedNetwork) -> np.ndarray:
        return np.asarray(-1.0)

    def measure_at(self, problem: SteppedNetwork, key: Key[Array, ""], n: float) -> np.ndarray:
        return typical_change(problem, int(n), 1, 1.0, _NETWORKS, key)


class KinkedKernelMovesByRoot(Claim[SteppedNetwork]):
    """One step of gradient descent on one example, of rate 1/Theta with Theta the tangent kernel there, changes the
    tangent kernel of a critical network of one hidden layer of n ReLU units, relative to itself, by

        C n^(-1/2):

    a share n^(-1/2) of the units is pushed over the kink, and only units that were on pass it, so that what they
    take off adds up.
    """

    title = "The tangent kernel of ReLU moves like the root of 1/width"
    source = Source(_KEY, "Abstract, representation learning", note="for an activation with a kink")
    population = SteppedNetworks("relu")
    relation = Rate("n", _WIDTHS, margin=0.1, resolution=0.15)
    traced = False
    trials = 80
    control = Control("like n^-1", lambda exponent, problem: exponent - 0.5)
    controls = "how far a network of finite width is from a kernel machine"
    unexplained = "the constant, and batches whose examples push a unit in different directions"
    corrects = KinkedKernelMovesByWidthAsOftenRead

    def predict(self, problem: SteppedNetwork) -> np.ndarray:
        return np.asarray(-0.5)

    def measure_at(self, problem: SteppedNetwork, key: Key[Array, ""], n: float) -> np.ndarray:
        return typical_change(problem, int(n), 1, 1.0, _NETWORKS, key)
