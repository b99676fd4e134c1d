"""Norms that diverge and margins that rise: what the trials measure if training only stops or only scales weights."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.implicit import deep_linear, margins_of_flows

GROWTHS = {
    "the flow": ((6e2, 18e2, 6e3), (1.0, 1.0, 1.0), True),
    "training that stops": ((6e2, 6e2, 6e2), (1.0, 1.0, 1.0), False),
    "slower growth": ((6e2, 12e2, 24e2), (1.0, 1.0, 1.0), False),
    "growth of a completion that is bounded as well": ((6e2, 18e2, 6e3), (6e2, 18e2, 6e3), False),
}


@pytest.mark.parametrize("name", GROWTHS)
def test_norms_that_stand_still_are_noticed(name, monkeypatch, key):
    """The bound at one time is attained here, and holds whether or not the norms go on growing."""
    cubes, bounded, grows = GROWTHS[name]
    claim = deep_linear.NormsDiverge()

    def path(self, times, corner):
        entry = jnp.cbrt(jnp.asarray(cubes if corner == 0.0 else bounded))
        off = 1 + entry / 2 - jnp.sqrt(entry + entry**2 / 4)  # (1 - off)² = entry off
        return jnp.zeros((3, 2, 2)).at[:, 0, 0].set(entry), off**2 / 2

    monkeypatch.setattr(deep_linear.Completion, "path", path)
    problem = claim.population.sample({}, key)
    measured, wanted = claim.measure(problem, key), claim.predict(problem)
    np.testing.assert_allclose(measured[:3], 1.0)
    assert bool(measured[-1] >= wanted[-1]) is grows


def test_weights_that_only_grow_are_noticed(monkeypatch, key):
    """Along the ray through the start, the smoothed margin rises, too."""
    claim, log_loss = margins_of_flows.SmoothedMarginRises(), margins_of_flows.FittedNetwork.log_loss
    size = lambda layers: jnp.sqrt(sum(jnp.sum(part**2) for part in layers))
    scaled = lambda self, scale: jax.tree.map(lambda part: scale * part, self.start)
    problem = claim.population.sample({"n": 6, "d": 4, "m": 6}, key)
    assert (np.diff(claim.measure(problem, key)) > 1e-3).all()
    margins = [-log_loss(problem, scaled(problem, r)) / size(scaled(problem, r)) ** 2 for r in (1.0, 1.5, 2.0)]
    assert margins[0] < margins[1] < margins[2]
    radial = lambda self, layers: log_loss(self, scaled(self, size(layers) / size(self.start)))
    monkeypatch.setattr(margins_of_flows.FittedNetwork, "log_loss", radial)
    np.testing.assert_allclose(claim.measure(problem, key), 0.0, atol=1e-12)
