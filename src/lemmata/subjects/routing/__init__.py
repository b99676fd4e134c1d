"""Which tokens attention reads, how sharply it reads them, and which algorithm a predictor runs on its prompt."""

from lemmata.core import read_arguments as _read_arguments

from ._attention_report import AttentionReport as AttentionReport
from ._attention_report import attention_report as attention_report
from ._retrieval import LogitFormat as LogitFormat
from ._retrieval import Retrieval as Retrieval
from ._retrieval import retrieval as retrieval
from ._which_algorithm import AlgorithmDistances as AlgorithmDistances
from ._which_algorithm import which_algorithm as which_algorithm

_read_arguments(__name__)
