"""The values of an impulse response are those of its series, at the points of a period."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.problems.impulse_responses import ImpulseResponse, ImpulseResponses
from lemmata.functions import PeriodicSeries


@pytest.mark.parametrize("steps", [16, 30])
def test_values_are_those_of_the_series_in_their_order(steps, key):
    cosines, sines = jax.random.normal(key, (2, steps // 2 - 1))
    response = PeriodicSeries(cosines, sines)
    found = ImpulseResponse(response, jnp.asarray(1.0), steps).values
    np.testing.assert_allclose(found, response(jnp.arange(steps) / steps), rtol=0, atol=1e-12)


def test_drawn_coefficients_have_the_size_of_their_smoothness(key):
    drawn = ImpulseResponses().sample({"steps": 1024}, key)
    k = np.arange(1, 512)
    for part in (drawn.response.cosines, drawn.response.sines):
        np.testing.assert_allclose(np.abs(part), k ** (-float(drawn.smoothness) - 0.5), rtol=1e-12)
        assert set(np.sign(part)) == {-1.0, 1.0}
    assert ImpulseResponses.least <= float(drawn.smoothness) <= ImpulseResponses.most
    assert float(jnp.max(jnp.abs(drawn.values - drawn.response(jnp.arange(1024) / 1024)))) < 1e-11
