"""Floor 3: kernels in motion: stepwise representations, particles under a critic, fine-tuned language models."""

from ._contrast import contrastive_gram as contrastive_gram
from ._contrast import contrastive_matrix as contrastive_matrix
from ._critics import Critic as Critic
from ._critics import critic as critic
from ._critics import discriminator_loss as discriminator_loss
from ._embedding_flow import correlation_loss as correlation_loss
from ._embedding_flow import embedding_flow as embedding_flow
from ._particles import ParticlePath as ParticlePath
from ._particles import generator_slopes as generator_slopes
from ._particles import particle_flow as particle_flow
from ._particles import squared_discrepancy as squared_discrepancy
from ._particles import wasserstein2 as wasserstein2
from ._stepwise import StepwisePrediction as StepwisePrediction
from ._stepwise import aligned_start as aligned_start
from ._stepwise import stepwise_times as stepwise_times
from ._terminal import TerminalEmbedding as TerminalEmbedding
from ._terminal import terminal_embedding as terminal_embedding
from ._terminal import terminal_weights as terminal_weights
