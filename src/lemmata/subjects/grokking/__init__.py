"""Grokking: why test accuracy can rise long after training accuracy, and when it will."""

from ._prediction import DelayPrediction as DelayPrediction
from ._prediction import predict_delay as predict_delay
from ._progress import FourierProgress as FourierProgress
from ._progress import fourier_progress as fourier_progress
from ._report import Crossing as Crossing
from ._report import DecaySlope as DecaySlope
from ._report import GrokkingReport as GrokkingReport
from ._report import GrokkingRun as GrokkingRun
from ._report import grokking_report as grokking_report
