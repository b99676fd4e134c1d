"""What needs float64 is refused without it, in each function by itself: a curve of float32 would be silently wrong."""

import jax
import jax.numpy as jnp
import pytest

from lemmata import solvers, spectra
from lemmata.errors import PrecisionError

GRAM = jnp.eye(6) + 0.5
Y = jnp.arange(6.0)
KNOWN = spectra.spectrum(GRAM)
ASKED = {
    "spectrum": lambda: spectra.spectrum(GRAM),
    "deterministic_equivalent": lambda: spectra.deterministic_equivalent(KNOWN, Y, [3], 0.1),
    "learning_curve": lambda: spectra.learning_curve(KNOWN, Y, [3], 0.1),
    "measured_curve": lambda: spectra.measured_curve(KNOWN, Y, [3], 0.1),
    "omniscient_curve": lambda: spectra.omniscient_curve(KNOWN.eigenvalues, Y, 0.1, [3], 0.1),
    "exponential_sphere_spectrum": lambda: spectra.exponential_sphere_spectrum(1.0, 3, 4),
    "kernel_ridge": lambda: solvers.kernel_ridge(GRAM, Y, 0.1),
    "log_evidence": lambda: solvers.log_evidence(GRAM, Y, 0.1),
    "gradient_flow": lambda: solvers.gradient_flow(KNOWN, Y, [1.0]),
}


@pytest.mark.parametrize("name", ASKED)
def test_without_float64_it_is_refused_by_name(name):
    ASKED[name]()
    with jax.enable_x64(False), pytest.raises(PrecisionError) as caught:
        ASKED[name]()
    own = {"deterministic_equivalent": "a predicted learning curve", "learning_curve": "a predicted learning curve"}
    assert str(caught.value).startswith(own.get(name, "")), caught.value
