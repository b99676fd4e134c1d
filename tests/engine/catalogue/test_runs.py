"""Which public functions claims run: found by following names, and checked against a profiled trial."""

import gc
import sys

import jax
import pytest

from lemmata.engine.catalogue import _runs, all_runs, public, runs_of
from lemmata.engine.claims import registry
from lemmata.engine.claims._trials import trial, trial_key

CLAIMS = ("generalisation.leave_one_out.leave_one_out_identity", "optimisers.decay.adamw_solves_box")


def run_of(name):
    return runs_of(type(registry()[name]).__module__, type(registry()[name]).__name__)


def test_public_names_are_those_that_users_import():
    known = public()
    assert known["solvers.kernel_ridge"].module == "lemmata.solvers._ridge"
    assert "scaling.pass_at_k" in known
    assert not [name for name in known if name.rpartition(".")[2].startswith("_")]


def test_a_claim_that_calls_a_room_says_so_and_one_that_does_not_does_not():
    assert "solvers.kernel_ridge" in run_of("generalisation.leave_one_out.leave_one_out_identity")
    assert not any("polyharmonic" in name for name in run_of("regression.spline_limit.spline_limit"))


def test_what_is_kept_for_all_claims_is_what_each_runs():
    kept = all_runs()
    assert {name: kept[name] for name in CLAIMS} == {name: run_of(name) for name in CLAIMS}
    assert set(kept) == {name for name, claim in registry().items() if type(claim).__module__.startswith("lemmata.")}


@pytest.mark.parametrize("name", CLAIMS)
def test_what_a_trial_calls_is_among_what_is_named(name):
    """Every public function whose code runs in a trial, seen by a profiler."""
    claim, called = registry()[name], set()

    def seen(frame, event, _):
        if event == "call":
            called.add((frame.f_globals.get("__name__", ""), frame.f_code.co_name))

    with jax.enable_x64(True):
        setting = claim.population.settings().default
        gc.collect()  # a generator of another test that is closed while we look would be seen
        sys.setprofile(seen)
        try:
            trial(claim, setting, trial_key(claim, 0, 0))
        finally:
            sys.setprofile(None)
    ours = {own: node for own, node in public().items() if node not in _runs._engine()}
    ran = {own for own, node in ours.items() if (node.module, node.name) in called}
    assert called
    assert ran <= set(run_of(name)), ran - set(run_of(name))
