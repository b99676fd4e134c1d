"""Field theory: criticality, universality classes, and corrections for finite width."""

from lemmata.core import read_arguments as _read_arguments

from ._criticality import Criticality as Criticality
from ._criticality import Universality as Universality
from ._criticality import critical_initialisation as critical_initialisation
from ._flow import RepresentationFlow as RepresentationFlow
from ._flow import representation_flow as representation_flow
from ._growth import optimal_aspect_ratio as optimal_aspect_ratio
from ._growth import vertex_growth as vertex_growth
from ._information import shared_information as shared_information
from ._moments import GaussianMoments as GaussianMoments
from ._moments import Susceptibilities as Susceptibilities
from ._moments import gaussian_moments as gaussian_moments
from ._moments import slopes_of as slopes_of
from ._moments import susceptibilities as susceptibilities

_read_arguments(__name__)
