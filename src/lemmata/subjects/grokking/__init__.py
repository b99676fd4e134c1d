"""Grokking: why test accuracy can rise long after training accuracy, and when it will rise."""

from lemmata.core import read_arguments as _read_arguments

from ._prediction import DelayPrediction as DelayPrediction
from ._prediction import predict_delay as predict_delay
from ._progress import FourierProgress as FourierProgress
from ._progress import fourier_progress as fourier_progress
from ._report import Crossing as Crossing
from ._report import DecaySlope as DecaySlope
from ._report import GrokkingReport as GrokkingReport
from ._report import GrokkingRun as GrokkingRun
from ._report import grokking_report as grokking_report

_read_arguments(__name__)
