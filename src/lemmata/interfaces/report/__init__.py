"""HTML pages made from the records of finished jobs. Nothing is recomputed, so JAX and scikit-learn are not loaded."""

from lemmata.signatures import shows_public as _shows_public

from ._actions import action_sentences as action_sentences
from ._curves import learning_curve_chart as learning_curve_chart
from ._families import curves_chart as curves_chart
from ._families import families_fragment as families_fragment
from ._in_context import attention_picture as attention_picture
from ._in_context import coefficients_picture as coefficients_picture
from ._in_context import errors_picture as errors_picture
from ._in_context import pictures_of as pictures_of
from ._letters import widest as widest
from ._model import model_fragment as model_fragment
from ._model import model_sentences as model_sentences
from ._model import silence as silence
from ._model import strip_chart as strip_chart
from ._model_card import model_card as model_card
from ._page import page_text as page_text
from ._page import svg_of as svg_of
from ._pages import left_by as left_by
from ._pages import mixed as mixed
from ._pages import page_of as page_of
from ._pages import write_page as write_page
from ._policy import secured as secured
from ._prose import prose as prose
from ._text import bounds_of as bounds_of
from ._text import number as number
from ._text import told as told
from ._text import told_asked as told_asked
from ._text import told_interval as told_interval
from ._text import told_marks as told_marks
from ._text import told_rows as told_rows
from ._text import told_save as told_save
from ._theme import COLOURS as COLOURS
from ._theme import INK as INK
from ._theme import linear_ticks as linear_ticks
from ._theme import plotted as plotted
from ._theme import themed as themed
from ._theme import ticks as ticks
from ._vega import VEGA as VEGA
from ._vega import start_converter as start_converter
from ._verified import write_verified as write_verified
from ._views import typeset as typeset
from ._views import warnings as warnings

_shows_public(__name__)
