"""Laws of claims: the catalogue is up to date, claims obey the grammar, each in its turn is judged again."""

import json
import pathlib
import subprocess
import sys

import pytest

from lemmata.engine.catalogue import catalogue, costs, entries
from lemmata.engine.claims import (
    UNSEEN,
    Status,
    bibliography,
    check_ranges,
    check_verdict,
    check_writing,
    cite,
    is_stale,
    recorded,
    registry,
    verify,
    words_of,
)
from lemmata.errors import ClaimError
from tests import budget

CLAIMS = list(registry().values())
SEED = budget.seed()
TIMED = [
    pytest.param(claim, marks=pytest.mark.seconds(costs().get(type(claim).__name__, 10.0)), id=claim.name)
    for claim in CLAIMS
]


def test_the_catalogue_has_every_claim_in_order():
    assert list(entries()) == [claim.name for claim in CLAIMS], "lemmata verify --stale --write renews it"
    assert len(CLAIMS) > 270


def test_no_verdict_is_older_than_the_code_it_rests_on():
    stale = [claim.name for claim in CLAIMS if is_stale(claim)]
    assert stale == [], "lemmata verify --stale --write renews them"


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_obeys_the_grammar_and_its_verdict_is_as_expected(claim):
    check_writing(claim)
    verdict = recorded(claim)
    assert verdict is not None
    assert verdict.executed > 0
    check_verdict(claim, verdict)
    assert cite(claim)
    entry = {name: value for name, value in entries()[claim.name].items() if name not in ("verdict", "fingerprint")}
    assert json.loads(json.dumps(words_of(claim))) == entry


@pytest.mark.parametrize("claim", TIMED)
def test_a_claim_is_judged_at_a_seed_of_its_own(claim):
    """At another seed the budget may be too small; what is never allowed is the opposite verdict, or a failure."""
    print(f"LEMMATA_SEED={SEED} replays this case")
    verdict = verify(claim, seed=SEED % 2**31, progress=False)
    if verdict.status is Status.INAPPLICABLE and verdict.reason.startswith(UNSEEN):
        pytest.skip(verdict.reason)
    assert verdict.status in (claim.expected, Status.INCONCLUSIVE), verdict.reason


AT_ONE_SETTING = {
    "dynamics.fine_tuning": {
        "few_rows_do_not_overfit",
        "kernel_predicts_accuracy",
        "kernel_predicts_outputs",
        "prompts_keep_the_kernel",
        "prompts_linearise",
        "unrelated_words_break_it",
    },
    "stability.audits": {"audit_of_training"},
    "trained_models.noisy_weights": {"pac_bayes_from_half"},
    "trained_models.norms": {"linear_rademacher_bound"},
    "trained_models.shift": {
        "confidence_falls_less_than_accuracy",
        "error_in_use_by_confidence",
        "error_in_use_by_threshold",
        "inputs_of_training_rows_as_reference",
        "labelled_rows_tell_the_error",
        "moved_rows_are_seen",
        "rows_in_use_are_alike",
        "same_inputs_two_errors",
    },
    "trained_models.triggers": {"clean_classes_alike", "planted_trigger_is_small", "success_of_smallest_trigger"},
    "trained_models.uniform_stability": {"convex_models_are_stable"},
}
"""Claims whose trials train models, so that another setting costs minutes: verifications see one value of a range. A
claim that is mended leaves this list, and no claim joins it."""


def _sees_a_range_at_one_setting(claim):
    try:
        check_ranges(claim)
    except ClaimError:
        return True
    return False


def test_verifications_visit_the_declared_ranges():
    found = {claim.name for claim in CLAIMS if _sees_a_range_at_one_setting(claim)}
    assert found == {f"{section}.{name}" for section, names in AT_ONE_SETTING.items() for name in names}


def test_misprints_have_corrections():
    printed = {type(claim) for claim in CLAIMS if claim.expected is Status.REFUTED}
    corrected = {claim.corrects for claim in CLAIMS if claim.corrects}
    assert {cls.__name__ for cls in corrected - printed} == set(), "a correction corrects what is refuted"
    alone = {cls.__name__ for cls in printed - corrected}
    assert alone == set(), "each statement entered as printed has its correction beside it"


def test_every_reference_is_used_or_cited_in_a_docstring():
    used = {claim.source.key for claim in CLAIMS}
    text = "".join(path.read_text() for path in pathlib.Path(__file__).parents[2].joinpath("src").rglob("*.py"))
    assert {key for key in bibliography() if key not in used and key not in text} == set()


def test_the_list_is_read_without_jax():
    """Not a time but what it comes from: the command imports neither JAX nor the chapters."""
    catalogue()  # reads the code where it has changed, which takes JAX, and keeps what it says
    program = (
        "import sys; from typer.testing import CliRunner; from lemmata.interfaces.cli import app;"
        "result = CliRunner().invoke(app, ['list']); assert result.exit_code == 0, result.output;"
        "print(sorted(m for m in sys.modules if m in ('jax', 'equinox', 'lemmata.engine.claims', 'scipy', 'numpy')))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr
