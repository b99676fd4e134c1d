"""Who is accused of what: a refuted claim has the words that it refutes, in the source's text where it is at hand."""

import os
import pathlib

import pytest

from lemmata.engine.claims import Kind, Passage, Status, check_writing, digest_of, registry
from lemmata.engine.sources import judged, sources
from lemmata.errors import ClaimError

ROOT = pathlib.Path(__file__).parents[2]
TEXTS = pathlib.Path(os.environ.get("LEMMATA_SOURCES", ROOT.parent / "shared" / "seeds"))
CLAIMS = list(registry().values())
REFUTED = [claim for claim in CLAIMS if claim.expected is Status.REFUTED]
ACCUSED = [claim for claim in REFUTED if claim.passage is not None]
SAYS = ("as printed", "as coded")
"""Notes that only a claim with a passage may have."""


@pytest.mark.parametrize("claim", REFUTED, ids=[claim.name for claim in REFUTED])
def test_a_refuted_claim_has_a_passage_or_is_nobodys(claim):
    check_writing(claim)
    assert claim.passage is not None or claim.kind in (Kind.OWN, Kind.FOLKLORE)


@pytest.mark.parametrize("claim", ACCUSED, ids=[claim.name for claim in ACCUSED])
def test_the_words_stand_where_the_passage_says(claim):
    passage = claim.passage
    assert 20 <= passage.after - passage.first <= 2000, "words, and not a page"
    assert len(passage.digest) == 16
    assert passage.says.strip()
    assert passage.right_if.strip()
    if not (TEXTS / passage.file).exists():
        pytest.skip("the text of the source is not at hand; its digest stands")
    assert passage.found_in(TEXTS)


def test_a_passage_that_was_moved_or_changed_is_noticed(tmp_path):
    (tmp_path / "text.txt").write_text("Every kernel\nis smooth.")
    passage = Passage("text.txt", 0, 23, digest_of("Every kernel is smooth."), "kernels are smooth", "of class C^1")
    assert passage.found_in(tmp_path)
    (tmp_path / "text.txt").write_text("Every kernel\nis rough.")
    assert not passage.found_in(tmp_path)


@pytest.mark.parametrize("key", sources())
def test_what_is_true_carries_no_refuted_claim(key):
    loose = [row for row in judged(key, REFUTED) if row.statement.verdict in ("true", "true but loose")]
    assert not {row.statement.number: [claim.name for claim in row.claims] for row in loose if row.claims}


@pytest.mark.parametrize("claim", CLAIMS, ids=[claim.name for claim in CLAIMS])
def test_nothing_is_called_printed_without_its_words(claim):
    printed = any(word in claim.source.note for word in SAYS) or claim.name.endswith(("as_printed", "_printed"))
    assert not (printed and claim.passage is None and claim.expected is Status.REFUTED)


@pytest.mark.parametrize("claim", REFUTED[:1], ids=["a refuted claim"])
def test_a_refutation_without_words_is_refused(claim):
    own = type("WithoutWords", (type(claim),), {"passage": None, "stated": None, "corrects": None})
    own.__doc__ = type(claim).__doc__
    with pytest.raises(ClaimError, match="without a passage"):
        check_writing(own())
