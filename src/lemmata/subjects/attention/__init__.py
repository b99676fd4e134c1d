"""Attention as a kernel of two tokens, as a weighted mean of values, and as a softmax network with tokens as units."""

from lemmata.core import read_arguments as _read_arguments

from ._block_attention import attended_mask as attended_mask
from ._block_attention import block_attention as block_attention
from ._block_attention import masked_block_attention as masked_block_attention
from ._block_convolution import key_convolution as key_convolution
from ._block_kernel import block_attention_kernel as block_attention_kernel
from ._block_theory import hit_rate as hit_rate
from ._block_theory import router_signal_to_noise as router_signal_to_noise
from ._dense import sigmoid_attention as sigmoid_attention
from ._dense import softmax_attention as softmax_attention
from ._router import attended_pairs as attended_pairs
from ._router import block_means as block_means
from ._router import block_scores as block_scores
from ._router import chosen_blocks as chosen_blocks
from ._sigmoid import flash_sigmoid as flash_sigmoid
from ._sigmoid_jacobian import jacobian_bound as jacobian_bound
from ._tiled import KINDS as KINDS
from ._tiled import tiled_attention as tiled_attention

_read_arguments(__name__)
