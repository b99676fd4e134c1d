"""When a network behaves like regression with its tangent kernel.

The claims say how fast the kernel converges to its limit as the width grows, and how far training moves it.
"""

from lemmata.core import read_arguments as _read_arguments

from ._kernel_drift import KernelDrift as KernelDrift
from ._kernel_drift import kernel_drift as kernel_drift
from ._lazy_certificate import LazyCertificate as LazyCertificate
from ._lazy_certificate import lazy_certificate as lazy_certificate

_read_arguments(__name__)
