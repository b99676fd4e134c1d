"""Scikit-learn estimators that use lemmata's kernels, networks and solvers."""

from lemmata.core import read_arguments as _read_arguments
from lemmata.signatures import shows_signatures as _shows_signatures
from lemmata.storage import storable as _storable
from lemmata.subjects.machines import ConvolutionalMachine as _ConvolutionalMachine
from lemmata.subjects.machines import SparseMachine as _SparseMachine

from ._adversarial import AdversarialKernelClassifier as AdversarialKernelClassifier
from ._barlow_twins import KernelBarlowTwins as KernelBarlowTwins
from ._cascade import CascadeClassifier as CascadeClassifier
from ._cascade import CascadeRegressor as CascadeRegressor
from ._classifier import TangentKernelClassifier as TangentKernelClassifier
from ._convolutional_machine import (
    ConvolutionalDeepKernelMachineClassifier as ConvolutionalDeepKernelMachineClassifier,
)
from ._deep_kernel_machine import DeepKernelMachineClassifier as DeepKernelMachineClassifier
from ._gaussian_process import NNGPRegressor as NNGPRegressor
from ._in_context import InContextRegressor as InContextRegressor
from ._kernel_ridge import KernelRegressor as KernelRegressor
from ._kernel_ridge import TangentKernelRegressor as TangentKernelRegressor
from ._network_kernel import NetworkKernel as NetworkKernel
from ._plain_table import PlainTable as PlainTable
from ._sklearn_kernel import SklearnKernel as SklearnKernel
from ._softmax import SoftmaxRegressor as SoftmaxRegressor

for _estimator in (
    KernelBarlowTwins,
    CascadeClassifier,
    CascadeRegressor,
    ConvolutionalDeepKernelMachineClassifier,
    _ConvolutionalMachine,
    AdversarialKernelClassifier,
    DeepKernelMachineClassifier,
    InContextRegressor,
    _SparseMachine,
    KernelRegressor,
    NetworkKernel,
    NNGPRegressor,
    PlainTable,
    SklearnKernel,
    SoftmaxRegressor,
    TangentKernelClassifier,
    TangentKernelRegressor,
):
    _storable(_shows_signatures(_estimator))

_read_arguments(__name__)
