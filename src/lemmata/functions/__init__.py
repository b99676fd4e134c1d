"""Classes of functions with a bounded Fourier spectrum, their Barron parameters, random features, and Sobolev balls."""

from lemmata.core import read_arguments as _read_arguments

from ._bounded_spectrum import BoundedSpectrum as BoundedSpectrum
from ._bounded_spectrum import TranslateSum as TranslateSum
from ._bounded_spectrum import bounded_spectrum as bounded_spectrum
from ._classes import AbstractFunction as AbstractFunction
from ._classes import AbstractFunctionClass as AbstractFunctionClass
from ._classes import barron_parameter as barron_parameter
from ._classes import draw_frequencies as draw_frequencies
from ._classes import draw_function as draw_function
from ._closed_forms import combination_moment as combination_moment
from ._closed_forms import gaussian_moment as gaussian_moment
from ._closed_forms import logistic_moment as logistic_moment
from ._closed_forms import polynomial_bound as polynomial_bound
from ._closed_forms import polynomial_extension as polynomial_extension
from ._closed_forms import positive_definite_bound as positive_definite_bound
from ._closed_forms import product_moment as product_moment
from ._closed_forms import radial_moment as radial_moment
from ._closed_forms import ridge_moment as ridge_moment
from ._closed_forms import ridge_polynomial_bound as ridge_polynomial_bound
from ._cosines import Cosines as Cosines
from ._cosines import CosineSum as CosineSum
from ._covering import log_ball_cover as log_ball_cover
from ._covering import log_class_cover as log_class_cover
from ._covering import log_pair_cover as log_pair_cover
from ._covering import required_features as required_features
from ._cube import cube as cube
from ._cube import degrees as degrees
from ._cube import influences as influences
from ._cube import walsh_hadamard as walsh_hadamard
from ._cube import weights_by_degree as weights_by_degree
from ._features import UniversalFeatures as UniversalFeatures
from ._features import features_of as features_of
from ._features import ramp as ramp
from ._features import representing_coefficients as representing_coefficients
from ._features import sample_features as sample_features
from ._features import step_density as step_density
from ._gaussian_bumps import BumpSum as BumpSum
from ._gaussian_bumps import GaussianBumps as GaussianBumps
from ._linear_functions import LinearFunction as LinearFunction
from ._linear_functions import LinearFunctions as LinearFunctions
from ._linear_functions import mean_projection as mean_projection
from ._logistic_networks import LogisticNetworks as LogisticNetworks
from ._logistic_networks import LogisticSum as LogisticSum
from ._sobolev_balls import PeriodicSeries as PeriodicSeries
from ._sobolev_balls import SobolevBall as SobolevBall
from ._sobolev_balls import lattice_norms as lattice_norms
from ._spectral_moment import SpectralMoment as SpectralMoment
from ._spectral_moment import moment_from_grid as moment_from_grid
from ._spectral_moment import moment_from_samples as moment_from_samples
from ._spectral_moment import radial_terms as radial_terms
from ._spectral_moment import spectral_moment as spectral_moment

_read_arguments(__name__)
