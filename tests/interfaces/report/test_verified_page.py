"""The page of a run over many claims: whole, escaped, small, and what it says first."""

from lemmata.engine.catalogue import entries
from lemmata.interfaces.report import write_verified
from tests.interfaces.site.browser import NARROW, WIDE, browser, overflow, violations

from .page import Page


def record(**more):
    """A run over the whole catalogue, with one claim that failed and one that is refuted against expectation."""
    rows = [
        {
            **entry["verdict"], "name": name, "seconds": 1.0, "source": entry["source"], "title": entry["title"],
            "known": False, "expected": entry["expected"],
            "as_expected": entry["verdict"]["status"] == entry["expected"],
        }
        for name, entry in entries().items()
    ]  # fmt: skip
    rows[5] |= {"status": "refuted", "as_expected": False, "title": "<script>alert(1)</script>"}
    rows[40] |= {"status": "failed", "as_expected": False, "reason": "stopped in trial 3 (seed 0, <b>n=4</b>)"}
    change = {"claim": rows[5]["name"], "before": "supported", "after": "refuted", "why": ("code", "seed")}
    return {
        "run": 12, "ledger": "/tmp/ledger.sqlite", "command": "lemmata judge --all", "level": 1e-3, "method": "Holm",
        "claims": len(rows) + 2, "seed": 0, "seconds": 3601.2, "minutes": 60.0, "interrupted": False,
        "judged": len(rows), "rows": rows, "changes": [change], "left": ["a.b", "c.d"],
        "notes": ["x.y, seed 0: not recorded; the disk is full"], "sentence": "Family-wise level 0.001.", **more,
    }  # fmt: skip


def test_the_page_of_the_whole_catalogue_says_first_what_is_amiss_and_is_small_and_escaped(tmp_path):
    text = write_verified(record(), tmp_path).read_text()
    page = Page(text)
    assert len(text.encode()) < 10**6
    assert "http" not in text.replace("http-equiv", "")
    assert "script" not in page.tags
    assert "&lt;script&gt;" in text
    assert "2 of 718 verdicts are not as expected.".replace("718", str(len(entries()))) in page.unfolded
    for words in ("Family-wise level 0.001.", "supported → refuted (code, seed)", "in trial 3 (seed 0, <b>n=4</b>)",
                  "the disk is full", "2 claims were left"):  # fmt: skip
        assert words in page.unfolded
    assert all(name in page.words for name in entries())
    assert len(page.ids) == len(set(page.ids))


def test_a_page_without_any_verdict_is_a_page(tmp_path):
    page = Page(write_verified(record(rows=[], changes=[], left=[], notes=[]), tmp_path).read_text())
    assert "No claim was judged." in page.words
    assert "No verdict of this run differs" in page.words


def test_the_page_fits_both_widths_and_axe_finds_nothing(tmp_path):
    path = write_verified(record(), tmp_path)
    for width in (WIDE, NARROW):
        with browser(width) as driver:
            driver.get(path.as_uri())
            assert overflow(driver) == 0
            assert violations(driver) == []
            driver.execute_script("document.querySelectorAll('details').forEach(part => part.open = true)")
            assert overflow(driver) == 0
