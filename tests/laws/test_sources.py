"""Every statement of a source has a claim or a reason, never both, and no number of the paper is missing."""

import itertools
import pkgutil
import re

import pytest

from lemmata.engine.claims import Status, registry
from lemmata.engine.sources import (
    REFERENCES,
    REPRODUCED,
    VERDICTS,
    chapters,
    judged,
    problems,
    references,
    reproductions,
    sources,
    statements,
)  # fmt: skip
from lemmata.errors import UnknownNameError

CLAIMS = list(registry().values())
ROWS = [(key, row) for key in sources() for row in judged(key, CLAIMS)]
# Captions of each chapter that is entered: their numbers start at 1 and leave none out.
CAPTIONS = {5: 27, 7: 15, 8: 18, 13: 18, 17: 20, 20: 16}
# What abstracts state, a name a sentence.
ABSTRACTS: dict[str, list[str]] = {
    "bakhvalov2025polyharmonic": [
        "derived kernel", "cubic cost", "dimension", "scalability", "intrinsic dimension", "forward",
        "differentiation",
    ],
    "bakhvalov2025random": [
        "framework", "derivation", "symmetries", "regularisation", "noise", "polyharmonic", "not empirical",
        "optimality",
    ],
    "chung2024rethinking": [
        "data efficiency", "counteracts", "kernel methods", "risk", "two triggers", "effective attacks",
        "resilient", "proficient",
    ],
    "franceschi2022neural": [
        "flaw", "architecture", "infinite width", "trained discriminator", "differentiability",
        "convergence", "corroboration",
    ],
    "fu2024theoretical": [
        "robust overfitting", "linearisation", "closed form", "degeneration", "Adv-NTK",
    ],
    "lai2024optimality": [
        "limited analysis", "upper bound", "minimax lower bound", "optimality", "networks", "estimator",
        "real data",
    ],
    "luo2023kecor": [
        "burden", "prior approaches", "coding rate", "informative", "greedy", "minimal bits", "uniqueness",
        "Jacobians", "entropy", "superiority", "fewer annotations", "less time",
    ],
    "malladi2023kernel": [
        "overfitting", "tangent kernel", "vision", "Adam", "conditions", "tasks", "prompts", "subspaces",
    ],
    "milsom2024convolutional": [
        "infinite width", "retained", "deep kernel machine", "simplest setting", "convolutional machines",
        "inducing points", "normalisation", "likelihoods", "top layers", "hours", "accuracy",
        "best kernel method",
    ],
    "ramapuram2025sigmoid": [
        "weighted sums", "alternatives", "universal approximation", "improved regularity", "attention norms", "memory",
        "speed-up", "matched performance", "drop-in replacement",
    ],
    "roberts2022principles": [
        "effective theory", "iteration", "nearly Gaussian", "aspect ratio", "representation learning",
        "nearly-kernel methods", "RG flow", "criticality", "universality classes", "effective complexity",
        "optimal aspect ratio", "residual connections", "inductive bias",
    ],
    "rubin2024grokking": [
        "feature learning", "sudden increase", "beyond Gaussian processes", "adaptive kernel",
        "analytical predictions", "phase transitions", "mixed phase", "sharply distinct",
    ],
    "simon2023stepwise": [
        "one at a time", "linearised model", "small start", "final representations", "deep networks",
        "kernel PCA",
    ],
    "tang2024charge": [
        "extended method", "odd-even effects", "five models", "five-parameter formula", "deviation",
        "best model", "extrapolation", "staggering", "kinks",
    ],
    "wei2023superresolution": [
        "arbitrary scales", "function spaces", "basis", "kernel integral", "reduction", "Galerkin attention",
        "grid-free", "dynamic basis", "accuracy", "running time",
    ],
    "wu2024robust": [
        "benchmark", "tangent kernel", "theory", "search",
    ],
    "xiao2025moba": [
        "block attention", "gaps", "router", "signal-to-noise ratio", "block size", "key convolution", "kernel",
        "dense baselines", "speed",
    ],
    "yang2023theory": [
        "representations", "standard limits", "new limit", "Gaussian posteriors", "optimised objective",
        "interpretable", "experiments", "deep kernel machines", "cubic cost", "sparse", "networks",
    ],
    "yang2024cod": [
        "continuity", "sufficiency", "discrepancy", "metric", "moments", "superiority",
    ],
    "younes2024introduction": [
        "reminders", "matrix analysis", "stochastic gradient descent", "proximal methods", "statistical prediction",
        "reproducing kernels", "linear methods", "support vector machines", "decision trees", "boosting",
        "neural networks", "sampling", "Markov chains", "graphical models", "variational methods",
        "deep generative models", "clustering", "factor analysis", "manifold learning", "concentration inequalities",
        "generalization bounds",
    ],
    "zhu2024representation": [
        "circuits", "Q-function", "simple model", "insight", "errors", "first",
    ],
}  # fmt: skip
# What the papers number. A number stands for its parts, too: "Table 1", "(58)".
PAPERS = {
    "gu2024softmax": [
        *(f"Definition {n}" for n in ("3.1", "3.2", "3.3", "3.5", "3.6", "3.7", "4.1", "A.2", "F.1")),
        *(f"Claim {n}" for n in ("3.4", "A.1", "E.5", "E.6", "E.7", "G.1")),
        *(f"Theorem {n}" for n in ("4.2", "6.5", "C.1", "F.2", "G.2", "G.4", "G.5")),
        *(f"Lemma {n}" for n in ("5.1", "5.3", "A.9", "A.10", "C.2", "C.3", "C.4", "D.1", "D.2", "D.3")),
        *(f"Lemma {n}" for n in ("E.1", "E.2", "E.3", "E.4")),
        *(f"Lemma B.1, part {n}" for n in range(1, 14)),
        *(f"Lemma B.2, part {n}" for n in (1, 2)),
        *(f"Fact {n}" for n in ("A.3", "A.4", "A.5", "A.6", "A.7", "A.8")),
        *(f"Assumption {n}" for n in ("6.1", "6.2", "6.3", "6.4", "G.3")),
        *(f"({n})" for n in range(1, 28)),
        "Corollary 4.3", "Remark 5.2", "Table 1", "Section 7, tensor trick", "Section 7, SVM trick",
    ],
    "li2025incontext": [
        *(f"({n})" for n in (*range(1, 5), *range(10, 43), 50, 51, *range(57, 135))),
        *(f"({n})" for n in ("1a", "1b", "15a", "15b", "17a", "17b", "25a", "25b", "25c", "38a", "38b", "39a", "39b")),
        *(f"({n})" for n in ("51a", "51b", "51c", "58a", "58b", "58c", "59a", "59b", "75a", "75b", "81a", "81b")),
        *(f"({n})" for n in ("97a", "97b", "107a", "107b", "109a", "109b")),
        *(f"Lemma {n}" for n in (1, 2, 3, 5, 6, 7)), *(f"Lemma 4, part {n}" for n in ("i", "ii", "iii")),
        "Theorem 1", *(f"Remark {n}" for n in (1, 2, 3)),
        *(f"Section 2.3, {name}" for name in ("linear functions", "linear combinations", "two-layer networks")),
    ],
    "foundation2025": [
        *(f"({n})" for n in range(1, 20)), *(f"Theorem 1, part {n}" for n in (1, 2, 3)), "Theorem 1, dominance",
        *(f"Theorem {n}" for n in (2, 3, 4)), *(f"Section 7.{n}" for n in range(1, 8)),
        *(f"Abstract, {name}" for name in ("one frame", "taxonomy", "rates", "tradeoff")),
    ],
    "emergence2026": [
        *(f"Figure {chapter}.{n}" for chapter, count in CAPTIONS.items() for n in range(1, count + 1)),
        *(f"Definition {n}" for n in ("5.1", "5.2", "5.6", "5.8", "5.11", "7.1", "7.14")),
        *(f"Definition {n}" for n in ("8.1", "8.13", "8.17", "13.1", "13.11", "17.1", "20.2")),
        *(f"Theorem {n}" for n in ("5.3", "13.18")), *(f"Example {n}" for n in ("5.5", "7.7", "20.12")),
        *(f"Lemma {n}" for n in ("7.9", "7.12", "17.8")),
        *(f"Proposition {n}" for n in ("5.10", "8.16", "17.4", "17.6", "17.9", "20.5", "20.9")),
        *(f"Remark {n}" for n in ("5.12", "5.14", "5.15", "7.5", "7.16", "13.20", "17.3", "20.13")),
    ],
}  # fmt: skip


PAPERS |= {key: [f"Abstract, {name}" for name in said] for key, said in ABSTRACTS.items()}


@pytest.mark.parametrize("key", ABSTRACTS)
def test_what_a_paper_reports_is_told_with_size_and_verdict(key):
    found = reproductions(key)
    assert found
    for row in found:
        assert row.verdict in REPRODUCED
        assert row.headline
        assert row.ours
        assert row.size


def chapter(number: str) -> int:
    """The chapter of a statement of a source that is listed chapter by chapter."""
    return int(re.split(r"[ .]", number)[1])


def whole(number: str) -> set[str]:
    """A number and what it is a part of."""
    return {number, number.partition(",")[0], re.sub(r"[a-z]\)$", ")", number)}


@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=[f"{key}-{row.statement.number}" for key, row in ROWS])
def test_a_statement_has_a_claim_or_a_reason_and_never_both(row):
    assert bool(row.claims) != bool(row.reason), f"{row.statement.number}: {[claim.name for claim in row.claims]}"


@pytest.mark.parametrize("key", sources())
def test_locators_of_claims_are_statements(key):
    known = {statement.number for statement in statements(key)}
    unknown = {
        (claim.name, locator)
        for claim in CLAIMS
        if claim.source.key == key
        for locator in claim.source.locators
        if locator not in known and (not chapters(key) or chapter(locator) in chapters(key))
    }
    assert unknown == set()
    assert all(claim.source.locators for claim in CLAIMS if claim.source.key == key)


@pytest.mark.parametrize("key", sources())
def test_no_number_of_the_paper_is_missing_and_none_is_invented(key):
    numbers = [statement.number for statement in statements(key)]
    assert len(set(numbers)) == len(numbers)
    listed = set().union(*(whole(number) for number in numbers))
    assert set(PAPERS[key]) - listed == set()
    places = ("Section", "Appendix", "proof of")
    invented = {number for number in numbers if not whole(number) & set(PAPERS[key]) and not number.startswith(places)}
    assert invented == set()


@pytest.mark.parametrize("key", sources())
def test_equations_and_parts_stand_in_their_order(key):
    found = [int(n) for s in statements(key) for n in re.findall(r"^\((\d+)[a-z]?\)$", s.number)]
    swapped = [later for earlier, later in itertools.pairwise(found) if later < earlier]
    assert swapped == []
    lettered = [s.number for s in statements(key) if re.fullmatch(r"\(\d+[a-z]\)", s.number)]
    assert lettered == sorted(lettered, key=lambda number: (int(number[1:-2]), number[-2]))


def names(text: str) -> list[str]:
    """Dotted names in backticks."""
    return re.findall(r"`([a-z_.]+\.[a-z_.]+)`", text)


@pytest.mark.parametrize("key", sources())
def test_reasons_name_claims_and_modules_that_exist(key):
    texts = [f"{s.reason or ''} {s.because}" for s in statements(key)]
    for name in itertools.chain(*map(names, texts)):
        if name not in registry():
            pkgutil.resolve_name(name if name.startswith("lemmata.") else f"lemmata.subjects.{name}")


def claims_on_what_it_says(row):
    """Its claims but those of what is often read into it: a true statement may have these refuted."""
    return [claim for claim in row.claims if claim.source.note != "as often read"]


@pytest.mark.parametrize("key", [key for key in sources() if not key.startswith(("gu2024", "li2025"))])
def test_a_verdict_on_a_statement_is_that_of_its_claims(key):
    """What is false is refuted as printed, or a reason says why that cannot be executed; what is true has support."""
    seen = 0
    for row in judged(key, CLAIMS):
        statement, expected = row.statement, {claim.expected for claim in row.claims}
        assert statement.verdict in VERDICTS
        assert statement.says
        assert statement.because
        if row.claims and statement.verdict == "false":
            corrected = any(claim.corrects for claim in row.claims)
            assert Status.REFUTED in expected or corrected, statement.number
            seen += 1
        if row.claims and statement.verdict == "true":
            said = {claim.expected for claim in claims_on_what_it_says(row)}
            assert said, statement.number
            assert Status.REFUTED not in said, statement.number
            seen += 1
        if row.claims and statement.verdict == "true but loose":
            repaired = any(claim.corrects in {type(own) for own in row.claims} for claim in CLAIMS)
            assert expected != {Status.REFUTED} or repaired, statement.number
            seen += 1
    assert seen > (25 if key in ("foundation2025", "emergence2026") else 0)


def test_what_is_often_read_into_a_statement_is_refuted_and_named_so():
    noted = {claim.name for claim in CLAIMS if claim.source.note == "as often read"}
    assert noted == {claim.name for claim in CLAIMS if type(claim).__name__.endswith("AsOftenRead")}
    assert {claim.expected for claim in CLAIMS if claim.name in noted} == {Status.REFUTED}


def test_references_and_problems_of_the_survey():
    found = references("foundation2025")
    assert [reference.number for reference in found] == list(range(1, 23))
    assert {reference.status for reference in found} <= set(REFERENCES)
    assert all(bool(reference.note) == (reference.status != "real") for reference in found)
    assert [problem.number for problem in problems("foundation2025")] == list(range(1, 8))
    assert references("gu2024softmax") == problems("gu2024softmax") == ()


def test_references_of_the_monograph():
    found = references("emergence2026")
    assert [reference.number for reference in found] == list(range(1, 65))
    assert {(reference.status, reference.note) for reference in found} == {("real", "")}
    assert problems("emergence2026") == ()


@pytest.mark.parametrize("key", sources())
def test_a_source_in_part_lists_its_chapters_whole_and_in_order(key):
    found = [chapter(statement.number) for statement in statements(key)] if chapters(key) else []
    assert tuple(dict.fromkeys(found)) == chapters(key)
    assert found == sorted(found)
    assert chapters(key) == (tuple(CAPTIONS) if key == "emergence2026" else ())


def test_captions_stand_in_their_order():
    found = [int(n) for s in statements("emergence2026") for n in re.findall(r"^Figure \d+\.(\d+)$", s.number)]
    assert found == [n for count in CAPTIONS.values() for n in range(1, count + 1)]


@pytest.mark.parametrize("key", sources())
def test_most_statements_have_claims_or_a_reason_that_names_what_judges_them(key):
    rows = judged(key, CLAIMS)
    assert sum(bool(row.claims or names(row.reason or "")) for row in rows) > 2 * len(rows) / 3


def test_a_gap_is_seen_and_an_unknown_source_is_refused():
    (row,) = [row for row in judged("gu2024softmax", []) if row.statement.number == "Lemma E.4"]
    assert row.claims == ()
    assert row.reason is None
    with pytest.raises(UnknownNameError, match=r"emergence2026, .*foundation2025, .*gu2024softmax, .*li2025incontext"):
        statements("nobody1900")
