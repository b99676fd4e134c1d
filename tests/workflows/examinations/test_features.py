"""What features paid: who beats whom, in which words, and when there is nothing to say."""

import dataclasses
import types

import jax
import numpy as np
import pytest
from scipy import stats

from lemmata.subjects.trained_models import end_kernel, held_outputs, keep, start_kernel
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks
from lemmata.subjects.trained_models.kernel_machines import ErrorOfTheEndKernel, ErrorOfTheStartKernel
from lemmata.subjects.trained_models.start import LinearFromTheStart
from lemmata.workflows.examinations._features import beside_its_kernels, verb_of
from lemmata.workflows.examinations._findings import unexplained
from lemmata.workflows.examinations._gauges import gauge

CLAIMS = (ErrorOfTheStartKernel(), ErrorOfTheEndKernel(), LinearFromTheStart())


@pytest.fixture(scope="module")
def problem():
    population = TrainedNetworks(decay=0.05)
    return population.sample(population.settings().resolve(None), jax.random.key(3))


@pytest.fixture(scope="module")
def gauges(problem):
    return [gauge(claim, problem, 0) for claim in CLAIMS]


def shares(wins, losses, ties=20):
    zero = np.zeros(ties)
    return np.r_[zero, np.zeros(wins), np.ones(losses)], np.r_[zero, np.ones(wins), np.zeros(losses)]


@pytest.mark.parametrize(
    ("wins", "losses", "verb"),
    [(0, 0, "equals"), (5, 0, "equals"), (6, 0, "beats"), (0, 6, "is beaten by"), (9, 4, "equals"), (20, 5, "beats")],
)
def test_the_sign_test(wins, losses, verb):
    assert verb_of(*shares(wins, losses)) == verb
    p = stats.binom.cdf(min(wins, losses), wins + losses, 0.5) * 2
    assert (verb == "equals") == (p > 0.05)


def test_values_by_a_paired_test():
    rng = np.random.default_rng(0)
    ours = rng.exponential(size=200)
    assert verb_of(ours, ours + 0.3 + 0.1 * rng.normal(size=200)) == "beats"
    assert verb_of(ours + 0.3, ours) == "is beaten by"
    assert verb_of(ours, ours + rng.normal(size=200)) == "equals"


def test_the_sentence_has_both_errors_and_the_residual(problem, gauges):
    assert [own.status for own in gauges] == ["agrees", "agrees", "inapplicable"]
    (said,) = beside_its_kernels(problem, gauges)
    wrong = lambda f: 100 * np.mean(f.argmax(1) != problem.held[1].argmax(1))
    ours = f"{wrong(problem.model.outputs(problem.held[0])):.2g} %"
    theirs = (f"{wrong(own.outputs):.2g} %" for own in (start_kernel(problem), end_kernel(problem)))
    start, end = (f"({ours} compared with {own})" for own in theirs)
    assert said.startswith("The network ")
    assert f"the tangent kernel at the start {start}" in said
    assert f"the trained tangent kernel {end}" in said
    residual = next(own.value for own in gauges[2].hypotheses if "residual" in own.name)
    assert f"left the linear regime (residual {residual:.2g})" in said
    assert unexplained(problem, gauges)[0] == said


def test_although_belongs_to_what_is_equal(problem, gauges):
    outputs = start_kernel(problem).outputs
    same, better = held_outputs(problem), np.where(problem.held[1] > 0, 5.0, 0.0)
    for f, link in ((same, "although the network left"), (better, "and the network left")):
        other = dataclasses.replace(problem)
        keep(held_outputs, other, f)
        keep(start_kernel, other, types.SimpleNamespace(outputs=same))
        keep(end_kernel, other, end_kernel(problem))
        (said,) = beside_its_kernels(other, gauges)
        assert link in said
        assert ("equals the tangent" in said) == (link == "although the network left")
    assert outputs is start_kernel(problem).outputs


def test_a_lazy_model_that_equals_its_start_is_explained(problem, gauges):
    lazy = [own if "residual" not in own.name else dataclasses.replace(own, value=0.02) for own in gauges[2].hypotheses]
    known = [gauges[0], dataclasses.replace(gauges[2], hypotheses=lazy)]
    other = dataclasses.replace(problem)
    keep(held_outputs, other, held_outputs(problem))
    keep(start_kernel, other, types.SimpleNamespace(outputs=held_outputs(problem)))
    assert beside_its_kernels(other, known) == []
    keep(held_outputs, other, np.where(problem.held[1] > 0, 5.0, 0.0))
    assert beside_its_kernels(other, known)[0].startswith(
        "The network beats the tangent kernel at the start (0 % compared with"
    )


def test_nothing_is_said_of_kernels_that_were_not_judged(problem, gauges):
    assert beside_its_kernels(problem, []) == []
    silent = [dataclasses.replace(own, status="unaffordable") for own in gauges]
    assert beside_its_kernels(problem, silent) == []
    assert unexplained(problem, silent) == []
