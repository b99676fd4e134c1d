"""Kernel dynamics: stepwise representations, generators with a kernel critic, and fine-tuning as kernel regression."""

from lemmata.core import read_arguments as _read_arguments

from ._behaviour import KernelBehaviour as KernelBehaviour
from ._behaviour import kernel_behaviour as kernel_behaviour
from ._contrast import contrastive_gram as contrastive_gram
from ._contrast import contrastive_matrix as contrastive_matrix
from ._critics import Critic as Critic
from ._critics import critic as critic
from ._critics import discriminator_loss as discriminator_loss
from ._embedding_flow import correlation_loss as correlation_loss
from ._embedding_flow import embedding_flow as embedding_flow
from ._fine_tuning import FineTuningKernels as FineTuningKernels
from ._fine_tuning import fine_tune as fine_tune
from ._fine_tuning import fine_tuning_kernels as fine_tuning_kernels
from ._kernel_solvers import AsymmetricFit as AsymmetricFit
from ._kernel_solvers import asymmetric_fit as asymmetric_fit
from ._kernel_solvers import logistic_descent as logistic_descent
from ._kernel_solvers import offset_regression as offset_regression
from ._language_model import FreshHead as FreshHead
from ._language_model import MaskedTransformer as MaskedTransformer
from ._language_model import WordPrompt as WordPrompt
from ._language_model import pre_train as pre_train
from ._low_rank import in_subspace as in_subspace
from ._low_rank import low_rank_adapters as low_rank_adapters
from ._low_rank import rank_needed as rank_needed
from ._particles import ParticlePath as ParticlePath
from ._particles import generator_slopes as generator_slopes
from ._particles import particle_flow as particle_flow
from ._particles import squared_discrepancy as squared_discrepancy
from ._particles import wasserstein2 as wasserstein2
from ._reviews import REVIEWS as REVIEWS
from ._reviews import Reviews as Reviews
from ._reviews import prompted as prompted
from ._stepwise import StepwisePrediction as StepwisePrediction
from ._stepwise import aligned_start as aligned_start
from ._stepwise import stepwise_times as stepwise_times
from ._terminal import TerminalEmbedding as TerminalEmbedding
from ._terminal import terminal_embedding as terminal_embedding
from ._terminal import terminal_weights as terminal_weights

_read_arguments(__name__)
