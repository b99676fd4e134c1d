"""What an adversary can change: bounds around an input, smoothing by noise, and poisoned training rows."""

from lemmata.core import read_arguments as _read_arguments

from ._attack import attack as attack
from ._certify import METHODS as METHODS
from ._certify import Certificate as Certificate
from ._certify import certify as certify
from ._certify import largest_radius as largest_radius
from ._class_spectra import BackdoorReport as BackdoorReport
from ._class_spectra import ClassSpectrum as ClassSpectrum
from ._class_spectra import backdoor_report as backdoor_report
from ._floor import RobustFloor as RobustFloor
from ._floor import robust_floor as robust_floor
from ._network import ReluNetwork as ReluNetwork
from ._poisoning import PartitionCertificate as PartitionCertificate
from ._poisoning import bulk_median as bulk_median
from ._poisoning import partition_certificate as partition_certificate
from ._poisoning import rows_to_see as rows_to_see
from ._poisoning import spiked_overlap as spiked_overlap
from ._programs import exact as exact
from ._programs import triangle as triangle
from ._reading import read_network as read_network
from ._relaxation import Ball as Ball
from ._relaxation import adaptive_slopes as adaptive_slopes
from ._relaxation import crown as crown
from ._relaxation import interval as interval
from ._relaxation import interval_bounds as interval_bounds
from ._relaxation import optimised as optimised
from ._relaxation import pre_activation_bounds as pre_activation_bounds
from ._smoothing import SmoothCertificate as SmoothCertificate
from ._smoothing import smooth as smooth
from ._smoothing import smoothed_radius as smoothed_radius
from ._tracing import read_function as read_function

_read_arguments(__name__)
