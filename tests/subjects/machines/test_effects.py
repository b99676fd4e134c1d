"""Claims about learned Gram matrices are not supported for machines without what they speak of."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.machines import _dense, _layers, _sparse, convolutional_tops, learned_kernels
from lemmata.subjects.machines._top_by_definition import fit_by_definition
from tests.subjects.effects import supported


def test_the_fit_by_definition_is_the_bound_of_the_library(key):
    problem = convolutional_tops.StiffMachines().sample({"n": 6, "inducing": 3, "noise": 0.1}, key)
    factor = np.tril(np.asarray([[1.2, 0, 0], [0.3, 0.8, 0], [-0.2, 0.1, 1.1]]))
    found = fit_by_definition(problem.grams, np.asarray(problem.targets), float(problem.noise), factor)
    assert found == pytest.approx(problem.bound(factor), rel=1e-9)


def test_a_machine_without_its_relu_supports_nothing(monkeypatch):
    claim = convolutional_tops.FitFallsWithStiffness()
    assert supported(claim, 16)
    monkeypatch.setattr(convolutional_tops, "rectify_grams", lambda grams: grams)
    assert not supported(claim, 16)


def test_another_penalty_does_not_keep_layers_near_the_prior(monkeypatch):
    claim = learned_kernels.DivergenceFallsWithNu()
    assert supported(claim, 8)

    def other(raw):
        return 5.0 * jnp.sum(_layers.triangular(raw) ** 2) - 2.0 * jnp.trace(raw)

    for module in (_layers, _dense, _sparse):
        monkeypatch.setattr(module, "factor_divergence", other, raising=False)
    assert not supported(claim, 8)
