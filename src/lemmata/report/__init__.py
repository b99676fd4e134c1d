"""Pages from the records of studies alone: they are read and never recomputed."""

from ._compare import Comparison as Comparison
from ._compare import compare as compare
from ._comparison import write_comparison as write_comparison
from ._curves import learning_curve_chart as learning_curve_chart
from ._families import write_families as write_families
from ._in_context import attention_picture as attention_picture
from ._in_context import coefficients_picture as coefficients_picture
from ._in_context import errors_picture as errors_picture
from ._in_context import write_pictures as write_pictures
from ._page import page_text as page_text
from ._page import write_report as write_report
from ._study import Study as Study
from ._study import load as load
from ._study import study as study
from ._text import clean as clean
from ._text import number as number
from ._text import told as told
from ._text import told_asked as told_asked
from ._text import told_interval as told_interval
from ._text import told_rows as told_rows
