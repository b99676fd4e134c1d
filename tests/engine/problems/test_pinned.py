"""Problems of every population as they are drawn, with their hypotheses, at the default and at corners of settings.

What is drawn for a claim decides what its verdict is about. Arrays are told by their shape, sums and an entry.
"""

import importlib
import inspect
import json
import pkgutil

import equinox as eqx
import jax
import numpy as np
import pytest

from lemmata.engine import problems
from lemmata.engine.claims import Population
from lemmata.engine.problems import (
    impulse_responses,
    margin_rows,
    noise_ladders,
    prompts,
    random_units,
    schedules,
    set_systems,
    softmax_kernels,
    sparse_ramps,
    sphere_kernels,
)
from lemmata.engine.problems.generators import generator_of
from tests import pinned
from tests.workflows.studies.test_pinned import plain

NEAR = 1e-4


POPULATIONS = {
    "BinomialSums": set_systems.BinomialSums,
    "BoundedMisfits": noise_ladders.BoundedMisfits,
    "ChosenSizes": prompts.ChosenSizes,
    "ClassPairs": set_systems.ClassPairs,
    "DistinctPoints": softmax_kernels.DistinctPoints,
    "HeavyNoise": noise_ladders.HeavyNoise,
    "ImpulseResponses": impulse_responses.ImpulseResponses,
    "LinearlySeparableSets": margin_rows.LinearlySeparableSets,
    "NoisySpherePoints": noise_ladders.SpherePoints,
    "OrthogonalPoints": margin_rows.OrthogonalPoints,
    "PlanarTriples": softmax_kernels.PlanarTriples,
    "Polygons": sphere_kernels.Polygons,
    "RandomLayers": random_units.RandomLayers,
    "RandomReadouts": impulse_responses.RandomReadouts,
    "Schedules": schedules.Schedules,
    "SetSystems": set_systems.SetSystems,
    "SignArchitectures": set_systems.SignArchitectures,
    "SingularPoints": softmax_kernels.SingularPoints,
    "SparseTargets": sparse_ramps.SparseTargets,
    "SphereKernels": sphere_kernels.SphereKernels,
    "SpherePoints": softmax_kernels.SpherePoints,
    "SphericalMarginRows": margin_rows.SphericalMarginRows,
    "SpreadPoints": sphere_kernels.SpreadPoints,
}
TESTED_ELSEWHERE = {"Drawn", "KernelRegressions", "Prompts"}


def told(leaf):
    array = np.asarray(leaf)
    if array.dtype == object or array.dtype.kind in "US" or not array.size:
        return str(leaf)[:80]
    if array.dtype.kind in "bui":
        return [str(array.dtype.kind), list(array.shape), int(array.sum()), int(array.ravel()[-1])]
    flat = np.abs(array.ravel()) if array.dtype.kind == "c" else array.ravel().astype(float)
    weights = np.cos(np.arange(flat.size))  # another order has another sum
    return [list(array.shape), float(np.abs(flat).sum()), float(flat @ weights), float(flat[-1])]


def written(problem):
    leaves = jax.tree_util.tree_leaves(eqx.filter(problem, lambda leaf: hasattr(leaf, "shape")))
    return [told(leaf) for leaf in leaves]


@pytest.mark.parametrize("name", POPULATIONS)
def test_problems_are_drawn_as_they_were(name):
    population = POPULATIONS[name]()
    space = population.settings()
    found: list = [{name: str(variable) for name, variable in space.variables.items()}, list(space.rules)]
    for number, setting in enumerate([space.default, *space.corners(2, 0)]):
        problem = population.sample(setting, jax.random.key(number))
        told_hypotheses = [
            [own.name, str(own.relation), told(own.value), told(own.threshold), told(own.holds)]
            for own in population.hypotheses(problem)
        ]
        found.append({"setting": {k: str(v) for k, v in setting.items()}, "problem": written(problem),
                      "hypotheses": told_hypotheses})  # fmt: skip
    pinned.check(__file__, name, json.dumps(plain(found), indent=None).replace("]], ", "]],\n"), NEAR)


def test_every_population_is_drawn_here_or_tested_elsewhere():
    found = set()
    for module in pkgutil.iter_modules(problems.__path__, f"{problems.__name__}."):
        for name, value in vars(importlib.import_module(module.name)).items():
            own = inspect.isclass(value) and issubclass(value, Population) and value.__module__ == module.name
            if own and not inspect.isabstract(value) and name not in TESTED_ELSEWHERE:
                found.add(value)
    assert found == set(POPULATIONS.values())


def test_a_key_gives_sixty_four_bits_to_numpy(monkeypatch):
    """With half of them one of 65,000 pairs of keys would be alike within 65,000 trials."""
    seen, real = [], np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: seen.append(np.asarray(seed)) or real(seed))
    draws = [generator_of(jax.random.key(number)).normal() for number in range(20)]
    assert len(set(draws)) == 20
    assert all(own.dtype == np.uint32 and own.shape == (2,) for own in seen)
    assert len({int(part) for own in seen for part in own}) == 40
