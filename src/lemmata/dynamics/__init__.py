"""Floor 3: kernels in motion: stepwise representations, particles under a critic, fine-tuned language models."""

from ._behaviour import KernelBehaviour as KernelBehaviour
from ._behaviour import kernel_behaviour as kernel_behaviour
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
from ._reviews import REVIEWS as REVIEWS
from ._reviews import Reviews as Reviews
from ._reviews import prompted as prompted
