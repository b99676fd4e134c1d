"""Continue a measured learning curve to more data, with an interval."""

from ._forecast import Forecast as Forecast
from ._forecast import Interval as Interval
from ._forecast import forecast as forecast
