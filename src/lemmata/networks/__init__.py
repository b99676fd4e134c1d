"""Finite networks, their training by gradient descent, and transformers, including one that learns in context."""

from lemmata.core import read_arguments as _read_arguments

from ._empirical import EmpiricalKernel as EmpiricalKernel
from ._in_context import InContextTransformer as InContextTransformer
from ._in_context import forward_steps as forward_steps
from ._in_context import linearised as linearised
from ._in_context_construction import construct_transformer as construct_transformer
from ._in_context_construction import temperature_asked as temperature_asked
from ._in_context_layers import transformer_layers as transformer_layers
from ._modules import equinox_function as equinox_function
from ._modules import flax_function as flax_function
from ._monte_carlo import KernelEstimate as KernelEstimate
from ._monte_carlo import infinite_width as infinite_width
from ._monte_carlo import monte_carlo_kernel as monte_carlo_kernel
from ._monte_carlo import torch_monte_carlo_kernel as torch_monte_carlo_kernel
from ._softmax import SoftmaxNetwork as SoftmaxNetwork
from ._taylor import linearize as linearize
from ._taylor import taylor_expand as taylor_expand
from ._torch import TorchEmpiricalKernel as TorchEmpiricalKernel
from ._torch_call import torch_call as torch_call
from ._torch_taylor import torch_function as torch_function
from ._training import Trajectory as Trajectory
from ._training import stable_learning_rate as stable_learning_rate
from ._training import train as train
from ._transformer import Head as Head
from ._transformer import TransformerLayer as TransformerLayer
from ._transformer import attention_scores as attention_scores
from ._transformer import transformer as transformer

_read_arguments(__name__)
