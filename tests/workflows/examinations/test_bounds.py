"""Bounds on trained models: each number by a second route, the factor of rows by its definition, what is said of it."""

import dataclasses
import itertools
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import lemmata
from lemmata.engine.claims import AtMost
from lemmata.subjects.trained_models import Trained, bounds, noisy_weights, norms, read_trained
from lemmata.subjects.trained_models._rectified_networks import RectifiedNetworks
from lemmata.workflows.examinations import ExaminationRecord, _findings, _gauges
from tests.interfaces.cli import model_files

KEY = jax.random.key(7)
TRAIN, HELD = model_files.rows()


def sampled(rows=60, seed=3, **changes):
    population = RectifiedNetworks(rows=rows, held=changes.pop("held", 120), steps=changes.pop("steps", 0))
    return population.sample(population.settings().resolve(changes or None), jax.random.key(seed))


def repeated(problem: Trained, times: int) -> Trained:
    """Each training row so many times: with all else held fixed, that is what more rows are."""
    x, y = np.repeat(problem.x, times, axis=0), np.repeat(problem.y, times, axis=0)
    return dataclasses.replace(problem, x=x, y=y, targets=np.repeat(problem.targets, times, axis=0))


@pytest.fixture(scope="module")
def small():
    return sampled(hidden=4, distance=4.0)


@pytest.fixture(scope="module")
def linear():
    return sampled(hidden=0, distance=12.0, noise=0.2, decay=0.05, rows=300)


def test_the_held_out_limit_is_where_the_binomial_law_puts_it():
    for wrong, rows in ((0, 10), (3, 50), (40, 200)):
        assert stats.binom.cdf(wrong, rows, bounds.error_limit(wrong, rows)) == pytest.approx(bounds.DELTA)
    assert bounds.error_limit(7, 7) == 1.0


def test_the_held_out_bound_counts_one_half_and_no_copies():
    problem = sampled(held=200, hidden=0)
    x, y = problem.held
    x = x.copy()
    x[:60] = problem.x[:60]  # these are no held-out rows
    copied = dataclasses.replace(problem, held=(x, y))
    counted = [bounds._half(copied, which) for which in (0, 1)]
    assert sum(rows for _, rows in counted) == 140
    wrong = int((problem.model.outputs(x[60:]).argmax(1) != y[60:].argmax(1)).sum())
    assert sum(own for own, _ in counted) == wrong
    assert bounds.held_out_limit(copied) == bounds.error_limit(wrong, 140)
    assert math.isnan(bounds.held_out_limit(dataclasses.replace(problem, held=None)))


def test_the_factor_is_the_one_of_a_known_law():
    law = lambda rows: 0.1 + 8 / math.sqrt(rows)
    assert bounds.rows_factor(law, 100, 0.5) == pytest.approx((8 / 0.4) ** 2 / 100, rel=1e-6)
    assert bounds.rows_factor(law, 1000, 0.5) == 1.0
    assert bounds.rows_factor(law, 100, 0.1) == math.inf


@pytest.mark.parametrize(("claim", "at"), [
    (noisy_weights.PacBayesFromTheStart(), lambda own, n: noisy_weights.from_start(own).bound(n)),
    (bounds.ShortDescription(), lambda own, n: bounds.least_word(bounds.described(own), n)),
    (norms.SpectralMarginBound(), norms.spectral_bound),
])  # fmt: skip
def test_the_bound_says_something_at_that_many_rows_and_nothing_at_fewer(small, claim, at):
    n, trivial = len(small.x), float(claim.trivial(small))
    assert float(claim.predict(small)) >= trivial
    factor = claim.rows_factor(small)
    assert 1 < factor < math.inf
    assert at(small, 1.001 * factor * n) < trivial
    assert at(small, 0.98 * factor * n) >= trivial


def test_rows_repeated_so_often_make_the_bounds_speak(small):
    """A second route to the factor: the formula itself on that many rows, and not its solution."""
    for claim in (bounds.ShortDescription(), noisy_weights.PacBayesFromTheStart()):
        factor, trivial = claim.rows_factor(small), float(claim.trivial(small))
        assert float(claim.predict(repeated(small, math.ceil(1.3 * factor)))) < trivial
        assert float(claim.predict(repeated(small, max(math.floor(0.7 * factor), 1)))) >= trivial


def test_rows_repeated_so_often_make_the_linear_bound_speak(linear):
    claim = norms.LinearRademacherBound()
    factor, trivial = claim.rows_factor(linear), float(claim.trivial(linear))
    assert 2 < factor < 30
    assert float(claim.predict(repeated(linear, math.ceil(factor)))) < trivial
    assert float(claim.predict(repeated(linear, math.floor(factor)))) >= trivial


def test_the_divergence_is_that_of_the_two_normal_laws(small):
    found = noisy_weights.from_start(small)
    start, end = (list(own.split(own.theta).values()) for own in (small.start, small.model))
    common = float(np.sqrt(np.mean(small.start.theta**2)))
    for scale, claimed in zip(noisy_weights._SCALES, found.divergences, strict=True):
        value = 0.0
        for first, last in zip(start, end, strict=True):
            size = scale * (float(np.sqrt(np.mean(first**2))) or common)
            value += stats.multivariate_normal.logpdf(last.ravel(), last.ravel(), size**2)
            value -= stats.multivariate_normal.logpdf(last.ravel(), first.ravel(), size**2)
        assert claimed == pytest.approx(value, rel=1e-9)  # both laws have the same covariance


def test_noise_errs_as_often_as_the_limit_says(small):
    found = noisy_weights.from_start(small)
    rng, theta, wrong = np.random.default_rng(0), small.model.theta, []
    sizes = np.concatenate([np.full(own.size, scale) for own, scale in
                            zip(small.model.layers, found.rules.scales, strict=True)])  # fmt: skip
    for _ in range(400):
        model = small.model.at(theta + found.scale * sizes * rng.normal(size=len(theta)))
        wrong.append(np.mean(model.outputs(small.x).argmax(1) != small.y.argmax(1)))
    limit = found.limits[noisy_weights._SCALES.index(found.scale)]
    assert np.mean(wrong) < limit < np.mean(wrong) + 0.12
    assert found.rules.distance == pytest.approx(float(np.sum(((theta - small.start.theta) / sizes) ** 2)))


def test_the_prior_of_half_the_rows_has_not_seen_those_that_are_counted(small):
    seen = []

    def fit(x, y, seed, start=None):
        seen.append(x)
        return small.fit(x, y, seed)

    problem = dataclasses.replace(small, fit=fit)
    found = noisy_weights.from_half(problem)
    assert len(seen) == 1
    assert found.rows == len(small.x) - len(seen[0])
    rest = [row for row in problem.x if not (seen[0] == row).all(1).any()]
    assert len(rest) == found.rows
    labels = {row.tobytes(): y for row, y in zip(problem.x, problem.y.argmax(1), strict=True)}
    own = np.array([labels[row.tobytes()] for row in rest])
    errors = found.rules.errors_on(np.stack(rest), own)(
        1.0, noisy_weights._SCALES[0], noisy_weights._TRIED, problem.seed
    )
    if found.scale != noisy_weights._SCALES[0]:
        again = noisy_weights.kl_upper(errors.mean(), math.log(1 / (0.1 * bounds.DELTA)) / noisy_weights._DRAWS)
        assert found.limits[0] == pytest.approx(float(again))


def test_a_fit_that_returns_the_same_weights_has_no_prior(small):
    constant = dataclasses.replace(small, fit=lambda x, y, seed, start=None: small_pair(small))
    conditions = noisy_weights.PacBayesFromHalf().hypotheses(constant)
    assert [bool(own.holds) for own in conditions] == [True, True, False]
    assert not noisy_weights.PacBayesFromHalf().hypotheses(dataclasses.replace(small, fit=None))[0].holds


def small_pair(problem):
    return problem.model.f, {name: jnp.asarray(own) for name, own in problem.model.split(problem.model.theta).items()}


def test_a_word_has_as_many_bits_as_there_are_models():
    """All models of a code are fewer than 2^bits: counted, for three weights in one array."""
    model = sampled(hidden=0, steps=1).model
    for kept, bits in itertools.product((1.0, 0.5, 0.1), (1, 3, 8)):
        found, length = bounds.pruned_and_rounded(model, kept, bits)
        theta, count = found.theta, max(round(kept * len(model.theta)), 1)
        assert (theta != 0).sum() <= count
        words = math.comb(len(theta), count) * len(theta) * 256.0 ** len(model.layers) * 2.0 ** (bits * count)
        assert length == pytest.approx(math.log2(words), rel=1e-9)
        for own in found.split(theta).values():
            assert len(np.unique(own[own != 0])) <= 2**bits
        dropped = np.abs(model.theta[theta == 0]).max(initial=0.0)
        assert dropped <= np.abs(model.theta[theta != 0]).min(), "the largest are kept"
    exact, _ = bounds.pruned_and_rounded(model, 1.0, 8)
    assert 0 < np.abs(exact.theta - model.theta).max() < 2.0**-7 * 1.1 * np.abs(model.theta).max()


def test_the_bound_of_a_word_is_the_binomial_divergence_of_its_error(small):
    best = bounds.described(small)[0]
    error = np.mean(best.model.outputs(small.x).argmax(1) != small.y.argmax(1))
    p, nats = best.occam.bound, best.occam.bits * math.log(2) + math.log(20)
    divergence = stats.entropy([error, 1 - error], [p, 1 - p])
    assert divergence * len(small.x) == pytest.approx(nats, rel=1e-6)
    assert bounds.least_word(bounds.described(small), len(small.x)) == pytest.approx(p)


def test_a_margin_bound_by_hand():
    """The identity times 2, rows of length 1: margins 2, norm 2, three rows of length 2, all powers of 2^(1/4)."""
    n, x = 10**9, np.repeat(np.eye(3), 4, axis=0)
    problem = read_trained((lambda own, rows: rows @ own, 2 * jnp.eye(3)), x, np.repeat([0, 1, 2], 4))
    np.testing.assert_allclose(norms.margins(problem), 2.0)
    group = 2.0 ** (math.ceil(4 * math.log2(6)) / 4)
    prices = sum(math.log(math.pi**2 / 3 - 1) + 2 * math.log(1 + j) for j in (4, round(4 * math.log2(group)), 4))
    c = math.sqrt(2) / 2 * math.sqrt(n) * math.sqrt(math.log(18)) * group
    by_hand = 24 * c / n * (1 + math.log(n / (3 * c))) + 3 * math.sqrt((math.log(40) + prices) / (2 * n))
    assert norms.spectral_bound(problem, n) == pytest.approx(by_hand, rel=1e-12)
    # centred, its sum of squares is 8; a constant 1 beside the rows makes their squares 2
    radius = 2.0 ** (math.ceil(4 * math.log2(math.sqrt(8)) - 1e-9) / 4)
    prices = 2 * math.log(math.pi**2 / 3 - 1) + 2 * math.log(7) + 2 * math.log(5)
    r = 2 * math.sqrt(2) / 2 * radius * math.sqrt(2 * n) / n
    by_hand = 2 * r + 3 * math.sqrt((math.log(40) + prices) / (2 * n))
    assert norms.linear_bound(problem, n) == pytest.approx(by_hand, rel=1e-12)


def test_rounding_up_is_never_down_and_its_weights_are_a_law():
    for value in (1e-9, 0.3, 1.0, 7.1, 2.0**0.25):
        power, cost = norms.rounded_up(value)
        assert value * (1 - 1e-9) <= power <= value * 2**0.25
        assert cost > 0
    total = sum(math.exp(-norms.rounded_up(2.0 ** (j / 4))[1]) for j in range(-4000, 4001))
    assert 0.999 < total < 1


def test_the_certificate_is_exact_for_two_classes_on_a_line():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=4)
    x = rng.normal(size=(40, 4))
    both = jnp.asarray(np.stack([-weights, weights], axis=1))
    problem = read_trained((lambda own, rows: rows @ own, both), x, (x @ weights > 0).astype(int))
    exact = np.median(np.abs(x[:32] @ weights)) / np.linalg.norm(weights)
    claim = norms.ProductCertificate()
    assert float(claim.predict(problem)) == pytest.approx(exact, rel=1e-9)
    assert exact <= float(claim.measure(problem, KEY)) <= exact * 1.01


def test_what_is_no_chain_has_no_norms(small):
    f = lambda own, x: x[:, :3] * jnp.maximum(x @ own, 0)
    problem = read_trained((f, jnp.ones((4, 3))), *TRAIN, held=HELD)
    for claim in (norms.SpectralMarginBound(), norms.ProductCertificate(), norms.LinearRademacherBound()):
        found = _gauges.gauge(claim, problem, 0)
        assert found.status == "inapplicable"
        assert "chain of affine maps" in found.reason
    found = _gauges.gauge(norms.LinearRademacherBound(), small, 0)
    assert found.reason == "number of affine maps in the chain = 2, required <= 1"


@pytest.mark.parametrize(
    ("factor", "text"),
    [
        (1.01, "1.1"),
        (4.1, "4.1"),
        (9.94, "10"),
        (41.0, "41"),
        (41.2, "42"),
        (312_345.0, "320,000"),
        (1e9, "1,000,000,000"),
    ],
)
def test_factors_are_written_with_two_digits_rounded_up(factor, text):
    assert _gauges.times(factor) == text


def test_what_a_vacuous_bound_says_of_itself(small):
    claim = bounds.ShortDescription()
    found = _gauges.gauge(claim, small, 0)
    trivial, factor = float(claim.trivial(small)), claim.rows_factor(small)
    assert (found.status, found.trivial, found.rows_factor) == ("vacuous", trivial, factor)
    assert found.alternative == bounds.held_out_limit(small)
    assert found.reason == (
        f"the bound {found.predicted.value:.3g} is no better than the trivial value {trivial:.3g}; with "
        f"{_gauges.times(factor)} times as many rows, the prediction would be better"
    )
    none = _gauges.gauge(claim, dataclasses.replace(small, held=None), 0)
    assert (none.status, none.rows_factor, none.alternative, none.reason) == ("vacuous", factor, None, found.reason)


def test_a_bound_that_no_rows_help_says_so(small):
    wrong = dataclasses.replace(small, y=np.roll(small.y, 1, axis=1), targets=(small.targets + 1) % 3)
    found = _gauges.gauge(noisy_weights.PacBayesFromTheStart(), wrong, 0)
    assert (found.status, found.rows_factor) == ("vacuous", None)
    assert found.reason.endswith("; more rows would not improve the prediction")


def test_a_bound_that_speaks_is_set_beside_held_out_rows(linear):
    found = _gauges.gauge(bounds.ShortDescription(), linear, 0)
    assert found.status == "agrees"
    assert found.rows_factor is None
    limit = bounds.held_out_limit(linear)
    assert found.reason == f"the bound holds for the measured value; a bound from held-out rows alone is {limit:.3g}"
    assert found.measured.value <= found.predicted.value < found.trivial


def test_a_bound_that_fails_is_a_finding_in_words(linear):
    class Low(bounds.ShortDescription):
        relation = AtMost()

        def predict(self, problem):
            return jnp.asarray(0.01)

    found = _gauges.gauge(Low(), linear, 0)
    (sign,) = _findings._disagreements([found])
    assert "predicted at most 0.01, measured" in sign.finding.text


def test_the_record_the_page_and_records_of_before(monkeypatch):
    own = [bounds.HeldOutBound(), norms.SpectralMarginBound()]
    monkeypatch.setattr("lemmata.workflows.examinations._run.gauges_of", lambda trained: own)
    record = lemmata.study_model(LogisticRegression().fit(*TRAIN), *TRAIN, held=HELD).record
    assert ExaminationRecord.from_json(record.to_json()) == record
    vacuous = [own for own in record.gauges if own.status == "vacuous" and own.rows_factor is not None]
    assert vacuous
    assert any(_gauges.times(vacuous[0].rows_factor) in line for line in record.silent)
    assert "× the rows" in page_of(record)
    old = json.loads(record.to_json())
    for own in old["gauges"]:
        del own["rows_factor"], own["alternative"]
    read = ExaminationRecord.from_json(json.dumps(old))
    assert {own.rows_factor for own in read.gauges} == {None}
    assert "× the rows" not in page_of(read)


def page_of(record):
    from lemmata.interfaces.report._model import model_page

    return model_page(record)
