"""Adaptive optimisers: their regret and failures, limits and symmetries of their steps, and their memory."""

from lemmata.core import read_arguments as _read_arguments

from ._adam_mini import adam_mini as adam_mini
from ._adam_mini import scale_by_adam_mini as scale_by_adam_mini
from ._compare import OptimiserComparison as OptimiserComparison
from ._compare import compare_optimisers as compare_optimisers
from ._compare import expected_best as expected_best
from ._profile import Profile as Profile
from ._profile import optimiser_profile as optimiser_profile
from ._shampoo import scale_by_shampoo as scale_by_shampoo
from ._shampoo import shampoo as shampoo
from ._soap import scale_by_soap as scale_by_soap
from ._soap import soap as soap
from ._updates import updates_of as updates_of

_read_arguments(__name__)
