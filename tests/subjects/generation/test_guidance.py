"""Guidance: formulas against differential equations by SciPy and against simulation; mixtures; refusals."""

import numpy as np
import pytest
from scipy.integrate import quad, solve_ivp

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.subjects.generation import Mixture, _guidance, guided

RNG = np.random.default_rng


def moments_by_equations(m_c, s_c, m_0, s_0, w, noise):
    """Mean and deviation at time 0 of the guided flow or diffusion in one dimension, by their equations in time."""

    def backward(tau, state):
        a = np.exp(-(12 - tau))
        v_c, v_0 = a**2 * s_c**2 + 1 - a**2, a**2 * s_0**2 + 1 - a**2
        slope = -(1 + w) / v_c + w / v_0  # the score is slope x + shift
        shift = a * ((1 + w) * m_c / v_c - w * m_0 / v_0)
        factor = 2 if noise else 1
        return [(1 + factor * slope) * state[0] + factor * shift, 2 * (1 + factor * slope) * state[1] + 2 * noise]

    end = solve_ivp(backward, (0, 12), [0.0, 1.0], rtol=1e-10, atol=1e-12).y[:, -1]
    return end[0], np.sqrt(end[1])


CASES = [
    (1.0, 0.5, 0.0, 1.0, 1.0),
    (-2.0, 0.3, 0.5, 2.0, 3.0),
    (1.0, 1.5, 0.0, 1.2, 0.5),
    (1.0, 0.7, 0.0, 1.0, 0.0),
]


@pytest.mark.parametrize(("m_c", "s_c", "m_0", "s_0", "w"), CASES)
def test_formulas_against_the_equations(m_c, s_c, m_0, s_0, w):
    found = guided(Mixture([m_c], s_c**2), Mixture([m_0], s_0**2), w)
    for name, noise in (("flow", 0), ("noise", 1)):
        mean, deviation = moments_by_equations(m_c, s_c, m_0, s_0, w, noise)
        assert found.deviations[name] == pytest.approx(deviation, rel=1e-5)
        assert found.means[name][0] == pytest.approx(mean, rel=1e-4, abs=1e-5)
    assert found.deviations["flow"] == pytest.approx(s_c ** (1 + w) * s_0**-w, rel=1e-12)
    density = lambda x: np.exp(-(1 + w) * (x - m_c) ** 2 / (2 * s_c**2) + w * (x - m_0) ** 2 / (2 * s_0**2))
    total = quad(density, -60, 60, points=[m_c], limit=500)[0]
    mean = quad(lambda x: x * density(x), -60, 60, points=[m_c], limit=500)[0] / total
    assert found.means["tilted"][0] == pytest.approx(mean, rel=1e-6)
    assert found.closed
    assert all(c.holds is not False for c in found.conditions)


def test_no_guidance_and_equal_distributions_are_the_conditional():
    turned = np.array([[1.0, 0.4], [0.4, 2.0]])
    for w, other in ((0, Mixture([[0.0, 0.0]], 5.0)), (2, Mixture([[1.0, 2.0]], turned[None]))):
        found = guided(Mixture([[1.0, 2.0]], turned[None]), other, w)
        for name in ("flow", "noise", "tilted"):
            np.testing.assert_allclose(found.means[name], [1.0, 2.0], rtol=1e-6)
            np.testing.assert_allclose(found.covariances[name], turned, rtol=1e-6)


def test_a_tilted_density_that_does_not_exist():
    found = guided(Mixture([0.0], 4.0), Mixture([0.0], 1.0), 1)
    assert np.isnan(found.deviations["tilted"])
    assert found.deviations["flow"] == pytest.approx(4.0)
    assert "no such distribution exists" in str(found)
    assert found.plot().to_dict()


def test_simulation_against_formulas():
    conditional, unconditional = Mixture([[1.0, 0.0]], np.diag([0.25, 0.8])[None]), Mixture([[0.0, 0.0]], 1.0)
    exact = guided(conditional, unconditional, 1.5)
    found = _guidance._simulated(conditional, unconditional, 1.5, 4000, 200, 0)
    for name in ("flow", "noise", "tilted"):
        assert found.deviations[name] == pytest.approx(exact.deviations[name], abs=5 * found.errors[name] + 0.01)
        np.testing.assert_allclose(found.means[name], exact.means[name], atol=0.06)
    again = guided(Mixture([[1.0, 0.0], [1.0, 0.0]], np.diag([0.25, 0.8])[None].repeat(2, 0)), unconditional, 1.5)
    assert again.deviations["flow"] == pytest.approx(exact.deviations["flow"], rel=0.05)
    assert not again.closed


def test_guidance_of_a_class_in_a_mixture_loses_diversity():
    conditional = Mixture([[1.0, 0.0], [3.0, 0.0]], 0.1)
    unconditional = Mixture([[1.0, 0.0], [3.0, 0.0], [-1.0, 0.0]], 0.1)
    plain, strong = (guided(conditional, unconditional, w, draws=1000) for w in (0, 3))
    np.testing.assert_allclose(plain.shares["flow"], [0.5, 0.5], atol=0.06)
    assert plain.deviations["flow"] == pytest.approx(plain.deviations["conditional"], rel=0.05)
    assert strong.shares["flow"][1] > 0.6  # the component far from the other class
    assert strong.shares["tilted"][1] < 0.55
    assert strong.deviations["flow"] < plain.deviations["flow"]
    assert "most frequent component" in str(strong)
    assert strong.plot().to_dict()
    assert "guidance" in strong._repr_html_()


def test_scores_are_gradients_of_log_densities():
    rng = RNG(0)
    factors = rng.normal(size=(3, 2, 2))
    mixture = Mixture(rng.normal(size=(3, 2)), factors @ factors.transpose(0, 2, 1) + np.eye(2), [1.0, 2.0, 3.0])
    x, step = rng.normal(size=(10, 2)), 1e-5
    for a in (1.0, 0.6):
        score = mixture.noisy(x, a)[1]
        for k in range(2):
            shift = step * np.eye(2)[k]
            slope = (mixture.noisy(x + shift, a)[0] - mixture.noisy(x - shift, a)[0]) / (2 * step)
            np.testing.assert_allclose(score[:, k], slope, atol=1e-6)
    drawn = mixture.draw(40_000, rng)
    np.testing.assert_allclose(drawn.mean(axis=0), mixture.mean, atol=0.05)
    np.testing.assert_allclose(np.cov(drawn.T), mixture.covariance, rtol=0.05, atol=0.05)
    assert repr(mixture) == "Mixture of 3 components in 2 dimensions"


@pytest.mark.parametrize(
    ("arguments", "words", "kind"),
    [
        (([[np.nan]],), "means; found 1 entries", DataError),
        (([[0.0]], -1.0), "covariances; found an eigenvalue of -1", DataError),
        (([[0.0, 0.0]], [[1.0, 1.0], [1.0, 1.0]]), "covariances; found an eigenvalue", DataError),
        (([[0.0, 0.0]], [[1.0, 0.5], [0.0, 1.0]]), "not symmetric", DataError),
        (([[0.0, 0.0]], [1.0, 2.0, 3.0]), r"covariances; found shape \(3,\)", ShapeError),
        (([[0.0], [1.0]], 1.0, [1.0]), r"weights; found shape \(1,\)", ShapeError),
        (([[0.0], [1.0]], 1.0, [1.0, 0.0]), "weights; found 0; rule: positive", DataError),
        (([[1e9]],), "a scale of 1e\\+09", DataError),
        (([[0.0]], 1e-9), "a scale of", DataError),
        (([[[0.0]]],), r"means; found shape \(1, 1, 1\)", ShapeError),
        ((["a"],), "means; found the entry 'a'", DataError),
    ],
)
def test_refused_mixtures(arguments, words, kind):
    with pytest.raises(kind, match=words) as caught:
        Mixture(*arguments)
    assert "\n" not in str(caught.value)


def test_refused_guidance():
    one, two = Mixture([0.0]), Mixture([[0.0, 0.0]])
    for arguments, settings, words, kind in (
        ((1.0, one, 1), {}, "conditional; found a float", SettingError),
        ((one, None, 1), {}, "unconditional; found a NoneType", SettingError),
        ((one, two, 1), {}, "unconditional; found 2 dimensions; rule: 1 dimensions", ShapeError),
        ((one, one, -1), {}, "w; found -1", SettingError),
        ((one, one, np.nan), {}, "w; found nan", SettingError),
        ((one, one, True), {}, "w; found True", SettingError),
        ((one, one, [1.0]), {}, "w; found", SettingError),
        ((one, one, 1), {"draws": 5}, "draws; found 5", SettingError),
        ((one, one, 1), {"steps": 5}, "steps; found 5", SettingError),
        ((one, one, 1), {"seed": -1}, "seed; found -1", SettingError),
    ):
        with pytest.raises(kind, match=words):
            guided(*arguments, **settings)
