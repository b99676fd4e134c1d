"""Floor 6: one HTML page from the record of a study. It reads the record and never recomputes."""

from ._in_context import attention_picture as attention_picture
from ._in_context import coefficients_picture as coefficients_picture
from ._in_context import errors_picture as errors_picture
from ._in_context import write_pictures as write_pictures
from ._page import write_report as write_report
from ._text import clean as clean
from ._text import condition as condition
from ._text import interval as interval
from ._text import number as number
from ._text import own_units as own_units
