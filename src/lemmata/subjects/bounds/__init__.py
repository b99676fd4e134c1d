"""Bounds on a classifier's error on new rows, from PAC-Bayes, descriptions, Rademacher complexity and random labels."""

from lemmata.core import read_arguments as _read_arguments

from ._divergences import binary_kl as binary_kl
from ._divergences import kl_lower as kl_lower
from ._divergences import kl_moment as kl_moment
from ._divergences import kl_upper as kl_upper
from ._divergences import pac_bayes_budget as pac_bayes_budget
from ._gaussian_rules import SampledRules as SampledRules
from ._gaussian_rules import scale_of as scale_of
from ._gibbs import gaussian_error as gaussian_error
from ._occam import OccamBound as OccamBound
from ._occam import occam_bound as occam_bound
from ._pac_bayes import PacBayesBound as PacBayesBound
from ._pac_bayes import pac_bayes_bound as pac_bayes_bound
from ._rademacher import Rademacher as Rademacher
from ._rademacher import rademacher as rademacher
from ._random_labels import RandomLabels as RandomLabels
from ._random_labels import random_label_test as random_label_test

_read_arguments(__name__)
