"""Charge radii: the reader, left-out errors by refits, and numbers of the page by other routes."""

import importlib.util

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from lemmata.errors import DataError, MissingDataError, UnknownNameError
from lemmata.kernels import RBF, OddEvenKernel, gram
from lemmata.solvers import leave_one_out_residuals
from lemmata.subjects.regression import _charge_radii as room
from lemmata.subjects.regression import _radii_fits, isotopes, odd_even
from lemmata.subjects.regression._charge_radii import (
    HiddenEndsOfChains,
    HiddenRadii,
    RadiiTable,
    isospin_radii,
    measured_radii,
    model_radii,
    radii_table,
)
from lemmata.subjects.regression.odd_even import StaggeredCurves, TwoTermFits

with_data = pytest.mark.skipif(
    importlib.util.find_spec("nucleardatapy") is None, reason="the extra `nuclei` is not installed"
)


def chosen(kind):
    setting = _radii_fits.CHOSEN[kind]
    return _radii_fits.matrix(kind, setting, radii_table("isospin").points), setting[-1]


@with_data
def test_the_table(monkeypatch):
    nuclei = measured_radii()
    assert len(nuclei.z) == 885
    assert nuclei.z.min() == 8
    assert len(set(zip(nuclei.z, nuclei.n, strict=True))) == 885
    assert np.all(nuclei.uncertainty > 0)
    assert len(measured_radii(1).z) > 885
    with pytest.raises(UnknownNameError, match="one of BSkG1, BSkG2, BSkG3, BSkG4"):
        model_radii("RCHB", nuclei)
    room.measured_radii.cache_clear()
    monkeypatch.setattr(room, "_RADII", "nuclei/radch/none.csv")
    with pytest.raises(DataError, match=r"no nuclei/radch/none.csv in"):
        measured_radii()


def test_without_the_package_what_installs_it_is_said(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    room.measured_radii.cache_clear()
    with pytest.raises(MissingDataError, match=r"no package nucleardatapy.*pip install 'lemmata\[nuclei\]'"):
        measured_radii()


@with_data
def test_the_isospin_formula_is_the_least_squares_one():
    nuclei = measured_radii()
    mass, excess = nuclei.z + nuclei.n, nuclei.n - nuclei.z
    value = lambda p: np.sum((nuclei.radius - p[0] * (1 - p[1] * excess / mass) * mass ** (1 / 3)) ** 2)
    found = minimize(value, [1.0, 0.2], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12})
    assert np.sum((nuclei.radius - isospin_radii(nuclei)) ** 2) == pytest.approx(found.fun, rel=1e-8)
    assert found.x == pytest.approx([0.9936, 0.2700], abs=1e-4)


@with_data
def test_errors_at_hidden_nuclei_are_those_of_refits():
    table, (matrix, ridge) = radii_table("isospin"), chosen("odd-even")
    rng = np.random.default_rng(0)
    hidden = rng.uniform(size=len(table.radius)) < 0.1
    known = ~hidden
    weights = np.linalg.solve(matrix[np.ix_(known, known)] + ridge * np.eye(known.sum()), table.rest[known])
    refitted = table.rest[hidden] - matrix[np.ix_(hidden, known)] @ weights
    assert np.allclose(_radii_fits.missed(table, "odd-even", hidden), refitted, atol=1e-9)


@with_data
def test_the_numbers_of_the_page():
    table, found = radii_table("isospin"), {}
    for kind in _radii_fits.CHOSEN:
        matrix, ridge = chosen(kind)
        missed = leave_one_out_residuals(jnp.asarray(matrix), jnp.asarray(table.rest), ridge)
        found[kind] = float(np.sqrt(np.mean(np.asarray(missed) ** 2)))
    assert found == pytest.approx({"smooth": 0.01675, "odd-even": 0.00984, "two scales": 0.00961}, abs=2e-5)


@with_data
def test_parity_of_n_beside_two_length_scales():
    table = radii_table("isospin")
    x, y = jnp.asarray(table.points), jnp.asarray(table.rest)
    even = (x[:, None, 1] - x[None, :, 1]) % 2 == 0
    gaussian = lambda scales: gram(RBF(1.0), x / jnp.asarray(scales))
    matrix = gaussian((1.0, 7.0)) + 0.03 * even * gaussian((1.0, 1.5))
    missed = leave_one_out_residuals(matrix, y, 0.005)
    assert float(jnp.sqrt(jnp.mean(missed**2))) == pytest.approx(0.00828, abs=1e-5)
    kernel = OddEvenKernel(jnp.array([1.0, 7.0]), jnp.array([1.0, 1.5]), 0.03, parities=(1,))
    assert np.allclose(leave_one_out_residuals(gram(kernel, x), y, 0.005), missed, atol=1e-9)


@with_data
def test_parity_of_one_coordinate_alone():
    table = radii_table("isospin")
    x, y = jnp.asarray(table.points), jnp.asarray(table.rest)
    error = lambda kernel, ridge: float(jnp.sqrt(jnp.mean(leave_one_out_residuals(gram(kernel, x), y, ridge) ** 2)))
    assert error(OddEvenKernel(2.25, 4.5, 10.0, parities=(0,)), 0.016) == pytest.approx(0.01063, abs=1e-5)
    gaussian = error(RBF(3.0), 0.005)
    for weight in (0.1, 1.0):
        assert error(OddEvenKernel(3.0, 3.0, weight, parities=(1,)), 0.005) > 0.99 * gaussian


@with_data
def test_what_is_chosen_on_the_known_nuclei_is_what_refits_choose(monkeypatch):
    few = {"odd-even": [(2.25, 3.0, 0.3, 0.0016), (1.5, 2.25, 1.0, 0.005)]}
    monkeypatch.setattr(_radii_fits, "GRIDS", few)
    # a table of its own, so that nothing that is kept has to do with the other grid
    whole = radii_table("isospin")
    table = RadiiTable("isospin", whole.points[:300], whole.radius[:300], whole.base[:300])
    hidden = np.random.default_rng(1).uniform(size=300) < 0.15
    x, y = jnp.asarray(table.points[~hidden]), jnp.asarray(table.rest[~hidden])
    judged = []
    for setting in few["odd-even"]:
        kernel = OddEvenKernel(*setting[:3])
        weights = np.linalg.solve(np.asarray(gram(kernel, x)) + setting[-1] * np.eye(len(y)), y)
        errors = table.rest[hidden] - np.asarray(gram(kernel, jnp.asarray(table.points[hidden]), x)) @ weights
        left = leave_one_out_residuals(gram(kernel, x), y, setting[-1])
        judged.append((float(jnp.mean(left**2)), setting, errors))
    best = min(judged, key=lambda one: one[0])
    setting, errors = _radii_fits.chosen_on_known(table, "odd-even", hidden)
    assert setting == best[1]
    assert np.allclose(errors, best[2], atol=1e-9)


@with_data
def test_extrapolation_with_all_long_chains_cut(key):
    problem = HiddenEndsOfChains().sample({"share": 1.0}, key)
    step = np.asarray(problem.step)
    assert (step > 0).sum() == 164
    truth = {"smooth": [0.0224, 0.0367, 0.0497, 0.0629, 0.0455], "odd-even": [0.0171, 0.0305, 0.0491, 0.0644, 0.0441],
             "two scales": [0.0157, 0.0256, 0.0329, 0.0432, 0.0310]}  # fmt: skip
    for kind, numbers in truth.items():
        _, errors = _radii_fits.chosen_on_known(problem.table, kind, step > 0)
        parts = [errors[step[step > 0] == at] for at in (1, 2, 3, 4)] + [errors]
        assert [float(np.sqrt(np.mean(part**2))) for part in parts] == pytest.approx(numbers, abs=6e-5)


@with_data
def test_the_chosen_settings_are_the_best_of_their_grids():
    table = radii_table("isospin")
    for kind, setting in _radii_fits.CHOSEN.items():
        errors = np.mean(_radii_fits.left_out(table, kind) ** 2, axis=1)
        assert _radii_fits.GRIDS[kind][int(np.argmin(errors))] == setting


@with_data
def test_the_staggering_of_calcium_by_refits():
    table = radii_table("isospin")
    nobody = HiddenRadii(jnp.zeros(len(table.radius), bool), table)
    size = np.sqrt(np.mean(isotopes.staggering(table) ** 2))
    assert len(isotopes.neighbours(table, 20)) == 8
    matrix, ridge = chosen("smooth")
    missed = leave_one_out_residuals(jnp.asarray(matrix), jnp.asarray(table.rest), ridge)
    middles = [at for at, _, _ in isotopes.neighbours(table, 20)]
    assert float(isotopes.staggering_error(nobody, "smooth")) == pytest.approx(
        float(np.sqrt(np.mean(np.asarray(missed)[middles] ** 2))), rel=1e-8
    )
    assert float(isotopes.staggering_error(nobody, "odd-even")) < 0.3 * size
    assert len(isotopes.neighbours(table, 29)) == 0  # copper


def test_two_terms_minimise_their_loss(key):
    problem = TwoTermFits().sample({"n": 8, "m": 2}, key)
    smooth = np.asarray(gram(RBF(problem.lengthscale), problem.x))
    second = np.asarray(gram(OddEvenKernel(problem.lengthscale, problem.odd_even_lengthscale), problem.x)) - smooth
    y, ridges = np.asarray(problem.y), (float(problem.ridge), float(problem.odd_even_ridge))

    def loss(ab):
        a, b = ab[:8], ab[8:]
        return np.sum((y - smooth @ a - second @ b) ** 2) + ridges[0] * a @ smooth @ a + ridges[1] * b @ second @ b

    found = minimize(loss, np.zeros(16), method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x
    values = odd_even.EffectiveKernel().predict(problem)
    assert np.allclose(values[:8], smooth @ found[:8], atol=1e-4)
    assert np.allclose(values[8:16], second @ found[8:], atol=1e-4)
    assert np.allclose(found[8:], ridges[0] / ridges[1] * found[:8], atol=1e-2)


def test_the_second_term_gains_where_numbers_stagger_and_costs_where_not():
    for own in jax.random.split(jax.random.key(0), 5):
        problem = StaggeredCurves().sample({"weight": 0.3, "noise": 0.1}, own)
        staggered, odd, smooth, cost = odd_even.ExpectedLeftOutError().predict(problem)
        assert odd < 0.9 * staggered
        assert smooth < cost < 1.5 * smooth
