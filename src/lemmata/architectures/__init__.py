"""Floor 1: layers with three faces (init, apply, push), and the kernels of infinitely wide networks."""

from ._activations import Cos as Cos
from ._activations import Erf as Erf
from ._activations import Gelu as Gelu
from ._activations import LeakyRelu as LeakyRelu
from ._activations import Relu as Relu
from ._activations import Sin as Sin
from ._angular import is_homogeneous as is_homogeneous
from ._dense import Dense as Dense
from ._kernels import NNGPKernel as NNGPKernel
from ._kernels import TangentKernel as TangentKernel
from ._layer import AbstractLayer as AbstractLayer
from ._one_norm import AngularKernel as AngularKernel
from ._quadrature import Elementwise as Elementwise
from ._serial import Serial as Serial
from ._serial import erf_network as erf_network
from ._serial import fully_connected as fully_connected
from ._serial import relu_network as relu_network
from ._state import State as State
from ._tangent import tangent_gram as tangent_gram
