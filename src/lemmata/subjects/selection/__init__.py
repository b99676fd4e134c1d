"""Selection of rows: coding rates of kernels (log determinants of Gram matrices), and how good greedy choices by coding
rates are.
"""

from lemmata.core import read_arguments as _read_arguments

from ._coding_rate import coding_rate as coding_rate
from ._coding_rate import kernel_coding_rate as kernel_coding_rate
from ._greedy import greedy_log_determinant as greedy_log_determinant
from ._posterior import posterior_gram as posterior_gram
from ._posterior import proxy_tangent_gram as proxy_tangent_gram
from ._query import query as query
from ._rules import NOISE as NOISE
from ._rules import RULES as RULES
from ._rules import Candidates as Candidates
from ._rules import Rule as Rule
from ._rules import entropy as entropy
from ._rules import select as select

_read_arguments(__name__)
