"""Forecast a measured learning curve at more training rows, with an interval."""

from lemmata.core import read_arguments as _read_arguments

from ._forecast import Forecast as Forecast
from ._forecast import Interval as Interval
from ._forecast import forecast as forecast

_read_arguments(__name__)
