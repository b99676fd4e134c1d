"""Eigensystems of Gram matrices, the learning curves that these predict, and operators known only by products."""

from lemmata.core import read_arguments as _read_arguments

from ._alignment import cumulative_alignment as cumulative_alignment
from ._alignment import target_power as target_power
from ._curve import learning_curve as learning_curve
from ._eigensystem import Spectrum as Spectrum
from ._eigensystem import condition_number as condition_number
from ._eigensystem import effective_dimension as effective_dimension
from ._eigensystem import spectrum as spectrum
from ._equivalent import EquivalentCurve as EquivalentCurve
from ._equivalent import deterministic_equivalent as deterministic_equivalent
from ._krylov import ritz_values as ritz_values
from ._krylov import three_term as three_term
from ._lanczos import LargestEigenvalues as LargestEigenvalues
from ._lanczos import largest_eigenvalues as largest_eigenvalues
from ._measured import measured_curve as measured_curve
from ._omniscient import OmniscientCurve as OmniscientCurve
from ._omniscient import omniscient_curve as omniscient_curve
from ._points import LearningCurve as LearningCurve
from ._products import gauss_newton_product as gauss_newton_product
from ._products import hessian_product as hessian_product
from ._regularisation import effective_regularisation as effective_regularisation
from ._regularisation import population_regularisation as population_regularisation
from ._sharpness import sharpness as sharpness
from ._smoothness import Smoothness as Smoothness
from ._smoothness import smoothness as smoothness
from ._trace import TraceEstimate as TraceEstimate
from ._trace import probed as probed
from ._trace import trace_estimate as trace_estimate
from ._validation import gcv as gcv
from ._validation import leave_one_out as leave_one_out
from ._zonal import SphereSpectrum as SphereSpectrum
from ._zonal import exponential_sphere_spectrum as exponential_sphere_spectrum

_read_arguments(__name__)
