"""Important numbers of the claims on emergence, by other routes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize

from lemmata.subjects.emergence import metrics, sequences, skills, transitions
from lemmata.subjects.emergence.diversity import PretrainingTasks


def test_the_width_of_exact_match_is_that_of_one_token_by_scipy():
    alpha, c = 0.7, 2.0
    places = []
    for tokens in (1, 50):
        above = lambda x, level, tokens=tokens: np.exp(-tokens * c * np.exp(-alpha * x)) - level
        places.append([optimize.brentq(above, -20, 40, args=(level,)) for level in (0.1, 0.5, 0.9)])
    widths = [high - low for low, _, high in places]
    assert widths == pytest.approx([metrics.TENFOLD / alpha] * 2, rel=1e-9)
    assert places[1][1] - places[0][1] == pytest.approx(np.log(50) / alpha, rel=1e-9)


def test_linear_attention_has_the_errors_of_simulated_prompts():
    d, k, length = 4, 6, 40
    rng = np.random.default_rng(0)
    tasks = rng.normal(size=(k, d))
    moments = tasks.T @ tasks / k
    cov = (1 + 1 / length) * moments + np.trace(moments) / length * np.eye(d)
    best = moments @ np.linalg.inv(cov)
    w, x = rng.normal(size=(20000, d)), rng.normal(size=(20000, length, d))
    h = np.einsum("pld,pl->pd", x, np.einsum("pld,pd->pl", x, w)) / length
    simulated = np.sum((h @ best.T - w) ** 2, axis=1) / d
    own = PretrainingTasks(jnp.asarray(tasks)).error_on_new_tasks(length / d)
    assert float(own) == pytest.approx(simulated.mean(), abs=5 * simulated.std() / np.sqrt(len(w)))


def test_equal_frequencies_give_no_power_law():
    m = 500
    loss = lambda samples: (1 - 1 / m) ** samples
    slopes = [np.log(loss(10 * n) / loss(n)) / np.log(10) for n in (100, 1000)]
    assert slopes[1] < 5 * slopes[0]
    listed, rest = skills.Skills(jnp.asarray(0.7)).frequencies()
    assert float(listed.sum() + rest) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("properties", [0, 4])
def test_the_giant_component_solves_its_equations(properties):
    graph = skills.RandomGraph(jnp.asarray(1.5), 1000, 1000 * properties)
    found = np.asarray(graph.limit())
    if not properties:
        share = optimize.brentq(lambda s: 1 - np.exp(-1.5 * s) - s, 0.1, 1)
        assert found == pytest.approx([share], rel=1e-9)
    else:
        both = optimize.fsolve(lambda s: [1 - np.exp(-3.0 * s[1]) - s[0], 1 - np.exp(-0.75 * s[0]) - s[1]], [0.9, 0.9])
        assert found == pytest.approx(both, rel=1e-9)


def test_code_length_is_the_product_of_the_predictions():
    symbols, size = [0, 2, 2, 1, 2, 0], 3
    counts, bits = np.zeros(size), 0.0
    for symbol in symbols:
        bits -= np.log((counts[symbol] + 0.5) / (counts.sum() + size / 2))
        counts[symbol] += 1
    best = -np.sum(counts * np.log(counts / counts.sum()))
    assert float(sequences.code_length(jnp.asarray(counts))) == pytest.approx(bits - best, rel=1e-12)


def test_a_small_magnet_by_enumeration_and_a_mode_by_scipy():
    n, temperature = 6, 0.9
    states = 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1
    m = states.mean(axis=1)
    weight = np.exp(n * m**2 / 2 / temperature)
    magnet = transitions.Magnet(jnp.asarray(1.0), jnp.asarray(0.2), jnp.asarray(0.5))
    values, p = magnet.law(n, jnp.asarray(temperature))
    assert float(p @ jnp.abs(values)) == pytest.approx(np.sum(weight * np.abs(m)) / weight.sum(), rel=1e-12)
    s, u = 1.3, 0.01
    flow = integrate.solve_ivp(lambda t, y: 2 * y * (s - y), (0, 10), [u], rtol=1e-11, atol=1e-13, dense_output=True)
    half = optimize.brentq(lambda t: flow.sol(t)[0] - s / 2, 0, 10)
    mode = transitions.Mode(jnp.asarray(s), jnp.asarray(u))
    assert half == pytest.approx(float(transitions.SaddleToSaddle().predict(mode)[0]), rel=1e-7)
    assert transitions.SaddleToSaddle().measure(mode, jax.random.key(0))[0] == pytest.approx(half, rel=1e-7)
